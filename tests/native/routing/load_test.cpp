// Load of shards: counts, the moving average of latencies, and the choice between two replicas, by a clock of the test.
#include <algorithm>
#include <random>
#include <set>

#include "routing/load.h"
#include "testing.h"

namespace load_test {

using namespace fastcql;

namespace {

constexpr Nanos kStart = 100 * kSecond;

bool first_is_chosen(const ShardLoad& first, const ShardLoad& second, Nanos now = kStart) {
    return less_loaded(first, second, [now] { return now; });
}

void set(ShardLoad& load, int in_flight, Nanos latency, Nanos now = kStart) {
    load.in_flight.store(in_flight);
    load.latency.store(latency);
    load.measured_at.store(now);
    load.busy_since.store(now);
}

}  // namespace

TEST(fewer_requests_in_flight_win_and_equal_numbers_keep_the_order) {
    ShardLoad one, other;
    CHECK(first_is_chosen(one, other));
    one.begin(kStart);
    CHECK(!first_is_chosen(one, other) && first_is_chosen(other, one));
    other.begin(kStart);
    CHECK(first_is_chosen(one, other) && first_is_chosen(other, one));
    one.end();
    CHECK(first_is_chosen(one, other));
}

TEST(a_first_latency_counts_whole_and_others_a_sixteenth) {
    ShardLoad load;
    load.answered(3200, kStart, false);
    CHECK(load.latency == 3200);
    load.answered(4800, kStart, false);
    CHECK(load.latency == 3300);
    load.answered(1, kStart + 3 * kSecond, false);  // after a pause, a half
    CHECK(load.latency == 1650);
}

TEST(failures_count_only_if_they_are_slow) {
    ShardLoad load;
    load.answered(1600, kStart, false);
    load.answered(16, kStart, true);
    CHECK(load.latency == 1600);
    load.answered(3200, kStart, true);
    CHECK(load.latency == 1700);
}

TEST(the_usual_latency_is_the_least_mean_of_many) {
    UsualLatency latency;
    Nanos now = kStart;
    for (int i = 0; i < 63; ++i) latency.record(kMillisecond, now += kMillisecond);
    CHECK(latency.get() == 0);  // not known yet
    latency.record(kMillisecond, now += kMillisecond);
    CHECK(latency.get() == kMillisecond);
    latency.record(kSecond, now += kMillisecond);
    CHECK(latency.get() == kMillisecond);  // a single one does not matter
    for (int i = 0; i < 2000; ++i) latency.record(kMillisecond / 2, now += kMillisecond);
    CHECK(latency.get() > kMillisecond * 49 / 100 && latency.get() < kMillisecond * 52 / 100);
}

TEST(a_higher_latency_becomes_usual_in_minutes) {
    for (const Nanos distance : {10 * kMillisecond, kMillisecond / 10}) {  // however many requests there are
        UsualLatency latency;
        Nanos now = kStart;
        for (int i = 0; i < 1000; ++i) latency.record(kMillisecond, now += kMillisecond);
        const Nanos begun = now;
        while (now < begun + 60 * kSecond) latency.record(2 * kMillisecond, now += distance);
        CHECK(latency.get() > kMillisecond * 11 / 10 && latency.get() < kMillisecond * 13 / 10);
        while (now < begun + 180 * kSecond) latency.record(2 * kMillisecond, now += distance);
        CHECK(latency.get() > kMillisecond * 14 / 10 && latency.get() < kMillisecond * 16 / 10);
    }
}

TEST(errors_are_not_usual) {
    ShardLoad load;
    Nanos now = kStart;
    for (int i = 0; i < 1000; ++i) load.answered(kMillisecond, now += kMillisecond, false);
    for (int i = 0; i < 1000; ++i) load.answered(1000, now += kMillisecond, true);
    CHECK(load.usual.get() == kMillisecond);
}

TEST(impossible_times_do_no_harm) {
    ShardLoad load;
    load.answered(-5, kStart, false);
    CHECK(load.latency == 1);
    for (int i = 0; i < 1000; ++i) load.answered(INT64_MAX, kStart, false);
    CHECK(load.latency > 0 && load.latency <= ShardLoad::kSlow);
    CHECK(load.latency_at(INT64_MAX) == ShardLoad::kQuick);
    CHECK(load.latency_at(0) == load.latency);  // before it was measured
}

TEST(twice_the_latency_is_not_slow_but_more_is) {
    ShardLoad one, other;
    set(one, 3, 20 * kMillisecond);
    set(other, 4, 10 * kMillisecond);
    CHECK(first_is_chosen(one, other) && !first_is_chosen(other, one));
    set(one, 3, 50 * kMillisecond);
    CHECK(!first_is_chosen(one, other) && first_is_chosen(other, one));
    set(other, 30, 10 * kMillisecond);  // 4 * 50 < 31 * 10
    CHECK(first_is_chosen(one, other));
}

TEST(a_shard_without_a_latency_is_judged_by_its_requests) {
    ShardLoad one, other;
    set(one, 1, kSecond);
    set(other, 2, 0);
    CHECK(first_is_chosen(one, other) && !first_is_chosen(other, one));
}

TEST(less_than_a_millisecond_is_never_slow) {
    ShardLoad one, other;
    set(one, 1, 990'000);
    set(other, 2, 1000);
    CHECK(first_is_chosen(one, other));
}

TEST(a_slow_shard_is_tried_again_when_its_latency_has_faded) {
    ShardLoad one, other;
    set(one, 0, 10 * kMillisecond);
    set(other, 0, kMillisecond);
    CHECK(!first_is_chosen(one, other));
    CHECK(!first_is_chosen(one, other, kStart + 2 * kSecond));
    CHECK(first_is_chosen(one, other, kStart + 4 * kSecond));
}

TEST(a_shard_that_does_not_respond_is_as_slow_as_its_silence) {
    ShardLoad one, other;
    set(one, 3, kMillisecond);
    set(other, 0, 100 * kMillisecond);  // it was slow: 4 * 1 < 1 * 100
    CHECK(first_is_chosen(one, other));
    CHECK(!first_is_chosen(one, other, kStart + kSecond / 2));
    one.answered(kMillisecond, kStart + kSecond / 2, false);
    CHECK(first_is_chosen(one, other, kStart + kSecond / 2));
}

TEST(a_silence_that_has_ended_does_not_exclude_a_shard) {
    ShardLoad one, other;
    set(one, 0, kMillisecond);
    set(other, 0, kMillisecond);
    const Nanos end = kStart + 8 * kSecond;
    one.answered(8 * kSecond, end, false);
    CHECK(!first_is_chosen(one, other, end + 5 * kSecond));
    one.responds_again(end);
    one.answered(7 * kSecond, end + kMillisecond, false);  // sent during the silence
    CHECK(first_is_chosen(one, other, end + kMillisecond));
    one.answered(20 * kMillisecond, end + 50 * kMillisecond, false);  // it is still slow
    CHECK(!first_is_chosen(one, other, end + 50 * kMillisecond));
}

TEST(a_lost_response_does_not_exclude_a_shard) {
    ShardLoad one, other;
    set(one, 1, 100 * kMillisecond);
    set(other, 2, kMillisecond, kStart + 9 * kSecond);
    CHECK(!first_is_chosen(one, other, kStart + 9 * kSecond));
    set(other, 2, kMillisecond, kStart + 11 * kSecond);
    CHECK(first_is_chosen(one, other, kStart + 11 * kSecond));
}

TEST(all_pairs_are_drawn_equally_often) {
    for (uint32_t count : {2u, 3u, 5u, 255u}) {
        RandomSource random(count);
        std::vector<int> first(count), second(count);
        const int draws = 4000 * static_cast<int>(count);
        for (int i = 0; i < draws; ++i) {
            const RandomSource::Two two = random.two_below(count);
            CHECK(two.first < count && two.second < count && two.first != two.second);
            ++first[two.first];
            ++second[two.second];
        }
        for (uint32_t i = 0; i < count; ++i) CHECK(std::abs(first[i] - 4000) < 400 && std::abs(second[i] - 4000) < 400);
    }
}

// Properties: the choice does not depend on the order unless the two are equal, and a shard that is worse in one
// respect and not better in the other is not chosen.
TEST(the_choice_is_consistent) {
    std::mt19937_64 chance(7);
    for (int i = 0; i < 200'000; ++i) {
        ShardLoad one, other;
        const auto latency = [&] { return static_cast<Nanos>(chance() % 8 ? kMillisecond << chance() % 12 : 0); };
        set(one, static_cast<int>(chance() % 6), latency());
        set(other, static_cast<int>(chance() % 6), latency());
        const bool forward = first_is_chosen(one, other), backward = first_is_chosen(other, one);
        CHECK(forward || backward);
        if (one.latency >= other.latency && one.in_flight > other.in_flight && other.latency > 0) CHECK(!forward);
    }
}

// Requests that stay in flight differ by two at most between three equal shards.
TEST(requests_in_flight_are_spread_evenly) {
    RandomSource random(5);
    ShardLoad loads[3];
    for (int i = 0; i < 30'000; ++i) {
        const RandomSource::Two two = random.two_below(3);
        (first_is_chosen(loads[two.first], loads[two.second]) ? loads[two.first] : loads[two.second]).begin(kStart);
        int found[3] = {loads[0].in_flight, loads[1].in_flight, loads[2].in_flight};
        std::sort(found, found + 3);
        CHECK(found[2] - found[0] <= 12);
    }
    CHECK(std::abs(loads[0].in_flight - 10'000) <= 12);
}

TEST(shards_have_loads_of_their_own) {
    HostLoad host;
    CHECK(&host.of_shard(0) == &host.of_shard(7) && &host.of_token(INT64_MAX) == &host.of_shard(0));
    ShardLoad* const first = &host.of_shard(0);
    host.set_sharding(8, 12);
    std::set<ShardLoad*> found;
    for (uint32_t shard = 0; shard < 8; ++shard) found.insert(&host.of_shard(shard));
    CHECK(found.size() == 8 && &host.of_shard(0) == first && &host.of_shard(8) == first);
    for (int64_t token : {INT64_MIN, int64_t{-77}, int64_t{1} << 40, INT64_MAX})
        CHECK(&host.of_token(token) == &host.of_shard(shard_of_token(token, 8, 12)));
    host.set_sharding(UINT32_MAX, 0);  // of a hostile server
    CHECK(&host.of_shard(1023) != first && &host.of_shard(1024) == first && &host.of_token(INT64_MAX) == first);
    host.set_sharding(0, 0);
    CHECK(&host.of_shard(5) == first);
}

}  // namespace load_test
