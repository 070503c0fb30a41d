// Ownership of a reactor: the right to run its turns. The owner leads; the other waiting threads follow.
//
//   Io       the I/O thread. It begins and ends here.
//   Free     no thread: callers come one after the other, and the next one will acquire it. The I/O thread rests.
//   Caller   a thread that blocks for its own response (the leader). The I/O thread rests.
//
//                       release(), then rest()
//             Io  ------------------------------>  Free
//             ^ ^                                 |  ^ |
//             | '--- claim(); or no caller -------'  | | acquire()
//             |                            release() | v
//             '------------ hand_over() ---------- Caller
//
// State used in a turn belongs to the owner; passing ownership on publishes it. A caller that cannot acquire it sleeps
// for its outcome, which the owner delivers.
//
// No work is lost while there is no owner: a thread publishes work and then reads the state; a releasing owner sets the
// state to Free and then checks for work. At least one of both sees the other and claims ownership for the I/O thread.
// (All of this is sequentially consistent.)
//
// While one caller's requests follow each other, or it takes responses repeatedly, it finds the state Free each time
// and the I/O thread is not woken: that sleeps for bounded times, and takes ownership back if no caller acquired it
// during one of them. Among several callers the I/O thread keeps it. If one caller polls for longer than a bounded
// sleep, the I/O thread sleeps without limit, and that caller wakes it when it releases.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/outbound.h"
#include "transport/sys.h"

namespace fastcql {

class Ownership {
public:
    // Duration of a bounded sleep, and the longest time between a response and the next request of consecutive calls.
    static constexpr Nanos kBoundedSleepTime = kMillisecond;
    // Consecutive requests for ownership by a single caller before there is no owner: among several it would only
    // alternate.
    static constexpr int kSingleCallerAsks = 8;

    // --- any thread ---

    // For a caller; false if there is an owner.
    bool acquire();
    bool reacquire();  // by the thread that has just released it
    bool is_free() const { return state_.load(std::memory_order_seq_cst) == kFree; }
    bool is_io() const { return state_.load(std::memory_order_seq_cst) == kIo; }
    // There is work: the I/O thread acquires ownership if there is no owner.
    void claim();
    // A caller has to sleep because the I/O thread has ownership, or would have to if the response had been slower.
    void ask() { asked_at_.store(monotonic_now(), std::memory_order_relaxed); }
    int64_t leads() const { return leads_.load(std::memory_order_relaxed); }

    // Threads that sleep for an outcome which was not delivered yet.
    std::atomic<int> sleepers{0};

    // --- owner ---

    // *next_due*: time of the next timer.
    void release(Nanos next_due);
    void hand_over();
    // True if other threads sleep for an outcome. They count as others until a single caller has asked a few times.
    bool has_sleepers();

    // --- I/O thread ---

    // At the end of a turn: true if the requests of a single caller follow each other so closely that it should find
    // no owner.
    bool wanted();
    // After release(): returns when it has ownership again, which it takes after a bounded sleep in which no caller
    // led, or when a timer is due, or requests have been coalesced for long enough.
    void rest(const FlushList& flush_list);

private:
    enum State : uint32_t { kIo, kFree, kCaller };
    enum Rest : uint32_t { kAwake, kBoundedSleep, kAsleep };

    bool take_back();
    Nanos due(const FlushList& flush_list) const;
    void wake();

    std::atomic<uint32_t> state_{kIo};
    std::atomic<uint32_t> rest_{kAwake};
    std::atomic<int64_t> leads_{0};  // changed by callers that have ownership
    std::atomic<Nanos> next_due_{kNever};
    std::atomic<Nanos> asked_at_{0};
    Nanos last_wanted_at_ = 0;  // owned by the I/O thread
    int single_caller_asks_ = 0;
    bool has_other_callers_ = false;  // for the owner only
};

}  // namespace fastcql
