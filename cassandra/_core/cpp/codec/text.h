// Text on the wire: ASCII detection, UTF-8 from code points, IP addresses, small integers as digits.
#pragma once

#include "base/bytes.h"
#include "base/portable.h"

namespace fastcql {

inline bool is_ascii(const uint8_t* p, size_t n) noexcept {
    constexpr uint64_t kHigh = 0x8080808080808080ULL;
    if (n >= 8) {
        uint64_t word, any = 0;
        const uint8_t* last = p + n - 8;  // the last word may overlap the one before
        for (; p < last; p += 8) {
            std::memcpy(&word, p, 8);
            any |= word;
        }
        std::memcpy(&word, last, 8);
        return ((any | word) & kHigh) == 0;
    }
    uint8_t any = 0;
    for (size_t i = 0; i < n; ++i) any |= p[i];
    return any < 0x80;
}

// Appends UTF-8 of n code points of the given width; returns the index of the first lone surrogate, or -1.
template <typename Unit>
inline ptrdiff_t put_utf8(ByteBuffer& out, const Unit* units, size_t n) noexcept {
    constexpr size_t kWorst = sizeof(Unit) == 1 ? 2 : sizeof(Unit) == 2 ? 3 : 4;
    uint8_t* p = out.extend(n * kWorst);
    if (!p) return -1;  // the buffer's failed() is sticky
    uint8_t* const start = p;
    for (size_t i = 0; i < n; ++i) {
        const uint32_t c = units[i];
        if (c < 0x80) {
            *p++ = static_cast<uint8_t>(c);
        } else if (c < 0x800) {
            *p++ = static_cast<uint8_t>(0xc0 | c >> 6);
            *p++ = static_cast<uint8_t>(0x80 | (c & 0x3f));
        } else if (c < 0x10000) {
            if (c >= 0xd800 && c <= 0xdfff) return static_cast<ptrdiff_t>(i);
            *p++ = static_cast<uint8_t>(0xe0 | c >> 12);
            *p++ = static_cast<uint8_t>(0x80 | (c >> 6 & 0x3f));
            *p++ = static_cast<uint8_t>(0x80 | (c & 0x3f));
        } else {
            *p++ = static_cast<uint8_t>(0xf0 | c >> 18);
            *p++ = static_cast<uint8_t>(0x80 | (c >> 12 & 0x3f));
            *p++ = static_cast<uint8_t>(0x80 | (c >> 6 & 0x3f));
            *p++ = static_cast<uint8_t>(0x80 | (c & 0x3f));
        }
    }
    out.truncate(out.size() - (n * kWorst - static_cast<size_t>(p - start)));
    return -1;
}

// width: bytes per code point as Python stores them (1, 2 or 4).
inline ptrdiff_t put_utf8(ByteBuffer& out, const void* units, size_t n, int width) noexcept {
    if (width == 1) return put_utf8(out, static_cast<const uint8_t*>(units), n);
    if (width == 2) return put_utf8(out, static_cast<const uint16_t*>(units), n);
    return put_utf8(out, static_cast<const uint32_t*>(units), n);
}

// Room for the output of format_inet.
constexpr size_t kInetText = INET6_ADDRSTRLEN;

// Write the textual form of a 4 or 16 byte address; return its length, or 0 for another size.
inline size_t format_inet(const uint8_t* address, size_t n, char* text) noexcept {
    if (n == 4) {
        char* p = text;
        for (int i = 0; i < 4; ++i) {
            const unsigned v = address[i];
            if (v >= 100) *p++ = static_cast<char>('0' + v / 100);
            if (v >= 10) *p++ = static_cast<char>('0' + v / 10 % 10);
            *p++ = static_cast<char>('0' + v % 10);
            *p++ = '.';
        }
        *--p = '\0';
        return static_cast<size_t>(p - text);
    }
    if (n != 16 || !inet_ntop(AF_INET6, address, text, kInetText)) return 0;
    return std::strlen(text);
}

// Parse a textual address; return its number of bytes (4 or 16), or 0. Only the full forms: four decimal parts without
// leading zeros, which inet_aton reads as octal, or IPv6 without a zone.
inline size_t parse_inet(const char* text, uint8_t* address) noexcept {
    if (std::strchr(text, ':')) return inet_pton(AF_INET6, text, address) == 1 ? 16 : 0;
    for (const char* p = text; *p; ++p) {
        const bool begins = p == text || p[-1] == '.';
        if (begins && p[0] == '0' && p[1] >= '0' && p[1] <= '9') return 0;  // some inet_pton accept these
    }
    return inet_pton(AF_INET, text, address) == 1 ? 4 : 0;
}

// Write the decimal digits of v at p (room for 20); return the length.
inline size_t format_int(int64_t v, char* p) noexcept {
    char digits[20];
    size_t n = 0;
    uint64_t u = v < 0 ? 0 - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
    do {
        digits[n++] = static_cast<char>('0' + u % 10);
        u /= 10;
    } while (u);
    char* start = p;
    if (v < 0) *p++ = '-';
    while (n) *p++ = digits[--n];
    return static_cast<size_t>(p - start);
}

}  // namespace fastcql
