// The pool's arenas, see frames.h: each has its own slabs and a small cache of blocks in front of them.
//
// A returned block counts as free at once, in the thread that dropped it. The memory of a slab block goes to the
// arena's lock-free return list and is reused when the owner collects; ranges and plain memory go back directly.
//
// Fork: the child does not have the arena's thread. Its arenas are forsaken there: their memory stays unchanged, so
// that frames can still be read, but no owner remains.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/frames.h"
#include "memory/pool.h"

namespace fastcql::memory {

class PoolArena final : public FrameArena {
public:
    explicit PoolArena(Pool& pool);
    PoolArena(const PoolArena&) = delete;
    PoolArena& operator=(const PoolArena&) = delete;

    FrameBlock* allocate(size_t size, AtLimit limit) override;
    FrameBlock* begin(size_t size, AtLimit limit) override;
    FrameBlock* grow(FrameBlock* block, size_t used, size_t size) override;
    void collect() override;
    void close() override;
    Usage usage() const override;
    bool would_fit(size_t size) const override;
    bool may_fit(size_t size) const override;
    void wait_for(size_t size, Listener& waiter) override;
    void stop_waiting() override;

    // In the child of a fork, before any other code runs there.
    void disown();

    PoolArena* next = nullptr;  // the pool's list, guarded by its lock

    // The pool's list of waiting arenas, guarded by its other lock.
    PoolArena* next_waiting = nullptr;
    Listener* waiter = nullptr;
    size_t wanted = 0;

private:
    // Blocks (plus one for the open arena) and bytes in use, in one word: one atomic operation per block.
    static constexpr int kCountShift = 38;
    static constexpr int64_t kOne = int64_t{1} << kCountShift;
    // Upper bound of freed blocks kept in front of the slabs, in bytes.
    static constexpr size_t kMaxCached = size_t{512} << 10;

    ~PoolArena();
    void take_back(FrameBlock* block) override;
    FrameBlock* from_slab(size_t bytes, bool force);
    FrameBlock* from_range(size_t bytes, bool force);
    FrameBlock* begin_range(size_t bytes);
    FrameBlock* in_range(Range* range);
    FrameBlock* made(FrameBlock* block, size_t size);
    bool grow_range(FrameBlock* block, size_t bytes);
    FrameBlock* plain(size_t bytes);
    bool charge(size_t bytes, bool force);
    size_t cost(size_t size) const;
    void cache_or_free(FrameBlock* block);
    void trim();
    void leave(int64_t amount);

    Pool& pool_;  // holds a reference
    SlabHeap heap_;
    const size_t max_cached_;
    size_t cached_bytes_ = 0;
    FrameBlock* cache_[kClasses] = {};
    std::atomic<FrameBlock*> returned_{nullptr};
    std::atomic<int64_t> live_{kOne};
    std::atomic<bool> open_{true};
    uint32_t trims_seen_ = 0;
    bool disowned_ = false;
};

}  // namespace fastcql::memory
