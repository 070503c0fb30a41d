// Buffers above 1 MiB: each has its own address range, reserved with room to grow in place. Unused ranges keep their
// pages up to the budget's retention. One owner at a time, as a SlabHeap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/entries.h"

namespace fastcql::memory {

struct Range {
    uint8_t* data;
    size_t reserved;   // address space
    size_t committed;  // bytes with pages behind them, counted as held
    Range* next;
};

class Ranges {
public:
    explicit Ranges(Budget& budget) : budget_(budget) {}
    Ranges(const Ranges&) = delete;
    Ranges& operator=(const Ranges&) = delete;
    ~Ranges() { trim(); }

    static size_t capacity(size_t size);
    // At least capacity(size) bytes, and a quarter or *extra* more at most; null when memory is exhausted.
    Range* take(size_t size, size_t extra);
    // As take() of a range that has the pages already; null if there is none.
    Range* take_idle(size_t size);
    // capacity(*first*) bytes, with address space for *size*; null if that is exhausted.
    Range* begin(size_t size, size_t first);
    // A range that has the pages for *size* bytes already, and is not much too large for a buffer that grows; at most
    // *extra* more. Null if there is none: copying the written bytes costs less than pages from the system.
    Range* take_committed(size_t size, size_t extra);
    void give(Range* range);
    // Makes *range* at least *size* bytes in place, or, if *may_move*, at another address to which the system moves its
    // pages. Otherwise false: *range* is unchanged.
    bool grow(Range* range, size_t size, bool may_move);
    // Returns idle ranges to the system; gives their bytes.
    size_t trim();

private:
    Range* idle_fit(size_t bytes, size_t most);
    Range* create(size_t bytes);
    bool commit(Range* range, size_t bytes);
    bool move(Range* range, size_t bytes);
    void destroy(Range* range);

    Budget& budget_;
    Range* idle_ = nullptr;
};

}  // namespace fastcql::memory
