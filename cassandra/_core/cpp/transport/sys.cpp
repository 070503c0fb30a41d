#include "transport/sys.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#if defined(__linux__) && !defined(FASTCQL_NO_FUTEX)
#define FASTCQL_FUTEX 1
#include <linux/futex.h>
#include <sys/syscall.h>
#endif
#ifdef __linux__
#include <sys/eventfd.h>
#endif

namespace fastcql {

namespace {

timespec timespec_of(Nanos time) {
    timespec result;
    result.tv_sec = static_cast<time_t>(time / kSecond);
    result.tv_nsec = static_cast<long>(time % kSecond);
    return result;
}

}  // namespace

#ifdef FASTCQL_FUTEX

// FUTEX_WAIT measures a relative timeout by the monotonic clock.

Parked park(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) {
    static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
    timespec span;
    timespec* limit = nullptr;
    if (timeout != kNever) {
        span = timespec_of(timeout < 0 ? 0 : timeout);
        limit = &span;
    }
    if (syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, limit, nullptr, 0) == 0) return Parked::Woken;
    if (errno == ETIMEDOUT) return Parked::TimedOut;
    return errno == EINTR ? Parked::Interrupted : Parked::Woken;
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

    Lot() {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
#ifndef __APPLE__  // it has a relative wait instead
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
        pthread_cond_init(&condition, &attributes);
        pthread_condattr_destroy(&attributes);
    }

    // Uses a monotonic clock; returns 0 or ETIMEDOUT.
    int wait(Nanos nap) {
#ifdef __APPLE__
        const timespec span = timespec_of(nap);
        return pthread_cond_timedwait_relative_np(&condition, &mutex, &span);
#else
        const timespec until = timespec_of(monotonic_now() + nap);
        return pthread_cond_timedwait(&condition, &mutex, &until);
#endif
    }
};
constexpr Nanos kSlice = 50 * kMillisecond;
Lot lots[64];

Lot& lot_of(const void* word) { return lots[(reinterpret_cast<uintptr_t>(word) >> 4) % 64]; }

}  // namespace

Parked park(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout) {
    Lot& lot = lot_of(&word);
    const bool sliced = timeout > kSlice;
    const Nanos nap = sliced ? kSlice : (timeout < 0 ? 0 : timeout);
    pthread_mutex_lock(&lot.mutex);
    int result = 0;
    if (word.load(std::memory_order_acquire) == expected) {
        result = lot.wait(nap);
    }
    pthread_mutex_unlock(&lot.mutex);
    if (result != ETIMEDOUT) return Parked::Woken;
    return sliced ? Parked::Interrupted : Parked::TimedOut;
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
        sched_yield();
    }
    while (word_.exchange(2, std::memory_order_acquire) != 0) park(word_, 2, kNever);
}

bool Bell::open() {
#ifdef __linux__
    read_fd_ = write_fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return read_fd_ >= 0;
#else
    int fds[2];
    if (pipe(fds) != 0) return false;
    for (int fd : fds) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    read_fd_ = fds[0];
    write_fd_ = fds[1];
    return true;
#endif
}

void Bell::close() {
    if (write_fd_ >= 0 && write_fd_ != read_fd_) ::close(write_fd_);
    if (read_fd_ >= 0) ::close(read_fd_);
    read_fd_ = write_fd_ = -1;
}

void Bell::ring() {
    const uint64_t one = 1;
    const size_t size = write_fd_ == read_fd_ ? sizeof one : 1;
    // A full pipe or counter rings already; no other error is possible here.
    while (::write(write_fd_, &one, size) < 0 && errno == EINTR) {
    }
}

void Bell::silence() {
    uint64_t sink[8];
    ssize_t got;
    do {
        got = ::read(read_fd_, sink, sizeof sink);
    } while ((got < 0 && errno == EINTR) ||
             (got == static_cast<ssize_t>(sizeof sink) && write_fd_ != read_fd_));
}

namespace {

std::atomic<uint32_t> generation{0};
const int fork_hook =
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

uint32_t fork_generation() noexcept {
    static_cast<void>(fork_hook);
    return generation.load(std::memory_order_relaxed);
}

}  // namespace fastcql
