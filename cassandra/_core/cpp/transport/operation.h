// One request over all its attempts: collects outcomes and decides who processes them.
//
// An Operation lives inside an object of the runtime's language. Every attempt in flight, and every outcome that
// nobody took yet, may hold one reference of that object; `self` leads to it. The rules who drops it, when,
// are here:
//
//   submit            the runtime adds a reference, the stream entry holds it
//   deliver           the entry's reference passes to the outcome, or along with what deliver() returns
//   take/leave_wait   the outcome's reference passes to the caller, who has the runtime lock and drops it
//
// so that the I/O thread never needs the runtime lock for an answer that somebody waits for, or that nobody
// asked for yet.
//
// Who is called for an outcome of an operation whose driver decides: a thread that waits, or an event loop by its queue, if
// all outcomes are plain results (hot) and there are no callbacks (eager); else the I/O thread, also if threads wait:
// they sleep until finish(). Nothing is forgotten between the two, as each change of who is called (set_eager, attach,
// a waiter that leaves, put_back) looks for an outcome under the same lock. What waits in the queue of an event loop does
// not count as seen to once the I/O thread has to decide, or another loop awaits: the loop may be busy, stopped or closed.
// So an operation may be in several queues; who comes first finds it Queued or Scheduled and begins, the others do nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/counters.h"
#include "transport/envelope.h"
#include "transport/reason.h"
#include "transport/sys.h"

namespace fastcql {

class LoopQueue;
class Reactor;

struct Outcome {
    uint32_t attempt = 0;
    bool hot = false;
    bool holds_reference = false;
    Nanos arrived = 0;  // when the read that brought it was made, or it failed; whoever asks later for it does not count
    Nanos elapsed = 0;
    Frame frame;  // when failure is null
    std::unique_ptr<Failure> failure;
};

// Outcomes that were taken together, oldest first.
struct Batch {
    Outcome first;
    std::vector<Outcome> rest;
    size_t begin = 0;  // of those in rest
    int references = 0;

    size_t size() const noexcept { return 1 + rest.size() - begin; }
    Outcome& at(size_t index) noexcept { return index == 0 ? first : rest[begin + index - 1]; }
};

// What the caller of deliver() and friends has to do next, after all locks are free. Anything but Nothing
// passes one reference of the runtime object along.
enum class Next : uint8_t {
    Nothing,
    Drop,      // drop the reference some time soon
    Dispatch,  // call _on_outcome on the I/O thread, then drop the reference
    Enqueue,   // push to queue(): the loop thread dispatches
};

// How a request stands to limits on requests in flight (limits.h).
enum class Right : uint8_t {
    Ordinary,  // waits behind those who wait
    InLine,    // was first in line
    Driver,    // the driver's own, without which nothing works: not limited, not counted
};

enum class Waited : uint8_t { Ready, TimedOut, Interrupted, NeedsRuntime };

class Operation {
public:
    Operation();
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    // Set once, before the operation is used. The runtime object; not a reference.
    void* self = nullptr;

    // What it submits as; not changed while it does.
    Right right = Right::Ordinary;

    // True: a waiter and an event loop take plain results only (RESULT with rows or void, without anything beside, of an
    // operation without callbacks); the I/O thread takes all else, also if threads wait. False: the one thread that waits takes
    // all outcomes. Set before the operation is used.
    bool driver_decides = false;

    // Any thread. Takes over one reference of the runtime object. *queue* is set with Next::Enqueue. With *sleeper* the
    // caller wakes the waiter, if that is set, when he is through with all he delivers.
    Next deliver(Outcome&& outcome, Ref<LoopQueue>* queue, std::atomic<uint32_t>** sleeper = nullptr);
    // Any thread: the oldest outcome. outcome->holds_reference tells the caller to drop one.
    bool take(Outcome* outcome) noexcept;
    // Any thread: all of them; false when there are none. The caller drops batch->references and then gives the
    // batch back, which keeps its memory for the next one.
    bool take_all(Batch* batch) noexcept;
    void give_back(Batch&& batch) noexcept;
    // As take_all, for a waiter or an event loop: false, and nothing is taken, if the I/O thread has to decide.
    bool take_plain(Batch* batch) noexcept;
    // Any thread: outcomes that were taken are for the I/O thread to decide. The caller adds a reference for what is
    // returned, and the outcome holds none.
    Next put_back(Outcome&& outcome);
    bool ready() noexcept;

    // The waiting side. enter_wait() is false when there is nothing to wait for; else sleep, or lead the reactor's
    // turns, as often as still_waiting(), then leave_wait(), whatever happened. *references* is the number the caller
    // must drop (he has another one himself). An abandoned wait hands an outcome that it leaves behind to whoever
    // would have got it without the waiter; the caller adds a reference for that.
    bool enter_wait() noexcept;
    bool still_waiting(uint32_t* ticket = nullptr) noexcept;
    Waited sleep(Nanos deadline) noexcept;  // for a waiter without a reactor
    Next leave_wait(bool abandoned, int* references, Ref<LoopQueue>* queue) noexcept;

    // A thread that sleeps until there is something. Until then it counts in *sleepers* (if not null), which must live
    // as long as this.
    class Sleep {
    public:
        Sleep(Operation& operation, std::atomic<int>* sleepers);
        ~Sleep();
        Sleep(const Sleep&) = delete;
        Sleep& operator=(const Sleep&) = delete;

        bool needed() const { return needed_; }  // false: there is something already
        Parked sleep(Nanos timeout) noexcept { return park(operation_.signal_, ticket_, timeout); }

    private:
        Operation& operation_;
        uint32_t ticket_;
        bool needed_;
        bool counted_ = false;
    };

    // The thread that polls for the operation: it is not woken for what it delivers itself, and by *reactor* for
    // anything else. begin_lead() is false when there is something already, or another thread does that.
    bool begin_lead(Reactor* reactor, uint32_t* ticket);
    bool signalled(uint32_t ticket) const { return signal_.load(std::memory_order_seq_cst) != ticket; }
    void end_lead();

    // Whether somebody other than a waiter is to be called for outcomes.
    bool calls() const { return calls_.load(std::memory_order_relaxed); }

    void finish() noexcept;
    // Back to pending, when nobody waits. Outcomes that nobody took are forgotten; returns the references to
    // drop.
    int rearm() noexcept;
    bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

    // Change who is called. For an outcome that is there already the caller adds a reference and does what is
    // returned.
    Next set_eager(Ref<LoopQueue>* queue) noexcept;
    Next attach(Ref<LoopQueue> queue, Ref<LoopQueue>* target) noexcept;

    // Around a call of _on_outcome. begin is Nothing when there is nothing left to process, and Elsewhere on the thread of
    // an event loop when the I/O thread has to decide: dispatch there, the reference passes on. end may ask for
    // another dispatch; then the dispatcher's own reference passes on with it. *references* as with
    // leave_wait().
    enum class Begun : uint8_t { Nothing, Here, Elsewhere };
    Begun begin_dispatch(bool on_loop) noexcept;
    Next end_dispatch(int* references, Ref<LoopQueue>* queue) noexcept;

    // A list of references to be dropped, see DropList. Returns the number to drop, that of the list
    // included.
    Operation* next_drop = nullptr;
    int left_drop_list() noexcept;

    // In a forked child, which nobody else has the operation in: as new. What was under way is the parent's, and
    // not even freed: a thread of the parent may have been in the middle of changing it.
    void leave_to_parent() noexcept;

private:
    // Queued: for an event loop; Scheduled: for the I/O thread. References are as many as calls to come; the first one
    // that finds its state begins, the others find another state and do nothing.
    enum class Dispatching : uint8_t { Idle, Queued, Scheduled, Running, RunningAgain };

    bool wants_dispatch() const;
    bool may_schedule() const;
    void run_again();
    bool must_decide() const { return driver_decides && (eager_ || cold_ > 0); }
    bool takeable() const { return has_first_ && !must_decide(); }  // by a waiter
    bool unattended() const { return waiters_ == 0 || must_decide(); }  // no waiter will take what is there
    bool pending() const { return !takeable() && !finished_.load(std::memory_order_relaxed); }
    bool signal();
    void take_locked(Batch* batch) noexcept;
    int release_references();
    Next route(Ref<LoopQueue>* queue);

    SmallLock lock_;
    std::atomic<uint32_t> signal_{0};  // changes with every outcome and with finish()
    std::atomic<bool> finished_{false};
    bool eager_ = false;
    bool in_drop_list_ = false;
    Dispatching dispatching_ = Dispatching::Idle;
    uint16_t waiters_ = 0;
    uint16_t asleep_ = 0;   // waiters that were not signalled yet
    uint16_t counted_ = 0;  // those of them that count in *sleepers_
    std::atomic<bool> calls_{false};
    std::atomic<int>* sleepers_ = nullptr;
    Reactor* leader_ = nullptr;
    Ref<LoopQueue> queue_;
    // The oldest outcome, and later ones: of speculative attempts, or of an operation with many requests.
    bool has_first_ = false;
    Outcome first_;
    std::vector<Outcome> more_;
    size_t next_more_ = 0;
    uint32_t cold_ = 0;  // of all these
    std::vector<Outcome> spare_;  // empty; its memory is for the next batch
};

// References to runtime objects that may be dropped by whoever has the runtime lock next. Push from any thread,
// lock-free; a consumer takes everything, so that there is no ABA.
class DropList {
public:
    void push(Operation* operation) {
        Operation* head = head_.load(std::memory_order_relaxed);
        do {
            operation->next_drop = head;
        } while (!head_.compare_exchange_weak(head, operation, std::memory_order_release,
                                              std::memory_order_relaxed));
        size_.fetch_add(1, std::memory_order_relaxed);
    }
    bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }
    size_t size() const { return size_.load(std::memory_order_relaxed); }
    // The whole list, linked by next_drop. Read an element's link before left_drop_list().
    Operation* take_all() noexcept {
        size_.store(0, std::memory_order_relaxed);
        return head_.exchange(nullptr, std::memory_order_acquire);
    }

private:
    std::atomic<Operation*> head_{nullptr};
    std::atomic<size_t> size_{0};  // roughly
};

// Operations of one asyncio loop that have outcomes, and one descriptor that says so.
class LoopQueue : public RefCounted<LoopQueue> {
public:
    bool open() noexcept { return bell_.open(); }
    int fd() const noexcept { return bell_.fd(); }

    // Takes over a reference of the operation's runtime object. False when closed: nothing was taken.
    // *notify*: ring() must follow, once for any number of pushes.
    bool push(Operation* operation, bool* notify) noexcept;
    void ring() noexcept;
    // There is something beside operations. False when closed.
    bool alert() noexcept;
    // Loop thread: everything queued, in order.
    void take_all(std::vector<Operation*>& operations) noexcept;
    void close(std::vector<Operation*>& operations) noexcept;
    bool closed();

private:
    SmallLock lock_;
    bool closed_ = false;
    bool rung_ = false;
    std::vector<Operation*> operations_;
    Bell bell_;
    Counted<&Counters::loop_queues> counted_;
};

}  // namespace fastcql
