#include "memory/arena.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "memory/entries.h"

namespace fastcql::memory {

FrameArena* Pool::open_arena() { return new (std::nothrow) PoolArena(*this); }

Range* Pool::take_range(size_t size, size_t extra) {
    const Guard guard(lock_);
    return ranges_.take(size, extra);
}

Range* Pool::begin_range(size_t size, size_t first) {
    const Guard guard(lock_);
    Range* warm = ranges_.take_idle(size);
    return warm ? warm : ranges_.begin(size, first);
}

bool Pool::grow_range(FrameBlock* block, size_t size) {
    const Guard guard(lock_);
    auto* range = static_cast<Range*>(block->origin);
    if (!ranges_.grow(range, size, false)) return false;
    block->capacity = range->committed - sizeof(FrameBlock);
    return true;
}

void Pool::give_range(Range* range) {
    const Guard guard(lock_);
    ranges_.give(range);
}

void Pool::add_arena(PoolArena* arena) {
    const Guard guard(lock_);
    arena->next = arenas_;
    arenas_ = arena;
}

void Pool::remove_arena(PoolArena* arena) {
    const Guard guard(lock_);
    PoolArena** at = &arenas_;
    while (*at != arena) at = &(*at)->next;
    *at = arena->next;
}

void Pool::add_waiting(PoolArena* arena, size_t wanted, FrameArena::Listener& waiter) {
    const Guard guard(waiting_lock_);
    arena->wanted = wanted;
    if (arena->waiter) return;
    arena->waiter = &waiter;
    arena->next_waiting = waiting_;
    waiting_ = arena;
    has_waiting_.store(true, std::memory_order_seq_cst);
}

void Pool::remove_waiting(PoolArena* arena) {
    const Guard guard(waiting_lock_);
    PoolArena** at = &waiting_;
    while (*at && *at != arena) at = &(*at)->next_waiting;
    if (*at) *at = arena->next_waiting;
    arena->waiter = nullptr;
    has_waiting_.store(waiting_ != nullptr, std::memory_order_seq_cst);
}

void Pool::wake_waiting() {
    const Guard guard(waiting_lock_);
    PoolArena** at = &waiting_;
    while (PoolArena* arena = *at) {
        if (fits(arena->wanted)) {
            *at = arena->next_waiting;
            std::exchange(arena->waiter, nullptr)->memory_returned();
        } else {
            at = &arena->next_waiting;
        }
    }
    has_waiting_.store(waiting_ != nullptr, std::memory_order_seq_cst);
}

void Pool::watch(FrameBlock* block) {
    block->since.store(now(), std::memory_order_relaxed);
    const Guard guard(lock_);
    block->watched = true;
    block->previous = nullptr;
    block->next = watched_;
    if (watched_) watched_->previous = block;
    watched_ = block;
}

void Pool::unwatch(FrameBlock* block) {
    const Guard guard(lock_);
    if (!block->watched) return;
    block->watched = false;
    (block->previous ? block->previous->next : watched_) = block->next;
    if (block->next) block->next->previous = block->previous;
}

void Pool::add_frames(Stats& stats, int64_t at) const {
    for (const PoolArena* arena = arenas_; arena; arena = arena->next) stats.frames += arena->usage().blocks;
    for (const FrameBlock* block = watched_; block; block = block->next) {
        if (block->refs.load(std::memory_order_relaxed) <= block->kept.load(std::memory_order_relaxed)) continue;
        stats.pinned += static_cast<int64_t>(block->capacity + sizeof(FrameBlock));
        stats.oldest_pin = std::max(stats.oldest_pin, at - block->since.load(std::memory_order_relaxed));
    }
}

void Pool::disown_arenas() {
    for (PoolArena* arena = arenas_; arena; arena = arena->next) arena->disown();
    for (const FrameBlock* block = watched_; block; block = block->next) {
        if (block->source == FrameBlock::Source::Range) {
            budget_.count_unmapped(static_cast<Range*>(block->origin)->committed);
        }
    }
    arenas_ = nullptr;
    watched_ = nullptr;
    waiting_ = nullptr;
    has_waiting_.store(false, std::memory_order_relaxed);
    overflow_.store(0, std::memory_order_relaxed);
    budget_.set_in_use(charged_);
}

PoolArena::PoolArena(Pool& pool)
    : FrameArena(pool.options().strict, pool.options().max_bytes),
      pool_(pool),
      heap_(pool.budget(), kAlignment, false),
      max_cached_(std::min(kMaxCached, pool.options().retain_bytes)) {
    pool_.retain();
    pool_.add_arena(this);
}

PoolArena::~PoolArena() { trim(); }

FrameArena::Usage PoolArena::usage() const {
    const int64_t live = live_.load(std::memory_order_relaxed);
    return {(live >> kCountShift) - (open_.load(std::memory_order_relaxed) ? 1 : 0), live & (kOne - 1)};
}

FrameBlock* PoolArena::allocate(size_t size, AtLimit limit) {
    if (size > SIZE_MAX / 2) return nullptr;
    const size_t bytes = size + sizeof(FrameBlock);
    const bool force = strict && limit == AtLimit::Exceed;
    FrameBlock* block = nullptr;
    if (!strict || limit != AtLimit::Outside) {
        block = bytes <= kMaxPooled ? from_slab(bytes, force) : from_range(bytes, force);
    }
    if (!block && (!strict || limit != AtLimit::Keep)) block = plain(bytes);
    return block ? made(block, size) : nullptr;
}

FrameBlock* PoolArena::begin(size_t size, AtLimit limit) {
    if (strict || size <= kAtOnce) return allocate(size, limit);
    FrameBlock* block = begin_range(plus(size, sizeof(FrameBlock)));
    if (!block) block = plain(kAtOnce + sizeof(FrameBlock));
    return block ? made(block, size) : nullptr;
}

FrameBlock* PoolArena::grow(FrameBlock* block, size_t used, size_t size) {
    if (size > SIZE_MAX / 2) return nullptr;
    if (block->source == FrameBlock::Source::Range && grow_range(block, size + sizeof(FrameBlock))) return block;
    FrameBlock* larger = plain(size + sizeof(FrameBlock));
    if (!larger) return nullptr;
    made(larger, size);
    std::memcpy(larger->data(), block->data(), used);
    block->release();
    return larger;
}

// Prepare *block* for a frame of *size* bytes.
FrameBlock* PoolArena::made(FrameBlock* block, size_t size) {
    block->refs.store(1, std::memory_order_relaxed);
    live_.fetch_add(kOne + static_cast<int64_t>(block->capacity + sizeof(FrameBlock)), std::memory_order_relaxed);
    if (size >= Pool::kWatched) pool_.watch(block);
    return block;
}

// Return the bytes of the budget that a frame of *size* bytes takes.
size_t PoolArena::cost(size_t size) const {
    const size_t bytes = size + sizeof(FrameBlock);
    return bytes <= kMaxPooled ? heap_.capacity(bytes) : Ranges::capacity(bytes);
}

bool PoolArena::would_fit(size_t size) const { return pool_.fits(cost(size)); }

bool PoolArena::may_fit(size_t size) const { return cost(size) <= max_bytes; }

void PoolArena::wait_for(size_t size, Listener& who) { pool_.add_waiting(this, cost(size), who); }

void PoolArena::stop_waiting() { pool_.remove_waiting(this); }

bool PoolArena::charge(size_t bytes, bool force) {
    Budget& budget = pool_.budget();
    if (budget.charge(bytes)) return true;
    if (force) budget.charge_beyond(bytes);
    return force;
}

FrameBlock* PoolArena::from_slab(size_t bytes, bool force) {
    const SizeClass wanted = heap_.class_for(bytes);
    if (!charge(wanted.capacity, force)) return nullptr;
    if (!cache_[wanted.index] && returned_.load(std::memory_order_relaxed)) collect();
    if (FrameBlock* block = cache_[wanted.index]) {
        cache_[wanted.index] = block->next;
        cached_bytes_ -= wanted.capacity;
        unpoison(block->data(), block->capacity);
        return block;
    }
    const SlabBlock piece = heap_.allocate(bytes);
    if (!piece.data) {
        pool_.budget().discharge(wanted.capacity);
        return nullptr;
    }
    auto* block = new (piece.data) FrameBlock;
    block->source = FrameBlock::Source::Slab;
    block->origin = piece.slab;
    block->index = piece.block;
    block->capacity = wanted.capacity - sizeof(FrameBlock);
    block->arena = this;
    return block;
}

FrameBlock* PoolArena::from_range(size_t bytes, bool force) {
    Budget& budget = pool_.budget();
    const size_t least = Ranges::capacity(bytes);
    if (!charge(least, force)) return nullptr;
    if (Range* range = pool_.take_range(bytes, budget.room())) {
        if (range->committed == least || charge(range->committed - least, force)) return in_range(range);
        pool_.give_range(range);
    }
    budget.discharge(least);
    return nullptr;
}

FrameBlock* PoolArena::in_range(Range* range) {
    auto* block = new (range->data) FrameBlock;
    block->source = FrameBlock::Source::Range;
    block->origin = range;
    block->capacity = range->committed - sizeof(FrameBlock);
    block->arena = this;
    return block;
}

// Begin the range of an announced frame of *bytes*; the charge covers the bytes that have pages.
FrameBlock* PoolArena::begin_range(size_t bytes) {
    Range* range = pool_.begin_range(bytes, kAtOnce);
    if (!range) return nullptr;
    if (charge(range->committed, false)) return in_range(range);
    pool_.give_range(range);
    return nullptr;
}

bool PoolArena::grow_range(FrameBlock* block, size_t bytes) {
    const size_t before = block->capacity;
    const size_t more = Ranges::capacity(bytes) - (before + sizeof(FrameBlock));
    if (!charge(more, false)) return false;
    if (pool_.grow_range(block, bytes)) {
        live_.fetch_add(static_cast<int64_t>(block->capacity - before), std::memory_order_relaxed);
        return true;
    }
    pool_.budget().discharge(more);
    return false;
}

FrameBlock* PoolArena::plain(size_t bytes) {
    if (pool_.count_overflow(static_cast<int64_t>(bytes)) == 0) pool_.trim();  // the limit has just been reached
    FrameBlock* block = FrameBlock::make(bytes - sizeof(FrameBlock));
    if (block) {
        block->arena = this;
    } else {
        pool_.count_overflow(-static_cast<int64_t>(bytes));
    }
    return block;
}

void PoolArena::take_back(FrameBlock* block) {
    if (disowned_) return;
    if (block->capacity >= Pool::kWatched) pool_.unwatch(block);
    const size_t bytes = block->capacity + sizeof(FrameBlock);
    switch (block->source) {
        case FrameBlock::Source::Slab: {
            FrameBlock* head = returned_.load(std::memory_order_relaxed);
            do {
                block->next = head;
            } while (!returned_.compare_exchange_weak(head, block, std::memory_order_release,
                                                      std::memory_order_relaxed));
            pool_.budget().discharge(bytes);
            break;
        }
        case FrameBlock::Source::Range:
            pool_.give_range(static_cast<Range*>(block->origin));
            pool_.budget().discharge(bytes);
            break;
        case FrameBlock::Source::Plain:
            free_aligned(block);
            pool_.count_overflow(-static_cast<int64_t>(bytes));
            break;
    }
    pool_.notify_waiting();
    leave(kOne + static_cast<int64_t>(bytes));
}

// The last leaver, in any thread, has exclusive access to the arena.
void PoolArena::leave(int64_t amount) {
    if (live_.fetch_sub(amount, std::memory_order_acq_rel) != amount) return;
    Pool& pool = pool_;
    pool.remove_arena(this);
    collect();
    delete this;
    pool.release();
}

// Takes the whole list at once: with a single consumer there is no ABA.
void PoolArena::collect() {
    if (returned_.load(std::memory_order_relaxed)) {
        FrameBlock* block = returned_.exchange(nullptr, std::memory_order_acquire);
        while (block) {
            FrameBlock* next = block->next;
            cache_or_free(block);
            block = next;
        }
    }
    if (pool_.wants_trim(trims_seen_)) trim();
}

void PoolArena::cache_or_free(FrameBlock* block) {
    const size_t bytes = block->capacity + sizeof(FrameBlock);
    if (cached_bytes_ + bytes > max_cached_) {
        heap_.free(static_cast<Slab*>(block->origin), block->index);
        return;
    }
    const uint32_t index = class_of(bytes).index;
    block->next = cache_[index];
    cache_[index] = block;
    cached_bytes_ += bytes;
    poison(block->data(), block->capacity);
}

void PoolArena::trim() {
    for (FrameBlock*& cached : cache_) {
        while (FrameBlock* block = cached) {
            cached = block->next;
            heap_.free(static_cast<Slab*>(block->origin), block->index);
        }
    }
    cached_bytes_ = 0;
    heap_.trim();
}

void PoolArena::close() {
    if (disowned_) return;
    open_.store(false, std::memory_order_relaxed);
    leave(kOne);
}

void PoolArena::disown() {
    disowned_ = true;
    heap_.disown();
}

}  // namespace fastcql::memory
