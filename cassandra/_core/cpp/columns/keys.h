// Clustering columns of a batch's rows as bytes that compare as the server orders them.
//
// Every type has its own code: keys compare like their unsigned bytes, and no code is a prefix of another. The codes of
// several columns are concatenated; those of a descending column are inverted. The first eight bytes, the *head*,
// nearly always decide; the *rest* is compared if two heads are equal.
//
// Null is the smallest key of its type: partitions with only static values give one such row, and values of zero bytes,
// which old tables may have, come first on servers too.
//
// Made once for a batch, and then read by merges.
#pragma once

#include <cstdint>
#include <vector>

#include "columns/batch.h"

namespace fastcql::columns {

struct OrderColumn {
    int32_t column;
    bool descends;
};

// True if values of that type can be put in the server's order.
bool has_order(const Type& type) noexcept;

class Keys {
public:
    // Makes the keys of *count* rows of a finished batch, from *first* on. Throws std::bad_alloc.
    void fill(const Batch& batch, const std::vector<OrderColumn>& order, int64_t first, int64_t count);

    int64_t count() const { return static_cast<int64_t>(heads_.size()); }
    const uint64_t* heads() const { return heads_.data(); }
    bool has_rest() const { return has_rest_; }
    // Compares two keys whose heads are equal: negative, zero or positive.
    static int compare_rest(const Keys& a, int64_t i, const Keys& b, int64_t j);
    static int compare(const Keys& a, int64_t i, const Keys& b, int64_t j) {
        if (a.heads_[i] != b.heads_[j]) return a.heads_[i] < b.heads_[j] ? -1 : 1;
        return a.has_rest_ ? compare_rest(a, i, b, j) : 0;
    }
    // The first row that is smaller than the one before it, or -1.
    int64_t first_unordered() const;
    // Returns the last key alone.
    Keys last() const;

private:
    void fill_numbers(const Batch& batch, const OrderColumn& order, int64_t first, int64_t count);
    void fill_fixed(const Batch& batch, const std::vector<OrderColumn>& order, size_t width, int64_t first, int64_t count);
    void fill_bytes(const Batch& batch, const std::vector<OrderColumn>& order, int64_t first, int64_t count);
    void fill_heads();

    bool has_rest_ = false;
    std::vector<uint64_t> heads_;
    std::vector<uint8_t> bytes_;  // whole keys, unless a head is always sufficient
    std::vector<size_t> ends_;    // of keys in bytes_; the first one begins at 0
};

}  // namespace fastcql::columns
