// Big-endian numbers of the wire to machine numbers in an array.
#pragma once

#include <cstring>

#include "base/bytes.h"

namespace fastcql {

// One number of 2, 4 or 8 bytes.
inline void load_number(const uint8_t* p, size_t width, uint8_t* out) {
    if (width == 4) {
        const uint32_t v = load32(p);
        std::memcpy(out, &v, sizeof v);
    } else if (width == 8) {
        const uint64_t v = load64(p);
        std::memcpy(out, &v, sizeof v);
    } else {
        const uint16_t v = load16(p);
        std::memcpy(out, &v, sizeof v);
    }
}

// n consecutive numbers; out need not be aligned, and does not overlap p.
inline void load_numbers(const uint8_t* __restrict p, size_t n, size_t width, uint8_t* __restrict out) noexcept {
    if (width == 4) {
        for (size_t i = 0; i < n; ++i) load_number(p + 4 * i, 4, out + 4 * i);
    } else if (width == 8) {
        for (size_t i = 0; i < n; ++i) load_number(p + 8 * i, 8, out + 8 * i);
    } else {
        for (size_t i = 0; i < n; ++i) load_number(p + 2 * i, 2, out + 2 * i);
    }
}

}  // namespace fastcql
