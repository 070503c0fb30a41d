// Accumulators of sums: exact for integers and decimals, and with compensated rounding for doubles.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "columns/cells.h"

namespace fastcql::columns {

// 128 bits: 2^64 numbers of 64 bits.
struct IntegerSum {
    __int128 total = 0;
    void add(int64_t value) { total += value; }
    void add(const IntegerSum& other) { total += other.total; }
};

// Two doubles, the second of which is the rounding error of the first: each addition keeps its error (Knuth's TwoSum),
// so that the result is right to the last bit unless numbers cancel each other over 30 digits.
struct FloatSum {
    double total = 0, lost = 0;
    void add(double value) {
        const double sum = total + value;
        const double part = sum - total;
        lost += (total - (sum - part)) + (value - part);
        total = sum;
    }
    void add(const FloatSum& other) {
        add(other.total);
        lost += other.lost;
    }
    double result() const { return std::isfinite(total) && std::isfinite(lost) ? total + lost : total; }
};

// 320 bits: 2^64 numbers of 256.
struct WideSum {
    std::array<uint64_t, 5> limbs{};
    void add(const Wide& value) {
        add(value.limbs.data(), 4, static_cast<int64_t>(value.limbs[3]) < 0 ? ~uint64_t{0} : 0);
    }
    void add(const WideSum& other) { add(other.limbs.data(), 5, 0); }

private:
    void add(const uint64_t* other, size_t size, uint64_t sign) {
        uint64_t carry = 0;
        for (size_t i = 0; i < limbs.size(); ++i) {
            const auto sum = static_cast<unsigned __int128>(limbs[i]) + (i < size ? other[i] : sign) + carry;
            limbs[i] = static_cast<uint64_t>(sum);
            carry = static_cast<uint64_t>(sum >> 64);
        }
    }
};

template <class V>
struct SumOf;
template <>
struct SumOf<int64_t> {
    using type = IntegerSum;
};
template <>
struct SumOf<double> {
    using type = FloatSum;
};
template <>
struct SumOf<Wide> {
    using type = WideSum;
};

}  // namespace fastcql::columns
