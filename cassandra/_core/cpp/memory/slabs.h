// Slabs: pages cut into blocks of one size class. A SlabHeap has one owner at a time (the pool under its lock, or the
// thread of an arena); nothing in it is atomic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/entries.h"

namespace fastcql::memory {

struct Slab {
    uint8_t* memory;
    size_t bytes;
    size_t block_bytes;
    uint32_t size_class;
    uint32_t blocks;
    uint32_t used;
    uint32_t fresh;      // blocks from here on were never used
    uint32_t free_head;  // first of the freed blocks, each of which begins with the index of the next
    uint32_t* owners;    // owner per block, for compaction; null unless requested
    Slab* previous;
    Slab* next;

    uint8_t* block(uint32_t index) const { return memory + size_t{index} * block_bytes; }
};

struct SlabBlock {
    uint8_t* data = nullptr;
    Slab* slab = nullptr;
    uint32_t block = 0;
};

class SlabList {
public:
    Slab* first() const { return first_; }
    void push(Slab* slab);
    void remove(Slab* slab);

private:
    Slab* first_ = nullptr;
};

class SlabHeap {
public:
    // *owned*: remember an owner per block. *alignment*: a power of two from 64 to 4096.
    SlabHeap(Budget& budget, size_t alignment, bool owned) : budget_(budget), alignment_(alignment), owned_(owned) {}
    SlabHeap(const SlabHeap&) = delete;
    SlabHeap& operator=(const SlabHeap&) = delete;
    ~SlabHeap();  // returns all memory, also blocks that are in use

    // Bytes that a block of at least *size* takes.
    size_t capacity(size_t size) const { return class_for(size).capacity; }
    SizeClass class_for(size_t size) const {
        const SizeClass found = class_of(rounded_up(size, alignment_));
        return {found.index, rounded_up(found.capacity, alignment_)};
    }
    // 1 <= size <= kMaxPooled; no data when memory is exhausted.
    SlabBlock allocate(size_t size);
    void free(Slab* slab, uint32_t block);
    // Returns empty slabs to the system; gives their bytes.
    size_t trim();

    // Leaves all memory unchanged and stops counting it.
    void disown();

    // The slab of *size_class* with the fewest blocks in use; null if the other slabs do not have room for all of
    // these.
    Slab* sparsest(uint32_t size_class) const;
    // A block of the same class in the fullest slab except *source*.
    SlabBlock allocate_beside(Slab* source);

private:
    static constexpr int kSmallest = 16;  // slabs have 64 KiB ...
    static constexpr int kLargest = 22;   // ... to 4 MiB

    static int slab_shift(size_t block_bytes);
    Slab* fresh_slab(uint32_t size_class, size_t block_bytes);
    Slab* acquire(int shift);
    void format(Slab* slab, uint32_t size_class, size_t block_bytes);
    SlabBlock take(Slab* slab);
    void destroy(Slab** slabs, size_t count);

    Budget& budget_;
    const size_t alignment_;
    const bool owned_;
    SlabList partial_[kClasses];
    SlabList full_[kClasses];
    SlabList empty_[kLargest - kSmallest + 1];
    int slabs_ = 0;
    size_t held_ = 0;
    size_t idle_ = 0;
};

// Pages from the system, zeroed; null if there are none.

}  // namespace fastcql::memory
