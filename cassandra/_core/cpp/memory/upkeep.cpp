// Reducing a pool's memory, and its statistics.
#include <algorithm>
#include <cstring>

#include "memory/pool.h"

namespace fastcql::memory {

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

}  // namespace fastcql::memory
