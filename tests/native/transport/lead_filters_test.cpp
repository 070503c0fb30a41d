// Threads that poll for their own answers where input needs the runtime: TLS, and signals while its filter runs.
#include "leading.h"

namespace lead_filters_test {

using namespace leading;

// An echo for FlipFilter.
void flipped_echo(int fd) {
    const auto flip = [](std::string text) {
        for (char& byte : text) byte = static_cast<char>(~byte);
        return text;
    };
    char hello[5];
    if (!read_exact(fd, hello, sizeof hello) || !write_all(fd, "welcome")) return;
    std::string header(kHeaderSize, '\0'), body;
    while (read_exact(fd, header.data(), header.size())) {
        const std::string plain = flip(header);
        const Header parsed = Header::parse(reinterpret_cast<const uint8_t*>(plain.data()));
        body.resize(static_cast<size_t>(parsed.length));
        if (!read_exact(fd, body.data(), body.size())) return;
        if (!write_all(fd, flip(answer(flip(body), parsed.stream)))) return;
    }
}

TEST(callers_lead_where_input_needs_the_runtime) {
    Server server(flipped_echo);
    Server plain(echo);
    FlipFilter filter;
    Events events, plain_events;
    Client client;
    auto channel = client.connected(server.port(), events, &filter);
    auto beside = client.connected(plain.port(), plain_events);
    warm_up(client, *channel);
    const int64_t before = leads(client);
    for (int i = 0; i < 200; ++i) CHECK(ask(i % 2 ? *channel : *beside, std::to_string(i)));
    CHECK(leads(client) > before);
    interrupted_threads = true;
    filter.handler = [] { CHECK(false); };  // this filter does not lend itself to that: it is the I/O thread's
    for (int i = 0; i < 200; ++i) CHECK(ask(i % 2 ? *channel : *beside, std::to_string(i)));
    interrupted_threads = false;
    channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
    CHECK(testing::eventually([&] { return events.is_closed(); }));
    warm_up(client, *beside);
}

// The thread that handlers interrupt filters without ownership: they may call anything, and wait for any thread.
TEST(handlers_in_a_filter) {
    Server server(flipped_echo);
    FlipFilter filter;
    filter.lends = true;
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events, &filter);
    warm_up(client, *channel);
    interrupted_threads = true;
    warm_up(client, *channel);
    int calls = 0, handled = 0;
    bool inside = false;
    const auto now_and_then = [&](std::function<void()> handler) {
        filter.handler = [&, handler] {
            if (inside || ++calls % 3 != 0) return;  // comes after sends and after reads
            inside = true;
            runtime_mutex.without(handler);
            inside = false;
            ++handled;
        };
        handled = 0;
        for (int i = 0; i < 300; ++i) CHECK(ask(*channel, std::to_string(i)));
        CHECK(handled > 50);
    };
    now_and_then([] {});
    CHECK(!filter.settled);
    now_and_then([&] { CHECK(ask(*channel, "on the same connection")); });
    CHECK(filter.settled);
    // Callbacks, which are the I/O thread's.
    now_and_then([&] {
        std::atomic<bool> called{false};
        CHECK(client.reactor->call_soon(callback([&] { called = true; })));
        CHECK(testing::eventually([&] { return called.load(); }));
    });
    filter.handler = nullptr;
    for (int i = 0; i < 100; ++i) CHECK(ask(*channel, std::to_string(i)));
    interrupted_threads = false;
}

namespace {

Request* waiting(Channel& channel) {
    auto* request = new Request;
    CHECK(submit_later(channel, *request, frame("later")).status == SubmitStatus::Accepted);
    return request;
}

void flush(Client& client) {
    RuntimeLock lock(runtime_mutex);
    client.reactor->send_with_runtime();
}

bool answered(Request* request) {
    const bool there = request->wait(5 * kSecond);
    release(request);
    return there;
}

}  // namespace

// A handler that comes while one connection encodes finds the requests of the others in the list, and sends them.
TEST(a_handler_sends_the_requests_queued_by_the_interrupted_thread) {
    Server server(flipped_echo);
    FlipFilter filters[2];
    Events events[2];
    Client client;
    Ref<Channel> channels[2];
    for (int i = 0; i < 2; ++i) {
        filters[i].lends = true;
        channels[i] = client.connected(server.port(), events[i], &filters[i]);
        warm_up(client, *channels[i]);
    }
    interrupted_threads = true;
    for (const auto& channel : channels) warm_up(client, *channel);
    bool handled = false;
    for (FlipFilter& filter : filters) {
        filter.handler = [&] {
            if (std::exchange(handled, true)) return;
            runtime_mutex.without([&] {
                for (const auto& channel : channels) {
                    Request* const request = waiting(*channel);
                    flush(client);
                    CHECK(answered(request));
                }
            });
        };
    }
    Request* const requests[] = {waiting(*channels[0]), waiting(*channels[1])};
    flush(client);
    CHECK(handled);
    for (Request* const request : requests) CHECK(answered(request));
    interrupted_threads = false;
}

// One that goes on for long: the requests of others end by their deadlines.
TEST(deadlines_while_a_handler_has_the_filter) {
    Server server(flipped_echo);
    FlipFilter filter;
    filter.lends = true;
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events, &filter);
    warm_up(client, *channel);
    int calls = 0;
    for (const int last : {1, 2}) {  // after a send, after a read
        std::atomic<bool> in_handler{false}, over{false};
        calls = 0;
        filter.handler = [&] {
            if (++calls != last) return;
            runtime_mutex.without([&] {
                in_handler = true;
                CHECK(testing::eventually([&] { return over.load(); }));
            });
        };
        std::thread waiter([&] {
            interrupted_threads = true;
            warm_up(client, *channel);
            while (!in_handler) CHECK(ask(*channel, "interrupted"));
        });
        CHECK(testing::eventually([&] { return in_handler.load(); }));
        auto* request = new Request;
        submit(*channel, *request, frame("late"), 0.05);
        CHECK(request->wait());
        CHECK(request->outcome().failure && request->outcome().failure->kind == FailureKind::TimedOut);
        release(request);
        over = true;
        waiter.join();
        filter.handler = nullptr;
        CHECK(ask(*channel, "after"));
    }
}

// It closes the connection, and the reactor.
TEST(the_end_while_a_handler_has_the_filter) {
    for (const int last : {1, 2}) {
        Server server(flipped_echo);
        FlipFilter filter;
        filter.lends = true;
        Events events;
        Client client;
        auto channel = client.connected(server.port(), events, &filter);
        warm_up(client, *channel);
        int calls = 0;
        interrupted_threads = true;
        warm_up(client, *channel);
        filter.handler = [&] {
            if (++calls == last) runtime_mutex.without([&] { CHECK(client.reactor->stop(30 * kSecond)); });
        };
        while (calls < last) ask(*channel, "interrupted");
        interrupted_threads = false;
        CHECK(events.is_closed());
    }
}

}  // namespace lead_filters_test
