// Groups: rows by the values of some columns, and measures of each group. Without keys all rows are one group.
//
// What rows of a range come to is one of these; it has one owner at a time. Memory is the process's own, as it outlives
// sessions, and goes over to other processes as bytes.
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
    // False when a measure cannot be.
    bool make(std::vector<Key> keys, const std::vector<Wanted>& wanted);

    size_t size() const noexcept { return keys_.empty() ? 1 : static_cast<size_t>(table_.count); }
    // The rows of a mask, or all. What was added before stays when there is no memory; these may be there in part then.
    bool add(const Slice& slice, const Mask* mask);
    bool merge(const Groups& other);
    Result result(size_t group, size_t measure) const { return measures_[measure]->result(group); }
    // Value *key* of a group; without it, null.
    Result key(size_t group, size_t key) const;

    void save(std::string& out) const;
    bool load(const uint8_t* p, size_t size);

    // Of the rows that were added last, in their order; null without keys.
    const uint32_t* last_groups() const noexcept { return keys_.empty() ? nullptr : groups_.data(); }

private:
    bool find(const Slice& slice, const Mask* mask);
    bool is_key(const uint8_t* p, const uint8_t* end) const;
    void write_key(const Batch& batch, int64_t row, std::string& out) const;
    void grow();

    std::vector<Key> keys_;
    std::vector<std::unique_ptr<Measure>> measures_;
    Memory memory_{&PlainBlocks::instance()};
    columns::Words table_;  // keys as bytes, in the order they came
    std::vector<uint32_t> groups_;
};

}  // namespace fastcql::columns
