// The delay and the budget of speculative executions, by a clock of the test.
#include <random>
#include <thread>
#include <vector>

#include "metrics/speculation.h"
#include "testing.h"

namespace speculation_test {

using namespace fastcql;

namespace {

constexpr Nanos kStart = 1000 * kSecond;

bool is_near(Nanos found, Nanos wanted) { return found >= wanted && found <= wanted + wanted / 50; }

}  // namespace

TEST(there_is_no_delay_before_a_hundred_latencies) {
    SpeculationTracker tracker(99, 0.05);
    for (int i = 0; i < 99; ++i) tracker.record(kMillisecond, kStart);
    CHECK(tracker.delay(kStart) == 0);
    tracker.record(kMillisecond, kStart);
    CHECK(is_near(tracker.delay(kStart), kMillisecond));
}

TEST(the_delay_is_the_percentile) {
    for (double percentile : {50.0, 90.0, 99.0, 99.9}) {
        SpeculationTracker tracker(percentile, 0.05);
        for (int i = 1; i <= 1000; ++i) tracker.record(i * kMillisecond, kStart);
        CHECK(is_near(tracker.delay(kStart + 2 * kSecond), static_cast<Nanos>(percentile * 10) * kMillisecond));
    }
}

TEST(the_delay_follows_the_last_minute) {
    SpeculationTracker tracker(99, 0.05);
    for (int i = 0; i < 1000; ++i) tracker.record(kMillisecond, kStart);
    CHECK(is_near(tracker.delay(kStart), kMillisecond));
    for (int i = 0; i < 100; ++i) tracker.record(kSecond, kStart + kSecond);
    CHECK(is_near(tracker.delay(kStart), kMillisecond));  // computed a moment ago
    CHECK(is_near(tracker.delay(kStart + 2 * kSecond), kSecond));
    Nanos now = kStart + 2 * kSecond;
    for (int i = 0; i < 2000; ++i) tracker.record(2 * kMillisecond, now += 100 * kMillisecond);
    CHECK(is_near(tracker.delay(now), 2 * kMillisecond));
    CHECK(tracker.delay(now + 200 * kSecond) == 0);  // too few
}

TEST(the_budget_is_a_share_of_the_requests) {
    std::mt19937_64 chance(3);
    for (double budget : {0.01, 0.05, 0.5, 1.0}) {
        SpeculationTracker tracker(99, budget);
        CHECK(!tracker.withdraw());
        int64_t requests = 0, extra = 0;
        for (int i = 0; i < 200'000; ++i) {
            const bool quiet = i / 20'000 % 2 == 0;  // nothing is taken
            if (chance() % 2) {
                tracker.deposit();
                ++requests;
            }
            if (!quiet && tracker.withdraw()) ++extra;
            CHECK(static_cast<double>(extra) <= budget * static_cast<double>(requests));
        }
        CHECK(extra > 0);
    }
}

TEST(a_hundred_executions_are_saved) {
    SpeculationTracker tracker(99, 0.5);
    for (int i = 0; i < 10'000; ++i) tracker.deposit();
    int taken = 0;
    while (tracker.withdraw()) ++taken;
    CHECK(taken == 100);
}

TEST(threads_do_not_exceed_the_budget) {
    SpeculationTracker tracker(99, 0.05);
    std::atomic<int> extra{0};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread)
        threads.emplace_back([&] {
            for (int i = 0; i < 20'000; ++i) {
                tracker.deposit();
                tracker.record(i % 1000 * 1000, kStart + i * kMillisecond);
                tracker.delay(kStart + i * kMillisecond);
                if (tracker.withdraw()) ++extra;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(extra <= 4000 && extra > 3000);
}

}  // namespace speculation_test
