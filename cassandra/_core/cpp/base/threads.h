// Without the GIL, threads run this code at the same time. With it each call is atomic, and nothing here costs anything.
#pragma once

#include <atomic>
#include <mutex>
#include <type_traits>

#ifndef FASTCQL_FREE_THREADED
#define FASTCQL_FREE_THREADED 0
#endif

namespace fastcql {

constexpr bool kFreeThreaded = FASTCQL_FREE_THREADED;

struct NoMutex {
    void lock() noexcept {}
    void unlock() noexcept {}
};

// A mutex for state that the GIL protects otherwise, to be acquired by GilLock (base/epochs.h).
using GilMutex = std::conditional_t<kFreeThreaded, std::mutex, NoMutex>;

// A mark of an object that one thread at a time may use: a second one is refused, it does not wait.
class Busy {
public:
    Busy() noexcept = default;
    bool begin() noexcept { return !busy_.exchange(true, std::memory_order_acquire); }
    void end() noexcept { busy_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> busy_{false};
};

}  // namespace fastcql
