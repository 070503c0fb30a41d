// Counts of the requests to one host: a series for each kind of statement and profile, numbered by their owner.
//
// A series is made by the first request that it counts, and lives as long as this object; their number is bounded. All
// methods may be called by any thread, without the runtime lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "metrics/histogram.h"

namespace fastcql {

class HostSeries {
public:
    static constexpr size_t kSeries = 64;
    static constexpr size_t kCounters = 96;  // their meaning is their owner's
    static constexpr size_t kAttempts = 0;

    struct Series {
        Histogram latency;
        std::array<std::atomic<uint64_t>, kCounters> counters{};
    };

    HostSeries() noexcept = default;
    ~HostSeries() {
        for (std::atomic<Series*>& slot : series_) delete slot.load(std::memory_order_acquire);
    }
    HostSeries(const HostSeries&) = delete;
    HostSeries& operator=(const HostSeries&) = delete;

    // The series *number*, below kSeries; null if there is no memory for it.
    Series* at(size_t number) noexcept {
        Series* const known = series_[number].load(std::memory_order_acquire);
        return known ? known : make(number);
    }
    // The same, null if it has not counted anything.
    Series* find(size_t number) const noexcept { return series_[number].load(std::memory_order_acquire); }

    void record(size_t number, uint64_t nanoseconds, int64_t now) noexcept {
        if (Series* const series = at(number)) series->latency.record(nanoseconds, now);
    }
    // A request that took one attempt.
    void record_attempt(size_t number, uint64_t nanoseconds, int64_t now) noexcept {
        Series* const series = at(number);
        if (!series) return;
        series->latency.record(nanoseconds, now);
        series->counters[kAttempts].fetch_add(1, std::memory_order_relaxed);
    }
    void count(size_t number, size_t counter, uint64_t more) noexcept {
        if (Series* const series = at(number)) series->counters[counter].fetch_add(more, std::memory_order_relaxed);
    }
    uint64_t counted(size_t number, size_t counter) const noexcept {
        const Series* const series = find(number);
        return series ? series->counters[counter].load(std::memory_order_relaxed) : 0;
    }

    void reset_in_child() noexcept {
        for (std::atomic<Series*>& slot : series_) {
            if (Series* const series = slot.load(std::memory_order_acquire)) series->latency.reset_in_child();
        }
    }

private:
    Series* make(size_t number) noexcept {
        Series* const made = new (std::nothrow) Series;
        Series* known = nullptr;
        if (made && !series_[number].compare_exchange_strong(known, made, std::memory_order_acq_rel)) {
            delete made;  // another thread was first
            return known;
        }
        return made;
    }

    std::array<std::atomic<Series*>, kSeries> series_{};
};

}  // namespace fastcql
