#include "ingest/integers.h"

#include <algorithm>
#include <vector>

namespace fastcql::ingest {

namespace {

using Wide = unsigned __int128;
using Words = std::vector<uint64_t>;

uint64_t power_of_ten(size_t n) {  // 0 to 19
    uint64_t result = 1;
    while (n-- > 0) result *= 10;
    return result;
}

void multiply_add(Words& words, uint64_t by, uint64_t plus) {
    Wide carry = plus;
    for (uint64_t& word : words) {
        carry += static_cast<Wide>(word) * by;
        word = static_cast<uint64_t>(carry);
        carry >>= 64;
    }
    if (carry) words.push_back(static_cast<uint64_t>(carry));
}

// Divides in place; returns the remainder.
uint64_t divide(Words& words, uint64_t by) {
    Wide rest = 0;
    for (size_t i = words.size(); i-- > 0;) {
        const Wide part = rest << 64 | words[i];
        words[i] = static_cast<uint64_t>(part / by);
        rest = part % by;
    }
    return static_cast<uint64_t>(rest);
}

void negate(Words& words) {
    uint64_t carry = 1;
    for (uint64_t& word : words) {
        word = ~word + carry;
        carry = carry && word == 0;
    }
}

// Appends a magnitude as two's complement.
void put_magnitude(ByteBuffer& out, Words& words, bool negative) {
    words.push_back(0);
    if (negative) negate(words);
    put_words(out, words.data(), words.size());
}

bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

// Collects digits of consecutive parts, most significant first, into a magnitude.
class Digits {
public:
    // Takes the leading digits of [p, p + n); returns their number.
    size_t take(const uint8_t* p, size_t n) {
        size_t count = 0;
        for (; count < n && is_digit(p[count]); ++count) {
            if (held_ == 19) flush();
            part_ = part_ * 10 + (p[count] - '0');
            ++held_;
        }
        return count;
    }
    Words& words() {
        flush();
        return words_;
    }

private:
    void flush() {
        if (part_ || !words_.empty()) multiply_add(words_, power_of_ten(held_), part_);
        part_ = 0;
        held_ = 0;
    }

    Words words_;
    uint64_t part_ = 0;
    size_t held_ = 0;
};

bool take_sign(const uint8_t*& p, size_t& n) {
    if (n == 0 || (*p != '-' && *p != '+')) return false;
    --n;
    return *p++ == '-';
}

// Reads [p, p + n), the text behind the E; false if it is not a number in the range of a scale.
bool read_exponent(const uint8_t* p, size_t n, int64_t& out) {
    const bool negative = take_sign(p, n);
    if (n == 0) return false;
    out = 0;
    for (size_t i = 0; i < n; ++i) {
        if (!is_digit(p[i]) || out > INT32_MAX) return false;
        out = out * 10 + (p[i] - '0');
    }
    if (negative) out = -out;
    return true;
}

}  // namespace

void put_words(ByteBuffer& out, const uint64_t* words, size_t count) {
    const uint64_t filler = words[count - 1] >> 63 ? ~uint64_t{0} : 0;
    while (count > 1 && words[count - 1] == filler && words[count - 2] >> 63 == filler >> 63) --count;
    uint8_t first[8];
    store64(first, words[count - 1]);
    size_t skip = 0;
    const auto byte = static_cast<uint8_t>(filler);
    while (skip < 7 && first[skip] == byte && (first[skip + 1] & 0x80) == (byte & 0x80)) ++skip;
    uint8_t* p = out.extend(count * 8 - skip);
    if (!p) return;
    std::memcpy(p, first + skip, 8 - skip);
    p += 8 - skip;
    for (size_t i = count - 1; i-- > 0; p += 8) store64(p, words[i]);
}

bool put_scaled_words(ByteBuffer& out, const uint64_t* words, size_t count, int32_t scale) {
    Words magnitude(words, words + count);
    const bool negative = magnitude.back() >> 63;
    if (negative) negate(magnitude);
    for (auto left = static_cast<size_t>(std::max(scale, 0)); left > 0;) {
        const size_t part = std::min<size_t>(left, 19);
        if (divide(magnitude, power_of_ten(part))) return false;
        left -= part;
    }
    for (auto left = static_cast<size_t>(std::max(-scale, 0)); left > 0;) {
        const size_t part = std::min<size_t>(left, 19);
        multiply_add(magnitude, power_of_ten(part), 0);
        left -= part;
    }
    put_magnitude(out, magnitude, negative);
    return true;
}

bool put_varint_text(ByteBuffer& out, const uint8_t* p, size_t n) {
    const bool negative = take_sign(p, n);
    if (n == 0 || n > kMaxDigits) return false;
    Digits digits;
    if (digits.take(p, n) != n) return false;
    put_magnitude(out, digits.words(), negative);
    return true;
}

bool put_decimal_text(ByteBuffer& out, const uint8_t* p, size_t n) {
    const bool negative = take_sign(p, n);
    if (n > kMaxDigits) return false;
    Digits digits;
    const size_t whole = digits.take(p, n);
    p += whole;
    n -= whole;
    size_t fraction = 0;
    if (n > 0 && *p == '.') {
        fraction = digits.take(p + 1, n - 1);
        p += fraction + 1;
        n -= fraction + 1;
    }
    if (whole + fraction == 0) return false;
    int64_t exponent = 0;
    if (n > 0) {
        if ((*p | 0x20) != 'e' || !read_exponent(p + 1, n - 1, exponent)) return false;
    }
    const int64_t scale = static_cast<int64_t>(fraction) - exponent;
    if (scale < INT32_MIN || scale > INT32_MAX) return false;
    out.put32(static_cast<uint32_t>(static_cast<int32_t>(scale)));
    put_magnitude(out, digits.words(), negative);
    return true;
}

}  // namespace fastcql::ingest
