// Load of the shards of a host: requests in flight to each, and the average latency of the recent ones.
//
// The connections of all sessions of a cluster count here (Channel::set_load); route plans read it, to choose between
// two replicas (less_loaded). A request counts from its stream id's allocation to its release: an abandoned one, whose
// late response has not come yet, still keeps the server busy. One that never comes counts until its channel closes.
//
// Any thread, no lock. The counts are exact. Two channels of one shard may lose a latency that both record at the same
// moment.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/epochs.h"
#include "base/threads.h"
#include "routing/ring.h"

namespace fastcql {

// The latency of a server that is not overloaded: the least mean of many responses. A higher one becomes usual, too, in
// some minutes.
class UsualLatency {
public:
    Nanos get() const noexcept { return usual_.load(std::memory_order_relaxed); }

    void record(Nanos elapsed, Nanos now) noexcept {
        constexpr int kEnough = 64, kMany = 256;
        constexpr Nanos kStep = 100 * kMillisecond, kClip = 3;
        const Nanos usual = get();
        const int count = std::min(count_.load(std::memory_order_relaxed) + 1, kMany);
        Nanos mean = mean_.load(std::memory_order_relaxed);
        mean += ((usual ? std::min(elapsed, kClip * usual) : elapsed) - mean) / count;
        mean_.store(mean, std::memory_order_relaxed);
        count_.store(count, std::memory_order_relaxed);
        if (count < kEnough) return;
        const Nanos passed = now - at_.load(std::memory_order_relaxed);
        if (usual == 0 || mean < usual) {
            usual_.store(mean, std::memory_order_relaxed);
            at_.store(now, std::memory_order_relaxed);
        } else if (passed >= kStep) {
            usual_.store(usual + (mean - usual) / kStepsToMean * std::min(passed / kStep, Nanos{10}),
                         std::memory_order_relaxed);
            at_.store(now, std::memory_order_relaxed);
        }
    }

private:
    static constexpr Nanos kStepsToMean = 2600;  // half of the way in three minutes

    std::atomic<Nanos> mean_{0}, usual_{0}, at_{0};
    std::atomic<int> count_{0};
};

// A cache line of its own for each shard: different threads write them.
struct alignas(64) ShardLoad {
    static constexpr int kWeight = 4;     // a latency has the weight 1/16, or 1/2 after a pause
    static constexpr int kHalfLife = 30;  // the average halves in each 2^30 ns without a response
    // Lower averages count as this: a replica in another rack is not slow because of the network.
    static constexpr Nanos kQuick = kMillisecond;
    static constexpr Nanos kSlow = Nanos{1} << 40;  // longer times count as this
    static constexpr Nanos kLost = 10 * kSecond;
    static constexpr int kClearly = 2;  // times as slow

    static constexpr int kTick = 24;  // a tick is 2^24 ns

    std::atomic<int32_t> in_flight{0};
    std::atomic<uint32_t> silent_until{0};  // ticks; latencies of requests sent before do not count
    std::atomic<Nanos> latency{0};  // moving average; 0 before the first response
    std::atomic<Nanos> measured_at{0};
    std::atomic<Nanos> busy_since{0};  // when the first of the requests in flight was sent
    UsualLatency usual;

    // True if one of two latencies is clearly longer.
    static bool differ(Nanos one, Nanos other) noexcept {
        const Nanos longer = one > other ? one : other, shorter = one > other ? other : one;
        return longer > kClearly * (shorter > kQuick ? shorter : kQuick);
    }

    void begin(Nanos now) noexcept {
        if (in_flight.fetch_add(1, std::memory_order_relaxed) == 0) busy_since.store(now, std::memory_order_relaxed);
    }
    void end() noexcept { in_flight.fetch_sub(1, std::memory_order_relaxed); }

    // The server responds again after it was silent. The latencies of the silence are forgotten: the average, which
    // halves once in a second, would exclude the server for some seconds more.
    void responds_again(Nanos now) noexcept {
        silent_until.store(static_cast<uint32_t>((now >> kTick) + 1), std::memory_order_relaxed);
        latency.store(0, std::memory_order_relaxed);
        measured_at.store(now, std::memory_order_relaxed);
    }
    // Records a response. One that *failed* counts only if it was slow: a host that rejects everything is fast.
    void answered(Nanos elapsed, Nanos now, bool failed) noexcept {
        elapsed = std::clamp(elapsed, Nanos{1}, kSlow);
        if (std::max(Nanos{0}, now - elapsed) >> kTick < silent_until.load(std::memory_order_relaxed)) return;
        if (!failed) usual.record(elapsed, now);
        const int64_t known = latency.load(std::memory_order_relaxed);
        if (failed && elapsed <= known) return;
        const int64_t pause = now - measured_at.load(std::memory_order_relaxed);
        const int weight = pause >> kHalfLife > 0 ? 1 : kWeight;
        latency.store(known == 0 ? elapsed : std::max(Nanos{1}, known + ((elapsed - known) >> weight)),
                      std::memory_order_relaxed);
        measured_at.store(now, std::memory_order_relaxed);
    }

    // The latency to expect at *now*. While requests are in flight, it is not less than the time since the last response.
    // A response that has not come for kLost is lost: the server is tried again.
    Nanos latency_at(Nanos now) const noexcept {
        const Nanos known = latency.load(std::memory_order_relaxed);
        const Nanos measured = measured_at.load(std::memory_order_relaxed);
        if (in_flight.load(std::memory_order_relaxed) > 0) {
            const Nanos quiet = now - std::max(measured, busy_since.load(std::memory_order_relaxed));
            if (quiet < kLost) return std::max({kQuick, known, quiet});
        }
        const int64_t halves = std::max(Nanos{0}, now - measured) >> kHalfLife;
        return std::max(kQuick, known >> std::min(halves, int64_t{63}));
    }
};

static_assert(sizeof(ShardLoad) == 64);

// False if the second shard is the better one for a request: fewer requests are in flight to it. If one of the two is
// more than twice as slow, the number of requests in flight to each is multiplied by its latency: requests leave a slow
// server slowly, so that equal numbers in flight would still mean many slow requests. *clock* is called only in that
// case.
template <class Clock>
inline bool less_loaded(const ShardLoad& first, const ShardLoad& second, Clock clock) noexcept {
    const int64_t one = first.in_flight.load(std::memory_order_relaxed);
    const int64_t other = second.in_flight.load(std::memory_order_relaxed);
    Nanos ours = first.latency.load(std::memory_order_relaxed);
    Nanos theirs = second.latency.load(std::memory_order_relaxed);
    if (__builtin_expect(ShardLoad::differ(ours, theirs) && ours != 0 && theirs != 0, 0)) {
        const Nanos now = clock();
        ours = first.latency_at(now);
        theirs = second.latency_at(now);
        if (ShardLoad::differ(ours, theirs)) return (one + 1) * ours <= (other + 1) * theirs;
    }
    return one <= other;
}
inline bool less_loaded(const ShardLoad& first, const ShardLoad& second) noexcept {
    return less_loaded(first, second, monotonic_now);
}

class HostLoad {
public:
    static constexpr uint32_t kShards = 1024;  // further ones share the first entry

    HostLoad() { blocks_[0].store(new ShardLoad[kBlock], std::memory_order_relaxed); }
    ~HostLoad() {
        for (auto& block : blocks_) delete[] block.load(std::memory_order_relaxed);
    }
    HostLoad(const HostLoad&) = delete;
    HostLoad& operator=(const HostLoad&) = delete;

    // The present sharding of the host; one shard if its connections are not distinguished by shard. Throws bad_alloc.
    void set_sharding(uint32_t shards, uint32_t ignore_msb) {
        const GilLock lock(mutex_);
        shards = std::max(shards, uint32_t{1});
        for (uint32_t block = 1; block < kBlocks && block * kBlock < shards; ++block) {
            if (!blocks_[block].load(std::memory_order_relaxed))
                blocks_[block].store(new ShardLoad[kBlock], std::memory_order_relaxed);
        }
        sharding_.store(uint64_t{shards} << 8 | ignore_msb, std::memory_order_release);
    }

    ShardLoad& of_shard(uint32_t shard) const noexcept {
        return at(shard < sharding_.load(std::memory_order_acquire) >> 8 ? shard : 0);
    }
    ShardLoad& of_token(int64_t token) const noexcept { return at(owner(sharding(), token)); }

private:
    static constexpr uint32_t kBlock = 64, kBlocks = kShards / kBlock;

    friend bool less_loaded(const HostLoad& first, const HostLoad& second, int64_t token) noexcept;

    uint64_t sharding() const noexcept { return sharding_.load(std::memory_order_acquire); }
    static uint32_t owner(uint64_t sharding, int64_t token) noexcept {
        const auto shards = static_cast<uint32_t>(sharding >> 8);
        return shards == 1 ? 0 : shard_of_token(token, shards, static_cast<uint32_t>(sharding & 0xff));
    }
    ShardLoad& at(uint32_t shard) const noexcept {
        if (shard >= kShards) shard = 0;
        return blocks_[shard / kBlock].load(std::memory_order_relaxed)[shard % kBlock];
    }

    std::atomic<ShardLoad*> blocks_[kBlocks] = {};  // only added: channels keep references to their elements
    std::atomic<uint64_t> sharding_{1 << 8};  // number of shards, and ignored bits of tokens; stored after the blocks
    GilMutex mutex_;
};

// The same for the shards of *token*. Nearly always both hosts have the same sharding.
inline bool less_loaded(const HostLoad& first, const HostLoad& second, int64_t token) noexcept {
    const uint64_t one = first.sharding(), other = second.sharding();
    const uint32_t shard = HostLoad::owner(one, token);
    return less_loaded(first.at(shard), second.at(one == other ? shard : HostLoad::owner(other, token)));
}

}  // namespace fastcql
