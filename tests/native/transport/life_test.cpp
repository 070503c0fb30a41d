// How channels and reactors begin and end: refused, cut, spoiled, stopped, in the middle of everything.
#include <iterator>

#include "fixtures.h"

namespace life_test {

using namespace fixtures;

namespace {

std::function<void()>* callback(std::function<void()> function) {
    return new std::function<void()>(std::move(function));
}

}  // namespace

TEST(a_connection_that_is_cut_fails_its_own_requests) {
    Server cut([](int fd) {
        Header header;
        std::string body;
        for (int i = 0; i < 10; ++i) read_frame(fd, &header, &body);  // all: what is still unsent may say so
        write_all(fd, answer("ok", header.stream));
        const linger hard{1, 0};
        ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);  // a reset
    });
    Server fine(echo);
    Events first, second;
    Client client;
    auto bad = client.connected(cut.port(), first);
    auto good = client.connected(fine.port(), second);
    std::vector<Request*> requests;
    for (int i = 0; i < 10; ++i) {
        requests.push_back(new Request);
        submit(*bad, *requests.back(), frame("x"));
    }
    int failed = 0;
    for (Request* request : requests) {
        CHECK(request->wait());
        if (request->outcome().failure) {
            CHECK(request->outcome().failure->kind == FailureKind::Closed &&
                  request->outcome().failure->sent);
            ++failed;
        }
        release(request);
    }
    CHECK(failed >= 9 && first.is_closed());
    auto* request = new Request;
    CHECK(submit(*bad, *request, frame("x")).status == SubmitStatus::Closed);
    CHECK(submit(*good, *request, frame("y")).status == SubmitStatus::Accepted);
    CHECK(request->wait());
    CHECK(request->body().substr(4) == "y" && !second.is_closed());
    release(request);
}

TEST(garbage_closes_the_connection) {
    const std::string samples[] = {
        std::string(64, '\xFF'),
        answer("x", 31000),                                             // no such request
        frame("x", kResult, 0x04, 0),                                   // a request
        std::string("\x84\x00\x00\x00\x08\xff\xff\xff\xf0", 9),         // negative length
        frame("x", kResult, 0x83, 0),                                   // another version
        answer("x", 0) + answer("x", 0),                                // answered twice
        frame(std::string("\0\0\0\x0A\0\4oops", 10), kError, 0x84, -1)  // an error of the connection
    };
    for (const std::string& sample : samples) {
        Server server([&](int fd) {
            Header header;
            std::string body;
            read_frame(fd, &header, &body);
            write_all(fd, sample);
            read_frame(fd, &header, &body);
        });
        Events events;
        events.on_connected = [](Channel& channel) {
            EnvelopeRules rules;
            rules.version = 4;
            channel.set_rules(rules);
        };
        Client client;
        auto channel = client.connected(server.port(), events);
        auto* one = new Request;
        auto* two = new Request;
        submit(*channel, *one, frame("x"));
        const bool second = submit(*channel, *two, frame("x")).status == SubmitStatus::Accepted;
        CHECK(testing::eventually([&] { return events.is_closed(); }));
        CHECK(events.kind == Reason::Kind::Protocol && !events.message.empty());
        if (second) {
            CHECK(two->wait());
            CHECK(two->outcome().failure->kind == FailureKind::Protocol);
        }
        CHECK(one->wait());
        release(one);
        release(two);
        channel = nullptr;
    }
    nothing_is_left();
}

TEST(refused_and_silent_servers) {
    int port;
    {
        Server server(echo);
        port = server.port();
    }
    Events refused;
    Client client;
    client.connect(port, refused);
    CHECK(testing::eventually([&] { return refused.is_closed(); }));
    CHECK(refused.kind == Reason::Kind::System && refused.error == ECONNREFUSED && refused.connected == 0);

    // A full backlog drops our SYN, so that nothing ever comes back.
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
          ::listen(listener, 0) == 0);
    socklen_t size = sizeof address;
    CHECK(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    std::vector<std::unique_ptr<Events>> silent;
    for (int i = 0; i < 4; ++i) {
        silent.push_back(std::make_unique<Events>());
        client.connect(ntohs(address.sin_port), *silent.back(), nullptr, 300 * kMillisecond);
    }
    CHECK(testing::eventually([&] { return silent.back()->is_closed(); }));
    CHECK(silent.back()->kind == Reason::Kind::Timeout);
    client.stop();
    ::close(listener);
}

TEST(close_in_the_middle) {
    for (int round = 0; round < 30; ++round) {
        Server server(echo);
        Events events;
        Client client(kPollers[static_cast<size_t>(round) % std::size(kPollers)]);
        auto channel = client.connected(server.port(), events);
        std::atomic<int> accepted{0};
        std::vector<std::thread> threads;
        std::mutex mutex;
        std::vector<Request*> requests;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (;;) {
                    auto* request = new Request;
                    if (submit(*channel, *request, frame(std::string(300, 'x'))).status !=
                        SubmitStatus::Accepted) {
                        release(request);
                        return;
                    }
                    ++accepted;
                    std::lock_guard<std::mutex> guard(mutex);
                    requests.push_back(request);
                }
            });
        }
        while (accepted < 200) testing::pause_ms(1);
        if (round % 2) {
            RuntimeLock lock(runtime_mutex);
            channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
        } else {
            client.stop();
        }
        for (std::thread& thread : threads) thread.join();
        for (Request* request : requests) {
            CHECK(request->wait());
            CHECK(request->outcomes() == 1);  // its answer or its failure
            release(request);
        }
        CHECK(testing::eventually([&] { return events.is_closed(); }) && events.closed == 1);
        channel = nullptr;
        client.stop();
        nothing_is_left();
    }
}

TEST(a_filter_that_never_gets_ready_times_out) {
    Server server([](int fd) {
        char byte;
        while (read_exact(fd, &byte, 1)) {
        }
    });
    FlipFilter filter;
    Events events;
    Client client;
    client.connect(server.port(), events, &filter, 200 * kMillisecond);
    CHECK(testing::eventually([&] { return events.is_closed(); }));
    CHECK(events.kind == Reason::Kind::Timeout && events.connected == 0);
}

TEST(timers_and_calls) {
    std::atomic<int> calls{0};
    {
        Client client;
        Nanos fired = 0;
        const Nanos start = monotonic_now();
        auto timer = Ref<Timer>::adopt(new Timer(start + 20 * kMillisecond, callback([&] {
                                                     fired = monotonic_now();
                                                     ++calls;
                                                 })));
        auto cancelled =
            Ref<Timer>::adopt(new Timer(start + 10 * kMillisecond, callback([&] { CHECK(false); })));
        auto far = Ref<Timer>::adopt(new Timer(start + 1000 * kSecond, callback([&] { CHECK(false); })));
        CHECK(client.reactor->add_timer(timer) && client.reactor->add_timer(cancelled) &&
              client.reactor->add_timer(far));
        delete static_cast<std::function<void()>*>(cancelled->take_callback());
        CHECK(testing::eventually([&] { return calls == 1; }));
        CHECK(fired >= start + 20 * kMillisecond);
        CHECK(client.reactor->call_soon(callback([&] {
            CHECK(client.reactor->is_owner());
            CHECK(client.reactor->call_soon(callback([&] { ++calls; })));
        })));
        CHECK(testing::eventually([&] { return calls == 2; }));
        CHECK(!client.reactor->is_owner());
        Ref<Reactor> reactor = client.reactor;
        client.stop();
        CHECK(!reactor->call_soon(nullptr) && !reactor->add_timer(timer));
    }
    CHECK(counters.timers == 0);
    nothing_is_left();
}

TEST(stop_from_a_callback_twice_and_from_many_threads) {
    Server server(echo);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    client.reactor->call_soon(callback([&] { CHECK(client.reactor->stop(kNever)); }));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) threads.emplace_back([&] { CHECK(client.reactor->stop(60 * kSecond)); });
    for (std::thread& thread : threads) thread.join();
    CHECK(events.closed == 1 && events.kind == Reason::Kind::Stopped);
}

TEST(stop_ends_although_callbacks_go_on) {
    Client client;
    std::function<void()> again = [&] {
        auto* next = callback(again);
        if (!client.reactor->call_soon(next)) delete next;
    };
    client.reactor->call_soon(callback(again));
    testing::pause_ms(5);
    client.stop();
}

// Handlers that connect again when their channel closes, and a thread that closes each of these at once: the
// command to clean up may be refused because the reactor stops.
TEST(stop_while_others_close_what_callbacks_open) {
    Server server(echo);
    for (int round = 0; round < 200; ++round) {
        Client client(kPollers[static_cast<size_t>(round) % std::size(kPollers)]);
        std::mutex mutex;
        std::vector<Ref<Channel>> opened;
        std::vector<std::unique_ptr<Events>> all;
        std::atomic<bool> done{false};
        std::function<void()> open = [&] {
            auto events = std::make_unique<Events>();
            events->on_closed = [&](Channel&) { open(); };
            ConnectSpec spec;
            spec.family = AF_INET;
            spec.timeout = 30 * kSecond;
            CHECK(parse_address(AF_INET, "127.0.0.1", server.port(), &spec.address));
            auto channel = Ref<Channel>::adopt(new Channel(*client.reactor, spec));
            channel->self = events.get();
            std::lock_guard<std::mutex> guard(mutex);
            all.push_back(std::move(events));
            if (client.reactor->open(channel, spec)) opened.push_back(std::move(channel));
        };
        std::thread closer([&] {
            while (!done) {
                std::vector<Ref<Channel>> taken;
                {
                    std::lock_guard<std::mutex> guard(mutex);
                    taken.swap(opened);
                }
                for (const Ref<Channel>& channel : taken)
                    channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
            }
        });
        CHECK(client.reactor->call_soon(callback(open)));
        Ref<Reactor> reactor = client.reactor;
        CHECK(reactor->stop(60 * kSecond));
        done = true;
        closer.join();
        opened.clear();
        client.reactor = nullptr;
        reactor = nullptr;
        for (size_t i = 0; i + 1 < all.size(); ++i) CHECK(all[i]->closed == 1);  // the last was refused
        nothing_is_left();
    }
}

// Which keyspace a connection uses is not known after a USE without an answer.
TEST(a_use_that_is_given_up_closes_the_channel) {
    const auto query = [](const std::string& text) {
        std::string size;
        for (int shift = 24; shift >= 0; shift -= 8) size.push_back(static_cast<char>(text.size() >> shift));
        return frame(size + text);
    };
    struct Case {
        const char* text;
        bool closes;
    };
    const Case cases[] = {{"USE ks", true},    {"use\t\"Ks\"", true}, {" \n Use\"ks\"", true}, {"USELESS", false},
                          {"SELECT 1", false}, {"us", false},           {"", false}};
    for (const Case& one : cases) {
        for (const bool times_out : {true, false}) {
            Server silent([](int fd) {
                Header header;
                std::string body;
                while (read_frame(fd, &header, &body)) {
                }
            });
            Events events;
            Client client;
            auto channel = client.connected(silent.port(), events);
            auto* request = new Request;
            auto* other = new Request;
            submit(*channel, *other, query("SELECT 2"));
            const int stream = submit(*channel, *request, query(one.text), times_out ? 0.001 : 60).stream;
            if (times_out) {
                CHECK(request->wait());
                CHECK(request->outcome().failure->kind == FailureKind::TimedOut);
            } else {
                RuntimeLock lock(runtime_mutex);
                CHECK(channel->orphan(stream, &request->core, 0));
                request->release();
            }
            if (one.closes) {
                CHECK(other->wait());
                CHECK(other->outcome().failure->kind == FailureKind::Closed);
                CHECK(testing::eventually([&] { return events.is_closed(); }));
                CHECK(events.kind == Reason::Kind::Keyspace);
            } else {
                CHECK(!channel->closed() && channel->orphaned() == 1);
            }
            client.stop();
            if (!one.closes) CHECK(other->wait());
            release(request);
            release(other);
        }
    }
}

TEST(a_use_that_was_not_sent_hurts_nobody) {
    Server server(echo);
    Events events;
    Client client;
    std::atomic<bool> go{false};
    CHECK(client.reactor->call_soon(callback([&] { CHECK(testing::eventually([&] { return go.load(); })); })));
    auto channel = client.connect(server.port(), events);
    auto* request = new Request;
    const std::string text = frame(std::string("\0\0\0\6USE ks", 10));
    request->retain();
    const int stream = channel->submit(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                       &request->core, 0, 60).stream;
    CHECK(channel->orphan(stream, &request->core, 0));
    request->release();
    go = true;
    CHECK(testing::eventually([&] { return events.connected == 1; }));
    CHECK(!channel->closed() && channel->orphaned() == 0);
    auto* next = new Request;
    submit(*channel, *next, frame("x"));
    CHECK(next->wait());
    CHECK(next->body().substr(4) == "x");
    release(request);
    release(next);
}

// As from a prepared USE: its answer tells.
TEST(a_late_change_of_keyspace_closes_the_channel) {
    Server server([](int fd) {
        Header header, second;
        std::string body;
        read_frame(fd, &header, &body);
        read_frame(fd, &second, &body);
        write_all(fd, frame(std::string("\0\0\0\3\0\2ks", 8), kResult, 0x84, header.stream));
        read_frame(fd, &second, &body);
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    auto* request = new Request;
    auto* other = new Request;
    const int stream = submit(*channel, *request, frame("x")).stream;
    {
        RuntimeLock lock(runtime_mutex);
        CHECK(channel->orphan(stream, &request->core, 0));
        request->release();
    }
    submit(*channel, *other, frame("y"));
    CHECK(other->wait());
    CHECK(other->outcome().failure->kind == FailureKind::Closed && other->outcome().failure->sent);
    CHECK(testing::eventually([&] { return events.is_closed(); }));
    CHECK(events.kind == Reason::Kind::Keyspace);
    release(request);
    release(other);
}

// However it closes, and although more arrived than was read.
TEST(a_filter_says_goodbye) {
    for (const bool by_stop : {false, true}) {
        std::atomic<bool> sent{false}, ended{false};
        Server server([&](int fd) {
            std::string hello(5, '\0');
            CHECK(read_exact(fd, hello.data(), 5) && hello == "hello");
            write_all(fd, "welcome");
            write_all(fd, std::string(100000, '\x7b'));  // ~0x84: a header that is not complete
            sent = true;
            std::string bye(3, '\0');
            CHECK(read_exact(fd, bye.data(), 3) && bye == "bye");
            ended = true;
        });
        FlipFilter filter;
        Events events;
        Client client;
        events.on_connected = [&](Channel& channel) {
            CHECK(testing::eventually([&] { return sent.load(); }));
            if (!by_stop) channel.close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
            if (by_stop) CHECK(client.reactor->stop(kNever));
        };
        auto channel = client.connect(server.port(), events, &filter);
        CHECK(testing::eventually([&] { return events.is_closed(); }));
        CHECK(filter.ended == 1);
        CHECK(testing::eventually([&] { return ended.load(); }));
        client.stop();
    }
}

TEST(a_stop_that_takes_too_long_says_so) {
    Client client;
    std::atomic<bool> started{false};
    client.reactor->call_soon(callback([&] {
        started = true;
        testing::pause_ms(200);
    }));
    CHECK(testing::eventually([&] { return started.load(); }));
    CHECK(!client.reactor->stop(10 * kMillisecond));
    CHECK(client.reactor->stop(kNever));
}

TEST(a_thousand_connections_leave_nothing) {
    Server server(echo);
    {
        Client client;
        for (int i = 0; i < 1000; ++i) {
            Events events;
            auto channel = client.connected(server.port(), events);
            auto* request = new Request;
            submit(*channel, *request, frame("x"));
            if (i % 2) CHECK(request->wait());
            {
                RuntimeLock lock(runtime_mutex);
                channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "done")));
            }
            CHECK(testing::eventually([&] { return events.is_closed(); }));
            if (i % 2 == 0) CHECK(request->wait());
            release(request);
        }
        CHECK(client.reactor->stats().channels == 0);
    }
    nothing_is_left();
}

TEST(outcomes_nobody_waits_for_are_dropped) {
    Server server(echo);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    for (int i = 0; i < 1000; ++i) {
        auto* request = new Request;
        submit(*channel, *request, frame("x"));
        release(request);  // only the stream has it now
    }
    CHECK(testing::eventually([] { return Request::alive == 0; }));
}

}  // namespace life_test
