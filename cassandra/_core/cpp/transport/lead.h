// The right to run the turns of a reactor: leader and followers.
//
//   Io       the I/O thread. It begins and ends here.
//   Free     no thread: callers come one after the other, and the next one will take it. The I/O thread rests.
//   Caller   a thread that blocks for its own response (the leader). The I/O thread rests.
//
//                        leave(), then rest()
//             Io  ------------------------------>  Free
//             ^ ^                                 |  ^ |
//             | '--- claim(); or no caller -------'  | | take()
//             |                              leave() | v
//             '------------ hand_over() ---------- Caller
//
// State used in a turn belongs to the holder; passing the role on publishes it. A caller that finds the role taken
// sleeps for its outcome, and the holder of the role delivers that.
//
// No work is lost while the role is free: a thread publishes work and then reads the state of the role; a leaving
// holder frees the role and then checks for work. At least one of both sees the other and claims the role for the I/O
// thread. (All of this is sequentially consistent.)
//
// While one caller's requests follow each other, or it takes responses repeatedly, it finds the role free each time and
// the I/O thread is not woken: that sleeps for bounded times (naps), and takes the role back if it was not taken for a
// whole nap. Among several callers the I/O thread keeps it. If one caller polls for longer than a nap the I/O thread
// sleeps without limit, and that caller wakes it on leaving.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/outbound.h"
#include "transport/sys.h"

namespace fastcql {

class Role {
public:
    // Duration of a nap, and the longest time between a response and the next request of consecutive calls.
    static constexpr Nanos kGrace = kMillisecond;
    // Consecutive requests for the role by a single caller before it is left free: among several it would only
    // alternate.
    static constexpr int kAlone = 8;

    // --- any thread ---

    // For a caller; false if it is not free.
    bool take();
    bool retake();  // by the thread that has just left it
    bool is_free() const { return state_.load(std::memory_order_seq_cst) == kFree; }
    bool is_io() const { return state_.load(std::memory_order_seq_cst) == kIo; }
    // There is work: the I/O thread takes the role if it is free.
    void claim();
    // A caller has to sleep because the I/O thread has the role, or would have to if the response had been slower.
    void ask() { asked_at_.store(monotonic_now(), std::memory_order_relaxed); }
    int64_t leads() const { return leads_.load(std::memory_order_relaxed); }

    // Threads that sleep for an outcome which was not delivered yet.
    std::atomic<int> sleepers{0};

    // --- holder ---

    // *next_due*: time of the next timer.
    void leave(Nanos next_due);
    void hand_over();
    // True if other threads sleep for an outcome. They count as others until a single caller has asked a few times.
    bool crowded();

    // --- I/O thread ---

    // At the end of a turn: true if the requests of a single caller follow each other so closely that it should find
    // the role free.
    bool wanted();
    // After leave(): returns when it has the role again, which it takes after a nap in which no caller led, or when a
    // timer is due, or requests have been coalesced for long enough.
    void rest(const Unsent& unsent);

private:
    enum State : uint32_t { kIo, kFree, kCaller };
    enum Rest : uint32_t { kAwake, kNapping, kAsleep };

    bool take_back();
    Nanos due(const Unsent& unsent) const;
    void wake();

    std::atomic<uint32_t> state_{kIo};
    std::atomic<uint32_t> rest_{kAwake};
    std::atomic<int64_t> leads_{0};  // changed by callers that have the role
    std::atomic<Nanos> next_due_{kNever};
    std::atomic<Nanos> asked_at_{0};
    Nanos served_at_ = 0;  // owned by the I/O thread
    int alone_ = 0;
    bool others_ = false;  // owned by the holder
};

}  // namespace fastcql
