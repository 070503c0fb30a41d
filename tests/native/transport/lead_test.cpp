// Threads that poll for their own answers: who has the role when, and that nothing is forgotten when it passes on.
#include <csignal>
#include <iterator>
#include <pthread.h>

#include "fixtures.h"

using namespace fixtures;

namespace {

// Answers like echo(), but what begins with "hold" only when "go" comes, and what begins with "lose" never.
void holding(int fd) {
    Header header;
    std::string body;
    std::vector<std::pair<std::string, int>> held;
    while (read_frame(fd, &header, &body)) {
        if (body.compare(0, 4, "lose") == 0) continue;
        if (body.compare(0, 4, "hold") == 0) {
            held.emplace_back(body, header.stream);
            continue;
        }
        std::string text;
        if (body == "go") {
            for (const auto& [kept, stream] : held) text += answer(kept, stream);
            held.clear();
        }
        if (body == "event") text += frame("", kEvent, 0x84, -1);
        if (!write_all(fd, text + answer(body, header.stream))) return;
    }
}

std::function<void()>* callback(std::function<void()> function) {
    return new std::function<void()>(std::move(function));
}

// One request from begin to end; false if it failed.
bool ask(Channel& channel, const std::string& body) {
    auto* request = new Request;
    bool answered = submit(channel, *request, frame(body)).status == SubmitStatus::Accepted;
    if (answered) {
        CHECK(request->wait());
        answered = !request->outcome().failure;
        if (answered) CHECK(request->body().substr(4) == body);
    }
    release(request);
    return answered;
}

int64_t leads(Client& client) { return client.reactor->stats().leads; }

// Requests follow each other until the callers poll for themselves.
void warm_up(Client& client, Channel& channel) {
    const Nanos end = monotonic_now() + 60 * kSecond;
    const int64_t before = leads(client);
    do {
        CHECK(monotonic_now() < end);
        CHECK(ask(channel, "warm"));
    } while (leads(client) == before);
}

std::thread::id io_thread(Client& client) {
    std::atomic<bool> done{false};
    std::thread::id id;
    CHECK(client.reactor->call_soon(callback([&] {
        id = std::this_thread::get_id();
        done = true;
    })));
    CHECK(testing::eventually([&] { return done.load(); }));
    return id;
}

// A thread that polls for a request, until that has an outcome, it leaves, or it hands the role over.
class Leader {
public:
    // *body* is for holding(). It retries until it is the thread that polls.
    Leader(Client& client, Channel& channel, const std::string& body, Nanos timeout = kNever) {
        CHECK(testing::eventually([&] {
            warm_up(client, channel);
            request = new Request;
            left = false;
            const int64_t before = leads(client);
            thread_ = std::thread([this, &channel, body, timeout] {
                submit(channel, *request, frame(body), 1e9);
                in_time = request->wait(timeout == kNever ? 600 * kSecond : timeout);
                left = true;
            });
            const Nanos end = monotonic_now() + 50 * kMillisecond;
            while (leads(client) == before && monotonic_now() < end) std::this_thread::yield();
            if (leads(client) > before) return true;
            request->core.finish();
            thread_.join();
            release(request);
            return false;
        }));
    }
    ~Leader() {
        join();
        release(request);
    }
    void join() {
        if (thread_.joinable()) thread_.join();
    }

    Request* request = nullptr;
    std::atomic<bool> left{false};
    bool in_time = false;

private:
    std::thread thread_;
};

}  // namespace

TEST(a_caller_gets_its_own_answer) {
    Server server(echo);
    for (const char* backend : kBackends) {
        Events events;
        Client client(backend);
        auto channel = client.connected(server.port(), events);
        warm_up(client, *channel);
        const int64_t before = leads(client);
        CHECK(testing::eventually([&] {
            for (int i = 0; i < 200; ++i) CHECK(ask(*channel, std::to_string(i)));
            return leads(client) > before + 200;
        }));
    }
    nothing_is_left();
}

TEST(the_leader_delivers_to_others) {
    Server server(holding);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    Leader leader(client, *channel, "hold");
    const int64_t before = leads(client);
    for (int i = 0; i < 100; ++i) CHECK(ask(*channel, std::to_string(i)));
    CHECK(leads(client) == before && !leader.left);  // he was there all the time
    CHECK(ask(*channel, "go"));
    leader.join();
    CHECK(leader.in_time && leader.request->body().substr(4) == "hold");
}

TEST(the_leader_leaves_and_others_are_served) {
    Server server(holding);
    for (int round = 0; round < 20; ++round) {
        Events events;
        Client client(kBackends[static_cast<size_t>(round) % std::size(kBackends)]);
        auto channel = client.connected(server.port(), events);
        Leader leader(client, *channel, "lose", (1 + round % 5) * kMillisecond);
        std::vector<std::thread> followers;
        std::atomic<int> served{0};
        for (int i = 0; i < 3; ++i) {
            followers.emplace_back([&] {
                CHECK(ask(*channel, "hold"));
                ++served;
            });
        }
        leader.join();
        CHECK(!leader.in_time);
        CHECK(testing::eventually([&] {
            CHECK(ask(*channel, "go"));  // they may come late
            return served == 3;
        }));
        for (std::thread& follower : followers) follower.join();
    }
    nothing_is_left();
}

// Nobody waits: the I/O thread is to be called, and is not until somebody polls.
TEST(callbacks_are_called_after_the_leader_left) {
    Server server(holding);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    const std::thread::id io = io_thread(client);
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> called{false};
        std::thread::id caller;
        auto* eager = new Request;
        eager->on_outcome = [&](Request& self) {
            caller = std::this_thread::get_id();
            self.take_all();
            self.core.finish();
            called = true;
        };
        Ref<LoopQueue> queue;
        CHECK(eager->core.set_eager(&queue) == Next::Nothing);
        if (round % 2) {
            warm_up(client, *channel);
            submit(*channel, *eager, frame("x"));  // nobody polls, or a moment later nobody
        } else {
            Leader leader(client, *channel, "lose", 2 * kMillisecond);
            submit(*channel, *eager, frame("x"));
        }
        CHECK(testing::eventually([&] { return called.load(); }));
        CHECK(caller == io);
        release(eager);
    }
}

TEST(the_io_thread_comes_back_when_nobody_comes) {
    Server server(holding);
    for (const char* backend : kBackends) {
        Events events;
        Client client(backend);
        auto channel = client.connected(server.port(), events);
        for (int round = 1; round <= 5; ++round) {
            warm_up(client, *channel);
            auto* request = new Request;  // hot, and nobody asks for it
            submit(*channel, *request, frame("event"));
            CHECK(testing::eventually([&] { return events.events == round; }));
            CHECK(testing::eventually([&] { return request->core.ready(); }));
            release(request);
        }
    }
}

TEST(timers_and_calls_run_on_the_io_thread_while_a_caller_leads) {
    Server server(holding);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    const std::thread::id io = io_thread(client);
    for (int round = 0; round < 10; ++round) {
        Leader leader(client, *channel, "hold");
        std::atomic<int> calls{0};
        const auto count = [&] {
            CHECK(std::this_thread::get_id() == io && client.reactor->on_role());
            ++calls;
        };
        const Nanos due = monotonic_now() + kMillisecond;
        if (round % 2) CHECK(client.reactor->call_soon(callback(count)));
        auto timer = Ref<Timer>::adopt(new Timer(due, callback(count)));
        CHECK(client.reactor->add_timer(timer));
        CHECK(testing::eventually([&] { return calls == 1 + round % 2; }));
        CHECK(monotonic_now() >= due && !leader.left);
        CHECK(ask(*channel, "go"));
        leader.join();
        CHECK(leader.in_time && !leader.request->outcome().failure);
    }
}

TEST(a_timer_is_not_forgotten_between_callers) {
    Server server(echo);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    for (int round = 0; round < 10; ++round) {
        std::atomic<bool> called{false};
        auto timer = Ref<Timer>::adopt(
            new Timer(monotonic_now() + 5 * kMillisecond, callback([&] { called = true; })));
        CHECK(client.reactor->add_timer(timer));
        CHECK(testing::eventually([&] {
            CHECK(ask(*channel, "x"));
            return called.load();
        }));
    }
}

TEST(a_leader_whose_channel_closes) {
    for (int round = 0; round < 10; ++round) {
        auto server = std::make_unique<Server>(holding);
        Events events;
        Client client(kBackends[static_cast<size_t>(round) % std::size(kBackends)]);
        auto channel = client.connected(server->port(), events);
        Leader leader(client, *channel, "lose");
        if (round % 3 == 0) {
            channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
        } else if (round % 3 == 1) {
            server = nullptr;
        } else {
            client.stop();
        }
        leader.join();
        CHECK(leader.in_time && leader.request->outcome().failure->kind == FailureKind::Closed);
        CHECK(leader.request->outcome().failure->sent);
        CHECK(testing::eventually([&] { return events.closed == 1; }));
    }
    nothing_is_left();
}

TEST(a_leader_whose_request_ends_elsewhere) {
    Server server(holding);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    for (int round = 0; round < 10; ++round) {
        Leader leader(client, *channel, "lose");
        if (round % 2) {
            leader.request->core.finish();
        } else {
            Outcome outcome;
            outcome.hot = true;
            outcome.failure.reset(new Failure{FailureKind::Cancelled, false, "enough", nullptr});
            {
                RuntimeLock lock(runtime_mutex);
                leader.request->retain();
            }
            Ref<LoopQueue> queue;
            CHECK(leader.request->core.deliver(std::move(outcome), &queue) == Next::Nothing);
        }
        leader.join();
        CHECK(leader.in_time);
        CHECK(ask(*channel, "still there"));
    }
    channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
}

TEST(two_waiters_of_one_request) {
    Server server(holding);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    for (int round = 0; round < 20; ++round) {
        Leader leader(client, *channel, "hold");
        std::thread other([&] { leader.request->wait(); });
        CHECK(ask(*channel, "go"));
        CHECK(testing::eventually([&] { return leader.request->outcomes() == 1; }));
        leader.request->core.finish();  // who did not get it waits for another
        other.join();
        leader.join();
        CHECK(leader.request->outcomes() == 1);
    }
}

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

// The thread that handlers interrupt filters without the role: they may do what they like, and wait for anybody.
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

TEST(signals_come_through) {
    Server server(holding);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    struct sigaction action {}, before;
    action.sa_handler = [](int) {};
    CHECK(::sigaction(SIGUSR1, &action, &before) == 0);
    for (const char* body : {"lose", "hold"}) {
        warm_up(client, *channel);
        auto* request = new Request;
        submit(*channel, *request, frame(body), 1e9);
        std::atomic<bool> interrupted{false};
        std::thread waiter([&] {
            CHECK(request->core.enter_wait());
            while (client.reactor->await(request->core, kNever) != Waited::Interrupted) {
            }
            interrupted = true;
            int references = 0;
            Ref<LoopQueue> queue;
            CHECK(request->core.leave_wait(true, &references, &queue) == Next::Nothing && references == 0);
        });
        CHECK(testing::eventually([&] {  // it may be on its way to the wait still
            if (!interrupted) pthread_kill(waiter.native_handle(), SIGUSR1);
            return interrupted.load();
        }));
        waiter.join();
        release(request);
    }
    CHECK(::sigaction(SIGUSR1, &before, nullptr) == 0);
    CHECK(ask(*channel, "go"));
}

// One caller alone comes to poll; several, who would only pass the role to and fro, leave that to the I/O thread.
TEST(only_who_is_alone_is_wanted) {
    Role role;
    const auto asked = [&role](int sleepers) {
        role.ask();
        role.sleepers = sleepers;
        const bool wanted = role.wanted();
        role.sleepers = 0;
        return wanted;
    };
    const auto alone = [&] {  // how often one must ask; again where this thread was held up meanwhile
        int count = 1;
        while (!asked(0)) CHECK(++count < 1'000'000);
        return count;
    };
    CHECK(!asked(0));
    CHECK(alone() >= Role::kAlone - 1);
    CHECK(testing::eventually([&] { return asked(0); }));  // and from then on
    CHECK(!asked(1));
    CHECK(!asked(0));
    CHECK(alone() >= Role::kAlone - 1);
    CHECK(!role.wanted());  // nobody asked
}

// Threads on two connections: sync requests, some given up after a moment, callbacks and pipelines beside them, pauses
// in between, in which another one is alone and polls. Every request ends, and by its own answer.
TEST(leaders_and_followers_at_random) {
    Server server(holding);
    constexpr int64_t kEnough = 200;  // a busy machine needs more rounds for as many
    int64_t polled = 0;
    for (int round = 0; round < 8 || (polled < kEnough && round < 200); ++round) {
        const bool few = round >= 2;
        Events events[2];
        Client client(kBackends[static_cast<size_t>(round) % std::size(kBackends)]);
        const Ref<Channel> channels[2] = {client.connected(server.port(), events[0]),
                                          client.connected(server.port(), events[1])};
        const std::thread::id io = io_thread(client);
        std::atomic<int> called{0}, eager_ones{0};
        std::vector<std::thread> threads;
        for (int number = 0; number < (few ? 2 : 4); ++number) {
            threads.emplace_back([&, number] {
                unsigned seed = static_cast<unsigned>(round * 10 + number);
                for (int turn = 0; turn < 400; ++turn) {
                    Channel& channel = *channels[rand_r(&seed) % 2];
                    const std::string text = std::to_string(number) + "." + std::to_string(turn);
                    const unsigned choice = rand_r(&seed) % 32;
                    if (choice == 0) {
                        auto* lost = new Request;
                        submit(channel, *lost, frame("lose"), turn % 2 ? 60 : 0.001);
                        static_cast<void>(lost->wait(static_cast<Nanos>(rand_r(&seed) % 3000) * 1000));
                        release(lost);
                    } else if (choice == 1) {
                        auto* eager = new Request;
                        eager->on_outcome = [&](Request& self) {
                            CHECK(std::this_thread::get_id() == io);
                            self.take_all();
                            self.core.finish();
                            ++called;
                        };
                        Ref<LoopQueue> queue;
                        eager->core.set_eager(&queue);
                        ++eager_ones;
                        submit(channel, *eager, frame(text));
                        release(eager);
                    } else if (choice == 2) {
                        std::vector<Request*> pipeline;
                        for (int i = 0; i < 20; ++i) {
                            pipeline.push_back(new Request);
                            submit(channel, *pipeline.back(), frame(text));
                        }
                        for (Request* request : pipeline) {
                            CHECK(request->wait() && request->body().substr(4) == text);
                            release(request);
                        }
                    } else if (choice == 3 || (few && choice < 7)) {
                        std::this_thread::sleep_for(std::chrono::microseconds(rand_r(&seed) % 5000));
                    } else {
                        CHECK(ask(channel, text));
                    }
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        CHECK(testing::eventually([&] { return called == eager_ones; }));
        polled += client.reactor->stats().leads;
        if (round == 0) warm_up(client, *channels[0]);  // it still works as at the beginning
    }
    CHECK(polled >= kEnough);
    nothing_is_left();
}

TEST_MAIN()
