// Integers of any length, as in varint and decimal: to digits, and to decimals of a fixed scale.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastcql::columns {

// Longer numbers have no text: conversion to digits takes quadratic time.
inline constexpr size_t kMaxTextBytes = 8192;
// Digits, sign, point and exponent of the text of n bytes.
inline constexpr size_t text_room(size_t n) { return n * 5 / 2 + 40; }

// Writes the digits of a big-endian two's complement of 1 to kMaxTextBytes bytes, with a sign; returns their number.
// Null memory: 0.
size_t varint_text(const uint8_t* p, size_t n, char* out);
// The same for unscaled * 10^-scale, spelled as Python and Java do.
size_t decimal_text(const uint8_t* p, size_t n, int32_t scale, char* out);

enum class Fit : uint8_t { Yes, TooLarge, Inexact };

// unscaled * 10^-scale as a little-endian integer of *width* bytes (16 or 32) in units of 10^-to, of *precision*
// digits.
Fit to_decimal(const uint8_t* p, size_t n, int32_t scale, int32_t precision, int32_t to, size_t width, uint8_t* out);

// Converts to 64 bits; false if it does not fit.
bool to_int64(const uint8_t* p, size_t n, int64_t* out);

}  // namespace fastcql::columns
