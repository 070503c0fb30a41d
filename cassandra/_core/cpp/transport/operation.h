// One request over all its attempts: collects outcomes and selects the thread that processes them.
//
// An Operation lives inside an object of the runtime's language. Every attempt in flight, and every outcome that was
// not taken yet, may hold one reference of that object; `self` leads to it. The rules for dropping it are here:
//
//   submit            the runtime adds a reference, the stream entry holds it
//   deliver           the entry's reference passes to the outcome, or along with the result of deliver()
//   take/leave_wait   the outcome's reference passes to the caller, who has the runtime lock and drops it
//
// so that the I/O thread never needs the runtime lock for a response that has a waiter, or that was not requested yet.
//
// Outcomes of an operation whose driver decides are processed by a waiting thread, or by an event loop through its
// queue, if all outcomes are plain results (hot) and there are no callbacks (eager); else by the I/O thread, also if
// threads wait: they sleep until finish(). No outcome is lost between the two, as each change of the processing thread
// (set_eager, attach, a waiter that leaves, put_back) checks for an outcome under the same lock. An entry in the queue
// of an event loop does not count as handled once the I/O thread has to decide, or another loop awaits: the loop may be
// busy, stopped or closed. So an operation may be in several queues; the first one that finds it Queued or Scheduled
// begins, the others do nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/refs.h"
#include "transport/envelope.h"
#include "transport/reason.h"
#include "transport/sys.h"

namespace fastcql {

class CompletionQueue;
class Reactor;

struct Outcome {
    uint32_t attempt = 0;
    bool hot = false;
    bool holds_reference = false;
    Nanos arrived = 0;  // time of the read that received it, or of its failure, not of the take
    Nanos elapsed = 0;
    Frame frame;  // when failure is null
    std::unique_ptr<Failure> failure;
};

// Outcomes taken together, oldest first.
struct Batch {
    Outcome first;
    std::vector<Outcome> rest;
    size_t begin = 0;  // of those in rest
    int references = 0;

    size_t size() const noexcept { return 1 + rest.size() - begin; }
    Outcome& at(size_t index) noexcept { return index == 0 ? first : rest[begin + index - 1]; }
};

// The next step of the caller of deliver() and others, after all locks are released. Every value except Nothing passes
// one reference of the runtime object along.
enum class Next : uint8_t {
    Nothing,
    Drop,      // drop the reference some time soon
    Dispatch,  // call _on_outcome on the I/O thread, then drop the reference
    Enqueue,   // push to queue(): the loop thread dispatches
};

// The priority of a request at limits on requests in flight (limits.h).
enum class Priority : uint8_t {
    Normal,    // waits behind the queue
    First,     // was first in the queue
    Driver,    // the driver's own, which must always work: not limited, not counted
};

enum class WaitResult : uint8_t { Ready, TimedOut, Interrupted, NeedsRuntime };

class Operation {
public:
    Operation();
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    // Set once, before the operation is used. The runtime object; not a reference.
    void* self = nullptr;

    // The priority it submits with; unchanged during a submit.
    Priority priority = Priority::Normal;

    // True: waiters and event loops take plain results only (RESULT with rows or void, without anything else, of an
    // operation without callbacks); the I/O thread takes all others, also if threads wait. False: the one waiting
    // thread takes all outcomes. Set before the operation is used.
    bool driver_decides = false;

    // Any thread. Takes over one reference of the runtime object. *queue* is set with Next::Enqueue. With *sleeper* the
    // caller wakes the waiter, if that is set, after all its deliveries.
    Next deliver(Outcome&& outcome, Ref<CompletionQueue>* queue, std::atomic<uint32_t>** sleeper = nullptr);
    // Any thread: takes the oldest outcome. If outcome->holds_reference the caller must drop one.
    bool take(Outcome* outcome) noexcept;
    // Any thread: takes all of them; false if there are none. The caller drops batch->references and then gives the
    // batch back, which keeps its memory for the next one.
    bool take_all(Batch* batch) noexcept;
    void give_back(Batch&& batch) noexcept;
    // As take_all, for a waiter or an event loop: false, and nothing is taken, if the I/O thread has to decide.
    bool take_plain(Batch* batch) noexcept;
    // Any thread: hands taken outcomes to the I/O thread, which has to decide. The caller adds a reference for the
    // returned step, and the outcome holds none.
    Next put_back(Outcome&& outcome);
    bool ready() noexcept;
    // True if the oldest outcome that was not taken is a plain result.
    bool has_unread(Nanos* arrived) noexcept;

    // The waiting side. enter_wait() is false if there is no need to wait; else sleep, or lead the reactor's turns, as
    // often as still_waiting(), then always leave_wait(). *references* is the number that the caller must drop (it has
    // another one itself). An abandoned wait passes a remaining outcome to the thread that would process it without the
    // waiter; the caller adds a reference for that.
    bool enter_wait() noexcept;
    bool still_waiting(uint32_t* ticket = nullptr) noexcept;
    WaitResult sleep(Nanos deadline) noexcept;  // for a waiter without a reactor
    Next leave_wait(bool abandoned, int* references, Ref<CompletionQueue>* queue) noexcept;

    // A thread that sleeps until an outcome arrives. Until then it counts in *sleepers* (if not null), which must
    // outlive this object.
    class Sleep {
    public:
        Sleep(Operation& operation, std::atomic<int>* sleepers);
        ~Sleep();
        Sleep(const Sleep&) = delete;
        Sleep& operator=(const Sleep&) = delete;

        bool needed() const { return needed_; }  // false: there is an outcome already
        ParkResult sleep(Nanos timeout) noexcept { return park(operation_.signal_, ticket_, timeout); }

    private:
        Operation& operation_;
        uint32_t ticket_;
        bool needed_;
        bool counted_ = false;
    };

    // The thread that polls for the operation: it is not woken for its own deliveries, and by *reactor* for all others.
    // begin_lead() is false if there is an outcome already, or if another thread polls for it.
    bool begin_lead(Reactor* reactor, uint32_t* ticket);
    bool signalled(uint32_t ticket) const { return signal_.load(std::memory_order_seq_cst) != ticket; }
    void end_lead();

    // True if outcomes have an observer other than a waiter.
    bool calls() const { return calls_.load(std::memory_order_relaxed); }

    void finish() noexcept;
    // Back to pending, without waiters. Outcomes that were not taken are dropped; returns the references to drop.
    int rearm() noexcept;
    bool finished() const noexcept { return finished_.load(std::memory_order_acquire); }

    // Before a submit: outcomes are processed when they arrive, as if the operation were eager; but a waiter or an event
    // loop takes them, if there is one and they are plain. *watched*: the I/O thread polls if no other thread does; not
    // needed if the caller is about to wait.
    void set_prompt(bool watched) noexcept;

    // Change the processing thread. For an outcome that is present already the caller adds a reference and performs the
    // returned step.
    Next set_eager(Ref<CompletionQueue>* queue) noexcept;
    Next attach(Ref<CompletionQueue> queue, Ref<CompletionQueue>* target) noexcept;

    // Around a call of _on_outcome. begin is Nothing if there is nothing left to process, and OnDriver on the thread
    // of an event loop if the I/O thread has to decide: dispatch there, the reference passes on. end may request
    // another dispatch; then the dispatcher's own reference passes on with it. *references* as with leave_wait().
    enum class DispatchStart : uint8_t { Nothing, Here, OnDriver };
    DispatchStart begin_dispatch(bool on_loop) noexcept;
    Next end_dispatch(int* references, Ref<CompletionQueue>* queue) noexcept;

    // A list of references to be dropped, see DropList. Returns the number to drop, including that of the list.
    Operation* next_drop = nullptr;
    int leave_drop_list() noexcept;

    // In a forked child, without other users of the operation: as new. Its state is the parent's, and not even freed: a
    // thread of the parent may have been in the middle of changing it.
    void reset_in_child() noexcept;

private:
    // Queued: for an event loop; Scheduled: for the I/O thread. There is one reference per call to come; the first call
    // that finds its state begins, the others find another state and do nothing.
    enum class Dispatching : uint8_t { Idle, Queued, Scheduled, Running, RunningAgain };

    bool wants_dispatch() const;
    bool may_schedule() const;
    void request_rerun();
    bool must_decide() const { return driver_decides && (eager_ || cold_count_ > 0); }
    bool may_be_taken() const { return has_first_ && !must_decide(); }  // by a waiter
    bool not_taken_by_waiter() const { return waiters_ == 0 || must_decide(); }  // no waiter will take the outcome
    bool pending() const { return !may_be_taken() && !finished_.load(std::memory_order_relaxed); }
    bool signal();
    void take_locked(Batch* batch) noexcept;
    int release_references();
    Next route(Ref<CompletionQueue>* queue);

    SmallLock lock_;
    std::atomic<uint32_t> signal_{0};  // changes with every outcome and with finish()
    std::atomic<bool> finished_{false};
    bool eager_ = false;
    bool prompt_ = false;
    bool watched_ = false;  // prompt
    bool in_drop_list_ = false;
    Dispatching dispatching_ = Dispatching::Idle;
    uint16_t waiters_ = 0;
    uint16_t asleep_ = 0;   // waiters that were not signalled yet
    uint16_t counted_ = 0;  // those of them that count in *sleepers_
    std::atomic<bool> calls_{false};
    std::atomic<int>* sleepers_ = nullptr;
    Reactor* leader_ = nullptr;
    Ref<CompletionQueue> queue_;
    // The oldest outcome, and later ones: of speculative attempts, or of an operation with many requests.
    bool has_first_ = false;
    Outcome first_;
    std::vector<Outcome> later_;
    size_t next_later_ = 0;
    uint32_t cold_count_ = 0;  // of all these
    std::vector<Outcome> spare_memory_;  // empty; its memory is for the next batch
};

// References to runtime objects, to be dropped by the next thread with the runtime lock. Push from any thread,
// lock-free; a consumer takes the whole list, so that there is no ABA.
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
    // The whole list, linked by next_drop. Read an element's link before leave_drop_list().
    Operation* take_all() noexcept {
        size_.store(0, std::memory_order_relaxed);
        return head_.exchange(nullptr, std::memory_order_acquire);
    }

private:
    std::atomic<Operation*> head_{nullptr};
    std::atomic<size_t> size_{0};  // approximate
};

// Operations of one asyncio loop that have outcomes, and a descriptor that signals them.
class CompletionQueue : public RefCounted<CompletionQueue> {
public:
    bool open() noexcept { return wake_.open(); }
    int fd() const noexcept { return wake_.fd(); }

    // Takes over a reference of the operation's runtime object. False if closed: nothing was taken. *notify*: signal()
    // must follow, once for any number of pushes.
    bool push(Operation* operation, bool* notify) noexcept;
    void signal() noexcept;
    // Signals an event other than operations. False if closed.
    bool wake_loop() noexcept;
    // Loop thread: takes all queued operations, in order.
    void take_all(std::vector<Operation*>& operations) noexcept;
    void close(std::vector<Operation*>& operations) noexcept;
    bool closed();

private:
    SmallLock lock_;
    bool closed_ = false;
    bool signalled_ = false;
    std::vector<Operation*> operations_;
    WakeDescriptor wake_;
    Counted<&Counters::completion_queues> counted_;
};

}  // namespace fastcql
