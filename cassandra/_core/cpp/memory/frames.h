// Interfaces of the pool for other extensions: blocks for columns, and receive buffers of connections.
//
// Other extensions use only these. The pool's code and state exist once in the process, in the memory extension; other
// extensions reach them through the objects that they are given.
//
// A block for columns belongs to its taker; another thread may give it back. No call needs the GIL. These callers do
// not wait at the pool's limit: blocks beyond it are plain memory, counted as overflow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/bytes.h"
#include "base/portable.h"

namespace fastcql::memory {

struct ColumnBlock {
    uint8_t* data = nullptr;  // aligned to 64 bytes
    size_t capacity = 0;      // a multiple of 64
    void* handle = nullptr;   // none: plain memory
};

class BlockPool {
public:
    // At least *size* (more than 0) undefined bytes. False if the machine has no more memory.
    virtual bool take_block(size_t size, ColumnBlock& block) = 0;
    // At least *size* bytes, of which the first *used* are unchanged; in place where possible. False: *block* is
    // unchanged.
    virtual bool grow_block(ColumnBlock& block, size_t size, size_t used) = 0;
    virtual void give_block(const ColumnBlock& block) = 0;
    // The pool lives while a holder remains.
    virtual void hold() noexcept = 0;
    virtual void let_go() noexcept = 0;

protected:
    ~BlockPool() = default;
};

// ---- frame blocks: receive buffers of connections, with a reference count in front of the bytes
//
// An arena belongs to one thread at a time, which allocates without a lock. The last reference to a block may be
// dropped by any thread. A closed arena lives until its last block is back.

class FrameArena;

struct alignas(64) FrameBlock {
    enum class Source : uint8_t { Slab, Range, Plain };

    std::atomic<uint32_t> refs{1};
    uint32_t index = 0;  // in its slab
    Source source = Source::Plain;
    bool watched = false;          // in the pool's list of large blocks; guarded by the pool's lock
    std::atomic<uint8_t> kept{0};  // references that pin nothing: that of the receiver
    void* origin = nullptr;        // the slab or range it is from
    size_t capacity = 0;
    FrameArena* arena = nullptr;  // null: separate plain memory
    FrameBlock* next = nullptr;
    FrameBlock* previous = nullptr;
    std::atomic<int64_t> since{0};  // ns, time at which a watched block was pinned

    uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
    bool shared() const { return refs.load(std::memory_order_acquire) != 1; }
    void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
    inline void release();

    // A block without an arena, with one reference; null without memory.
    static FrameBlock* make(size_t size) {
        void* memory = allocate_aligned(alignof(FrameBlock), plus(sizeof(FrameBlock), size));
        if (!memory) return nullptr;
        auto* block = new (memory) FrameBlock;
        block->capacity = size;
        return block;
    }
};
static_assert(sizeof(FrameBlock) == 64, "the payload is aligned like the header");

class FrameArena {
public:
    // A strict pool enforces the limit: connections wait for memory. In other pools none of that is ever called.
    const bool strict;
    const size_t max_bytes;

    // Behaviour at the limit of a strict pool. In others there is always plain memory, counted as overflow.
    enum class AtLimit : uint8_t {
        Keep,     // null: the caller waits for memory
        Exceed,   // for bytes that have arrived already: allocated in spite of the limit
        Outside,  // plain memory from the start: memory held by a waiter must not be memory that others wait for
    };

    // A waiter for memory. Called inside a lock by any thread that returns memory: it may only set a flag.
    struct Listener {
        virtual void memory_returned() = 0;

    protected:
        ~Listener() = default;
    };

    // Owner thread. With one reference; null when the limit is kept, or when the system has no more memory.
    virtual FrameBlock* allocate(size_t size, AtLimit limit = AtLimit::Exceed) = 0;
    // The same for *size* bytes that a peer has announced. At most kAtOnce are taken, unless the arena has pages for
    // all of them already or is strict: there the limit guards them. grow() gets the rest.
    static constexpr size_t kAtOnce = size_t{16} << 20;
    virtual FrameBlock* begin(size_t size, AtLimit limit) = 0;
    // Owner thread: at least *size* bytes instead of *block*, whose only reference is the caller's, with its first
    // *used* bytes. Null without memory: *block* is unchanged.
    virtual FrameBlock* grow(FrameBlock* block, size_t used, size_t size) = 0;
    // True if *size* bytes can be allocated now, or ever. Strict pools only; any thread.
    virtual bool would_fit(size_t size) const = 0;
    virtual bool may_fit(size_t size) const = 0;
    // Owner thread: *waiter* is called once when *size* bytes become available. Memory returned before this call is not
    // reported: first wait, then try. Another call replaces the size.
    virtual void wait_for(size_t size, Listener& waiter) = 0;
    // Owner thread: the waiter is not called any more.
    virtual void stop_waiting() = 0;
    // Owner thread, once per turn: takes back the blocks that other threads dropped.
    virtual void collect() = 0;
    // Owner thread: the last call.
    virtual void close() = 0;

    struct Usage {
        int64_t blocks, bytes;
    };
    // Any thread.
    virtual Usage usage() const = 0;

protected:
    friend struct FrameBlock;
    FrameArena(bool strict, size_t max_bytes) : strict(strict), max_bytes(max_bytes) {}
    ~FrameArena() = default;
    virtual void take_back(FrameBlock* block) = 0;  // any thread
};

inline void FrameBlock::release() {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (arena) {
        arena->take_back(this);
    } else {
        free_aligned(this);
    }
}

class FramePool {
public:
    // For the calling thread; it keeps the pool alive. Null without memory.
    virtual FrameArena* open_arena() = 0;

protected:
    ~FramePool() = default;
};

}  // namespace fastcql::memory
