// Threads that poll for their own answers: ownership at each moment, and that nothing is forgotten when it passes on.
#include <csignal>
#include <iterator>
#include <pthread.h>

#include "leading.h"

namespace lead_test {

using namespace leading;

TEST(a_caller_gets_its_own_answer) {
    Server server(echo);
    for (const char* backend : kPollers) {
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
        Client client(kPollers[static_cast<size_t>(round) % std::size(kPollers)]);
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

// No caller waits: callbacks run on the I/O thread, which must start to poll for that.
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
        Ref<CompletionQueue> queue;
        CHECK(eager->core.set_eager(&queue) == Next::Nothing);
        if (round % 2) {
            warm_up(client, *channel);
            submit(*channel, *eager, frame("x"));  // no caller polls, now or a moment later
        } else {
            Leader leader(client, *channel, "lose", 2 * kMillisecond);
            submit(*channel, *eager, frame("x"));
        }
        CHECK(testing::eventually([&] { return called.load(); }));
        CHECK(caller == io);
        release(eager);
    }
}

TEST(the_io_thread_polls_again_when_no_caller_polls) {
    Server server(holding);
    for (const char* backend : kPollers) {
        Events events;
        Client client(backend);
        auto channel = client.connected(server.port(), events);
        for (int round = 1; round <= 5; ++round) {
            warm_up(client, *channel);
            auto* request = new Request;  // hot, and no caller asks for it
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
            CHECK(std::this_thread::get_id() == io && client.reactor->is_owner());
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
        Client client(kPollers[static_cast<size_t>(round) % std::size(kPollers)]);
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
            Ref<CompletionQueue> queue;
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
        leader.request->core.finish();  // the waiter that did not get it waits for another
        other.join();
        leader.join();
        CHECK(leader.request->outcomes() == 1);
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
            while (client.reactor->await(request->core, kNever) != WaitResult::Interrupted) {
            }
            interrupted = true;
            int references = 0;
            Ref<CompletionQueue> queue;
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

// One caller alone comes to poll; several, which would only pass ownership to and fro, leave that to the I/O thread.
TEST(only_a_lone_caller_is_wanted) {
    Ownership ownership;
    const auto asked = [&ownership](int sleepers) {
        ownership.ask();
        ownership.sleepers = sleepers;
        const bool wanted = ownership.wanted();
        ownership.sleepers = 0;
        return wanted;
    };
    const auto alone = [&] {  // how often one must ask; again where this thread was held up meanwhile
        int count = 1;
        while (!asked(0)) CHECK(++count < 1'000'000);
        return count;
    };
    CHECK(!asked(0));
    CHECK(alone() >= Ownership::kSingleCallerAsks - 1);
    CHECK(testing::eventually([&] { return asked(0); }));  // and from then on
    CHECK(!asked(1));
    CHECK(!asked(0));
    CHECK(alone() >= Ownership::kSingleCallerAsks - 1);
    CHECK(!ownership.wanted());  // no caller asked
}

// The I/O thread is faster each time, so that the caller need not sleep; until it rests. Fewer sleeps than would do by
// themselves.
TEST(a_caller_that_takes_answers_repeatedly_is_left_to_poll) {
    Server server(echo);
    const auto led = [&](const char* backend) {
        Events events;
        Client client(backend);
        auto channel = client.connected(server.port(), events);
        int sleeps = 0;
        bool found = false;
        for (int round = 0; round < 10'000 && sleeps < Ownership::kSingleCallerAsks - 1 && !found; ++round) {
            auto* request = new Request;
            submit(*channel, *request, frame("x"));
            const Nanos soon = monotonic_now() + Ownership::kBoundedSleepTime / 2;
            while (!request->core.ready() && monotonic_now() < soon) std::this_thread::yield();
            if (request->core.ready()) {
                client.reactor->ask();
            } else {
                ++sleeps;
                const int64_t before = leads(client);
                CHECK(request->wait());
                found = leads(client) > before;
            }
            release(request);
        }
        return found;
    };
    for (const char* backend : kPollers) {
        bool found = false;  // on a busy machine the I/O thread may be too late a few times
        for (int attempt = 0; attempt < 100 && !found; ++attempt) found = led(backend);
        CHECK(found);
    }
    nothing_is_left();
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
        Client client(kPollers[static_cast<size_t>(round) % std::size(kPollers)]);
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
                        Ref<CompletionQueue> queue;
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

}  // namespace lead_test
