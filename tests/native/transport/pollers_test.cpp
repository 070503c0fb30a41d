// The pollers alone, each of those that this build has.
#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>

#include "fixtures.h"

namespace pollers_test {

using namespace fixtures;

namespace {

// Two connected sockets, as [0] and [1].
class Pair {
public:
    Pair() { CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds_) == 0); }
    ~Pair() {
        close(0);
        close(1);
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;
    int operator[](int side) const { return fds_[side]; }
    void close(int side) {
        if (fds_[side] >= 0) ::close(fds_[side]);
        fds_[side] = -1;
    }
    void send(int side, const char* text) { CHECK(::write(fds_[side], text, std::strlen(text)) > 0); }
    // Until the socket takes no more.
    void fill(int side) {
        const std::string much(4096, 'x');
        while (::write(fds_[side], much.data(), much.size()) > 0) {
        }
    }
    void drain(int side) {
        char sink[4096];
        while (::read(fds_[side], sink, sizeof sink) > 0) {
        }
    }

private:
    int fds_[2];
};

// A wait of *span*: the readiness of *data*, all its events together.
uint32_t ready(Poller& poller, const void* data, Nanos span = 0) {
    std::vector<ReadyEvent> events;
    CHECK(poller.wait(monotonic_now() + span, events));
    uint32_t found = 0;
    for (const ReadyEvent& event : events) {
        if (event.data == data) found |= event.ready;
    }
    return found;
}

template <class Run>
void with_each(Run run) {
    for (const char* name : kPollers) {
        const std::unique_ptr<Poller> poller = make_poller(name);
        CHECK(poller && std::strcmp(poller->name(), name) == 0);
        run(*poller);
    }
}

int here, there;  // the data of registrations

}  // namespace

TEST(the_first_poller_is_the_default) {
    CHECK(std::strcmp(make_poller("auto")->name(), kPollers[0]) == 0);
    errno = 0;
    CHECK(!make_poller("select") && errno == EINVAL);
#ifdef FASTCQL_KQUEUE
    CHECK(std::any_of(std::begin(kPollers), std::end(kPollers),
                      [](const char* name) { return std::strcmp(name, "kqueue") == 0; }));
#endif
}

TEST(readiness_is_reported_until_it_is_consumed) {
    with_each([](Poller& poller) {
        Pair pair;
        CHECK(poller.add(pair[0], kReadable, &here));
        CHECK(ready(poller, &here) == 0);
        pair.send(1, "x");
        CHECK(ready(poller, &here, kSecond) == kReadable);
        CHECK(ready(poller, &here, kSecond) == kReadable);
        pair.drain(0);
        CHECK(ready(poller, &here) == 0);
    });
}

TEST(only_what_is_of_interest_is_reported) {
    with_each([](Poller& poller) {
        Pair pair;
        pair.send(1, "x");
        CHECK(poller.add(pair[0], kWritable, &here));
        CHECK(ready(poller, &here, kSecond) == kWritable);
        poller.modify(pair[0], kReadable, &here);
        CHECK(ready(poller, &here, kSecond) == kReadable);
        poller.modify(pair[0], kReadable | kWritable, &here);
        CHECK(ready(poller, &here, kSecond) == (kReadable | kWritable));
        poller.modify(pair[0], kWritable, &here);
        pair.fill(0);
        CHECK(ready(poller, &here) == 0);
        pair.drain(1);
        CHECK(ready(poller, &here, kSecond) == kWritable);
        poller.remove(pair[0]);
        CHECK(ready(poller, &here) == 0);
        CHECK(poller.add(pair[0], kReadable | kWritable, &there));
        CHECK(ready(poller, &here) == 0 && ready(poller, &there) == (kReadable | kWritable));
    });
}

TEST(a_descriptor_with_the_number_of_a_removed_one_is_another) {
    with_each([](Poller& poller) {
        for (int round = 0; round < 3; ++round) {
            Pair pair;
            CHECK(poller.add(pair[0], round % 2 ? kReadable : kWritable, round % 2 ? &there : &here));
            if (round % 2) pair.send(1, "x");
            CHECK(ready(poller, round % 2 ? &there : &here, kSecond) == (round % 2 ? kReadable : kWritable));
            CHECK(ready(poller, round % 2 ? &here : &there) == 0);
            poller.remove(pair[0]);
        }
    });
}

TEST(the_end_of_the_input_is_readable_and_a_gone_peer_is_broken) {
    with_each([](Poller& poller) {
        Pair half, gone;
        CHECK(poller.add(half[0], kReadable, &here));
        CHECK(::shutdown(half[1], SHUT_WR) == 0);
        CHECK(ready(poller, &here, kSecond) == kReadable);
        CHECK(poller.add(gone[0], kWritable, &there));
        gone.close(1);
        CHECK(ready(poller, &there, kSecond) & kBroken);
        poller.remove(half[0]);
        poller.remove(gone[0]);
    });
}

TEST(a_connection_is_complete_when_its_socket_is_writable) {
    Server server(echo);
    with_each([&](Poller& poller) {
        ConnectSpec spec;
        spec.family = AF_INET;
        CHECK(parse_address(AF_INET, "127.0.0.1", server.port(), &spec.address));
        const ConnectStep step = start_connect(spec);
        CHECK(step.fd >= 0 && poller.add(step.fd, kWritable, &here));
        CHECK(ready(poller, &here, 30 * kSecond) == kWritable);
        CHECK(finish_connect(step.fd) == 0);
        CHECK(fcntl(step.fd, F_GETFL) & O_NONBLOCK && fcntl(step.fd, F_GETFD) & FD_CLOEXEC);
        poller.remove(step.fd);
        ::close(step.fd);
    });
}

TEST(many_signals_are_one_wake_up) {
    with_each([](Poller& poller) {
        WakeDescriptor wake;
        CHECK(wake.open() && poller.add(wake.fd(), kReadable, &here));
        CHECK(fcntl(wake.fd(), F_GETFL) & O_NONBLOCK && fcntl(wake.fd(), F_GETFD) & FD_CLOEXEC);
        for (int count = 0; count < 200'000; ++count) wake.signal();  // more than a pipe takes
        CHECK(ready(poller, &here, kSecond) == kReadable);
        wake.drain();
        CHECK(ready(poller, &here) == 0);
        std::thread other([&] {
            testing::pause_ms(20);
            wake.signal();
        });
        CHECK(ready(poller, &here, 30 * kSecond) == kReadable);
        other.join();
        poller.remove(wake.fd());
    });
}

TEST(more_descriptors_are_ready_than_one_wait_reports) {
    constexpr size_t kPairs = Poller::kBatch + 72;
    with_each([](Poller& poller) {
        std::vector<std::unique_ptr<Pair>> pairs;
        std::vector<int> seen(kPairs);
        for (size_t i = 0; i < kPairs; ++i) {
            pairs.push_back(std::make_unique<Pair>());
            CHECK(poller.add((*pairs[i])[0], kReadable, &seen[i]));
            pairs[i]->send(1, "x");
        }
        std::vector<ReadyEvent> events;
        for (size_t left = kPairs; left > 0; left -= events.size()) {
            CHECK(poller.wait(monotonic_now() + kSecond, events) && !events.empty() && events.size() <= kPairs);
            for (const ReadyEvent& event : events) {
                auto* const count = static_cast<int*>(event.data);
                CHECK(++*count == 1);
                pairs[static_cast<size_t>(count - seen.data())]->drain(0);
            }
        }
        for (const auto& pair : pairs) poller.remove((*pair)[0]);
    });
}

TEST(a_wait_ends_at_its_deadline_and_not_before) {
    with_each([](Poller& poller) {
        std::vector<ReadyEvent> events;
        for (const Nanos span : {Nanos{0}, kMillisecond / 3, 3 * kMillisecond, 30 * kMillisecond}) {
            const Nanos deadline = monotonic_now() + span;
            CHECK(poller.wait(deadline, events) && events.empty());
            CHECK(monotonic_now() >= deadline);
        }
        CHECK(poller.wait(monotonic_now() - kSecond, events) && events.empty());
        Pair pair;
        CHECK(poller.add(pair[0], kWritable, &here));
        for (const Nanos deadline : {kNever, monotonic_now() + Nanos{300'000'000} * kSecond})
            CHECK(poller.wait(deadline, events) && events.size() == 1);
    });
}

TEST(a_signal_ends_a_wait) {
    static std::atomic<int> handled{0};
    struct sigaction action {}, before {};
    action.sa_handler = [](int) { ++handled; };
    CHECK(::sigaction(SIGUSR1, &action, &before) == 0);
    with_each([](Poller& poller) {
        const pthread_t waiter = pthread_self();
        std::atomic<bool> over{false};
        const int already = handled;
        std::thread other([&] {
            while (!over) {
                testing::pause_ms(5);
                pthread_kill(waiter, SIGUSR1);
            }
        });
        std::vector<ReadyEvent> events;
        CHECK(!poller.wait(monotonic_now() + 60 * kSecond, events) && events.empty());
        CHECK(handled > already);
        over = true;
        other.join();
    });
    CHECK(::sigaction(SIGUSR1, &before, nullptr) == 0);
}

FORK_TEST(the_child_of_a_fork_closes_no_descriptor_but_the_pollers) {
    for (const char* name : kPollers) {
        std::unique_ptr<Poller> poller = make_poller(name);
        Pair pair;
        CHECK(poller->add(pair[0], kReadable, &here));
        const pid_t child = ::fork();
        CHECK(child >= 0);
        if (child == 0) {
            int fds[32];  // in a child, one of them has the number of a kqueue
            for (int& fd : fds) fd = ::dup(STDERR_FILENO);
            poller = nullptr;
            for (const int fd : fds) {
                if (fcntl(fd, F_GETFD) < 0) ::_exit(1);
            }
            ::_exit(0);
        }
        int status = -1;
        CHECK(::waitpid(child, &status, 0) == child && status == 0);
        pair.send(1, "x");  // the parent's poller is as before
        CHECK(ready(*poller, &here, kSecond) == kReadable);
    }
}

TEST(threads_park_and_are_woken_in_the_child_of_a_fork) {
    std::atomic<bool> over{false};
    std::atomic<uint32_t> words[256] = {};
    std::thread busy([&] {  // holds locks of the parking table when the parent forks
        while (!over) {
            for (auto& word : words) unpark_all(&word);
        }
    });
    for (int round = 0; round < 100; ++round) {
        const pid_t child = ::fork();
        CHECK(child >= 0);
        if (child == 0) {
            for (auto& word : words) {
                unpark_one(&word);
                if (park(word, 0, 0) == ParkResult::Interrupted) ::_exit(1);
            }
            ::_exit(0);
        }
        int status = -1;
        CHECK(testing::eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; }) && status == 0);
    }
    over = true;
    busy.join();
}

}  // namespace pollers_test
