#include "fixtures.h"

#include <algorithm>
#include <set>

namespace fixtures {

void dispatch(Operation* operation) {
    auto* request = static_cast<Request*>(operation->self);
    Ref<CompletionQueue> queue;
    while (request->core.begin_dispatch(false) == Operation::DispatchStart::Here) {
        if (request->on_outcome) {
            request->on_outcome(*request);
        } else {
            request->take_all();
            request->core.finish();
        }
        int references = 0;
        const Next next = request->core.end_dispatch(&references, &queue);
        while (references-- > 0) request->release();
        if (next == Next::Enqueue) {
            bool notify = false;
            if (queue->push(operation, &notify)) {
                if (notify) queue->signal();
                return;
            }
        }
        if (next == Next::Nothing) break;
    }
    request->release();
}

namespace {

void drop_operations(Operation* list) {
    while (list) {
        auto* request = static_cast<Request*>(list->self);
        list = list->next_drop;
        for (int count = request->core.leave_drop_list(); count > 0; --count) request->release();
    }
}

// Objects of channels (Channel::Held), an entry for each reference; under the runtime lock.
std::multiset<void*> retained;

void drop_object(void* object) {
    const auto found = retained.find(object);
    if (found == retained.end())
        delete static_cast<std::function<void()>*>(object);  // a callback
    else
        retained.erase(found);
}

Events& events_of(Channel& channel) { return *static_cast<Events*>(channel.self); }

Reason* broken(const char* text) { return new Reason(Reason::Kind::Runtime, text); }

void flip(const uint8_t* data, size_t size, Buffer& out) {
    for (size_t i = 0; i < size; ++i) out.push_back(static_cast<uint8_t>(~data[i]));
}

void interrupt(FlipFilter& filter) {
    if (interrupted_threads && filter.handler) filter.handler();
}

// Who was settled finds nothing: the buffers may be another's by now.
void take(Buffer& from, Buffer& to) {
    if (from.empty()) return;
    to.insert(to.end(), from.begin(), from.end());
    from.clear();
}

Runtime make_runtime() {
    Runtime table{};
    table.enter = [](void**) {
        runtime_mutex.lock();
        return true;
    };
    table.leave = [](void*) { runtime_mutex.unlock(); };
    table.thread_ending = [] {};
    table.dispatch = dispatch;
    table.drop_operations = drop_operations;
    table.retain_object = [](void* object) { retained.insert(object); };
    table.retain = [](Operation* operation) { static_cast<Request*>(operation->self)->retain(); };
    table.call = [](void* callback) {
        auto* function = static_cast<std::function<void()>*>(callback);
        (*function)();
        delete function;
    };
    table.interruptible = [] { return interrupted_threads; };
    table.drop_object = drop_object;
    table.warn = [](const char*) { ++warnings; };
    table.connected = [](Channel& channel) -> Reason* {
        Events& events = events_of(channel);
        if (events.on_connected) events.on_connected(channel);
        ++events.connected;
        return nullptr;
    };
    table.event = [](Channel& channel, Frame&) -> Reason* {
        ++events_of(channel).events;
        return nullptr;
    };
    table.closed = [](Channel& channel, Reason& reason) {
        Events& events = events_of(channel);
        events.kind = reason.kind;
        events.error = reason.error;
        events.message = reason.message;
        if (events.on_closed) events.on_closed(channel);
        channel.self = nullptr;
        ++events.closed;
    };
    table.quiet = [](Channel& channel) { ++events_of(channel).quiet; };
    table.filter_start = [](void*, Buffer& wire) -> Reason* {
        const std::string hello = "hello";
        wire.insert(wire.end(), hello.begin(), hello.end());
        return nullptr;
    };
    table.filter_receive = [](void* target, const uint8_t* data, size_t size, Buffer& plain,
                              Buffer&) -> Reason* {
        auto& filter = *static_cast<FlipFilter*>(target);
        const std::string welcome = "welcome";
        while (!filter.established && size > 0) {
            filter.seen.push_back(static_cast<char>(*data++));
            --size;
            if (welcome.compare(0, filter.seen.size(), filter.seen) != 0) return broken("not welcome");
            filter.established = filter.seen == welcome;
        }
        if (filter.fail_receive) return broken("the filter cannot read this");
        flip(data, size, filter.received);
        interrupt(filter);
        take(filter.received, plain);
        return nullptr;
    };
    table.filter_send = [](void* target, const uint8_t* data, size_t size, Buffer& wire) -> Reason* {
        auto& filter = *static_cast<FlipFilter*>(target);
        flip(data, size, filter.sent);
        interrupt(filter);
        take(filter.sent, wire);
        return nullptr;
    };
    table.filter_is_lendable = [](void* target) { return static_cast<FlipFilter*>(target)->lends; };
    table.filter_complete = [](void* target, Buffer& plain, Buffer& wire) -> Reason* {
        auto& filter = *static_cast<FlipFilter*>(target);
        take(filter.received, plain);
        take(filter.sent, wire);
        filter.settled = true;
        return nullptr;
    };
    table.filter_eof = [](void*) -> Reason* { return nullptr; };
    table.filter_end = [](void* target, Buffer& wire) {
        ++static_cast<FlipFilter*>(target)->ended;
        const std::string bye = "bye";
        wire.insert(wire.end(), bye.begin(), bye.end());
    };
    table.filter_established = [](void* target) { return static_cast<FlipFilter*>(target)->established; };
    table.decompress = [](void*, const uint8_t* data, size_t size, uint8_t* plain, size_t plain_size,
                          size_t* written) -> Reason* {
        // Run lengths: (count, byte)*.
        if (size % 2 != 0) return broken("odd");
        Buffer out;
        for (size_t i = 0; i < size; i += 2) out.insert(out.end(), data[i], data[i + 1]);
        std::copy_n(out.begin(), std::min(out.size(), plain_size), plain);
        *written = out.size();
        return nullptr;
    };
    return table;
}

}  // namespace

Runtime runtime = make_runtime();
std::atomic<int> warnings{0};
thread_local bool interrupted_threads = false;

SubmitResult submit(Channel& channel, Request& request, const std::string& text, double timeout,
                 uint32_t attempt) {
    RuntimeLock lock(runtime_mutex);
    request.retain();
    request.home = Ref<Reactor>(&channel.reactor());
    const SubmitResult result = channel.submit(reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                            &request.core, attempt, timeout);
    if (result.status != SubmitStatus::Accepted) request.release();
    if (!channel.reactor().drops.empty()) drop_operations(channel.reactor().drops.take_all());
    return result;
}

Server::Server(Serve serve)
    : serve_(std::move(serve)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener_, 128) == 0);
    socklen_t size = sizeof address;
    CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { accept_loop(); });
}

void Server::accept_loop() {
    while (!stopping_) {
        pollfd waiting{listener_, POLLIN, 0};
        if (::poll(&waiting, 1, 20) <= 0) continue;
        const int fd = ::accept(listener_, nullptr, nullptr);
        if (fd < 0) continue;
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ++accepted_;
        std::lock_guard<std::mutex> guard(mutex_);
        fds_.push_back(fd);
        threads_.emplace_back([this, fd] {
            serve_(fd);
            std::lock_guard<std::mutex> inner(mutex_);
            for (int& known : fds_) {
                if (known == fd) known = -1;
            }
            ::close(fd);
        });
    }
}

Server::~Server() {
    stopping_ = true;
    acceptor_.join();
    {
        std::lock_guard<std::mutex> guard(mutex_);
        for (const int fd : fds_) {
            if (fd >= 0) ::shutdown(fd, SHUT_RDWR);
        }
    }
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
}

bool read_exact(int fd, void* data, size_t size) {
    auto* at = static_cast<char*>(data);
    while (size > 0) {
        const ssize_t got = ::recv(fd, at, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= static_cast<size_t>(got);
    }
    return true;
}

bool write_all(int fd, const std::string& text) {
    size_t at = 0;
    while (at < text.size()) {
        const ssize_t sent = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += static_cast<size_t>(sent);
    }
    return true;
}

bool read_frame(int fd, Header* header, std::string* body) {
    uint8_t bytes[kHeaderSize];
    if (!read_exact(fd, bytes, sizeof bytes)) return false;
    *header = Header::parse(bytes);
    body->resize(static_cast<size_t>(header->length));
    return read_exact(fd, body->data(), body->size());
}

void echo(int fd) {
    Header header;
    std::string body;
    while (read_frame(fd, &header, &body)) {
        if (!write_all(fd, answer(body, header.stream, header.version))) return;
    }
}

}  // namespace fixtures
