// Receiving into memory pools: limits, back-pressure, waking up.
#include <algorithm>
#include <random>

#include "fixtures.h"

namespace memory_test {

using namespace fixtures;

namespace {

constexpr size_t kMiB = size_t{1} << 20;
// Bytes that a reactor may have beyond the limit: those that arrive before it notices the limit.
constexpr size_t kBeyond = 512 << 10;

// A server that answers with the length that the request names.
void answer_lengths(int fd) {
    Header header;
    std::string body;
    while (read_frame(fd, &header, &body)) {
        std::string text(std::stoul(body), 'x');
        text += body;
        if (!write_all(fd, answer(text, header.stream, header.version))) return;
    }
}

bool right(Request& request, size_t size) {
    const std::string body = request.body();
    return body.size() == 4 + size + std::to_string(size).size() && body.substr(4 + size) == std::to_string(size);
}

}  // namespace

TEST(a_strict_pool_holds_the_server_back) {
    for (const char* backend : kPollers) {
        Server server(answer_lengths);
        Events events;
        Pooled pooled(2 * kMiB, true);
        {
            Client client(backend, *pooled.pool);
            auto channel = client.connected(server.port(), events);
            for (const size_t size : {size_t{300}, size_t{20000}, size_t{500000}}) {
                const size_t count = 6 * kMiB / (size + 200);
                std::vector<Request*> requests;
                for (size_t i = 0; i < count; ++i) {
                    requests.push_back(new Request);
                    submit(*channel, *requests.back(), frame(std::to_string(size)));
                }
                CHECK(testing::eventually([&] { return client.reactor->stats().paused == 1; }));
                const memory::Stats stats = pooled.pool->stats();
                CHECK(stats.in_use + stats.overflow_bytes <= int64_t(2 * kMiB + kBeyond));
                for (Request* request : requests) {
                    CHECK(request->wait());
                    CHECK(right(*request, size));
                    release(request);
                }
                CHECK(pooled.pool->stats().peak <= int64_t(2 * kMiB + kBeyond));
            }
            CHECK(testing::eventually([&] { return client.reactor->stats().paused == 0; }));
        }
        CHECK(testing::eventually([&] { return pooled.pool->stats().in_use == 0; }));
    }
}

TEST(a_frame_that_never_fits) {
    Server server(answer_lengths);
    Events events;
    Pooled pooled(kMiB, true);
    Client client("auto", *pooled.pool);
    auto channel = client.connected(server.port(), events);
    auto* request = new Request;
    submit(*channel, *request, frame(std::to_string(2 * kMiB)));
    CHECK(request->wait());
    CHECK(!request->outcome().failure && request->outcome().frame.skipped == 2 * kMiB + 11);  // and its framing
    release(request);
    auto* next = new Request;
    submit(*channel, *next, frame(std::to_string(1000)));
    CHECK(next->wait() && right(*next, 1000) && !events.is_closed());
    release(next);
}

TEST(a_pause_that_lasts_is_warned_of) {
    Server server(answer_lengths);
    Events events;
    Pooled pooled(kMiB, true);
    Client client("auto", *pooled.pool, kMillisecond);
    auto channel = client.connected(server.port(), events);
    memory::Entry* all = pooled.pool->begin(kMiB);
    CHECK(all);
    const int before = warnings;
    auto* request = new Request;
    submit(*channel, *request, frame("10"));
    CHECK(testing::eventually([&] { return warnings > before; }));
    CHECK(channel->last_received() > monotonic_now() - kSecond);
    pooled.pool->abandon(all);
    CHECK(request->wait() && right(*request, 10));
    release(request);
}

TEST(paused_channels_close) {
    for (const bool by_server : {true, false}) {
        Server server([&](int fd) {
            Header header;
            std::string body;
            read_frame(fd, &header, &body);
            write_all(fd, answer(body, header.stream, header.version));
            if (!by_server) read_frame(fd, &header, &body);
        });
        Events events;
        Pooled pooled(kMiB, true);
        Client client("auto", *pooled.pool);
        auto channel = client.connected(server.port(), events);
        memory::Entry* all = pooled.pool->begin(kMiB);
        auto* request = new Request;
        submit(*channel, *request, frame("text"));
        CHECK(testing::eventually([&] { return client.reactor->stats().paused == 1; }));
        if (by_server) {
            pooled.pool->abandon(all);  // data that precedes the end is read, then the end
            CHECK(request->wait() && request->body().substr(4) == "text");
        } else {
            channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
            CHECK(request->wait() && request->outcome().failure);
        }
        CHECK(testing::eventually([&] { return events.is_closed(); }));
        CHECK(testing::eventually([&] { return client.reactor->stats().paused == 0; }));
        if (!by_server) pooled.pool->abandon(all);
        release(request);
    }
}

// A release of memory wakes the requests that wait for memory, in every order of waits and releases.
TEST(every_waiter_for_memory_is_woken) {
    Server server(answer_lengths);
    Pooled pooled(kMiB, true);
    Events events[4];
    {
        Client clients[2] = {Client("auto", *pooled.pool), Client("poll", *pooled.pool)};
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 4; ++t) {
            threads.emplace_back([&, t] {
                std::mt19937 random(t);
                auto channel = clients[t % 2].connected(server.port(), events[t]);
                for (int round = 0; round < 12; ++round) {
                    std::vector<std::pair<Request*, size_t>> burst;
                    for (int i = 0; i < 25; ++i) {
                        const size_t size = random() % 4 ? random() % 1000 : random() % 300000;
                        burst.emplace_back(new Request, size);
                        submit(*channel, *burst.back().first, frame(std::to_string(size)));
                    }
                    for (auto& [request, size] : burst) {
                        // In the order of the answers: a thread that waits for a later answer while its own
                        // earlier ones fill the pool waits for itself.
                        CHECK(request->wait() && right(*request, size));
                        release(request);
                    }
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
    CHECK(testing::eventually([&] { return pooled.pool->stats().in_use == 0; }));
}

}  // namespace memory_test
