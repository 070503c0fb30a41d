// Who runs the turns of a reactor: leader and followers.
//
//   Io       the I/O thread. It begins and ends here.
//   Free     nobody: callers come one after the other, and the next one will take it. The I/O thread rests.
//   Caller   a thread that blocks for its own answer (the leader). The I/O thread rests.
//
//                        leave(), then rest()
//             Io  ------------------------------>  Free
//             ^ ^                                 |  ^ |
//             | '--- claim(); or nobody came -----'  | | take()
//             |                              leave() | v
//             '------------ hand_over() ---------- Caller
//
// Whatever a turn touches belongs to the holder; passing the role on publishes it. A caller that finds the role taken
// sleeps for its outcome, and whoever has the role delivers that.
//
// What is not to be forgotten while nobody has the role is left where the one who leaves looks *after* he left, and
// whoever leaves something there looks at the role after that: one of the two sees the other and claims the role for
// the I/O thread. (All of this is sequentially consistent.)
//
// While one caller's requests follow each other, or one takes answers again and again, he finds the role free each time and the
// I/O thread is not woken: that naps, and takes the role back when nobody took it for a whole nap. Among several callers the
// I/O thread keeps it. When one caller polls for longer than a nap it sleeps without limit, and that caller wakes it on
// leaving.
#pragma once

#include <atomic>
#include <cstdint>

#include "transport/sys.h"
#include "transport/unsent.h"

namespace fastcql {

class Role {
public:
    // A nap, and the longest time between an answer and the next request of callers that are said to follow each other.
    static constexpr Nanos kGrace = kMillisecond;
    // So many times in a row one caller alone must have asked: among several the role only goes to and fro.
    static constexpr int kAlone = 8;

    // --- any thread ---

    // For a caller; false when somebody has it.
    bool take();
    bool retake();  // by who has just left it
    bool is_free() const { return state_.load(std::memory_order_seq_cst) == kFree; }
    bool is_io() const { return state_.load(std::memory_order_seq_cst) == kIo; }
    // There is work: the I/O thread takes the role if nobody has it.
    void claim();
    // A caller has to sleep because the I/O thread has the role, or would have to if that had not been faster.
    void ask() { asked_at_.store(monotonic_now(), std::memory_order_relaxed); }
    int64_t leads() const { return leads_.load(std::memory_order_relaxed); }

    // Threads that sleep for an outcome which was not delivered yet.
    std::atomic<int> sleepers{0};

    // --- holder ---

    // *next_due*: when the next timer is.
    void leave(Nanos next_due);
    void hand_over();
    // Whether others sleep for an outcome. They count as company until one caller alone has asked a few times.
    bool crowded();

    // --- I/O thread ---

    // At the end of a turn: whether one caller follows so closely upon himself that he should find the role free.
    bool wanted();
    // After leave(): returns when it has the role again, which it takes after a nap if nobody led meanwhile, or something is
    // due: a timer, or requests that have waited long enough to be sent.
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
    Nanos served_at_ = 0;  // the I/O thread's
    int alone_ = 0;
    bool others_ = false;  // the holder's
};

}  // namespace fastcql
