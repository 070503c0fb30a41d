// Queued requests are sent, and received responses are delivered: see outbound.h and channel.h.
#include <cstdlib>
#include <new>

#include "fixtures.h"
#include "transport/outbound.h"

using namespace fixtures;

// ---- an allocator that fails when it is told to

namespace {

thread_local int allocations_left = -1;  // -1: it never fails

[[gnu::noinline]] void* allocate(size_t size) {
    if (allocations_left == 0) throw std::bad_alloc();
    if (allocations_left > 0) --allocations_left;
    if (void* memory = std::malloc(size)) return memory;
    throw std::bad_alloc();
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) { return allocate(size); }
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept try {
    return allocate(size);
} catch (const std::bad_alloc&) {
    return nullptr;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

bool answered(Request& request) {
    if (!request.core.ready()) return false;
    RuntimeLock lock(runtime_mutex);
    request.take_all();
    return true;
}

}  // namespace

// No thread flushes or waits after the submit, on a reactor that sleeps without limit.
TEST(queued_requests_are_sent_without_a_flush) {
    Server server(echo);
    for (const char* backend : kPollers) {
        Events events;
        Client client(backend);
        auto channel = client.connected(server.port(), events);
        for (int round = 0; round < 300; ++round) {
            auto* request = new Request;
            CHECK(submit_later(*channel, *request, frame("alone")).status == SubmitStatus::Accepted);
            CHECK(testing::eventually([&] { return answered(*request); }));
            CHECK(request->body().substr(4) == "alone");
            release(request);
            if (round % 50 == 0) testing::pause_ms(10);  // the list is not watched any more
        }
    }
    nothing_is_left();
}

// Many are sent in one system call when a caller flushes them, and in very few when the I/O thread sends them.
TEST(queued_requests_are_sent_together) {
    std::atomic<int> reads{0};
    Server server([&](int fd) {
        std::string buffer(1 << 20, '\0');
        for (ssize_t got; (got = ::read(fd, buffer.data(), buffer.size())) > 0;) ++reads;
    });
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    std::vector<Request*> requests;
    for (int i = 0; i < 200; ++i) {
        requests.push_back(new Request);
        submit_later(*channel, *requests.back(), frame("x"));
    }
    client.reactor->flush();
    CHECK(testing::eventually([&] { return channel->bytes_sent() == 200 * 10; }));
    CHECK(reads <= 20);
    channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
    for (Request* request : requests) {
        CHECK(request->wait());
        release(request);
    }
}

// The I/O thread releases ownership to a caller that asked for it, and that then neither sends nor waits.
TEST(queued_requests_are_sent_while_there_is_no_owner) {
    Server server(echo);
    for (const char* backend : kPollers) {
        Events events;
        Client client(backend);
        auto channel = client.connected(server.port(), events);
        for (int round = 0; round < 300; ++round) {
            std::vector<Request*> requests;
            for (int i = 0; i < 3; ++i) {
                client.reactor->ask();
                requests.push_back(new Request);
                CHECK(submit_later(*channel, *requests.back(), frame("alone")).status == SubmitStatus::Accepted);
            }
            for (Request* request : requests) {
                CHECK(testing::eventually([&] { return answered(*request); }));
                release(request);
            }
            if (round % 50 == 0) testing::pause_ms(10);  // the list is not watched any more
        }
    }
    nothing_is_left();
}

// Threads that wait for other answers, leave, and send none of the requests that this one has queued.
TEST(queued_requests_are_sent_beside_callers_that_poll) {
    Server server(echo);
    Events events;
    Client client;
    auto channel = client.connected(server.port(), events);
    std::atomic<bool> over{false};
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) {
        callers.emplace_back([&, i] {
            while (!over) {
                auto* request = new Request;
                CHECK(submit(*channel, *request, frame("sync")).status == SubmitStatus::Accepted);
                CHECK(request->wait());
                release(request);
                if (i == 2) testing::pause_ms(3);
            }
        });
    }
    for (int round = 0; round < 2000; ++round) {
        auto* request = new Request;
        submit_later(*channel, *request, frame("later"));
        CHECK(testing::eventually([&] { return answered(*request); }));
        release(request);
    }
    over = true;
    for (std::thread& caller : callers) caller.join();
}

TEST(queued_requests_fail_as_not_sent_with_their_channel) {
    Server server(echo);
    for (int round = 0; round < 100; ++round) {
        Events events;
        Client client;
        auto channel = client.connected(server.port(), events);
        auto* request = new Request;
        submit_later(*channel, *request, frame("x"));
        if (round % 2) {
            client.stop();
        } else {
            channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "enough")));
        }
        CHECK(request->wait());
        const Outcome& outcome = request->outcome();
        CHECK(!outcome.failure || outcome.failure->sent == (channel->bytes_sent() > 0));
        release(request);
    }
    nothing_is_left();
}

// Whichever allocation of a submit fails: refused or accepted, and the channel goes on.
TEST(a_submit_without_memory_changes_nothing) {
    Server server(echo);
    for (const bool later : {false, true}) {
        Events events;
        Client client;
        auto channel = client.connected(server.port(), events);
        int refused = 0;
        for (int left = 0; left < 40; ++left) {
            auto* request = new Request;
            const std::string text = frame(std::string(static_cast<size_t>(100 + 5000 * left), 'x'));
            bool accepted = false;
            {
                RuntimeLock lock(runtime_mutex);
                request->retain();
                request->home = Ref<Reactor>(&channel->reactor());
                allocations_left = left % 8;
                const SubmitStatus status = channel->submit(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                                            &request->core, 0, 60, later)
                                                .status;
                allocations_left = -1;
                accepted = status == SubmitStatus::Accepted;
                refused += status == SubmitStatus::NoMemory;
                CHECK(accepted || status == SubmitStatus::NoMemory);
                if (!accepted) request->release();
            }
            if (accepted) {
                CHECK(request->wait());
                CHECK(request->body().size() == 4 + text.size() - 9);
            } else {
                CHECK(channel->in_flight() == 0 && request->references() == 1);
            }
            release(request);
        }
        CHECK(refused > 0 && !channel->closed());
    }
}

// The I/O thread was held up beyond all deadlines while the answers came, on more channels than the poller tells of at
// once. None of them is late.
TEST(responses_received_during_a_stall_are_not_late) {
    constexpr int kChannels = 300;
    std::atomic<int> answers{0};
    Server server([&](int fd) {
        Header header;
        std::string body;
        while (read_frame(fd, &header, &body)) {
            write_all(fd, answer(body, header.stream));
            ++answers;
        }
    });
    std::vector<std::unique_ptr<Events>> events;
    Client client;
    std::vector<Ref<Channel>> channels;
    for (int i = 0; i < kChannels; ++i) {
        events.push_back(std::make_unique<Events>());
        channels.push_back(client.connect(server.port(), *events.back()));
    }
    for (auto& one : events) CHECK(testing::eventually([&] { return one->connected == 1; }));
    std::atomic<bool> stalled{false};
    CHECK(client.reactor->call_soon(new std::function<void()>([&] {
        stalled = true;
        CHECK(testing::eventually([&] { return answers == kChannels; }));
        testing::pause_ms(600);
    })));
    CHECK(testing::eventually([&] { return stalled.load(); }));
    std::vector<Request*> requests;
    for (auto& channel : channels) {
        requests.push_back(new Request);
        const std::string text = frame("x");
        requests.back()->retain();  // without the runtime lock: the I/O thread has it
        CHECK(channel->submit(reinterpret_cast<const uint8_t*>(text.data()), text.size(), &requests.back()->core, 0, 0.5)
                  .status == SubmitStatus::Accepted);
    }
    const Nanos began = monotonic_now();
    for (Request* request : requests) {
        CHECK(request->wait());
        CHECK(!request->outcome().failure);
        CHECK(request->outcome().arrived >= began);
        release(request);
    }
    channels.clear();
}

TEST_MAIN()
