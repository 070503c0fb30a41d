// Parsing of text: UTF-8 validation, UUIDs, addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "codec/text.h"

namespace fastcql::ingest {

// As Java and Python accept it: no surrogates, no overlong encodings.
inline bool is_utf8(const uint8_t* p, size_t n) {
    const uint8_t* const end = p + n;
    const auto follows = [&p, end](int count) {
        if (end - p <= count) return false;
        for (int i = 1; i <= count; ++i) {
            if ((p[i] & 0xc0) != 0x80) return false;
        }
        return true;
    };
    while (p < end) {
        const uint8_t c = *p;
        if (c < 0x80) {
            ++p;
        } else if (c < 0xc2) {
            return false;
        } else if (c < 0xe0) {
            if (!follows(1)) return false;
            p += 2;
        } else if (c < 0xf0) {
            if (!follows(2) || (c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] >= 0xa0)) return false;
            p += 3;
        } else {
            if (c > 0xf4 || !follows(3) || (c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] >= 0x90)) return false;
            p += 4;
        }
    }
    return true;
}

// 32 hexadecimal digits, with hyphens at the usual positions or without.
inline bool parse_uuid(const uint8_t* p, size_t n, uint8_t* out) {
    if (n != 32 && n != 36) return false;
    const bool hyphens = n == 36;
    for (int i = 0; i < 16; ++i) {
        if (hyphens && (i == 4 || i == 6 || i == 8 || i == 10) && *p++ != '-') return false;
        int value = 0;
        for (int k = 0; k < 2; ++k, ++p) {
            const int lower = *p | 0x20;
            const int digit = *p >= '0' && *p <= '9' ? *p - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
            if (digit < 0) return false;
            value = value << 4 | digit;
        }
        out[i] = static_cast<uint8_t>(value);
    }
    return true;
}

// Returns 4 or 16, the number of bytes; 0 if it is not an address.
inline size_t parse_address(const uint8_t* p, size_t n, uint8_t* out) {
    char text[64];
    if (n == 0 || n >= sizeof text || std::memchr(p, 0, n)) return 0;
    std::memcpy(text, p, n);
    text[n] = '\0';
    return parse_inet(text, out);
}

}  // namespace fastcql::ingest
