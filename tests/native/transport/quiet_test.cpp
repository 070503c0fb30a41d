// Peers that say nothing: when the runtime is told, and when not.
#include <thread>

#include "fixtures.h"

namespace quiet_test {

using namespace fixtures;

namespace {

constexpr Nanos kShort = 50 * kMillisecond;

void pause_for(Nanos time) { std::this_thread::sleep_for(std::chrono::nanoseconds(time)); }

// Answers when it is told to, one request after the other.
class Slow {
public:
    Slow() : server([this](int fd) { serve(fd); }) {}
    void answer_one() { ++allowed_; }
    int seen() const { return seen_; }

private:
    void serve(int fd) {
        Header header;
        std::string body;
        for (int answered = 0; read_frame(fd, &header, &body); ++answered) {
            ++seen_;
            while (allowed_ <= answered) {
                pollfd peer{fd, POLLIN | POLLRDHUP, 0};
                if (poll(&peer, 1, 1) > 0 && (peer.revents & (POLLHUP | POLLRDHUP | POLLERR))) return;
            }
            if (!write_all(fd, answer(body, header.stream))) return;
        }
    }
    std::atomic<int> allowed_{0}, seen_{0};

public:
    Server server;
};

}  // namespace

TEST(a_silent_peer_is_told_of_once) {
    for (const char* backend : kPollers) {
        Slow slow;
        Events events;
        Client client(backend);
        auto channel = client.connected(slow.server.port(), events);
        channel->watch_quiet(kShort);
        pause_for(4 * kShort);
        CHECK(events.quiet == 0);  // no request is waiting
        auto* request = new Request;
        const Nanos before = monotonic_now();
        submit(*channel, *request, frame("anybody?"));
        CHECK(testing::eventually([&] { return events.quiet == 1; }));
        CHECK(monotonic_now() - before >= kShort);
        std::vector<WaitingRequest> waiting;
        channel->waiting(waiting);
        CHECK(waiting.size() == 1 && waiting[0].operation == &request->core && waiting[0].attempt == 0);
        release(request);  // the reference of the list
        pause_for(6 * kShort);
        CHECK(events.quiet == 1);
        slow.answer_one();
        CHECK(request->wait());
        release(request);
        waiting.clear();
        channel->waiting(waiting);
        CHECK(waiting.empty());
        // A later silence is another one.
        request = new Request;
        submit(*channel, *request, frame("and now?"));
        CHECK(testing::eventually([&] { return events.quiet == 2; }));
        client.stop();
        release(request);
        channel = nullptr;
    }
    nothing_is_left();
}

TEST(an_answer_counts_as_sign_of_life_for_earlier_requests) {
    // The first request is answered never, those behind it are.
    Server server([](int fd) {
        Header header;
        std::string body;
        read_frame(fd, &header, &body);
        echo(fd);
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    channel->watch_quiet(kShort);
    auto* slow = new Request;
    submit(*channel, *slow, frame("slow"));
    CHECK(testing::eventually([&] { return events.quiet == 1; }));
    auto* probe = new Request;
    submit(*channel, *probe, frame("probe"));
    CHECK(probe->wait());
    release(probe);
    const Nanos heard = monotonic_now();
    CHECK(testing::eventually([&] { return events.quiet == 2; }));
    CHECK(monotonic_now() - heard >= kSecond - kShort);
    // One that is sent after that is looked at on its own.
    probe = new Request;
    submit(*channel, *probe, frame("probe"));
    CHECK(probe->wait());
    release(probe);
    CHECK(events.quiet == 2);
    client.stop();
    release(slow);
    channel = nullptr;
    nothing_is_left();
}

TEST(a_peer_that_says_anything_is_not_silent) {
    Server server([](int fd) {  // pushes events, and answers nothing
        const std::string event = frame("", kEvent, 0x84, -1);
        for (int i = 0; i < 40 && write_all(fd, event); ++i) pause_for(kShort / 5);
        Header header;
        std::string body;
        while (read_frame(fd, &header, &body)) {
        }
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    channel->watch_quiet(10 * kShort);
    auto* request = new Request;
    submit(*channel, *request, frame("anybody?"));
    CHECK(testing::eventually([&] { return events.events == 40; }));
    CHECK(events.quiet == 0);
    CHECK(testing::eventually([&] { return events.quiet == 1; }));
    client.stop();
    release(request);
    channel = nullptr;
    nothing_is_left();
}

TEST(a_busy_io_thread_reports_no_silent_peer) {
    Server server(echo);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    channel->watch_quiet(kShort);
    for (int round = 0; round < 5; ++round) {
        // The answer lies in the socket while the I/O thread does something else for long.
        auto* request = new Request;
        std::atomic<bool> busy{false};
        client.reactor->call_soon(new std::function<void()>([&] {
            busy = true;
            pause_for(4 * kShort);
            busy = false;
        }));
        CHECK(testing::eventually([&] { return busy.load(); }));
        request->retain();  // submit() of the fixtures takes the runtime lock, which the callback holds
        const std::string text = frame("request");
        CHECK(channel->submit(reinterpret_cast<const uint8_t*>(text.data()), text.size(), &request->core, 0, 60)
                  .status == SubmitStatus::Accepted);
        CHECK(request->wait());
        release(request);
    }
    CHECK(events.quiet == 0);
    client.stop();
    channel = nullptr;
    nothing_is_left();
}

TEST(silence_is_not_reported_without_watch_quiet) {
    Slow slow;
    Events events;
    Client client;
    auto channel = client.connected(slow.server.port(), events);
    auto* request = new Request;
    submit(*channel, *request, frame("anybody?"), 0.2);
    CHECK(request->wait());
    CHECK(request->outcome().failure && request->outcome().failure->kind == FailureKind::TimedOut);
    CHECK(events.quiet == 0);
    client.stop();
    release(request);
    channel = nullptr;
    nothing_is_left();
}

}  // namespace quiet_test
