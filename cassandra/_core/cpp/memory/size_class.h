// Size classes: powers of two with four steps each from 64 bytes to 1 MiB, so that a block wastes at most a quarter
// (below 256 bytes, where a step would be less than the alignment, up to 63 bytes).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/sizes.h"

namespace fastcql::memory {

inline constexpr size_t kAlignment = 64;
inline constexpr size_t kMaxPooled = size_t{1} << 20;
inline constexpr uint32_t kClasses = 57;

struct SizeClass {
    uint32_t index;
    size_t capacity;
};

// Requires 1 <= size <= kMaxPooled.
inline SizeClass class_of(size_t size) {
    if (size <= kAlignment) return {0, kAlignment};
    const unsigned top = 63 - static_cast<unsigned>(__builtin_clzll(size - 1));
    const size_t step = ((size - 1) >> (top - 2)) & 3;
    return {static_cast<uint32_t>(1 + (top - 6) * 4 + step), (5 + step) << (top - 2)};
}

}  // namespace fastcql::memory
