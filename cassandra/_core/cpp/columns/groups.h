// Groups of rows by the values of some columns, and their measures: aggregates of columns, with exact sums.
//
// A measure is one aggregate of one column, for each group. Owned by its Groups.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "columns/buffer.h"
#include "columns/cells.h"
#include "columns/column.h"
#include "columns/mask.h"

namespace fastcql::columns {

enum class Aggregate : uint8_t { Count, Sum, Min, Max };

// The result of a measure for a group, by the type of its values.
struct Result {
    enum class What : uint8_t { None, Integer, Float, Text } what = What::None;
    double number = 0;
    std::string text;  // of an Integer: its bytes, little-endian and signed; UUIDs are Text
};

// Rows of a slice that a mask selects, or all; and their groups in the same order, or null if there is only one.
struct Rows {
    Slice slice;
    const Mask* mask;
    const uint32_t* groups;
};

class Measure {
public:
    virtual ~Measure() = default;
    virtual void grow(size_t groups) = 0;
    virtual void add(const Rows& rows) = 0;
    // Adds the results of *other*, of the same kind: its group i is *groups*[i] here.
    virtual void merge(const Measure& other, const uint32_t* groups, size_t count) = 0;
    virtual Result result(size_t group) const = 0;
    // Serialises to bytes, and back; false for invalid bytes.
    virtual void save(std::string& out) const = 0;
    virtual bool load(const uint8_t*& p, const uint8_t* end, size_t groups) = 0;
};

// Null if the aggregate does not support such values. A column of -1 counts rows.
std::unique_ptr<Measure> make_measure(Aggregate aggregate, int32_t column, Form form);

// ---- groups
//
// Rows by the values of some columns, and measures of each group. Without keys all rows are one group.
//
// The result of the rows of a range is one such object; it has one owner at a time. Its memory is not the pool's, as it
// outlives sessions; other processes receive it as bytes.

struct Key {
    int32_t column;
    Form form;
};

struct MeasureSpec {
    Aggregate aggregate;
    int32_t column;  // -1: rows
    Form form;
};

class Groups {
public:
    // False if a measure is not supported.
    bool make(std::vector<Key> keys, const std::vector<MeasureSpec>& wanted);

    size_t size() const noexcept { return keys_.empty() ? 1 : static_cast<size_t>(table_.count); }
    // Adds the rows of a mask, or all. False without memory: earlier rows stay, and these may be partly added.
    bool add(const Slice& slice, const Mask* mask);
    bool merge(const Groups& other);
    Result result(size_t group, size_t measure) const { return measures_[measure]->result(group); }
    // Value of key column *key* of a group; null if it has none.
    Result key(size_t group, size_t key) const;

    void save(std::string& out) const;
    bool load(const uint8_t* p, size_t size);

    // Groups of the last added rows, in their order; null without keys.
    const uint32_t* last_groups() const noexcept { return keys_.empty() ? nullptr : groups_.data(); }

private:
    bool find(const Slice& slice, const Mask* mask);
    bool is_key(const uint8_t* p, const uint8_t* end) const;
    void write_key(const Batch& batch, int64_t row, std::string& out) const;
    void grow();

    std::vector<Key> keys_;
    std::vector<std::unique_ptr<Measure>> measures_;
    Memory memory_{&PlainBlocks::instance()};
    columns::Words table_;  // keys as bytes, in order of appearance
    std::vector<uint32_t> groups_;
};

// ---- accumulators of sums: exact for integers and decimals, and with compensated rounding for doubles

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
