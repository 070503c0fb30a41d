// Groups: rows by the values of some columns, and measures of each group. Without keys all rows are one group.
//
// The result of the rows of a range is one such object; it has one owner at a time. Its memory is not the pool's, as it
// outlives sessions; other processes receive it as bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "columns/measure.h"
#include "columns/plain.h"
#include "columns/words.h"

namespace fastcql::columns {

struct Key {
    int32_t column;
    Form form;
};

struct Wanted {
    Aggregate aggregate;
    int32_t column;  // -1: rows
    Form form;
};

class Groups {
public:
    // False if a measure is not supported.
    bool make(std::vector<Key> keys, const std::vector<Wanted>& wanted);

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

}  // namespace fastcql::columns
