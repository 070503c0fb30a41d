// Limits on requests in flight, and operations that wait for room: without a socket, then over one.
#include <thread>

#include "fixtures.h"
#include "transport/limits.h"

namespace limits_test {

using namespace fixtures;

namespace {

// A request that waits for room; counts its notifications.
struct Waiter {
    std::atomic<int> told{0};
    Request* request = new Request;

    Waiter() {
        request->on_outcome = [this](Request& self) {
            self.take_all();
            ++told;
        };
    }
    ~Waiter() { release(request); }
    Wait at(Limit& limit) {
        RuntimeLock lock(runtime_mutex);
        request->retain();
        const Wait wait = limit.wait(&request->core);
        if (wait != Wait::Armed) request->release();
        return wait;
    }
    Wait at(Channel& channel) {
        RuntimeLock lock(runtime_mutex);
        request->retain();
        const Wait wait = channel.wait_for_stream(&request->core);
        if (wait != Wait::Armed) request->release();
        return wait;
    }
};

// Takes the waiters to notify, as a channel does, and drops the references.
size_t told(Limit& limit) {
    std::vector<Operation*> waiters;
    limit.collect_waiters(waiters);
    RuntimeLock lock(runtime_mutex);
    for (Operation* waiter : waiters) static_cast<Request*>(waiter->self)->release();
    return waiters.size();
}

Ref<Limit> make_limit(int maximum, Ref<Limit> above = nullptr) {
    return Ref<Limit>::adopt(new Limit(maximum, std::move(above)));
}

// Answers all but those that say "never" or, for now, "later".
struct Slow {
    std::mutex mutex;
    int fd = -1;
    std::vector<int> later;

    void serve(int socket) {
        {
            std::lock_guard<std::mutex> guard(mutex);
            fd = socket;
        }
        Header header;
        std::string body;
        while (read_frame(socket, &header, &body)) {
            if (body == "never") continue;
            if (body == "later") {
                std::lock_guard<std::mutex> guard(mutex);
                later.push_back(header.stream);
            } else if (!write_all(socket, answer(body, header.stream))) {
                return;
            }
        }
    }
    size_t waiting() {
        std::lock_guard<std::mutex> guard(mutex);
        return later.size();
    }
    void answer_one() {
        std::lock_guard<std::mutex> guard(mutex);
        CHECK(write_all(fd, answer("late", later.front())));
        later.erase(later.begin());
    }
};

}  // namespace

TEST(all_or_nothing) {
    auto session = make_limit(3);
    auto node = make_limit(2, session), other = make_limit(2, session);
    CHECK(node->take(Priority::Normal) && node->take(Priority::Normal) && !node->take(Priority::Normal));
    CHECK(session->in_flight() == 2);
    CHECK(other->take(Priority::Normal) && !other->take(Priority::Normal));
    CHECK(other->in_flight() == 1 && session->in_flight() == 3);  // nothing was taken at the node
    CHECK(!other->give() && other->take(Priority::Normal));
    CHECK(!node->give() && !node->give() && !other->give());
    CHECK(node->in_flight() == 0 && other->in_flight() == 0 && session->in_flight() == 0);
}

TEST(newcomers_do_not_get_past_a_line) {
    auto limit = make_limit(1);
    Waiter waiter, other;
    CHECK(waiter.at(*limit) == Wait::Room && !limit->take(Priority::Normal) && limit->take(Priority::First));
    CHECK(waiter.at(*limit) == Wait::Armed && other.at(*limit) == Wait::Known && limit->has_waiter());
    CHECK(limit->give() && told(*limit) == 1 && told(*limit) == 0);
    CHECK(!limit->take(Priority::Normal));  // there is room, for the first in line
    CHECK(limit->take(Priority::First));
    CHECK(!limit->give());
    CHECK(!limit->take(Priority::Normal));
    limit->end_queue();
    CHECK(limit->take(Priority::Normal));
    CHECK(waiter.at(*limit) == Wait::Armed);
    limit->end_queue();  // without effect: a waiter arrived meanwhile
    CHECK(limit->give() && !limit->take(Priority::Normal) && told(*limit) == 1);
}

TEST(waiters_on_the_limit_above_are_notified) {
    auto session = make_limit(1);
    auto node = make_limit(1, session);
    Waiter waiter;
    CHECK(node->take(Priority::Normal) && waiter.at(*session) == Wait::Armed);
    CHECK(node->has_waiter() && node->give() && told(*node) == 1 && !node->has_waiter());
}

TEST(limits_under_contention) {
    constexpr int kMost = 5;
    auto session = make_limit(kMost);
    std::atomic<int> running{0}, most{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            auto node = make_limit(2 + t % 2, session);
            for (int i = 0; i < 20000; ++i) {
                if (!node->take(Priority::Normal)) continue;
                const int now = ++running;
                int seen = most;
                while (now > seen && !most.compare_exchange_weak(seen, now)) {
                }
                --running;
                node->give();
            }
            CHECK(node->in_flight() == 0);
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(most <= kMost && session->in_flight() == 0);
}

TEST(a_stream_waits_for_its_late_answer) {
    Slow slow;
    Server server([&](int fd) { slow.serve(fd); });
    {
        Events events;  // outlives the client, which tells it of the end
        Client client;
        auto channel = client.connected(server.port(), events);
        channel->set_max_requests(2);
        auto limit = make_limit(2);
        channel->set_limit(limit);
        Request *given_up = new Request, *busy = new Request, *late = new Request, *own = new Request;
        Waiter waiter;
        CHECK(submit(*channel, *given_up, frame("later")).stream == 0);
        CHECK(submit(*channel, *busy, frame("later")).stream == 1);
        CHECK(testing::eventually([&] { return slow.waiting() == 2; }));
        CHECK(waiter.at(*channel) == Wait::Armed);
        {
            RuntimeLock lock(runtime_mutex);
            CHECK(channel->orphan(0, &given_up->core, 0));
            given_up->release();  // the stream's
        }
        CHECK(testing::eventually([&] { return waiter.told == 1; }));  // it may have to be replaced
        CHECK(channel->orphaned() == 1 && limit->in_flight() == 2);
        CHECK(submit(*channel, *late, frame("x")).status == SubmitStatus::Busy);
        own->core.priority = Priority::Driver;
        CHECK(submit(*channel, *own, frame("own")).stream == 2);  // not limited, not counted
        CHECK(own->wait() && own->body() == std::string("\0\0\0\1own", 7) && limit->in_flight() == 2);
        CHECK(waiter.at(*channel) == Wait::Armed);
        slow.answer_one();
        CHECK(testing::eventually([&] { return waiter.told == 2; }));
        CHECK(channel->orphaned() == 0 && limit->in_flight() == 1);
        CHECK(submit(*channel, *late, frame("x")).status == SubmitStatus::Busy);  // there is a line
        late->core.priority = Priority::First;
        CHECK(submit(*channel, *late, frame("x")).stream == 0);
        CHECK(late->wait() && late->body() == std::string("\0\0\0\1x", 5));
        slow.answer_one();
        CHECK(busy->wait() && busy->outcomes() == 1);
        CHECK(limit->in_flight() == 0);
        for (Request* request : {given_up, busy, late, own}) release(request);
    }
    nothing_is_left();
}

TEST(a_closed_channel_gives_all_places_back_and_tells) {
    Slow slow;
    Server server([&](int fd) { slow.serve(fd); });
    {
        Events events;  // outlives the client, which tells it of the end
        Client client;
        auto channel = client.connected(server.port(), events);
        auto limit = make_limit(2);
        channel->set_limit(limit);
        Request *given_up = new Request, *busy = new Request;
        Waiter at_limit, at_channel;
        CHECK(submit(*channel, *given_up, frame("never")).stream == 0);
        CHECK(submit(*channel, *busy, frame("later")).stream == 1);
        CHECK(testing::eventually([&] { return slow.waiting() == 1; }));
        channel->set_max_requests(2);
        CHECK(at_limit.at(*limit) == Wait::Armed && at_channel.at(*channel) == Wait::Armed);
        {
            RuntimeLock lock(runtime_mutex);
            CHECK(channel->orphan(0, &given_up->core, 0));
            given_up->release();
        }
        CHECK(testing::eventually([&] { return at_limit.told == 1 && at_channel.told == 1; }));
        CHECK(at_limit.at(*limit) == Wait::Armed && at_channel.at(*channel) == Wait::Armed);
        channel->close(Ref<Reason>::adopt(new Reason(Reason::Kind::Local, "closed")));
        CHECK(testing::eventually([&] { return at_limit.told == 2 && at_channel.told == 2; }));
        CHECK(limit->in_flight() == 0 && at_channel.at(*channel) == Wait::Room);
        CHECK(busy->wait() && busy->outcome().failure);
        release(given_up);
        release(busy);
    }
    nothing_is_left();
}

}  // namespace limits_test
