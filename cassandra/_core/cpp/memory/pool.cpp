// The memory pool: users' blocks, blocks for columns, reducing its memory, statistics.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "memory/pool.h"
#include "base/portable.h"
#include "base/system.h"
#include "memory/arena.h"
#include "memory/entries.h"

namespace fastcql::memory {

// All pools of the process, for fork.
struct PoolRegistry {
    SpinLock lock;
    Pool* first = nullptr;

    static PoolRegistry& instance() noexcept {
        static PoolRegistry* const registry = make();
        return *registry;
    }
    static PoolRegistry* make() {
        system::at_fork(before_fork, in_parent, in_child);
        return new PoolRegistry;  // lives as long as the process: fork handlers cannot be taken back
    }
    static void before_fork() {
        PoolRegistry& self = instance();
        self.lock.lock();
        // A thread that wakes a waiter holds the first lock, and may need the second one of a pool.
        for (Pool* pool = self.first; pool; pool = pool->next_pool_) pool->waiting_lock_.lock();
        for (Pool* pool = self.first; pool; pool = pool->next_pool_) pool->lock_.lock();
    }
    static void in_parent() {
        PoolRegistry& self = instance();
        for (Pool* pool = self.first; pool; pool = pool->next_pool_) {
            pool->lock_.unlock();
            pool->waiting_lock_.unlock();
        }
        self.lock.unlock();
    }
    static void in_child() {
        for (Pool* pool = instance().first; pool; pool = pool->next_pool_) pool->disown_arenas();
        in_parent();
    }
    PoolCounters count() {
        const std::lock_guard<SpinLock> guard(lock);
        PoolCounters counters{};
        for (Pool* pool = first; pool; pool = pool->next_pool_) {
            const Pool::Guard inner(pool->lock_);
            ++counters.pools;
            for (const PoolArena* arena = pool->arenas_; arena; arena = arena->next) {
                ++counters.arenas;
                counters.frames += arena->usage().blocks;
            }
        }
        return counters;
    }
    void add(Pool* pool) {
        const std::lock_guard<SpinLock> guard(lock);
        pool->next_pool_ = first;
        first = pool;
    }
    void remove(Pool* pool) {
        const std::lock_guard<SpinLock> guard(lock);
        Pool** at = &first;
        while (*at != pool) at = &(*at)->next_pool_;
        *at = pool->next_pool_;
    }
};

Pool::Pool(const Options& options)
    : options_(options),
      budget_(options.max_bytes, options.retain_bytes),
      heap_(budget_, options.alignment, true),
      ranges_(budget_) {
    PoolRegistry::instance().add(this);
}

Pool::~Pool() {
    PoolRegistry::instance().remove(this);
    for (uint32_t index = 0; index < entries_.size(); ++index) {
        Entry& entry = entries_.at(index);
        if (entry.range) ranges_.give(entry.range);  // slabs go with the heap
    }
}

PoolCounters pool_counters() noexcept { return PoolRegistry::instance().count(); }

int64_t Pool::now() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

// ---- users' blocks

Entry* Pool::begin(size_t size) noexcept {
    const Guard guard(lock_);
    Entry* entry = entries_.take();
    if (!entry) return nullptr;
    entry->pins = entry->latches = 0;
    entry->pinned_since = 0;
    entry->length = size;
    if (size && !give_memory(entry, size)) {
        entries_.give(entry);
        ++failed_;
        return nullptr;
    }
    entry->state = State::Writing;
    return entry;
}

bool Pool::charge(size_t bytes) {
    if (!budget_.charge(bytes)) return false;
    charged_ += static_cast<int64_t>(bytes);
    return true;
}

void Pool::discharge(size_t bytes) {
    charged_ -= static_cast<int64_t>(bytes);
    budget_.discharge(bytes);
}

// Charges the memory before it takes it, so that the limit holds at any moment.
bool Pool::give_memory(Entry* entry, size_t size) {
    if (size > kMaxPooled) {
        if (size > options_.max_bytes) return false;
        const size_t least = Ranges::capacity(size);
        if (!charge(least)) return false;
        Range* range = ranges_.take(size, budget_.room());
        if (!range) {
            discharge(least);
            return false;
        }
        if (range->committed > least && !charge(range->committed - least)) {
            // An arena has charged the rest of the limit meanwhile.
            discharge(least);
            ranges_.give(range);
            return false;
        }
        entry->range = range;
        entry->data = range->data;
        return true;
    }
    const size_t capacity = heap_.capacity(size);
    if (!charge(capacity)) return false;
    const SlabBlock piece = heap_.allocate(size);
    if (!piece.data) {
        discharge(capacity);
        return false;
    }
    entry->slab = piece.slab;
    entry->block = piece.block;
    entry->data = piece.data;
    piece.slab->owners[piece.block] = entry->index;
    return true;
}

bool Pool::give_committed(Entry* entry, size_t size) {
    Range* range = ranges_.take_committed(size, budget_.room());
    if (!range) return false;
    if (!charge(range->committed)) {
        ranges_.give(range);
        return false;
    }
    entry->range = range;
    entry->data = range->data;
    return true;
}

size_t Pool::capacity(const Entry* entry) const noexcept {
    return entry->slab ? entry->slab->block_bytes : entry->range ? entry->range->committed : 0;
}

bool Pool::resize(Entry* entry, size_t size, size_t length, bool may_move) noexcept {
    Entry larger{};
    {
        const Guard guard(lock_);
        if (size <= capacity(entry)) return true;
        larger.index = entry->index;
        if (!may_move || !entry->range || !give_committed(&larger, size)) {
            if (entry->range && grow_range(entry, size, may_move)) return true;
            if (!may_move || !give_memory(&larger, size)) return false;
        }
    }
    // No other thread has either of them: compaction skips blocks that their entry does not name.
    if (length) std::memcpy(larger.data, entry->data, length);
    {
        const Guard guard(lock_);
        take_memory(*entry);
        entry->data = larger.data;
        entry->slab = larger.slab;
        entry->range = larger.range;
        entry->block = larger.block;
    }
    notify_waiting();
    return true;
}

bool Pool::grow_range(Entry* entry, size_t size, bool may_move) {
    if (size > options_.max_bytes) return false;
    const size_t more = Ranges::capacity(size) - entry->range->committed;
    if (!charge(more)) return false;
    if (!ranges_.grow(entry->range, size, may_move)) {
        discharge(more);
        return false;
    }
    entry->data = entry->range->data;
    return true;
}

int64_t Pool::publish(Entry* entry, size_t length) noexcept {
    if (const size_t padding = (kAlignment - length % kAlignment) % kAlignment; padding && entry->data) {
        std::memset(entry->data + length, 0, padding);
    }
    const Guard guard(lock_);
    entry->length = length;
    entry->state = State::Live;
    ++commits_;
    return entry->ref();
}

void Pool::abandon(Entry* entry) noexcept {
    {
        const Guard guard(lock_);
        free_locked(entry);
    }
    notify_waiting();
}

void Pool::free_locked(Entry* entry) {
    take_memory(*entry);
    entries_.give(entry);
}

void Pool::take_memory(const Entry& entry) {
    discharge(capacity(&entry));
    if (entry.slab) {
        heap_.free(entry.slab, entry.block);
    } else if (entry.range) {
        ranges_.give(entry.range);
    }
}

Entry* Pool::pin(int64_t ref, bool latch, bool view) noexcept {
    const int64_t at = view ? now() : 0;
    const Guard guard(lock_);
    Entry* entry = entries_.find(ref);
    if (!entry) return nullptr;
    ++reads_;
    ++entry->pins;
    if (latch) ++entry->latches;
    if (view && !entry->pinned_since) entry->pinned_since = at;
    return entry;
}

void Pool::unpin(Entry* entry) noexcept {
    {
        const Guard guard(lock_);
        if (--entry->pins) return;
        entry->pinned_since = 0;
        if (entry->state != State::Released) return;
        free_locked(entry);
    }
    notify_waiting();
}

int64_t Pool::copy(int64_t ref, uint8_t* target, size_t size) noexcept {
    const Guard guard(lock_);
    const Entry* entry = entries_.find(ref);
    if (!entry) return -1;
    if (entry->length <= size) {
        ++reads_;
        if (entry->length) std::memcpy(target, entry->data, entry->length);
    }
    return static_cast<int64_t>(entry->length);
}

bool Pool::latch(int64_t ref) noexcept {
    const Guard guard(lock_);
    Entry* entry = entries_.find(ref);
    if (entry) ++entry->latches;
    return entry != nullptr;
}

Unlatched Pool::unlatch(int64_t ref) noexcept {
    const Guard guard(lock_);
    Entry* entry = entries_.find(ref);
    if (!entry) return Unlatched::Unknown;
    if (!entry->latches) return Unlatched::NotLatched;
    --entry->latches;
    return Unlatched::Done;
}

bool Pool::drop(int64_t ref) noexcept {
    {
        const Guard guard(lock_);
        Entry* entry = entries_.find(ref);
        if (!entry) return false;
        ++releases_;
        if (entry->pins) {
            entry->state = State::Released;
            return true;
        }
        free_locked(entry);
    }
    notify_waiting();
    return true;
}

// ---- blocks for columns: entries that stay WRITING until they are given back

bool Pool::take_block(size_t size, ColumnBlock& block) {
    if (Entry* entry = begin(size)) {
        block.data = entry->data;
        block.capacity = capacity(entry);
        block.handle = entry;
        return true;
    }
    if (size > SIZE_MAX / 2) return false;
    const size_t rounded = rounded_up(size, kAlignment);
    void* memory = allocate_aligned(kAlignment, rounded);
    if (!memory) return false;
    count_overflow(static_cast<int64_t>(rounded));
    block.data = static_cast<uint8_t*>(memory);
    block.capacity = rounded;
    block.handle = nullptr;
    return true;
}

bool Pool::grow_block(ColumnBlock& block, size_t size, size_t used) {
    if (size <= block.capacity) return true;
    if (auto* entry = static_cast<Entry*>(block.handle); entry && resize(entry, size, used, true)) {
        block.data = entry->data;
        block.capacity = capacity(entry);
        return true;
    }
    ColumnBlock larger;
    if (!take_block(size, larger)) return false;
    if (used) std::memcpy(larger.data, block.data, used);
    give_block(block);
    block = larger;
    return true;
}

void Pool::give_block(const ColumnBlock& block) {
    if (block.handle) {
        abandon(static_cast<Entry*>(block.handle));
    } else {
        count_overflow(-static_cast<int64_t>(block.capacity));
        free_aligned(block.data);
    }
}

// ---- reducing a pool's memory, and its statistics

size_t Pool::trim() noexcept {
    trims_.fetch_add(1, std::memory_order_relaxed);  // arenas trim at their next turn
    const Guard guard(lock_);
    return heap_.trim() + ranges_.trim();
}

bool Pool::wants_trim(uint32_t& seen) const {
    const uint32_t asked = trims_.load(std::memory_order_relaxed);
    if (asked == seen) return false;
    seen = asked;
    return true;
}

size_t Pool::compact(size_t max_bytes) noexcept {
    size_t moved = 0;
    for (uint32_t index = 0; index < kClasses; ++index) {
        while (true) {
            const Guard guard(lock_);  // for one block: other threads run in between
            Slab* slab = heap_.sparsest(index);
            if (!slab || slab->used > slab->blocks / 2 || moved + slab->block_bytes > max_bytes) break;
            const size_t bytes = evacuate_one(slab);
            if (!bytes) break;
            moved += bytes;
        }
    }
    return moved;
}

// Move one movable block out of *slab*, which is freed with its last block; return the bytes moved.
size_t Pool::evacuate_one(Slab* slab) {
    const size_t bytes = slab->block_bytes;
    for (uint32_t block = 0; block < slab->fresh; ++block) {
        Entry& entry = entries_.at(slab->owners[block]);
        if (entry.slab != slab || entry.block != block) continue;  // freed since
        if (entry.state != State::Live || entry.held()) continue;
        const SlabBlock target = heap_.allocate_beside(slab);
        if (!target.data) return 0;
        std::memcpy(target.data, entry.data, bytes);
        target.slab->owners[target.block] = entry.index;
        entry.data = target.data;
        entry.slab = target.slab;
        entry.block = target.block;
        ++evacuated_;
        heap_.free(slab, block);
        return bytes;
    }
    return 0;
}

Stats Pool::stats() noexcept {
    const int64_t at = now();
    const Guard guard(lock_);
    Stats stats{};
    stats.in_use = budget_.in_use();
    stats.retained = std::max<int64_t>(0, budget_.held() - stats.in_use);
    stats.peak = budget_.peak();
    stats.overflow_bytes = overflow_.load(std::memory_order_relaxed);
    stats.commits = commits_;
    stats.reads = reads_;
    stats.releases = releases_;
    stats.failed = failed_;
    stats.slabs = budget_.slabs();
    stats.evacuated = evacuated_;
    for (uint32_t index = 0; index < entries_.size(); ++index) {
        const Entry& entry = entries_.at(index);
        if (entry.state == State::Free || !entry.pins) continue;
        stats.pinned += static_cast<int64_t>(capacity(&entry));
        if (entry.pinned_since) stats.oldest_pin = std::max(stats.oldest_pin, at - entry.pinned_since);
    }
    add_frames(stats, at);
    return stats;
}

double Pool::fragmentation() const noexcept {
    const auto held = static_cast<double>(budget_.held());
    return held > 0 ? std::max(0.0, 1.0 - static_cast<double>(budget_.in_use()) / held) : 0.0;
}

std::vector<Segment> Pool::segments() {
    std::vector<Segment> found;
    uint32_t index = 0;
    while (true) {  // in steps: no allocation under the lock
        constexpr uint32_t kStep = 512;
        Segment step[kStep];
        size_t count = 0;
        bool more = false;
        {
            const Guard guard(lock_);
            for (; index < entries_.size() && count < kStep; ++index) {
                const Entry& entry = entries_.at(index);
                if (entry.state != State::Live) continue;
                step[count++] = {entry.ref(), entry.length, capacity(&entry), entry.pins, entry.latches};
            }
            more = index < entries_.size();
        }
        found.insert(found.end(), step, step + count);
        if (!more) return found;
    }
}

// ---- the handle table

Entry* EntryTable::take() {
    if (free_ != kNone) {
        Entry& entry = at(free_);
        free_ = entry.block;
        return &entry;
    }
    if (size_ == kNone) return nullptr;
    if (size_ % kChunk == 0) {
        try {
            chunks_.push_back(std::make_unique<Entry[]>(kChunk));
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }
    Entry& entry = at(size_);
    entry.index = size_++;
    entry.generation = 1;
    return &entry;
}

void EntryTable::give(Entry* entry) {
    entry->state = State::Free;
    entry->data = nullptr;
    entry->slab = nullptr;
    entry->range = nullptr;
    if (entry->generation == kLastGeneration) return;
    ++entry->generation;
    entry->block = free_;
    free_ = entry->index;
}

}  // namespace fastcql::memory
