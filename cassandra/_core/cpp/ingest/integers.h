// Integers of any length, and decimals, from digits and from Arrow's words, in the wire form of varint and decimal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace fastcql::ingest {

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

}  // namespace fastcql::ingest
