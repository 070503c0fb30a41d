// Latency histograms: counts in fixed buckets of nearly equal relative width.
//
// A time is counted in units of 1/2048 ms. Below 64 units (31.25 us) there is one bucket per unit; above, each power of
// two is divided into 64 buckets, so a bucket is at most 1/64 of its lower bound wide. Bounds are multiples of powers of
// two of a millisecond divided by 64: 1 ms, 2.5 ms, 100 ms and 1 s are bounds. A bucket contains its upper bound.
// Histograms of any origin have the same buckets: they are added bucket by bucket.
//
// Any thread records, without a lock: relaxed additions to counters that only grow. A copy that is read meanwhile may
// lack times that are being recorded; none is lost or counted twice.
//
// The times of the last minute are a difference: the counts now less those at the beginning of each period of ten
// seconds, which is kept as the few buckets that have changed. The first time that is recorded after the end of a period
// ends it (rotate). So each recorded time falls into its period without a timer, and an idle histogram costs nothing.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace fastcql {

struct Buckets {
    static constexpr int kSubBits = 6;
    static constexpr size_t kSub = size_t{1} << kSubBits;
    static constexpr int kUnitBits = 28;  // times from 2^28 units (131 s) are in the last bucket
    static constexpr size_t kCount = (kUnitBits - kSubBits + 1) * kSub;
    static constexpr double kUnit = 1e-3 / 2048;  // seconds

    static size_t index(uint64_t nanoseconds) noexcept {
        constexpr uint64_t kUnitsPerNano = 8796093;  // 0.002048 * 2^32, rounded down: an upper bound is in its bucket
        constexpr uint64_t kMaximum = (uint64_t{1} << kUnitBits) - 1;
        constexpr uint64_t kLongest = uint64_t{1} << 40;  // no overflow
        const uint64_t units = std::min(std::min(nanoseconds, kLongest) * kUnitsPerNano >> 32, kMaximum);
        if (units < kSub) return static_cast<size_t>(units);
        const int shift = 63 - __builtin_clzll(units) - kSubBits;
        return static_cast<size_t>(shift) * kSub + static_cast<size_t>(units >> shift);
    }
    // The upper bound of a bucket, in seconds.
    static double upper(size_t index) noexcept {
        if (index < 2 * kSub) return static_cast<double>(index + 1) * kUnit;
        const size_t shift = index / kSub - 1;
        return static_cast<double>((index % kSub + kSub + 1) << shift) * kUnit;
    }
};

// Counts of one bucket that changed.
struct BucketCount {
    uint32_t index;
    uint64_t count;
};

// A copy of a histogram, for one thread.
struct HistogramCopy {
    std::vector<BucketCount> counts;  // ascending, none of them 0
    uint64_t sum = 0;                 // nanoseconds
    uint64_t least = UINT64_MAX;      // nanoseconds; of all times, not only of those in a window
    uint64_t greatest = 0;
};

class Histogram {
public:
    static constexpr int64_t kPeriod = 10'000'000'000;
    static constexpr size_t kPeriods = 6;

    Histogram() noexcept = default;
    Histogram(const Histogram&) = delete;
    Histogram& operator=(const Histogram&) = delete;

    // Any thread. *now*: the time in nanoseconds at which the recorded time ended.
    void record(uint64_t nanoseconds, int64_t now) noexcept {
        if (now >= period_ends_.load(std::memory_order_relaxed)) rotate(now);
        counts_[Buckets::index(nanoseconds)].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(nanoseconds, std::memory_order_relaxed);
        if (nanoseconds > greatest_.load(std::memory_order_relaxed)) raise(nanoseconds);
        if (nanoseconds < least_.load(std::memory_order_relaxed)) lower(nanoseconds);
    }

    // Any thread. Throws std::bad_alloc, as recent() does.
    HistogramCopy all() const {
        HistogramCopy copy;
        for (size_t i = 0; i < Buckets::kCount; ++i) {
            const uint64_t count = counts_[i].load(std::memory_order_relaxed);
            if (count > 0) copy.counts.push_back({static_cast<uint32_t>(i), count});
        }
        copy.sum = sum_.load(std::memory_order_relaxed);
        copy.least = least_.load(std::memory_order_relaxed);
        copy.greatest = greatest_.load(std::memory_order_relaxed);
        return copy;
    }

    // Any thread: the times of the current period and of those that ended within the last minute.
    HistogramCopy recent(int64_t now) {
        if (now >= period_ends_.load(std::memory_order_relaxed)) rotate(now);
        HistogramCopy copy;
        std::vector<uint64_t> window(Buckets::kCount, 0);
        {
            std::lock_guard<std::mutex> guard(mutex_);
            copy = all();
            for (const BucketCount& one : copy.counts) {
                window[one.index] = one.count - (before_.empty() ? 0 : before_[one.index]);
            }
            copy.sum -= sum_before_;
            for (const Period& period : periods_) {
                if (period.end + kPeriod * static_cast<int64_t>(kPeriods) <= now) continue;
                for (const BucketCount& one : period.counts) window[one.index] += one.count;
                copy.sum += period.sum;
            }
        }
        copy.counts.clear();
        for (size_t i = 0; i < Buckets::kCount; ++i) {
            if (window[i] > 0) copy.counts.push_back({static_cast<uint32_t>(i), window[i]});
        }
        return copy;
    }

    // In a forked child, without other users: a thread of the parent may have held the mutex.
    void reset_in_child() noexcept { new (&mutex_) std::mutex; }

private:
    struct Period {
        int64_t end = INT64_MIN / 2;
        uint64_t sum = 0;
        std::vector<BucketCount> counts;
    };

    // Ends the current period, unless another thread is doing so. Without memory it becomes longer.
    void rotate(int64_t now) noexcept {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (!lock) return;
        const int64_t end = period_ends_.load(std::memory_order_relaxed);
        if (now < end) return;
        try {
            if (before_.empty()) before_.resize(Buckets::kCount, 0);
            Period ended;
            ended.end = end;
            for (size_t i = 0; i < Buckets::kCount; ++i) {
                const uint64_t count = counts_[i].load(std::memory_order_relaxed);
                if (count != before_[i]) ended.counts.push_back({static_cast<uint32_t>(i), count - before_[i]});
            }
            for (const BucketCount& one : ended.counts) before_[one.index] += one.count;
            const uint64_t sum = sum_.load(std::memory_order_relaxed);
            ended.sum = sum - std::exchange(sum_before_, sum);
            periods_[next_++ % kPeriods] = std::move(ended);
        } catch (const std::bad_alloc&) {
        }
        period_ends_.store(now + kPeriod, std::memory_order_relaxed);
    }

    void raise(uint64_t nanoseconds) noexcept {
        uint64_t known = greatest_.load(std::memory_order_relaxed);
        while (nanoseconds > known &&
               !greatest_.compare_exchange_weak(known, nanoseconds, std::memory_order_relaxed)) {
        }
    }
    void lower(uint64_t nanoseconds) noexcept {
        uint64_t known = least_.load(std::memory_order_relaxed);
        while (nanoseconds < known && !least_.compare_exchange_weak(known, nanoseconds, std::memory_order_relaxed)) {
        }
    }

    std::atomic<int64_t> period_ends_{INT64_MIN / 2};
    std::atomic<uint64_t> sum_{0};
    std::atomic<uint64_t> least_{UINT64_MAX};
    std::atomic<uint64_t> greatest_{0};
    std::array<std::atomic<uint64_t>, Buckets::kCount> counts_{};

    std::mutex mutex_;  // of what follows
    std::vector<uint64_t> before_;  // counts at the beginning of the period; empty for zeros
    uint64_t sum_before_ = 0;
    std::array<Period, kPeriods> periods_{};
    size_t next_ = 0;
};

}  // namespace fastcql
