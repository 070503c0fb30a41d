// Integers of any length, and decimals, from digits and from Arrow's words: as varint and decimal have them on the wire.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace fastcql::ingest {

// Longer texts are no numbers: reading them takes time that grows with the square. All that columns are read as are
// shorter: numbers of columns::kMaxTextBytes bytes have 19,729 digits, beside them sign, point and exponent.
inline constexpr size_t kMaxDigits = 19760;

// Appends a two's complement of *count* words, least first, in as few bytes as hold it.
void put_words(ByteBuffer& out, const uint64_t* words, size_t count);
// The same number times 10^-scale; false, and nothing appended, when that is no integer.
bool put_scaled_words(ByteBuffer& out, const uint64_t* words, size_t count, int32_t scale);

// Appends the bytes of the integer that is written there; false, and nothing appended, when it is none.
bool put_varint_text(ByteBuffer& out, const uint8_t* p, size_t n);
// As Python's Decimal reads it: digits, a point, an exponent; all digits are kept.
bool put_decimal_text(ByteBuffer& out, const uint8_t* p, size_t n);

}  // namespace fastcql::ingest
