// A lock for sections of a few dozen instructions: no system call without contention, and usable across fork.
#pragma once

#include <sched.h>

#include <atomic>

namespace fastcql::memory {

class SpinLock {
public:
    void lock() {
        while (taken_.exchange(true, std::memory_order_acquire)) wait();
    }
    void unlock() { taken_.store(false, std::memory_order_release); }

private:
    void wait() {
        for (int spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
            if (spins > 64) sched_yield();  // the holder may share our core
        }
    }

    std::atomic<bool> taken_{false};
};

}  // namespace fastcql::memory
