// Callers that poll for themselves, for the tests of who has ownership.
#pragma once

#include "fixtures.h"

namespace leading {

using namespace fixtures;

// Answers like echo(), but what begins with "hold" only when "go" comes, and what begins with "lose" never.
inline void holding(int fd) {
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

inline std::function<void()>* callback(std::function<void()> function) {
    return new std::function<void()>(std::move(function));
}

// One request from begin to end; false if it failed.
inline bool ask(Channel& channel, const std::string& body) {
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

inline int64_t leads(Client& client) { return client.reactor->stats().leads; }

// Requests follow each other until the callers poll for themselves.
inline void warm_up(Client& client, Channel& channel) {
    const Nanos end = monotonic_now() + 60 * kSecond;
    const int64_t before = leads(client);
    do {
        CHECK(monotonic_now() < end);
        CHECK(ask(channel, "warm"));
    } while (leads(client) == before);
}

inline std::thread::id io_thread(Client& client) {
    std::atomic<bool> done{false};
    std::thread::id id;
    CHECK(client.reactor->call_soon(callback([&] {
        id = std::this_thread::get_id();
        done = true;
    })));
    CHECK(testing::eventually([&] { return done.load(); }));
    return id;
}

// A thread that polls for a request, until that has an outcome, it leaves, or it hands ownership over.
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

}  // namespace leading
