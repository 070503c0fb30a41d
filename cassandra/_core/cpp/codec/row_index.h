// Index of undecoded rows by the texts of one or two of their columns, such as keyspace and table.
//
// Rows stay in their pages, which the caller keeps; a run of consecutive rows with equal keys has one entry. Written by
// one thread until seal(), then immutable: any thread may read it. add() checks all lengths; later reads of keys rely on
// that. Methods that grow a vector throw std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/murmur3.h"

namespace fastcql {

class RowIndex {
public:
    static constexpr uint32_t kNone = UINT32_MAX;

    struct Text {
        const uint8_t* p = nullptr;
        int32_t size = -1;  // -1: null
        bool operator==(const Text& other) const noexcept {
            return size == other.size && (size <= 0 || std::memcmp(p, other.p, static_cast<size_t>(size)) == 0);
        }
    };

    struct Run {
        uint32_t page, offset, row, count;
        uint32_t next = kNone;  // run with the same hash, in the order of the rows
    };

    // Begins an index of rows of *columns* columns by the columns *first* and *second*, which may be the same.
    void begin(size_t columns, size_t first, size_t second) noexcept {
        columns_ = columns;
        first_ = first;
        second_ = second;
    }

    // Adds a page of *count* rows of at most 4 GiB. Returns the number of complete rows: fewer if the page is malformed.
    // Rows with a null in their key are left out.
    size_t add(const uint8_t* p, const uint8_t* end, size_t count) {
        const uint8_t* const base = p;
        const auto page = static_cast<uint32_t>(pages_.size());
        pages_.push_back(base);
        Text first, second;
        bool open = false;
        for (size_t row = 0; row < count; ++row) {
            const uint8_t* const begin = p;
            Text new_first, new_second;
            for (size_t column = 0; column < columns_; ++column) {
                if (end - p < 4) return row;
                const auto size = static_cast<int32_t>(load32(p));
                p += 4;
                if (size > end - p) return row;
                if (column == first_) new_first = {p, size < 0 ? -1 : size};
                if (column == second_) new_second = {p, size < 0 ? -1 : size};
                if (size > 0) p += size;
            }
            if (new_first.size < 0 || new_second.size < 0) {
                open = false;
                continue;
            }
            if (open && new_second == second && new_first == first) {
                ++runs_.back().count;
                continue;
            }
            const auto run = static_cast<uint32_t>(runs_.size());
            if (groups_.empty() || !(new_first == first_of(groups_.back().first))) groups_.push_back({run, run});
            runs_.push_back({page, static_cast<uint32_t>(begin - base), static_cast<uint32_t>(row), 1});
            groups_.back().last = run + 1;
            first = new_first;
            second = new_second;
            open = true;
        }
        return count;
    }

    // Ends the writing.
    void seal() {
        runs_.shrink_to_fit();
        groups_.shrink_to_fit();
        slots_of(runs_.size(), run_slots_);
        for (size_t i = runs_.size(); i-- > 0;) {
            uint32_t& slot = run_slots_[hash(first_of(i), second_of(i)) & (run_slots_.size() - 1)];
            runs_[i].next = slot;
            slot = static_cast<uint32_t>(i);
        }
        slots_of(groups_.size(), group_slots_);
        for (size_t i = groups_.size(); i-- > 0;) {
            uint32_t& slot = group_slots_[hash(first_of(groups_[i].first), {}) & (group_slots_.size() - 1)];
            groups_[i].next = slot;
            slot = static_cast<uint32_t>(i);
        }
    }

    // The first run of this key at or behind *from*, a run found before (kNone: the first one of all); or kNone.
    uint32_t find(const Text& first, const Text& second, uint32_t from = kNone) const noexcept {
        uint32_t i = from != kNone ? runs_[from].next : run_slots_[hash(first, second) & (run_slots_.size() - 1)];
        while (i != kNone && !(second_of(i) == second && first_of(i) == first)) i = runs_[i].next;
        return i;
    }

    // Likewise a group: runs *first* to *last* have the same first text.
    uint32_t find_group(const Text& first, uint32_t from = kNone) const noexcept {
        uint32_t i = from != kNone ? groups_[from].next : group_slots_[hash(first, {}) & (group_slots_.size() - 1)];
        while (i != kNone && !(first_of(groups_[i].first) == first)) i = groups_[i].next;
        return i;
    }

    uint32_t group_first(uint32_t group) const noexcept { return groups_[group].first; }
    uint32_t group_last(uint32_t group) const noexcept { return groups_[group].last; }
    const Run& run(uint32_t i) const noexcept { return runs_[i]; }
    Text second_of(size_t run) const noexcept { return text_of(run, second_); }

private:
    struct Group {
        uint32_t first, last;
        uint32_t next = kNone;
    };

    static void slots_of(size_t entries, std::vector<uint32_t>& slots) {
        size_t size = 1;
        while (size < entries * 2) size *= 2;
        slots.assign(size, kNone);
    }

    static uint64_t hash(const Text& first, const Text& second) noexcept {
        const auto of = [](const Text& text) {
            return text.size > 0 ? static_cast<uint64_t>(murmur3_token(text.p, static_cast<size_t>(text.size))) : 0;
        };
        return of(first) * 31 + of(second);
    }

    Text first_of(size_t run) const noexcept { return text_of(run, first_); }

    Text text_of(size_t run, size_t column) const noexcept {
        const uint8_t* p = pages_[runs_[run].page] + runs_[run].offset;
        for (size_t i = 0;; ++i) {
            const auto size = static_cast<int32_t>(load32(p));
            p += 4;
            if (i == column) return {p, size};
            if (size > 0) p += size;
        }
    }

    size_t columns_ = 0, first_ = 0, second_ = 0;
    std::vector<const uint8_t*> pages_;
    std::vector<Run> runs_;
    std::vector<Group> groups_;
    std::vector<uint32_t> run_slots_, group_slots_;
};

}  // namespace fastcql
