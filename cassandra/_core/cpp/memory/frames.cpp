#include "memory/frames.h"

#include <cstdlib>
#include <new>

namespace fastcql::memory {

FrameArena* Pool::open_arena() { return new (std::nothrow) FrameArena(*this); }

Range* Pool::take_range(size_t size, size_t extra) {
    const Guard guard(lock_);
    return ranges_.take(size, extra);
}

void Pool::give_range(Range* range) {
    const Guard guard(lock_);
    ranges_.give(range);
}

FrameArena::FrameArena(Pool& pool) : pool_(pool), heap_(pool.budget(), kAlignment, false) {
    pool_.retain();
    pool_counters.arenas.fetch_add(1, std::memory_order_relaxed);
}

FrameArena::~FrameArena() {
    pool_counters.arenas.fetch_sub(1, std::memory_order_relaxed);
}

FrameBlock* FrameArena::allocate(size_t size) {
    if (size > SIZE_MAX / 2) return nullptr;
    if (returned_.load(std::memory_order_relaxed)) collect();
    const size_t bytes = size + sizeof(FrameBlock);
    FrameBlock header{};
    void* memory = memory_for(bytes, header);
    if (!memory && !pool_.options().strict) memory = overflow(bytes, header);
    if (!memory) return nullptr;
    auto* block = new (memory) FrameBlock;
    block->refs.store(1, std::memory_order_relaxed);
    block->block = header.block;
    block->slab = header.slab;
    block->range = header.range;
    block->capacity = header.capacity;
    block->arena = this;
    block->next = nullptr;
    live_.fetch_add(1, std::memory_order_relaxed);
    pool_counters.frames.fetch_add(1, std::memory_order_relaxed);
    return block;
}

// Of the pool, within its limit; fills in where it is from.
void* FrameArena::memory_for(size_t bytes, FrameBlock& header) {
    const bool pooled = bytes <= kMaxPooled;
    const size_t capacity = pooled ? heap_.capacity(bytes) : Ranges::capacity(bytes);
    Budget& budget = pool_.budget();
    if (!budget.charge(capacity)) return nullptr;
    if (pooled) {
        const Piece piece = heap_.allocate(bytes);
        if (piece.data) {
            header.slab = piece.slab;
            header.block = piece.block;
            header.capacity = capacity - sizeof(FrameBlock);
            return piece.data;
        }
    } else if (Range* range = pool_.take_range(bytes, budget.room())) {
        const size_t extra = range->committed - capacity;
        if (!extra || budget.charge(extra)) {
            header.range = range;
            header.capacity = range->committed - sizeof(FrameBlock);
            return range->data;
        }
        pool_.give_range(range);
    }
    budget.discharge(capacity);
    return nullptr;
}

void* FrameArena::overflow(size_t bytes, FrameBlock& header) {
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, bytes) != 0) return nullptr;
    header.capacity = bytes - sizeof(FrameBlock);
    pool_.count_overflow(static_cast<int64_t>(bytes));
    return memory;
}

void FrameBlock::release() {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) arena->take_back(this);
}

void FrameArena::take_back(FrameBlock* block) {
    FrameBlock* head = returned_.load(std::memory_order_relaxed);
    do {
        block->next = head;
    } while (!returned_.compare_exchange_weak(head, block, std::memory_order_release, std::memory_order_relaxed));
    leave();
}

// The last one out, which may be any thread, has the arena to itself.
void FrameArena::leave() {
    if (live_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    collect();
    Pool& pool = pool_;
    delete this;
    pool.release();
}

// Takes the whole list at once: with a single consumer there is no ABA.
void FrameArena::collect() {
    FrameBlock* block = returned_.exchange(nullptr, std::memory_order_acquire);
    while (block) {
        FrameBlock* next = block->next;
        free(block);
        block = next;
    }
    if (pool_.wants_trim(trims_seen_)) heap_.trim();
}

void FrameArena::free(FrameBlock* block) {
    Slab* slab = block->slab;
    Range* range = block->range;
    const uint32_t index = block->block;
    const size_t capacity = block->capacity + sizeof(FrameBlock);
    block->~FrameBlock();
    pool_counters.frames.fetch_sub(1, std::memory_order_relaxed);
    if (slab) {
        pool_.budget().discharge(capacity);
        heap_.free(slab, index);
    } else if (range) {
        pool_.budget().discharge(capacity);
        pool_.give_range(range);
    } else {
        pool_.count_overflow(-static_cast<int64_t>(capacity));
        std::free(block);
    }
}

void FrameArena::close() { leave(); }

}  // namespace fastcql::memory
