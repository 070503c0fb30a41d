// Frame blocks: what a connection receives into, counted references in front of the bytes.
//
// An arena belongs to one thread, which allocates without a lock. The last reference to a block may be dropped by any
// thread: the block goes to the arena's lock-free return list and is collected by the owner. A closed arena lives until
// its last block is back; that one deletes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/pool.h"

namespace fastcql::memory {

struct alignas(64) FrameBlock {
    std::atomic<uint32_t> refs;
    uint32_t block;   // in the slab
    Slab* slab;       // where it is from: a slab,
    Range* range;     // a range,
    size_t capacity;  // or, without both, plain memory beyond the pool's limit
    FrameArena* arena;
    FrameBlock* next;

    uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
    bool shared() const { return refs.load(std::memory_order_acquire) != 1; }
    void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
    void release();
};
static_assert(sizeof(FrameBlock) == 64, "the payload is aligned like the header");

class FrameArena {
public:
    explicit FrameArena(Pool& pool);
    FrameArena(const FrameArena&) = delete;
    FrameArena& operator=(const FrameArena&) = delete;

    // Owner thread. With one reference. Beyond the pool's limit: plain memory, counted as overflow, or, in a strict pool,
    // null: the caller stops reading until memory came back. Null also when the system has no more.
    FrameBlock* allocate(size_t size);
    // Owner thread, once per turn: takes back what others dropped.
    void collect();
    // Owner thread: the last call.
    void close();

    int64_t live_blocks() const { return live_.load(std::memory_order_relaxed) - 1; }

private:
    friend struct FrameBlock;

    ~FrameArena();
    void* memory_for(size_t bytes, FrameBlock& header);
    void* overflow(size_t bytes, FrameBlock& header);
    void take_back(FrameBlock* block);
    void free(FrameBlock* block);
    void leave();

    Pool& pool_;  // holds a reference
    SlabHeap heap_;
    std::atomic<FrameBlock*> returned_{nullptr};
    std::atomic<int64_t> live_{1};  // blocks, plus one while it is open
    uint32_t trims_seen_ = 0;
};

}  // namespace fastcql::memory
