// A runtime without Python, requests, and servers to talk to.
#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "testing.h"
#include "memory/pool.h"
#include "transport/reactor.h"

namespace fixtures {

using namespace fastcql;

// The runtime lock. Held by a test thread wherever Python code would hold the GIL; taken again by one that has it.
// Given up altogether, like the GIL, by the handler of a signal that waits for something.
class RuntimeMutex {
public:
    void lock() {
        mutex_.lock();
        ++depth_;
    }
    void unlock() {
        --depth_;
        mutex_.unlock();
    }
    template <class Wait>
    void without(Wait wait) {
        const int depth = depth_;
        while (depth_ > 0) unlock();
        wait();
        while (depth_ < depth) lock();
    }

private:
    std::recursive_mutex mutex_;
    static inline thread_local int depth_ = 0;
};
inline RuntimeMutex runtime_mutex;
using RuntimeLock = std::lock_guard<RuntimeMutex>;

void dispatch(Operation* operation);

// One request and its answer. Counted like a Python object; lives while a reference to it exists.
class Request {
public:
    static std::atomic<int> alive;

    Request() {
        core.self = this;
        ++alive;
    }
    ~Request() { --alive; }

    Operation core;
    std::function<void(Request&)> on_outcome;  // default: that is all there will be

    // Under the runtime lock.
    void retain() { ++references_; }
    void release() {
        if (--references_ == 0) delete this;
    }
    int references() const { return references_; }

    void take_all() {
        Outcome outcome;
        while (core.take(&outcome)) {
            if (outcome.holds_reference) release();
            outcome.holds_reference = false;
            std::lock_guard<std::mutex> guard(mutex_);
            outcomes_.push_back(std::move(outcome));
        }
    }
    size_t outcomes() {
        std::lock_guard<std::mutex> guard(mutex_);
        return outcomes_.size();
    }
    // The only outcome.
    const Outcome& outcome() {
        std::lock_guard<std::mutex> guard(mutex_);
        CHECK(outcomes_.size() == 1);
        return outcomes_[0];
    }
    std::string body() {
        const Outcome& one = outcome();
        CHECK(!one.failure);
        return std::string(reinterpret_cast<const char*>(one.frame.body), one.frame.length);
    }
    // Blocks like Operation._wait: polls the reactor it was submitted to, while no other thread does.
    Ref<Reactor> home;
    bool wait(Nanos timeout = 30 * kSecond) {
        {
            RuntimeLock runtime(runtime_mutex);
            Channel::give_back();
        }
        if (core.enter_wait()) {
            const Nanos deadline = monotonic_now() + timeout;
            WaitResult waited;
            do {
                waited = home ? home->await(core, deadline) : core.sleep(deadline);
                if (waited == WaitResult::NeedsRuntime) {
                    RuntimeLock runtime(runtime_mutex);
                    home->run_input();
                }
            } while (waited == WaitResult::Interrupted || waited == WaitResult::NeedsRuntime);
            RuntimeLock runtime(runtime_mutex);
            int references = 0;
            Ref<CompletionQueue> queue;
            const Next next = core.leave_wait(waited != WaitResult::Ready, &references, &queue);
            while (references-- > 0) release();
            CHECK(next == Next::Nothing || (next == Next::Dispatch && waited != WaitResult::Ready));
            if (next == Next::Dispatch) {
                retain();
                if (!home || !home->dispatch_later(&core)) dispatch(&core);
            }
            if (waited != WaitResult::Ready) return false;
        }
        RuntimeLock runtime(runtime_mutex);
        take_all();
        return true;
    }

private:
    int references_ = 1;
    std::mutex mutex_;
    std::vector<Outcome> outcomes_;
};

inline std::atomic<int> Request::alive{0};

// The events that a channel reported.
struct Events {
    std::atomic<int> connected{0};
    std::atomic<int> closed{0};
    std::atomic<int> events{0};
    std::atomic<int> quiet{0};
    Reason::Kind kind{};
    int error = 0;
    std::string message;
    std::function<void(Channel&)> on_connected;
    std::function<void(Channel&)> on_closed;

    bool is_closed() const { return closed.load() > 0; }
};

extern Runtime runtime;
extern thread_local bool interrupted_threads;  // this one is, see Runtime::interruptible
extern std::atomic<int> warnings;  // that reactors had

// Drops the test's own reference.
inline void release(Request* request) {
    RuntimeLock lock(runtime_mutex);
    request->release();
}

inline void nothing_is_left() {
    CHECK(testing::eventually([] { return Request::alive == 0; }));
    CHECK(counters.channels == 0 && counters.reactors == 0);
    const memory::PoolCounters pools = memory::pool_counters();
    CHECK(pools.frames == 0 && pools.arenas == 0 && pools.pools == 0);
}

// A byte filter that flips every bit, after a handshake of its own: "hello" there, "welcome" back.
struct FlipFilter {
    bool established = false;
    bool fail_receive = false;
    bool lends = false;
    int ended = 0;
    // Called at the end of filter_receive and filter_send, on interruptible threads: the handler of a signal. The
    // requests it settles are complete by then.
    std::function<void()> handler;
    Buffer received, sent;
    bool settled = false;
    std::string seen;
};

// A pool for one object: that keeps it.
class Pooled {
public:
    explicit Pooled(size_t max_bytes = 256 << 20, bool strict = false)
        : pool(new memory::Pool({max_bytes, 8 << 20, 64, strict})) {}
    ~Pooled() { pool->release(); }
    Pooled(const Pooled&) = delete;
    Pooled& operator=(const Pooled&) = delete;
    memory::Pool* const pool;
};

class Client {
public:
    explicit Client(const char* backend = "auto") : Client(backend, *Pooled().pool) {}
    Client(const char* backend, memory::FramePool& pool, Nanos warn_after = 5 * kSecond)
        : reactor(Reactor::create(runtime, backend, "test-io", pool, warn_after)) {
        CHECK(reactor);
    }
    ~Client() { stop(); }
    void stop() {
        if (!reactor) return;
        CHECK(reactor->stop(60 * kSecond));
        reactor = nullptr;
    }

    Ref<Channel> connect(int port, Events& events, void* filter = nullptr, Nanos timeout = 30 * kSecond) {
        ConnectSpec spec;
        spec.family = AF_INET;
        spec.timeout = timeout;
        CHECK(parse_address(AF_INET, "127.0.0.1", port, &spec.address));
        auto channel = Ref<Channel>::adopt(new Channel(*reactor, spec));
        channel->self = &events;
        channel->filter = filter;
        CHECK(reactor->open(channel, spec));
        return channel;
    }
    Ref<Channel> connected(int port, Events& events, void* filter = nullptr) {
        auto channel = connect(port, events, filter);
        CHECK(testing::eventually([&] { return events.connected == 1; }));
        return channel;
    }

    Ref<Reactor> reactor;
};

// A request frame of protocol 4.
inline std::string frame(const std::string& body, uint8_t opcode = 0x07, uint8_t version = 4, int stream = 0,
                         uint8_t flags = 0) {
    std::string text;
    text.push_back(static_cast<char>(version));
    text.push_back(static_cast<char>(flags));
    text.push_back(static_cast<char>(stream >> 8));
    text.push_back(static_cast<char>(stream));
    text.push_back(static_cast<char>(opcode));
    for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(body.size() >> shift));
    return text + body;
}

// A RESULT of kind VOID that carries *body* behind the kind.
inline std::string answer(const std::string& body, int stream, uint8_t version = 4) {
    return frame(std::string("\0\0\0\1", 4) + body, kResult, static_cast<uint8_t>(version | 0x80), stream);
}

// Joins the queue of *channel*, to be sent with others.
inline SubmitResult submit_later(Channel& channel, Request& request, const std::string& text, double timeout = 60) {
    RuntimeLock lock(runtime_mutex);
    request.retain();
    request.home = Ref<Reactor>(&channel.reactor());
    const SubmitResult result = channel.submit(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                            &request.core, 0, timeout, true);
    if (result.status != SubmitStatus::Accepted) request.release();
    return result;
}

// Sends; the request's new reference goes with it. *drain* does the same as Channel.submit of the runtime on
// the way.
SubmitResult submit(Channel& channel, Request& request, const std::string& text, double timeout = 60,
                 uint32_t attempt = 0);

// A listening socket and one thread per connection that runs *serve*.
class Server {
public:
    using Serve = std::function<void(int fd)>;
    explicit Server(Serve serve);
    ~Server();
    int port() const { return port_; }
    int accepted() const { return accepted_; }

private:
    void accept_loop();
    Serve serve_;
    int listener_;
    int port_ = 0;
    std::atomic<int> accepted_{0};
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::vector<int> fds_;
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

bool read_exact(int fd, void* data, size_t size);
bool write_all(int fd, const std::string& text);
// One frame; false at the end.
bool read_frame(int fd, Header* header, std::string* body);
// Answers every request with its own body.
void echo(int fd);

}  // namespace fixtures
