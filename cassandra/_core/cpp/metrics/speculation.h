// When a request is sent to a second host: after a percentile of the recent latencies, within a budget.
//
// The budget is a token bucket. Each request adds the same share of a token, and each extra execution takes a whole one,
// so that extra executions are never more than this share of the requests, however slow the servers become. The bucket
// is empty at first, and holds at most kBurst tokens.
//
// Any thread, no lock, except that one of them at a time computes the percentile, once in kInterval.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <mutex>
#include <new>

#include "base/clock.h"
#include "metrics/histogram.h"

namespace fastcql {

class SpeculationTracker {
public:
    static constexpr uint64_t kEnough = 100;  // latencies; there is no delay before
    static constexpr int64_t kToken = 1'000'000'000;
    static constexpr int64_t kBurst = 100;
    static constexpr Nanos kInterval = kSecond;

    // *percentile* between 0 and 100, *budget*: tokens of a request, 0 to 1.
    SpeculationTracker(double percentile, double budget) noexcept
        : percentile_(percentile), share_(static_cast<int64_t>(budget * static_cast<double>(kToken))) {}

    // A request ended with a result at *now*.
    void record(Nanos elapsed, Nanos now) noexcept {
        latency_.record(static_cast<uint64_t>(std::max(Nanos{0}, elapsed)), now);
        if (recorded_.fetch_add(1, std::memory_order_relaxed) + 1 == kEnough) refresh_at_.store(0);
    }

    // The percentile of the last minute's latencies; 0 while there are too few of them.
    Nanos delay(Nanos now) noexcept {
        if (now >= refresh_at_.load(std::memory_order_relaxed)) refresh(now);
        return delay_.load(std::memory_order_relaxed);
    }

    // A request begins.
    void deposit() noexcept {
        int64_t known = tokens_.load(std::memory_order_relaxed);
        while (!tokens_.compare_exchange_weak(known, std::min(known + share_, kBurst * kToken),
                                              std::memory_order_relaxed)) {
        }
    }
    // Takes a token; false if there is none.
    bool withdraw() noexcept {
        int64_t known = tokens_.load(std::memory_order_relaxed);
        while (known >= kToken) {
            if (tokens_.compare_exchange_weak(known, known - kToken, std::memory_order_relaxed)) return true;
        }
        return false;
    }

    void reset_in_child() noexcept {
        latency_.reset_in_child();
        new (&mutex_) std::mutex;
    }

private:
    void refresh(Nanos now) noexcept {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock) return;  // another thread does it
        refresh_at_.store(now + kInterval, std::memory_order_relaxed);
        try {
            const HistogramCopy recent = latency_.recent(now);
            uint64_t total = 0, passed = 0;
            for (const BucketCount& one : recent.counts) total += one.count;
            if (total < kEnough) {
                delay_.store(0, std::memory_order_relaxed);
                return;
            }
            const auto rank = static_cast<uint64_t>(std::ceil(percentile_ / 100 * static_cast<double>(total)));
            for (const BucketCount& one : recent.counts) {
                passed += one.count;
                if (passed < rank) continue;
                const double seconds = Buckets::upper(one.index);
                delay_.store(static_cast<Nanos>(seconds * static_cast<double>(kSecond)), std::memory_order_relaxed);
                return;
            }
        } catch (const std::bad_alloc&) {  // the delay stays
        }
    }

    Histogram latency_;
    const double percentile_;
    const int64_t share_;
    std::atomic<uint64_t> recorded_{0};
    std::atomic<Nanos> delay_{0};
    std::atomic<Nanos> refresh_at_{kSecond};
    std::atomic<int64_t> tokens_{0};
    std::mutex mutex_;
};

}  // namespace fastcql
