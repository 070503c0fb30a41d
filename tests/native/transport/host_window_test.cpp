// Windows of hosts.
#include "transport/limits.h"

#include "testing.h"

namespace host_window_test {

using namespace fastcql;

TEST(grows_by_one_with_each_result_until_the_first_overload) {
    HostWindow window(32, 1000);
    CHECK(window.size() == 32);
    for (int i = 0; i < 32; ++i) window.sent();
    CHECK(!window.has_room());
    for (int i = 0; i < 16; ++i) {
        window.answered();
        window.sent();
    }
    CHECK(window.size() == 48);
    CHECK(window.in_flight() == 32);
}

TEST(does_not_grow_while_it_is_not_used) {
    HostWindow window(32, 1000);
    for (int i = 0; i < 100; ++i) {
        window.sent();
        window.answered();
    }
    CHECK(window.size() == 32);
}

TEST(is_halved_once_for_requests_in_flight_together) {
    HostWindow window(32, 1000);
    for (int i = 0; i < 32; ++i) window.sent();
    for (int i = 0; i < 32; ++i) {
        window.gone();
        window.congested(10, 100);
    }
    CHECK(window.size() == 16);
    for (int i = 0; i < 16; ++i) window.sent();
    window.gone();
    window.congested(101, 200);
    CHECK(window.size() == 8);
    // from here on it grows by one after a round of results
    for (int round = 0; round < 3; ++round) {
        while (window.has_room()) window.sent();
        const uint32_t before = window.size();
        for (uint32_t i = 0; i < before; ++i) {
            window.answered();
            window.sent();
        }
        CHECK(window.size() == before + 1);
    }
}

TEST(has_room_for_one_request_at_least) {
    HostWindow window(32, 4);
    CHECK(window.size() == 4);
    for (Nanos now = 1; now < 10; ++now) {
        window.sent();
        window.gone();
        window.congested(now * 10, now * 10 + 5);
    }
    CHECK(window.size() == 1);
    CHECK(window.has_room());
}

TEST(does_not_grow_beyond_its_limit) {
    HostWindow window(32, 40);
    for (int i = 0; i < 200; ++i) {
        while (window.has_room()) window.sent();
        window.answered();
    }
    CHECK(window.size() == 40);
}

}  // namespace host_window_test
