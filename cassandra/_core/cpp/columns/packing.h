// Results of a test, row by row, packed into bits: eight at a time by one multiplication, so that the test is a loop
// without branches.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace fastcql::columns {

inline uint64_t pack64(const uint8_t* bytes) {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= (load_little64(bytes + i * 8) * 0x0102040810204080ULL >> 56) << (i * 8);
    return word;
}

template <class Hit>
void pack_rows(int64_t rows, uint64_t* out, Hit&& hit) {
    alignas(64) uint8_t bytes[64];
    int64_t at = 0;
    for (; at + 64 <= rows; at += 64) {
        for (int i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(hit(at + i));
        *out++ = pack64(bytes);
    }
    if (at < rows) {
        uint64_t word = 0;
        for (int64_t i = at; i < rows; ++i) word |= uint64_t{hit(i) != 0} << (i - at);
        *out = word;
    }
}

}  // namespace fastcql::columns
