// Encoding of values of checked arrays as wire bytes.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "ingest/input.h"

namespace fastcql::ingest {

inline constexpr uint32_t kNull = 0xffffffff, kUnset = 0xfffffffe;

// The reason why a value cannot be written; empty when memory ran out.
struct EncodeFailure {
    std::string text;

    bool no(const std::string& why) {
        text = why;
        return false;
    }
    // Adds the position of the error, from the inner to the outer one.
    bool in(const std::string& place) {
        if (!text.empty()) text = place + ": " + text;
        return false;
    }
};

// An integer of any width; *too_large*: it needs 64 bits without a sign.
int64_t integer_at(const Input& input, int64_t i, bool& too_large);
double floating_at(const Input& input, int64_t i);
// Reads the words of a decimal's two's complement, least significant first; returns their number.
size_t words_at(const Input& input, int64_t i, uint64_t (&words)[4]);

// The i-th value for messages, except text and bytes.
std::string shown(const Input& input, int64_t i);
// Text in quotes; of long text only the beginning.
std::string shown_text(const uint8_t* p, size_t n);

// Appends to *out*. After a failure *out* may end with part of a value, which the caller removes.
class Encoder {
public:
    Encoder(ByteBuffer& out, EncodeFailure& failure) : out_(out), failure_(failure) {}

    // [bytes] of the i-th value; *null* is the length written for null.
    bool cell(const Input& input, int64_t i, uint32_t null);

private:
    bool value(const Input& input, int64_t i);
    bool done() const { return !out_.failed(); }
    bool no(const Input& input, int64_t i, const std::string& why) { return failure_.no(shown(input, i) + " " + why); }
    bool no(const Input& input, const uint8_t* p, size_t n, const std::string& why) {
        const bool is_text = input.conversion->source->shape == Shape::Text;
        return failure_.no((is_text ? shown_text(p, n) : "a value of " + std::to_string(n) + " bytes") + " " + why);
    }
    bool broken(const char* why) { return failure_.no(std::string("the array is broken: ") + why); }

    bool bytes_of(const Input& input, int64_t i, const uint8_t*& p, size_t& n);
    bool view_of(const Input& input, int64_t i, const uint8_t*& p, size_t& n);
    bool index_of(const Input& input, int64_t i, int64_t& out);
    static int64_t run_of(const Input& input, int64_t i);
    bool items_of(const Input& input, int64_t i, int64_t& first, int64_t& count);

    bool text(const Input& input, int64_t i);
    bool integer(const Input& input, int64_t i);
    bool whole(const Input& input, int64_t i);
    bool number_of_text(const Input& input, int64_t i);
    bool floating(const Input& input, int64_t i);
    bool uuid(const Input& input, int64_t i);
    bool inet(const Input& input, int64_t i);
    bool timestamp(const Input& input, int64_t i);
    bool date(const Input& input, int64_t i);
    bool time(const Input& input, int64_t i);
    bool moment_of_text(const Input& input, int64_t i);
    bool duration(const Input& input, int64_t i);
    bool number(const Input& input, int64_t i);

    bool list(const Input& input, int64_t i);
    bool map(const Input& input, int64_t i);
    bool field_map(const Input& input, int64_t i);
    bool list_fields(const Input& input, int64_t i);
    bool fields(const Input& input, int64_t i);
    bool vector(const Input& input, int64_t i);
    bool packed(const Input& items, int64_t first, int64_t count);
    bool element(const Input& input, int64_t i, bool with_length);

    ByteBuffer& out_;
    EncodeFailure& failure_;
};

// ---- integers of any length, and decimals, from digits and from Arrow's words, in the wire form of varint and decimal

// Longer texts are refused: reading them takes quadratic time. All texts made of columns are shorter: numbers of
// columns::kMaxTextBytes bytes have 19,729 digits, besides sign, point and exponent.
inline constexpr size_t kMaxDigits = 19760;

// Appends a two's complement of *count* words, least significant first, in the minimal number of bytes.
void put_words(ByteBuffer& out, const uint64_t* words, size_t count);
// Appends the same number times 10^-scale; false, and nothing appended, if that is not an integer.
bool put_scaled_words(ByteBuffer& out, const uint64_t* words, size_t count, int32_t scale);

// Appends the bytes of the integer in the text; false, and nothing appended, if it is not an integer.
bool put_varint_text(ByteBuffer& out, const uint8_t* p, size_t n);
// The same for a decimal as Python's Decimal reads it: digits, a point, an exponent; all digits are kept.
bool put_decimal_text(ByteBuffer& out, const uint8_t* p, size_t n);
// Appends the bytes of a finite number without a fraction.
void put_whole(ByteBuffer& out, double v);

}  // namespace fastcql::ingest
