// Token ring, helpers of route plans, shards.
//
// The vnode ring is numbers: sorted tokens and a bisection. The caller maps tokens to owners.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/epochs.h"
#include "base/growing.h"
#include "base/threads.h"

namespace fastcql {

class Ring {
public:
    Ring() = default;

    // *tokens* in any order and without duplicates; order()[i] is the input position of the i-th smallest.
    explicit Ring(const std::vector<int64_t>& tokens) : tokens_(tokens.size()), order_(tokens.size()) {
        for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
        std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return tokens[a] < tokens[b]; });
        for (size_t i = 0; i < order_.size(); ++i) tokens_[i] = tokens[order_[i]];
    }

    size_t size() const noexcept { return tokens_.size(); }
    int64_t token(size_t i) const noexcept { return tokens_[i]; }
    size_t order(size_t i) const noexcept { return order_[i]; }

    bool has_duplicates() const noexcept {
        return std::adjacent_find(tokens_.begin(), tokens_.end()) != tokens_.end();
    }

    // Index i with token in (tokens[i-1], tokens[i]]; past the last token the ring wraps to 0. Not for an empty ring.
    size_t index(int64_t token) const noexcept {
        const int64_t* base = tokens_.data();
        size_t length = tokens_.size();
        while (length > 1) {
            const size_t half = length / 2;
            base += half & -static_cast<size_t>(base[half - 1] < token);  // branchless: half would be mispredicted
            length -= half;
        }
        const size_t found = static_cast<size_t>(base - tokens_.data()) + (*base < token);
        return found == tokens_.size() ? 0 : found;
    }

private:
    std::vector<int64_t> tokens_;
    std::vector<size_t> order_;
};

// ---- helpers of route plans besides rings and tablets: lists of host positions by range, and cheap random numbers

// Positions of hosts by range of a ring, filled in on demand. Any thread.
class RangeLists {
public:
    // Called once, before all else.
    void reset(size_t ranges) { starts_.reset(new std::atomic<uint32_t>[ranges]()); }

    // The list of *range*, its count in front; null if it was not filled in.
    const uint16_t* find(size_t range) const noexcept {
        const uint32_t start = starts_[range].load(std::memory_order_acquire);
        return start ? &numbers_[start - 1] : nullptr;
    }

    void fill(size_t range, const uint16_t* list, size_t count) {
        const GilLock lock(mutex_);
        if (find(range)) return;
        const size_t start = numbers_.next_run(count + 1);
        numbers_.grow(start + count + 1);
        numbers_[start] = static_cast<uint16_t>(count);
        std::copy(list, list + count, &numbers_[start] + 1);
        starts_[range].store(static_cast<uint32_t>(start + 1), std::memory_order_release);
    }

private:
    std::unique_ptr<std::atomic<uint32_t>[]> starts_;  // in numbers_, plus 1; 0: not filled in
    Growing<uint16_t> numbers_;
    GilMutex mutex_;
};

// Random numbers for load balancing (splitmix64): fast and uniform, not for cryptography. Any thread.
class RandomSource {
public:
    explicit RandomSource(uint64_t seed = 0) noexcept : state_(seed) {}
    RandomSource& operator=(const RandomSource& other) noexcept {
        state_.store(other.state_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        return *this;
    }

    // Uniformly one of 0 to count - 1.
    size_t below(size_t count) noexcept {
        uint64_t mixed = step();
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        return static_cast<size_t>(((mixed >> 32) * count) >> 32);
    }

    // Two different ones of 0 to count - 1, for a count from 2 to 65535; all pairs are equally likely.
    struct Two {
        size_t first, second;
    };
    Two two_below(uint32_t count) noexcept {
        const auto drawn = static_cast<uint32_t>(below(size_t{count} * (count - 1)));
        const uint32_t first = drawn % count;
        const uint32_t second = first + 1 + drawn / count;
        return {first, second < count ? second : second - count};
    }

private:
    static constexpr uint64_t kStep = 0x9E3779B97F4A7C15u;

    // A state that all threads write would cost each of them a cache miss: without the GIL each thread has its own.
    uint64_t step() noexcept {
#if FASTCQL_FREE_THREADED
        thread_local uint64_t own = state_.fetch_add(kStep, std::memory_order_relaxed) * kStep;
        return own += kStep;
#else
        const uint64_t next = state_.load(std::memory_order_relaxed) + kStep;
        state_.store(next, std::memory_order_relaxed);
        return next;
#endif
    }

    std::atomic<uint64_t> state_;
};

class HostLoad;

// A host of a route. The references are the owner's.
struct RouteHost {
    RouteHost() noexcept = default;

    void* host = nullptr;
    void* average = nullptr;
    void* targets = nullptr;  // a list
    HostLoad* load = nullptr;
    int8_t distance = 0;
};

// The hosts of a route by position. Any thread.
class RouteHostTable {
public:
    static constexpr size_t kMost = 65536;

    // Returns the new position; -1 if there are too many. Throws bad_alloc.
    int add(const RouteHost& host) {
        const GilLock lock(mutex_);
        const size_t at = hosts_.size();
        if (at == kMost) return -1;
        hosts_.grow(at + 1);
        hosts_[at] = host;
        return static_cast<int>(at);
    }
    const RouteHost& operator[](size_t position) const noexcept { return hosts_[position]; }

    // The position of the host with this number of the tablet map, as it was set; kUnknown if it was not.
    static constexpr int kUnknown = -2;
    int numbered(size_t number) const noexcept {
        return number < numbered_.size() ? numbered_[number].load(std::memory_order_acquire) + kUnknown : kUnknown;
    }
    void set_numbered(size_t number, int position) {
        const GilLock lock(mutex_);
        numbered_.grow(number + 1);
        numbered_[number].store(position - kUnknown, std::memory_order_release);
    }

private:
    GilMutex mutex_;
    Growing<RouteHost> hosts_;
    Growing<std::atomic<int>> numbered_;  // minus kUnknown
};

// ---- the shard of a ScyllaDB node that owns a token
//
// Biased-token-round-robin, as defined in the text "Intranode sharding" of the protocol extensions.

// *shards* is at least 1, *ignore_msb* at most 63. The product of 64 and 32 bits is computed in two halves, so that no
// compiler needs 128-bit integers.
inline uint32_t shard_of_token(int64_t token, uint32_t shards, uint32_t ignore_msb) noexcept {
    const uint64_t biased = (static_cast<uint64_t>(token) + (uint64_t{1} << 63)) << ignore_msb;
    const uint64_t low = (biased & 0xffffffffu) * shards;
    const uint64_t high = (biased >> 32) * shards;
    return static_cast<uint32_t>((high + (low >> 32)) >> 32);
}

}  // namespace fastcql
