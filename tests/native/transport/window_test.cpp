// Windows of overloaded servers, by a clock of the test.
#include "transport/window.h"

#include "testing.h"

namespace window_test {

using namespace fastcql;

namespace {

constexpr Nanos kUsual = kMillisecond;

// Requests of one client, one after the other or some at a time; *now* is the present time.
struct Client {
    OverloadWindows own;
    OverloadWindow window;
    Nanos now = 100 * kSecond;

    Client() { window.join(own); }
    explicit Client(OverloadWindows& all) { window.join(all); }
    ~Client() { window.leave(); }

    // A response that took *elapsed*, with *others* in flight besides.
    void answered(Nanos elapsed, int others = 0, bool rejected = false) {
        now += elapsed;
        window.answered(now - elapsed, now, kUsual, others + 1, rejected);
    }
    void answered_times(int count, Nanos elapsed, int others = 0) {
        for (int i = 0; i < count; ++i) answered(elapsed, others);
    }
    // Limited by a time-out of a server that responds slowly.
    void overload(int others = 0) {
        answered_times(32, 3 * kUsual);
        window.timed_out(now - kSecond, now, kUsual, others + 1);
        CHECK(window.is_limited());
    }
};

}  // namespace

TEST(a_slow_server_is_not_limited) {
    Client client;
    client.answered_times(10'000, 9 * kUsual, 100);
    client.answered_times(10'000, 90 * kMillisecond, 100);  // ninety times as slow, but not late
    CHECK(!client.window.is_limited() && client.window.has_room(30'000, client.now));
    CHECK(client.window.opens_at(0) == kNever);
}

TEST(single_lost_and_late_responses_do_not_limit) {
    Client client;
    for (int i = 0; i < 1000; ++i) {
        client.answered_times(20, kUsual, 50);
        client.window.timed_out(client.now - 10 * kSecond, client.now, kUsual, 51);
        client.answered(kSecond, 50);
        client.answered(kSecond / 2, 50);
    }
    CHECK(!client.window.is_limited());
}

TEST(without_a_usual_latency_there_is_no_limit) {
    Client client;
    for (int i = 0; i < 100; ++i) client.window.answered(0, kSecond, 0, 100, true);
    client.window.timed_out(0, kSecond, 0, 100);
    CHECK(!client.window.is_limited());
}

TEST(a_pause_of_the_server_does_not_limit) {
    Client client;
    for (int pause = 0; pause < 20; ++pause) {
        client.answered_times(100, kUsual, 20);
        const Nanos sent = client.now;
        client.now += 300 * kMillisecond;
        for (int i = 0; i < 40; ++i)  // all were sent before the first late response
            client.window.answered(sent + i * kMillisecond, client.now, kUsual, 40 - i, false);
        CHECK(!client.window.is_limited());
    }
}

TEST(responses_that_stay_late_limit) {
    Client client;
    Nanos sent = client.now;
    for (int round = 0; round < 2; ++round) {  // the second one is sent after the first late response
        client.now += 200 * kMillisecond;
        for (int i = 0; i < 40; ++i) client.window.answered(sent, client.now, kUsual, 40, false);
        CHECK(client.window.is_limited() == (round == 1));
        sent = client.now;
    }
    // As many as the server would have in flight at twice its usual latency: 40 x 2 ms / 200 ms.
    CHECK(client.window.size() > 0.39 && client.window.size() < 0.41);
}

TEST(rejected_requests_limit_if_they_are_many) {
    Client client;
    for (int i = 0; i < 1000; ++i) client.answered(kUsual, 20, i % 4 == 0);
    CHECK(!client.window.is_limited());
    for (int i = 0; i < 100; ++i) client.answered(kUsual, 20, i % 4 != 0);
    CHECK(client.window.is_limited());
    for (int i = 0; i < 20'000; ++i) client.answered(kUsual, 0, true);
    CHECK(client.window.is_limited() && client.window.size() < 0.02);
}

TEST(a_limit_by_rejections_is_not_removed_as_useless) {
    Client client;
    client.answered_times(64, 40 * kUsual, 20);
    client.answered(kUsual, 20, true);
    CHECK(client.window.is_limited() && client.window.size() == 8 * 21);
    client.now += kSecond;
    client.answered_times(50, 40 * kUsual);
    CHECK(client.window.is_limited());
}

TEST(if_most_windows_are_limited_a_little_slowness_limits_the_others) {
    OverloadWindows all;
    Client limited[3] = {Client(all), Client(all), Client(all)};
    Client open(all), quick(all);
    for (int i = 0; i < 2; ++i) limited[i].overload(20);
    open.answered_times(1000, 9 * kUsual / 5, 20);
    CHECK(!open.window.is_limited());  // two of five
    limited[2].overload(20);
    open.answered(9 * kUsual / 5, 20);
    CHECK(open.window.is_limited());
    quick.answered_times(1000, kUsual, 20);
    CHECK(!quick.window.is_limited());
    open.window.leave();
    CHECK(!open.window.is_limited() && open.window.has_room(1000, open.now));
    for (int i = 0; i < 2; ++i) limited[i].window.leave();  // one of two is left
    quick.answered_times(1000, 9 * kUsual / 5, 20);
    CHECK(!quick.window.is_limited());
}

TEST(a_window_below_one_is_a_pause) {
    Client client;
    client.overload(99);  // 100 requests x 2 ms / 1 s
    CHECK(client.window.size() > 0.19 && client.window.size() < 0.21);
    CHECK(!client.window.has_room(0, client.now) && !client.window.has_room(1, client.now + kSecond));
    const Nanos opens_at = client.window.opens_at(0);
    CHECK(opens_at > client.now && opens_at <= client.now + kSecond);  // never longer
    CHECK(client.window.opens_at(1) == kNever);  // the response comes first
    CHECK(!client.window.has_room(0, opens_at - 1) && client.window.has_room(0, opens_at));
}

TEST(quick_responses_double_the_window_until_a_cut_and_slow_ones_halve_it_once) {
    Client client;
    client.overload();
    const double first = client.window.size();
    client.now += kSecond;
    client.answered_times(10, kUsual);
    CHECK(client.window.size() > 100 * first);
    for (int i = 0; i < 100; ++i) client.answered(kUsual, static_cast<int>(client.window.size()));
    const double grown = client.window.size();
    CHECK(grown > 8);
    const Nanos sent = client.now;
    client.now += 10 * kUsual;
    for (int i = 0; i < 30; ++i) client.window.answered(sent, client.now, kUsual, 20, false);
    CHECK(client.window.size() >= grown / 2 && client.window.size() < grown);  // in flight together: one cut
    const double cut = client.window.size();
    client.answered_times(20, 10 * kUsual, 20);
    CHECK(client.window.size() < cut / 4);
}

TEST(growth_is_by_time_and_not_by_responses) {
    double grown[2];
    for (int many = 0; many < 2; ++many) {
        Client client;
        client.overload(400);
        const Nanos sent = client.now;
        client.now += 5 * kUsual;
        client.window.answered(sent, client.now, kUsual, 1, false);  // no doubling from here on
        for (int i = 0; i < 100; ++i) client.answered(3 * kUsual / 2, 40);
        const double before = client.window.size();
        const int responses = many ? 1000 : 100;
        for (int i = 0; i < responses; ++i) {
            client.now += kSecond / responses;
            client.window.answered(client.now - 3 * kUsual / 2, client.now, kUsual, 40, false);
        }
        grown[many] = client.window.size() - before;
    }
    CHECK(grown[0] > 2.5 && grown[0] < 3.5 && grown[1] > 2.5 && grown[1] < 3.5);  // 3 in a thousand round trips
}

TEST(a_window_that_is_not_used_does_not_grow) {
    Client client;
    client.overload(9999);
    while (client.window.size() < 16) client.answered(kUsual, static_cast<int>(client.window.size()));
    const double before = client.window.size();
    client.answered_times(500, kUsual, 2);
    CHECK(client.window.size() == before);
}

TEST(without_evidence_for_some_seconds_it_opens) {
    Client client;
    client.overload();
    for (int second = 0; second < 4; ++second) client.answered_times(1000, kUsual);
    CHECK(client.window.is_limited());
    client.answered_times(1100, kUsual);
    CHECK(!client.window.is_limited() && client.window.has_room(30'000, client.now));
}

TEST(a_limit_that_does_not_help_is_removed) {
    Client client;
    Nanos sent = client.now;
    const auto round = [&](int count) {  // each takes 150 ms, however many there are
        client.now = sent + 150 * kMillisecond;
        for (int i = 0; i < count; ++i) client.window.answered(sent, client.now, kUsual, count - i, false);
        sent = client.now;
    };
    round(40);
    round(40);
    CHECK(client.window.is_limited());
    const Nanos begun = client.now;
    while (client.window.is_limited()) {
        CHECK(client.now < begun + 3 * kSecond);
        sent = std::max(client.now, client.window.opens_at(0) == kNever ? 0 : client.window.opens_at(0));
        round(1);
    }
    const Nanos removed = client.now;
    CHECK(removed > begun + kSecond / 2);
    while (client.now < removed + 299 * kSecond) round(40);
    CHECK(!client.window.is_limited());
    bool again = false;
    for (int i = 0; i < 20; ++i) {
        round(40);
        again |= client.window.is_limited();
    }
    CHECK(again);
}

TEST(a_limit_that_helps_stays_though_responses_become_late_again) {
    Client client;
    client.overload(99);
    client.now += 2 * kSecond;
    client.answered_times(3, kUsual);
    client.answered_times(200, 200 * kMillisecond);
    CHECK(client.window.is_limited() && client.window.size() < 0.02);
}

TEST(impossible_times_are_ignored) {
    Client client;
    client.overload();
    client.window.answered(client.now + kSecond, client.now, kUsual, 0, false);
    client.window.answered(0, kNever, kUsual, 1 << 20, true);
    client.window.timed_out(kNever, 0, 1, 1 << 20);
    CHECK(client.window.size() >= 0.01 && client.window.size() <= 32768);
}

}  // namespace window_test
