// Arithmetic on sizes of memory. A result that does not fit is SIZE_MAX, which no allocator grants: products and sums
// of external numbers become a failed allocation, never a small one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastcql {

inline constexpr size_t times(size_t a, size_t b) {
    size_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

inline constexpr size_t plus(size_t a, size_t b) {
    size_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

// The next multiple of *step*, a power of two.
inline constexpr size_t rounded_up(size_t size, size_t step) {
    const size_t up = plus(size, step - 1);
    return up == SIZE_MAX ? SIZE_MAX : up & ~(step - 1);
}

}  // namespace fastcql
