// The few services that differ between POSIX systems: clock, parking of threads, wake-up descriptors.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace fastcql {

using Nanos = int64_t;
constexpr Nanos kNever = INT64_MAX;
constexpr Nanos kMillisecond = 1000 * 1000;
constexpr Nanos kSecond = 1000 * kMillisecond;

inline Nanos monotonic_now() noexcept {
    timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<Nanos>(ts.tv_sec) * kSecond + ts.tv_nsec;
}

// The time *seconds* after *now*; large (or not finite) values become kNever.
inline Nanos deadline_after(Nanos now, double seconds) noexcept {
    if (!(seconds < 3e8)) return kNever;
    if (seconds <= 0) return now;
    return now + static_cast<Nanos>(seconds * 1e9);
}

// Parking: sleep while *word* holds *expected*. A wake-up may be spurious. Waking uses only the address, never the
// memory, so the word may be freed by then; a lock or signal can therefore live in an object that its waiter destroys.
enum class Parked { Woken, TimedOut, Interrupted };
Parked park(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout);
void unpark_one(std::atomic<uint32_t>* word);
void unpark_all(std::atomic<uint32_t>* word);

// A mutex of four bytes for state that is held for nanoseconds (one in every operation).
class SmallLock {
public:
    void lock() {
        uint32_t free = 0;
        if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) lock_slow();
    }
    void unlock() {
        if (word_.exchange(0, std::memory_order_release) == 2) unpark_one(&word_);
    }

private:
    void lock_slow();
    std::atomic<uint32_t> word_{0};  // 0 free, 1 held, 2 held and a thread may sleep
};

// A descriptor that makes a poller return: eventfd if available, else a pipe. Many rings are one wake-up.
class Bell {
public:
    Bell() = default;
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    ~Bell() { close(); }

    bool open();  // on failure false and errno
    void close();
    int fd() const { return read_fd_; }
    void ring();
    void silence();

private:
    int read_fd_ = -1;
    int write_fd_ = -1;
};

// Changes in every forked child, so that objects can detect that their thread stayed in the parent.
uint32_t fork_generation() noexcept;

}  // namespace fastcql
