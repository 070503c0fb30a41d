// The memory pool: blocks for users, by reference, and arenas for threads that receive frames (frames.h).
//
// States of a user's block: FREE -> WRITING (begin) -> LIVE (publish) -> FREE (release), or LIVE -> RELEASED -> FREE if
// it is pinned at its release. The pool's spin lock guards these states, the handle table and the ranges. It is held
// for a few dozen instructions, or for a system call that maps pages; never over a copy of more than a few hundred
// bytes, except in compact(), which moves one block at a time. Blocks that are WRITING, pinned or latched never move.
//
// Owners of a Pool: its Python object, every existing view and buffer, every arena that is open or has frames in use.
// The last owner deletes it.
//
// Fork: the locks of all pools are taken around it, so that the child finds consistent pools. Users' blocks are
// unchanged in the child. Arenas belong to threads that the child does not have; it forsakes them and opens others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "memory/frames.h"
#include "memory/entries.h"
#include "memory/ranges.h"
#include "memory/slabs.h"

namespace fastcql::memory {

class PoolArena;

struct Stats {
    int64_t in_use, retained, peak, pinned, overflow_bytes;
    int64_t commits, reads, releases, failed, slabs, evacuated;
    int64_t frames;      // blocks of arenas
    int64_t oldest_pin;  // ns since the oldest view or large frame was given out; 0 without one
};

struct Segment {
    int64_t ref;
    size_t length, capacity;
    uint32_t pins, latches;
};

enum class Unlatched { Done, Unknown, NotLatched };

class Pool final : public FramePool, public BlockPool {
public:
    struct Options {
        size_t max_bytes;
        size_t retain_bytes;
        size_t alignment;  // a power of two from 64 to 4096
        bool strict;
    };

    // With one reference.
    explicit Pool(const Options& options);
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    const Options& options() const { return options_; }
    Budget& budget() noexcept { return budget_; }

    // ---- users' blocks; any thread

    // A block of *size* bytes in state WRITING, null if the pool or the system has no more memory.
    Entry* begin(size_t size) noexcept;
    size_t capacity(const Entry* entry) const noexcept;
    // Makes a WRITING block at least *size* bytes, keeping its first *length* ones.
    bool resize(Entry* entry, size_t size, size_t length, bool may_move) noexcept;
    // Bytes behind *length*, to the next multiple of 64, become zero. Returns the reference.
    int64_t publish(Entry* entry, size_t length) noexcept;
    void abandon(Entry* entry) noexcept;

    // Null for a reference that is not live. A pinned entry stays unchanged until unpin. *view*: the pin may be long,
    // and the statistics report its age.
    Entry* pin(int64_t ref, bool latch, bool view) noexcept;
    void unpin(Entry* entry) noexcept;
    // Copies a live block of at most *size* bytes. Returns its length, which may exceed *size*; -1 for a stale
    // reference.
    int64_t copy(int64_t ref, uint8_t* target, size_t size) noexcept;
    bool latch(int64_t ref) noexcept;
    Unlatched unlatch(int64_t ref) noexcept;
    bool drop(int64_t ref) noexcept;
    void count_failure();

    // ---- blocks for columns, see frames.h; any thread

    bool take_block(size_t size, ColumnBlock& block) override;
    bool grow_block(ColumnBlock& block, size_t size, size_t used) override;
    void give_block(const ColumnBlock& block) override;
    void hold() noexcept override { retain(); }
    void let_go() noexcept override { release(); }

    // ---- upkeep; any thread

    size_t trim() noexcept;
    // Moves at most *max_bytes* out of sparse slabs; returns the bytes moved.
    size_t compact(size_t max_bytes) noexcept;
    Stats stats() noexcept;
    double fragmentation() const noexcept;
    std::vector<Segment> segments();

    // ---- arenas, see arena.h

    // The statistics report the age of frames of this size and more: they retain much memory for little data.
    static constexpr size_t kWatched = size_t{16} << 10;

    FrameArena* open_arena() override;
    void add_arena(PoolArena* arena);
    void remove_arena(PoolArena* arena);
    bool fits(size_t bytes) const {
        return budget_.in_use() + static_cast<int64_t>(bytes) <= budget_.max_bytes();
    }
    void add_waiting(PoolArena* arena, size_t wanted, FrameArena::Listener& waiter);
    void remove_waiting(PoolArena* arena);
    // After memory was discharged, without a lock. A waiter sets the flag and then tries; this side discharges and then
    // reads the flag: at least one of both sees the other.
    void notify_waiting() {
        if (has_waiting_.load(std::memory_order_seq_cst)) wake_waiting();
    }
    void watch(FrameBlock* block);
    void unwatch(FrameBlock* block);
    Range* take_range(size_t size, size_t extra);
    // A range that has the pages for *size* bytes already, or else one with pages for *first* that grows to *size* in
    // place; null if there is none.
    Range* begin_range(size_t size, size_t first);
    // Grows the range of *block* in place.
    bool grow_range(FrameBlock* block, size_t size);
    void give_range(Range* range);
    bool wants_trim(uint32_t& seen) const;
    // Returns the bytes before.
    int64_t count_overflow(int64_t bytes) { return overflow_.fetch_add(bytes, std::memory_order_relaxed); }

    static int64_t now();

private:
    friend struct PoolRegistry;
    using Guard = std::lock_guard<SpinLock>;

    ~Pool();
    bool give_memory(Entry* entry, size_t size);
    bool give_committed(Entry* entry, size_t size);
    bool grow_range(Entry* entry, size_t size, bool may_move);
    void take_memory(const Entry& entry);
    void free_locked(Entry* entry);
    size_t evacuate_one(Slab* slab);
    void add_frames(Stats& stats, int64_t at) const;
    void disown_arenas();
    void wake_waiting();

    bool charge(size_t bytes);
    void discharge(size_t bytes);

    const Options options_;
    std::atomic<uint32_t> refs_{1};
    Budget budget_;
    int64_t charged_ = 0;  // for users' blocks; the rest of the bytes in use is charged for arenas
    mutable SpinLock lock_;
    SlabHeap heap_;
    Ranges ranges_;
    EntryTable entries_;
    int64_t commits_ = 0, reads_ = 0, releases_ = 0, failed_ = 0, evacuated_ = 0;
    std::atomic<int64_t> overflow_{0};
    std::atomic<uint32_t> trims_{0};
    PoolArena* arenas_ = nullptr;
    FrameBlock* watched_ = nullptr;
    // Arenas that wait for memory. The lock is taken before any of a reactor, which is why it is not lock_.
    SpinLock waiting_lock_;
    PoolArena* waiting_ = nullptr;
    std::atomic<bool> has_waiting_{false};
    Pool* next_pool_ = nullptr;  // of the registry
};

// Objects that exist in the process, for tests.
struct PoolCounters {
    int64_t pools, arenas, frames;
};
PoolCounters pool_counters() noexcept;

}  // namespace fastcql::memory
