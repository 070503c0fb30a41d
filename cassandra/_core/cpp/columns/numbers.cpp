#include "columns/numbers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/bytes.h"

namespace fastcql::columns {

namespace {

using DoubleWord = unsigned __int128;

constexpr uint64_t kTen19 = 10000000000000000000ULL;

uint64_t power_of_ten(int n) {  // 0 to 19
    uint64_t result = 1;
    while (n-- > 0) result *= 10;
    return result;
}

// Remove bytes that only repeat the sign.
void strip(const uint8_t*& p, size_t& n) {
    const uint8_t sign = p[0] & 0x80 ? 0xff : 0;
    while (n > 1 && p[0] == sign && (p[1] & 0x80) == (sign & 0x80)) {
        ++p;
        --n;
    }
}

// Write the magnitude as 64-bit words, least significant first; there is room for n / 8 + 1 of them. Return their
// number.
size_t magnitude(const uint8_t* p, size_t n, uint64_t* words) {
    const bool negative = p[0] & 0x80;
    const size_t count = (n + 7) / 8;
    for (size_t i = 0; i < count; ++i) {
        uint64_t word = 0;
        const size_t end = n - i * 8;
        const size_t start = end > 8 ? end - 8 : 0;
        for (size_t k = start; k < end; ++k) word = word << 8 | p[k];
        if (negative && end - start < 8) word |= ~uint64_t{0} << (8 * (end - start));
        words[i] = word;
    }
    if (negative) {
        uint64_t carry = 1;
        for (size_t i = 0; i < count; ++i) {
            words[i] = ~words[i] + carry;
            carry = carry && words[i] == 0;
        }
    }
    size_t used = count;
    while (used && words[used - 1] == 0) --used;
    return used;
}

// Divides in place; returns the remainder.
uint64_t divide(uint64_t* words, size_t& count, uint64_t by) {
    DoubleWord rest = 0;
    for (size_t i = count; i-- > 0;) {
        const DoubleWord part = rest << 64 | words[i];
        words[i] = static_cast<uint64_t>(part / by);
        rest = part % by;
    }
    while (count && words[count - 1] == 0) --count;
    return static_cast<uint64_t>(rest);
}

// Multiplies in place; false if it takes more than *room* words.
bool multiply(uint64_t* words, size_t& count, size_t room, uint64_t by) {
    DoubleWord carry = 0;
    for (size_t i = 0; i < count; ++i) {
        const DoubleWord part = static_cast<DoubleWord>(words[i]) * by + carry;
        words[i] = static_cast<uint64_t>(part);
        carry = part >> 64;
    }
    if (carry) {
        if (count == room) return false;
        words[count++] = static_cast<uint64_t>(carry);
    }
    return true;
}

// Digits of a 64-bit number, zero-padded to *width*.
char* put_digits(char* out, uint64_t v, int width) {
    char digits[20];
    int n = 0;
    do {
        digits[n++] = static_cast<char>('0' + v % 10);
        v /= 10;
    } while (v);
    for (int i = n; i < width; ++i) *out++ = '0';
    while (n) *out++ = digits[--n];
    return out;
}

// Write the digits of the magnitude, without a sign; return their number.
size_t digits_of(const uint8_t* p, size_t n, char* out) {
    std::array<uint64_t, 4> few;
    std::vector<uint64_t> many;
    uint64_t* words = few.data();
    if (n > 31) {
        many.resize(n / 8 + 1);
        words = many.data();
    }
    size_t count = magnitude(p, n, words);
    if (count <= 1) return static_cast<size_t>(put_digits(out, count ? words[0] : 0, 0) - out);
    std::vector<uint64_t> parts;  // of 19 digits, least significant first
    parts.reserve(n / 7 + 1);
    while (count) parts.push_back(divide(words, count, kTen19));
    char* end = put_digits(out, parts.back(), 0);
    for (size_t i = parts.size() - 1; i-- > 0;) end = put_digits(end, parts[i], 19);
    return static_cast<size_t>(end - out);
}

}  // namespace

size_t varint_text(const uint8_t* p, size_t n, char* out) {
    strip(p, n);
    char* at = out;
    if (p[0] & 0x80) *at++ = '-';
    return static_cast<size_t>(at - out) + digits_of(p, n, at);
}

// Plain digits if the exponent is not above zero and the number not below 1e-6; else with an exponent.
size_t decimal_text(const uint8_t* p, size_t n, int32_t scale, char* out) {
    strip(p, n);
    char* at = out;
    if (p[0] & 0x80) *at++ = '-';
    const size_t digits = digits_of(p, n, at);
    const int64_t adjusted = static_cast<int64_t>(digits) - 1 - scale;
    if (scale == 0) return static_cast<size_t>(at - out) + digits;
    if (scale > 0 && adjusted >= -6) {
        const auto fraction = static_cast<size_t>(scale);
        if (digits > fraction) {
            std::memmove(at + (digits - fraction) + 1, at + (digits - fraction), fraction);
            at[digits - fraction] = '.';
            return static_cast<size_t>(at - out) + digits + 1;
        }
        const size_t zeros = fraction - digits;  // 6 at most
        std::memmove(at + 2 + zeros, at, digits);
        std::memset(at, '0', 2 + zeros);
        at[1] = '.';
        return static_cast<size_t>(at - out) + 2 + zeros + digits;
    }
    char* end = at + digits;
    if (digits > 1) {
        std::memmove(at + 2, at + 1, digits - 1);
        at[1] = '.';
        ++end;
    }
    *end++ = 'E';
    *end++ = adjusted < 0 ? '-' : '+';
    end = put_digits(end, static_cast<uint64_t>(adjusted < 0 ? -adjusted : adjusted), 0);
    return static_cast<size_t>(end - out);
}

Fit to_decimal(const uint8_t* p, size_t n, int32_t scale, int32_t precision, int32_t to, size_t width, uint8_t* out) {
    constexpr size_t kWords = 20;
    constexpr size_t kBytes = 128;
    std::array<uint64_t, kWords> words{};
    strip(p, n);
    if (n > kBytes) return Fit::TooLarge;
    const bool negative = p[0] & 0x80;
    size_t count = magnitude(p, n, words.data());
    int64_t steps = static_cast<int64_t>(to) - scale;
    if (count == 0) steps = 0;
    if (steps > 80) return Fit::TooLarge;
    if (steps < -330) return Fit::Inexact;
    while (steps > 0) {
        const int part = static_cast<int>(std::min<int64_t>(steps, 19));
        steps -= part;
        if (!multiply(words.data(), count, kWords, power_of_ten(part))) return Fit::TooLarge;
    }
    while (steps < 0) {
        const int part = static_cast<int>(std::min<int64_t>(-steps, 19));
        steps += part;
        if (divide(words.data(), count, power_of_ten(part))) return Fit::Inexact;
    }
    // It is less than 10^precision if division by that leaves zero.
    if (count > 4) return Fit::TooLarge;
    std::array<uint64_t, 4> rest{words[0], words[1], words[2], words[3]};
    size_t left = count;
    for (int digits = precision; digits > 0; digits -= 19) divide(rest.data(), left, power_of_ten(std::min(digits, 19)));
    if (left) return Fit::TooLarge;
    uint64_t carry = negative ? 1 : 0;
    for (size_t i = 0; i < width / 8; ++i) {
        uint64_t word = words[i];
        if (negative) {
            word = ~word + carry;
            carry = carry && word == 0;
        }
        std::memcpy(out + 8 * i, &word, 8);
    }
    return Fit::Yes;
}

bool to_int64(const uint8_t* p, size_t n, int64_t* out) {
    strip(p, n);
    if (n > 8) return false;
    uint64_t v = p[0] & 0x80 ? ~uint64_t{0} : 0;
    for (size_t i = 0; i < n; ++i) v = v << 8 | p[i];
    *out = static_cast<int64_t>(v);
    return true;
}

}  // namespace fastcql::columns
