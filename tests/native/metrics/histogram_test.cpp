#include "metrics/histogram.h"

#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "metrics/series.h"
#include "testing.h"

namespace histogram_test {

using namespace fastcql;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

uint64_t total(const HistogramCopy& copy) {
    uint64_t sum = 0;
    for (const BucketCount& one : copy.counts) sum += one.count;
    return sum;
}

}  // namespace

TEST(buckets_are_ascending_and_narrow) {
    for (size_t i = 1; i < Buckets::kCount; ++i) {
        const double below = Buckets::upper(i - 1), above = Buckets::upper(i);
        CHECK(above > below);
        CHECK(i < Buckets::kSub || (above - below) / below <= 1.0 / 64 + 1e-12);
    }
}

TEST(a_time_is_in_the_bucket_whose_bounds_enclose_it) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 200000; ++i) {
        const uint64_t nanos = random() >> (27 + random() % 37);
        const size_t index = Buckets::index(nanos);
        const double seconds = static_cast<double>(nanos) * 1e-9;
        CHECK(index < Buckets::kCount);
        if (index + 1 == Buckets::kCount) continue;
        const double rounding = seconds * 1e-8 + 1e-9;
        CHECK(seconds <= Buckets::upper(index) + rounding);
        CHECK(index == 0 || seconds > Buckets::upper(index - 1) - rounding);
    }
}

TEST(decimal_bounds_are_bounds_of_buckets) {
    for (const int64_t micros : {250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000}) {
        const auto nanos = static_cast<uint64_t>(micros) * 1000;
        const size_t index = Buckets::index(nanos);
        CHECK(std::fabs(Buckets::upper(index) - static_cast<double>(micros) * 1e-6) < 1e-12);
        CHECK(Buckets::index(nanos + 10) == index + 1);
    }
}

TEST(longest_times_are_in_the_last_bucket) {
    CHECK(Buckets::index(0) == 0);
    CHECK(Buckets::index(UINT64_MAX) == Buckets::kCount - 1);
    CHECK(Buckets::index(200ULL * kSecond) == Buckets::kCount - 1);
}

TEST(sum_least_and_greatest_are_exact) {
    Histogram histogram;
    CHECK(histogram.all().counts.empty());
    for (const uint64_t nanos : {5000ULL, 1ULL, 123456789ULL}) histogram.record(nanos, 0);
    const HistogramCopy copy = histogram.all();
    CHECK(total(copy) == 3);
    CHECK(copy.sum == 123461790);
    CHECK(copy.least == 1);
    CHECK(copy.greatest == 123456789);
}

TEST(the_window_loses_times_after_a_minute) {
    Histogram histogram;
    for (int64_t second = 0; second < 200; ++second) histogram.record(1000, second * kSecond);
    CHECK(total(histogram.all()) == 200);
    const HistogramCopy recent = histogram.recent(199 * kSecond);
    CHECK(total(recent) >= 60 && total(recent) <= 80);
    CHECK(recent.sum == total(recent) * 1000);
    CHECK(total(histogram.recent(240 * kSecond)) < total(recent));
    CHECK(total(histogram.recent(300 * kSecond)) == 0);
    CHECK(histogram.recent(300 * kSecond).sum == 0);
}

TEST(a_period_that_was_ended_late_is_as_old_as_its_times) {
    Histogram histogram;
    histogram.record(1000, 0);
    histogram.record(1000, 5 * kSecond);
    CHECK(total(histogram.recent(6 * kSecond)) == 2);
    CHECK(total(histogram.recent(1000 * kSecond)) == 0);  // ends the period
    histogram.record(1000, 1001 * kSecond);
    CHECK(total(histogram.recent(1002 * kSecond)) == 1);
    CHECK(total(histogram.all()) == 3);
}

TEST(threads_lose_no_time) {
    constexpr int kThreads = 8, kTimes = 20000;
    HostSeries series;
    std::atomic<int> running{kThreads};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
        threads.emplace_back([&, thread] {
            for (int i = 0; i < kTimes; ++i) {
                // A period ends with every thousandth time.
                const auto number = static_cast<size_t>(i % 3);
                series.record_attempt(number, static_cast<uint64_t>(i * 100), i * kSecond / 100);
                series.count(number, 1, 1);
                if (i % 1000 == thread) {
                    if (HostSeries::Series* const known = series.find(0)) known->latency.recent(i * kSecond / 100);
                }
            }
            --running;
        });
    }
    while (running > 0) {
        for (size_t number = 0; number < 4; ++number) {
            if (HostSeries::Series* const known = series.find(number)) CHECK(total(known->latency.all()) <= 160000);
        }
    }
    for (std::thread& thread : threads) thread.join();
    uint64_t times = 0, attempts = 0, counts = 0;
    for (size_t number = 0; number < 3; ++number) {
        times += total(series.at(number)->latency.all());
        attempts += series.counted(number, HostSeries::kAttempts);
        counts += series.counted(number, 1);
    }
    CHECK(times == kThreads * kTimes && attempts == times && counts == times);
    CHECK(series.find(3) == nullptr && series.counted(3, 1) == 0);
}

TEST(the_difference_of_two_periods_has_each_time_once) {
    Histogram histogram;
    std::mt19937_64 random(2);
    uint64_t recorded = 0;
    for (int64_t second = 0; second < 55; ++second) {
        for (int i = 0; i < 100; ++i, ++recorded) {
            histogram.record(random() % 1000000000, second * kSecond + i);
        }
        CHECK(total(histogram.recent(second * kSecond + 200)) == recorded);
    }
}

}  // namespace histogram_test
