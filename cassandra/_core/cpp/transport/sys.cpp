// Services of POSIX systems: pollers, sockets, parking of threads, wake-up descriptors.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>

#include "base/system.h"
#include "transport/sys.h"

#ifdef __linux__
#include <linux/sockios.h>
#include <sys/epoll.h>
#endif
#ifdef FASTCQL_KQUEUE
#include <sys/event.h>
#endif

namespace fastcql {

int wait_milliseconds(Nanos deadline) {
    if (deadline == kNever) return -1;
    const Nanos left = deadline - monotonic_now();
    if (left <= 0) return 0;
    return static_cast<int>(std::min<Nanos>((left + kMillisecond - 1) / kMillisecond, INT_MAX));
}

namespace {

timespec timespec_of(Nanos time) {
    timespec result;
    result.tv_sec = static_cast<time_t>(time / kSecond);
    result.tv_nsec = static_cast<long>(time % kSecond);
    return result;
}

#ifdef __linux__

class EpollPoller final : public Poller {
public:
    EpollPoller() : fd_(epoll_create1(EPOLL_CLOEXEC)) {}
    ~EpollPoller() override {
        if (fd_ >= 0) ::close(fd_);
    }
    bool valid() const { return fd_ >= 0; }
    const char* name() const override { return "epoll"; }

    bool add(int fd, uint32_t interest, void* data) override {
        return control(EPOLL_CTL_ADD, fd, interest, data);
    }
    void modify(int fd, uint32_t interest, void* data) override {
        control(EPOLL_CTL_MOD, fd, interest, data);
    }
    void remove(int fd) override { control(EPOLL_CTL_DEL, fd, 0, nullptr); }

    bool wait(Nanos deadline, std::vector<ReadyEvent>& events) override {
        events.clear();
        epoll_event ready[kBatch];
        const int count = epoll_wait(fd_, ready, static_cast<int>(kBatch), wait_milliseconds(deadline));
        for (int i = 0; i < count; ++i) {
            uint32_t flags = 0;
            if (ready[i].events & EPOLLIN) flags |= kReadable;
            if (ready[i].events & EPOLLOUT) flags |= kWritable;
            if (ready[i].events & (EPOLLERR | EPOLLHUP)) flags |= kBroken;
            events.push_back({ready[i].data.ptr, flags});
        }
        return count >= 0;
    }

private:
    bool control(int operation, int fd, uint32_t interest, void* data) {
        epoll_event event{};
        if (interest & kReadable) event.events |= EPOLLIN;
        if (interest & kWritable) event.events |= EPOLLOUT;
        event.data.ptr = data;
        return epoll_ctl(fd_, operation, fd, &event) == 0;
    }

    const int fd_;
};

#endif

#ifdef FASTCQL_KQUEUE

// Reading and writing are two filters of a descriptor, and two events. A queue belongs to one process: a child of a
// fork does not have the descriptor, and its number may be another's there.
class KqueuePoller final : public Poller {
public:
    KqueuePoller() : fd_(kqueue()), generation_(fork_generation()) {
        if (fd_ >= 0) fcntl(fd_, F_SETFD, FD_CLOEXEC);
    }
    ~KqueuePoller() override {
        if (fd_ >= 0 && generation_ == fork_generation()) ::close(fd_);
    }
    bool valid() const { return fd_ >= 0; }
    const char* name() const override { return "kqueue"; }

    bool add(int fd, uint32_t interest, void* data) override { return change(fd, interest, data); }
    void modify(int fd, uint32_t interest, void* data) override { change(fd, interest, data); }
    void remove(int fd) override { change(fd, 0, nullptr); }

    bool wait(Nanos deadline, std::vector<ReadyEvent>& events) override {
        constexpr Nanos kLongest = 1000 * 1000 * kSecond;  // systems refuse long waits as invalid
        events.clear();
        timespec span;
        timespec* limit = nullptr;
        if (deadline != kNever) {
            span = timespec_of(std::clamp(deadline - monotonic_now(), Nanos{0}, kLongest));
            limit = &span;
        }
        struct kevent ready[kBatch];
        const int count = kevent(fd_, nullptr, 0, ready, static_cast<int>(kBatch), limit);
        for (int i = 0; i < count; ++i) {
            // The end of the input alone is not a broken connection: the peer may still read.
            const bool reading = ready[i].filter == EVFILT_READ;
            const bool broken = (ready[i].flags & EV_EOF) != 0 && (!reading || ready[i].fflags != 0);
            const uint32_t flags = (reading ? kReadable : kWritable) | (broken ? kBroken : 0U);
            events.push_back({ready[i].udata, flags});
        }
        return count >= 0;
    }

private:
    // Adds the filters of *interest*, removes the others. Each change has its own result; removing a filter that is not
    // there fails without effect.
    bool change(int fd, uint32_t interest, void* data) {
        constexpr uint32_t kBits[2] = {kReadable, kWritable};
        struct kevent changes[2];
        for (int i = 0; i < 2; ++i) {
            const int action = interest & kBits[i] ? EV_ADD : EV_DELETE;
            EV_SET(&changes[i], static_cast<uintptr_t>(fd), kBits[i] == kReadable ? EVFILT_READ : EVFILT_WRITE,
                   action | EV_RECEIPT, 0, 0, data);
        }
        const timespec at_once{};
        if (kevent(fd_, changes, 2, changes, 2, &at_once) < 0) return false;
        for (int i = 0; i < 2; ++i) {
            if (!(interest & kBits[i]) || changes[i].data == 0) continue;
            errno = static_cast<int>(changes[i].data);
            return false;
        }
        return true;
    }

    const int fd_;
    const uint32_t generation_;
};

#endif

class PollPoller final : public Poller {
public:
    const char* name() const override { return "poll"; }

    bool add(int fd, uint32_t interest, void* data) override {
        index_[fd] = fds_.size();
        fds_.push_back({fd, flags_of(interest), 0});
        data_.push_back(data);
        return true;
    }
    void modify(int fd, uint32_t interest, void*) override {
        const auto found = index_.find(fd);
        if (found != index_.end()) fds_[found->second].events = flags_of(interest);
    }
    void remove(int fd) override {
        const auto found = index_.find(fd);
        if (found == index_.end()) return;
        const size_t hole = found->second;
        index_.erase(found);
        if (hole + 1 != fds_.size()) {
            fds_[hole] = fds_.back();
            data_[hole] = data_.back();
            index_[fds_[hole].fd] = hole;
        }
        fds_.pop_back();
        data_.pop_back();
    }

    bool wait(Nanos deadline, std::vector<ReadyEvent>& events) override {
        events.clear();
        const int count = ::poll(fds_.data(), static_cast<nfds_t>(fds_.size()), wait_milliseconds(deadline));
        int left = count;
        for (size_t i = 0; left > 0 && i < fds_.size(); ++i) {
            const short got = fds_[i].revents;
            if (got == 0) continue;
            --left;
            uint32_t flags = 0;
            if (got & POLLIN) flags |= kReadable;
            if (got & POLLOUT) flags |= kWritable;
            if (got & (POLLERR | POLLHUP | POLLNVAL)) flags |= kBroken;
            events.push_back({data_[i], flags});
        }
        return count >= 0;
    }

private:
    static short flags_of(uint32_t interest) {
        return static_cast<short>((interest & kReadable ? POLLIN : 0) | (interest & kWritable ? POLLOUT : 0));
    }

    std::vector<pollfd> fds_;
    std::vector<void*> data_;
    std::unordered_map<int, size_t> index_;
};

}  // namespace

std::unique_ptr<Poller> make_poller(const char* backend) {
    const bool any = std::strcmp(backend, "auto") == 0;
#ifdef __linux__
    if (any || std::strcmp(backend, "epoll") == 0) {
        auto poller = std::make_unique<EpollPoller>();
        if (!poller->valid()) return nullptr;
        return poller;
    }
#endif
#ifdef FASTCQL_KQUEUE
    if (any || std::strcmp(backend, "kqueue") == 0) {
        auto poller = std::make_unique<KqueuePoller>();
        if (!poller->valid()) return nullptr;
        return poller;
    }
#endif
    if (any || std::strcmp(backend, "poll") == 0) return std::make_unique<PollPoller>();
    errno = EINVAL;
    return nullptr;
}

// ---- sockets

namespace {

#if !defined(__linux__) || defined(FASTCQL_PORTABLE)
void set_flags(int fd) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
}
#endif

int new_socket(int family) {
#if defined(SOCK_NONBLOCK) && !defined(FASTCQL_PORTABLE)
    const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
#else
    const int fd = ::socket(family, SOCK_STREAM, 0);
    if (fd >= 0) set_flags(fd);
#endif
#ifdef SO_NOSIGPIPE
    const int on = 1;
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    return fd;
}

}  // namespace

bool parse_address(int family, const char* host, int port, SocketAddress* address) noexcept {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (getaddrinfo(host, std::to_string(port).c_str(), &hints, &found) != 0) return false;
    std::memcpy(&address->storage, found->ai_addr, found->ai_addrlen);
    address->length = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

bool parse_unix_path(const std::string& path, SocketAddress* address) {
    auto* un = reinterpret_cast<sockaddr_un*>(&address->storage);
    if (path.empty() || path.size() >= sizeof un->sun_path) return false;
    un->sun_family = AF_UNIX;
    std::memcpy(un->sun_path, path.data(), path.size());
    const bool abstract = path[0] == '\0';
    address->length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
    return true;
}

bool describe_address(const SocketAddress& address, std::string* host, int* port) {
    if (address.storage.ss_family == AF_UNIX) {
        const auto* un = reinterpret_cast<const sockaddr_un*>(&address.storage);
        const size_t start = offsetof(sockaddr_un, sun_path);
        size_t size = address.length > start ? address.length - start : 0;
        if (size > 0 && un->sun_path[0] != '\0') size = strnlen(un->sun_path, size);
        host->assign(un->sun_path, size);
        return false;
    }
    char name[NI_MAXHOST], service[NI_MAXSERV];
    const int error = getnameinfo(address.get(), address.length, name, sizeof name, service, sizeof service,
                                  NI_NUMERICHOST | NI_NUMERICSERV);
    if (error != 0) return false;
    *host = name;
    *port = std::stoi(service);
    return true;
}

ConnectStep start_connect(const ConnectSpec& spec) {
    ConnectStep step;
    const auto failed = [&step](const char* operation) {
        step.error = errno;
        step.operation = operation;
        if (step.fd >= 0) ::close(step.fd);
        step.fd = -1;
        return step;
    };
    step.fd = new_socket(spec.family);
    if (step.fd < 0) return failed("socket");
    if (spec.family != AF_UNIX) {
        const int on = 1;
        setsockopt(step.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    for (const SocketOption& option : spec.options) {
        const auto size = static_cast<socklen_t>(option.value.size());
        if (setsockopt(step.fd, option.level, option.name, option.value.data(), size) != 0)
            return failed("setsockopt");
    }
    if (spec.local.length > 0 && ::bind(step.fd, spec.local.get(), spec.local.length) != 0)
        return failed("bind");
    // An interrupted connect continues by itself, like one in progress.
    const int result = ::connect(step.fd, spec.address.get(), spec.address.length);
    if (result != 0 && errno != EINPROGRESS && errno != EINTR) return failed("connect");
    return step;
}

int finish_connect(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    if (error != 0) return error;
    // The kernel may assign a port in the ephemeral range without a listener to the connecting socket itself, which is
    // then connected to itself.
    sockaddr_storage local{}, remote{};
    socklen_t local_size = sizeof local, remote_size = sizeof remote;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&remote), &remote_size) != 0) return errno;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_size) == 0 &&
        local.ss_family != AF_UNIX && local_size == remote_size &&
        std::memcmp(&local, &remote, local_size) == 0) {
        return ECONNREFUSED;
    }
    return 0;
}

bool has_input(int fd) noexcept {
    uint8_t byte;
    return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

int unsent_bytes([[maybe_unused]] int fd) noexcept {
    int queued = 0;
#if defined(SIOCOUTQ)
    if (::ioctl(fd, SIOCOUTQ, &queued) != 0) return 0;
#elif defined(FIONWRITE)
    if (::ioctl(fd, FIONWRITE, &queued) != 0) return 0;
#elif defined(SO_NWRITE)
    socklen_t size = sizeof queued;
    if (getsockopt(fd, SOL_SOCKET, SO_NWRITE, &queued, &size) != 0) return 0;
#endif
    return queued;
}

bool socket_address(int fd, bool peer, SocketAddress* address) noexcept {
    address->length = sizeof address->storage;
    auto* storage = reinterpret_cast<sockaddr*>(&address->storage);
    return (peer ? getpeername(fd, storage, &address->length) : getsockname(fd, storage, &address->length)) == 0;
}

void end_output(int fd) noexcept { ::shutdown(fd, SHUT_WR); }
void end_connection(int fd) noexcept { ::shutdown(fd, SHUT_RDWR); }
void close_socket(int fd) noexcept { ::close(fd); }

}  // namespace fastcql

// ---- parking of threads, wake-up descriptors, forks

#if defined(__linux__) && !defined(FASTCQL_PORTABLE)
#define FASTCQL_FUTEX 1
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#endif

namespace fastcql {

#ifdef FASTCQL_FUTEX

// FUTEX_WAIT measures a relative timeout by the monotonic clock.

ParkResult park(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) {
    static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
    timespec span;
    timespec* limit = nullptr;
    if (timeout != kNever) {
        span = timespec_of(timeout < 0 ? 0 : timeout);
        limit = &span;
    }
    if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, limit, nullptr, 0) == 0) return ParkResult::Woken;
    if (errno == ETIMEDOUT) return ParkResult::TimedOut;
    return errno == EINTR ? ParkResult::Interrupted : ParkResult::Woken;
}

void unpark_one(std::atomic<uint32_t>* word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void unpark_all(std::atomic<uint32_t>* word) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

#else

// A parking lot: words hash to a fixed set of condition variables that are never destroyed. A condition variable does
// not report signals, so sleeps are sliced and reported as interruptions: the caller checks for signals and sleeps
// again.
namespace {

struct Lot {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;

    Lot() { make_condition(); }

    void make_condition() {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
#ifndef __APPLE__  // it has a relative wait instead
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
        pthread_cond_init(&condition, &attributes);
        pthread_condattr_destroy(&attributes);
    }

    // Uses a monotonic clock; returns 0 or ETIMEDOUT.
    int wait(Nanos wait_time) {
#ifdef __APPLE__
        const timespec span = timespec_of(wait_time);
        return pthread_cond_timedwait_relative_np(&condition, &mutex, &span);
#else
        const timespec until = timespec_of(monotonic_now() + wait_time);
        return pthread_cond_timedwait(&condition, &mutex, &until);
#endif
    }
};
constexpr Nanos kSlice = 50 * kMillisecond;
Lot lots[64];

Lot& lot_of(const void* word) { return lots[(reinterpret_cast<uintptr_t>(word) >> 4) % 64]; }

// No thread is in a lot while the process forks; in the child nothing sleeps there any more.
void lock_lots() {
    for (Lot& lot : lots) pthread_mutex_lock(&lot.mutex);
}
void unlock_lots() {
    for (Lot& lot : lots) pthread_mutex_unlock(&lot.mutex);
}
void renew_lots() {
    unlock_lots();
    for (Lot& lot : lots) lot.make_condition();
}
const bool lots_hook = (system::at_fork(lock_lots, unlock_lots, renew_lots), true);

}  // namespace

ParkResult park(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) {
    static_cast<void>(lots_hook);
    Lot& lot = lot_of(&word);
    const bool sliced = timeout > kSlice;
    const Nanos wait_time = sliced ? kSlice : (timeout < 0 ? 0 : timeout);
    pthread_mutex_lock(&lot.mutex);
    int result = 0;
    if (word.load(std::memory_order_acquire) == expected) {
        result = lot.wait(wait_time);
    }
    pthread_mutex_unlock(&lot.mutex);
    if (result != ETIMEDOUT) return ParkResult::Woken;
    return sliced ? ParkResult::Interrupted : ParkResult::TimedOut;
}

void unpark_all(std::atomic<uint32_t>* word) {
    Lot& lot = lot_of(word);
    pthread_mutex_lock(&lot.mutex);
    pthread_cond_broadcast(&lot.condition);
    pthread_mutex_unlock(&lot.mutex);
}

void unpark_one(std::atomic<uint32_t>* word) {
    unpark_all(word);
}  // others of the same lot may sleep there too

#endif

void SmallLock::lock_slow() {
    for (int spin = 0; spin < 20; ++spin) {
        uint32_t free = 0;
        if (word_.load(std::memory_order_relaxed) == 0 &&
            word_.compare_exchange_weak(free, 1, std::memory_order_acquire)) {
            return;
        }
        std::this_thread::yield();
    }
    while (word_.exchange(2, std::memory_order_acquire) != 0) park(word_, 2, kNever);
}

bool WakeDescriptor::open() {
#ifdef FASTCQL_FUTEX
    read_fd_ = write_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return read_fd_ >= 0;
#else
    int fds[2];
    if (pipe(fds) != 0) return false;
    for (const int fd : fds) set_flags(fd);
    read_fd_ = fds[0];
    write_fd_ = fds[1];
    return true;
#endif
}

void WakeDescriptor::close() {
    if (write_fd_ >= 0 && write_fd_ != read_fd_) ::close(write_fd_);
    if (read_fd_ >= 0) ::close(read_fd_);
    read_fd_ = write_fd_ = -1;
}

void WakeDescriptor::signal() {
    const uint64_t one = 1;
    const size_t size = write_fd_ == read_fd_ ? sizeof one : 1;
    // A full pipe or counter signals already; no other error is possible here.
    while (::write(write_fd_, &one, size) < 0 && errno == EINTR) {
    }
}

void WakeDescriptor::drain() {
    uint64_t sink[8];
    ssize_t got;
    do {
        got = ::read(read_fd_, sink, sizeof sink);
    } while ((got < 0 && errno == EINTR) ||
             (got == static_cast<ssize_t>(sizeof sink) && write_fd_ != read_fd_));
}

namespace {

std::atomic<uint32_t> generation{0};
const bool fork_hook =
    (system::at_fork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); }), true);

}  // namespace

uint32_t fork_generation() noexcept {
    static_cast<void>(fork_hook);
    return generation.load(std::memory_order_relaxed);
}

}  // namespace fastcql
