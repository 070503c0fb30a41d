#include "transport/operation.h"

#include "transport/reactor.h"

#include <mutex>
#include <new>
#include <utility>

namespace fastcql {

using Guard = std::lock_guard<SmallLock>;

Operation::Operation() { FASTCQL_COUNT(operations, 1); }
Operation::~Operation() { FASTCQL_COUNT(operations, -1); }

// True if an outcome waits that has an observer. Locked.
bool Operation::wants_dispatch() const {
    return has_first_ && (eager_ || prompt_ || queue_ || cold_count_ > 0);
}

// Signals a change. True: unpark_all() must follow, outside the lock; once for any number of outcomes that arrive
// before the waiter checks. Locked.
bool Operation::signal() {
    signal_.fetch_add(1, std::memory_order_seq_cst);
    if (leader_ && !leader_->is_owner()) leader_->interrupt();
    if (counted_ > 0) sleepers_->fetch_sub(std::exchange(counted_, 0), std::memory_order_seq_cst);
    return std::exchange(asleep_, 0) > 0;
}

// Takes the references from the remaining outcomes: the caller has the runtime lock and its own reference, so that an
// outcome that is never taken leaves no cycle behind. Locked.
int Operation::release_references() {
    int count = 0;
    if (has_first_ && std::exchange(first_.holds_reference, false)) ++count;
    for (size_t i = next_later_; i < later_.size(); ++i) {
        if (std::exchange(later_[i].holds_reference, false)) ++count;
    }
    return count;
}

// True if a dispatch may be scheduled. An entry in the queue of an event loop is no obstacle if the I/O thread has to
// decide: the loop may be busy, stopped or closed. It finds nothing to do, then. Locked.
bool Operation::may_schedule() const {
    return dispatching_ == Dispatching::Idle || (dispatching_ == Dispatching::Queued && must_decide());
}

// The processing thread has changed: the call in progress may leave an earlier outcome to another thread. Locked.
void Operation::request_rerun() {
    if (dispatching_ == Dispatching::Running) dispatching_ = Dispatching::RunningAgain;
}

// Schedules a dispatch. Locked; the caller passes a reference along.
Next Operation::route(Ref<CompletionQueue>* queue) {
    if (queue_ && !must_decide() && !queue_->closed()) {
        dispatching_ = Dispatching::Queued;
        *queue = queue_;
        return Next::Enqueue;
    }
    dispatching_ = Dispatching::Scheduled;
    return Next::Dispatch;
}

Next Operation::deliver(Outcome&& outcome, Ref<CompletionQueue>* queue, std::atomic<uint32_t>** sleeper) {
    Outcome discarded;  // destroyed after the lock
    bool wake = false;
    Next next = Next::Nothing;
    {
        Guard guard(lock_);
        const auto drop = [this, &next] {
            in_drop_list_ = true;
            next = Next::Drop;
        };
        if (finished_.load(std::memory_order_relaxed)) {
            discarded = std::move(outcome);
            // Already listed: the reference must be passed on, and a runtime thread handles the operation anyway.
            if (in_drop_list_) {
                next = Next::Dispatch;
            } else {
                drop();
            }
        } else {
            Outcome& stored =
                has_first_ ? later_.emplace_back(std::move(outcome)) : (first_ = std::move(outcome));
            has_first_ = true;
            stored.holds_reference = true;
            if (!stored.hot) ++cold_count_;
            if (waiters_ > 0 && may_be_taken()) {
                wake = signal();
            } else if (dispatching_ == Dispatching::Running) {
                dispatching_ = Dispatching::RunningAgain;
            } else if (may_schedule() && wants_dispatch()) {
                stored.holds_reference = false;
                next = route(queue);
            } else if (dispatching_ == Dispatching::Idle) {
                if (!in_drop_list_) {
                    stored.holds_reference = false;
                    drop();
                }
            }
        }
    }
    if (wake && sleeper) {
        *sleeper = &signal_;
    } else if (wake) {
        unpark_all(&signal_);
    }
    return next;
}

bool Operation::take(Outcome* outcome) noexcept {
    Guard guard(lock_);
    if (!has_first_) return false;
    *outcome = std::move(first_);
    if (!outcome->hot) --cold_count_;
    if (next_later_ < later_.size()) {
        first_ = std::move(later_[next_later_++]);
    } else {
        has_first_ = false;
        later_.clear();
        next_later_ = 0;
    }
    return true;
}

bool Operation::take_all(Batch* batch) noexcept {
    Guard guard(lock_);
    if (!has_first_) return false;
    take_locked(batch);
    return true;
}

// Locked; there is at least one.
void Operation::take_locked(Batch* batch) noexcept {
    batch->references = release_references();
    batch->begin = next_later_;
    batch->first = std::move(first_);
    batch->rest.swap(spare_memory_);
    batch->rest.swap(later_);
    has_first_ = false;
    next_later_ = 0;
    cold_count_ = 0;
}

void Operation::give_back(Batch&& batch) noexcept {
    batch.first = Outcome();
    batch.rest.clear();
    if (batch.rest.capacity() == 0) return;
    Guard guard(lock_);
    if (spare_memory_.capacity() == 0) spare_memory_.swap(batch.rest);
}

bool Operation::take_plain(Batch* batch) noexcept {
    Guard guard(lock_);
    if (!may_be_taken()) return false;
    take_locked(batch);
    return true;
}

Next Operation::put_back(Outcome&& outcome) {
    Outcome discarded;  // destroyed after the lock
    Guard guard(lock_);
    outcome.holds_reference = false;
    if (finished_.load(std::memory_order_relaxed)) {
        discarded = std::move(outcome);
        return Next::Nothing;
    }
    outcome.hot = false;
    if (has_first_) {
        later_.push_back(std::move(outcome));
    } else {
        first_ = std::move(outcome);
        has_first_ = true;
    }
    ++cold_count_;
    if (dispatching_ == Dispatching::Running) {
        dispatching_ = Dispatching::RunningAgain;
    } else if (may_schedule()) {
        dispatching_ = Dispatching::Scheduled;
        return Next::Dispatch;
    }
    return Next::Nothing;
}

bool Operation::ready() noexcept {
    Guard guard(lock_);
    return has_first_;
}

bool Operation::has_unread(Nanos* arrived) noexcept {
    Guard guard(lock_);
    if (!may_be_taken() || finished_.load(std::memory_order_relaxed)) return false;
    *arrived = first_.arrived;
    return true;
}

bool Operation::enter_wait() noexcept {
    Guard guard(lock_);
    if (!pending()) return false;
    ++waiters_;
    return true;
}

bool Operation::still_waiting(uint32_t* ticket) noexcept {
    Guard guard(lock_);
    if (ticket) *ticket = signal_.load(std::memory_order_relaxed);
    return pending();
}

Operation::Sleep::Sleep(Operation& operation, std::atomic<int>* sleepers) : operation_(operation) {
    Guard guard(operation.lock_);
    ticket_ = operation.signal_.load(std::memory_order_relaxed);
    needed_ = operation.pending();
    if (!needed_) return;
    ++operation.asleep_;
    // Waiters of one operation count in one counter, the first one's.
    counted_ = sleepers && (operation.counted_ == 0 || operation.sleepers_ == sleepers);
    if (!counted_) return;
    operation.sleepers_ = sleepers;
    ++operation.counted_;
    sleepers->fetch_add(1, std::memory_order_seq_cst);
}

Operation::Sleep::~Sleep() {
    if (!needed_) return;
    Guard guard(operation_.lock_);
    if (operation_.signalled(ticket_)) return;  // signal() has removed it from the counts
    --operation_.asleep_;
    if (!counted_) return;
    --operation_.counted_;
    operation_.sleepers_->fetch_sub(1, std::memory_order_seq_cst);
}

WaitResult Operation::sleep(Nanos deadline) noexcept {
    Sleep sleep(*this, nullptr);
    if (!sleep.needed()) return WaitResult::Ready;
    const Nanos left = deadline == kNever ? kNever : deadline - monotonic_now();
    const ParkResult parked = left > 0 ? sleep.sleep(left) : ParkResult::TimedOut;
    if (!still_waiting()) return WaitResult::Ready;
    return parked == ParkResult::TimedOut ? WaitResult::TimedOut : WaitResult::Interrupted;
}

bool Operation::begin_lead(Reactor* reactor, uint32_t* ticket) {
    Guard guard(lock_);
    if (leader_ || !pending()) return false;
    leader_ = reactor;
    *ticket = signal_.load(std::memory_order_relaxed);
    return true;
}

void Operation::end_lead() {
    Guard guard(lock_);
    leader_ = nullptr;
}

Next Operation::leave_wait(bool abandoned, int* references, Ref<CompletionQueue>* queue) noexcept {
    Guard guard(lock_);
    --waiters_;
    *references = release_references();
    if (!abandoned) return Next::Nothing;
    request_rerun();
    if (may_schedule() && not_taken_by_waiter() && wants_dispatch()) return route(queue);
    return Next::Nothing;
}

void Operation::finish() noexcept {
    {
        Guard guard(lock_);
        if (finished_.exchange(true, std::memory_order_release)) return;
        if (!signal()) return;
    }
    unpark_all(&signal_);
}

int Operation::rearm() noexcept {
    Outcome first;  // destroyed after the lock
    std::vector<Outcome> more;
    Guard guard(lock_);
    finished_.store(false, std::memory_order_release);
    const int references = release_references();
    if (std::exchange(has_first_, false)) first = std::move(first_);
    more.swap(later_);
    next_later_ = 0;
    cold_count_ = 0;
    return references;
}

void Operation::set_prompt(bool watched) noexcept {
    Guard guard(lock_);
    prompt_ = true;
    watched_ = watched;
    calls_.store(eager_ || watched || queue_, std::memory_order_relaxed);
}

Next Operation::set_eager(Ref<CompletionQueue>* queue) noexcept {
    Guard guard(lock_);
    eager_ = true;
    calls_.store(true, std::memory_order_relaxed);
    request_rerun();
    if (may_schedule() && not_taken_by_waiter() && wants_dispatch()) return route(queue);
    return Next::Nothing;
}

Next Operation::attach(Ref<CompletionQueue> new_queue, Ref<CompletionQueue>* target) noexcept {
    Guard guard(lock_);
    const bool moved = dispatching_ == Dispatching::Queued && new_queue.get() != queue_.get();
    std::swap(queue_, new_queue);  // the old one is released after the lock
    calls_.store(eager_ || watched_ || queue_, std::memory_order_relaxed);
    if ((moved || may_schedule()) && not_taken_by_waiter() && wants_dispatch()) return route(target);
    return Next::Nothing;
}

Operation::DispatchStart Operation::begin_dispatch(bool on_loop) noexcept {
    Guard guard(lock_);
    const bool queued = dispatching_ == Dispatching::Queued;
    // Another call was first.
    if (!queued && (on_loop || dispatching_ != Dispatching::Scheduled)) return DispatchStart::Nothing;
    if (!has_first_) {
        dispatching_ = Dispatching::Idle;
        return DispatchStart::Nothing;
    }
    if (on_loop && must_decide()) {
        dispatching_ = Dispatching::Scheduled;
        return DispatchStart::OnDriver;
    }
    dispatching_ = Dispatching::Running;
    return DispatchStart::Here;
}

Next Operation::end_dispatch(int* references, Ref<CompletionQueue>* queue) noexcept {
    Guard guard(lock_);
    *references = release_references();
    const bool again = dispatching_ == Dispatching::RunningAgain;
    dispatching_ = Dispatching::Idle;
    if (again && not_taken_by_waiter() && wants_dispatch()) return route(queue);
    return Next::Nothing;
}

int Operation::leave_drop_list() noexcept {
    Guard guard(lock_);
    in_drop_list_ = false;
    return 1 + release_references();
}

void Operation::reset_in_child() noexcept {
    void* const runtime_object = self;
    const bool eager = eager_;
    const bool prompt = prompt_;
    const bool watched = watched_;
    const bool done = finished();
    const bool decides = driver_decides;
    new (this) Operation;
    FASTCQL_COUNT(operations, -1);
    self = runtime_object;
    driver_decides = decides;
    eager_ = eager;
    prompt_ = prompt;
    watched_ = watched;
    calls_.store(eager || watched, std::memory_order_relaxed);
    finished_.store(done, std::memory_order_relaxed);
}

bool CompletionQueue::push(Operation* operation, bool* notify) noexcept {
    Guard guard(lock_);
    if (closed_) return false;
    try {
        operations_.push_back(operation);
    } catch (const std::bad_alloc&) {
        return false;  // as if it were closed: the caller dispatches it
    }
    *notify = !std::exchange(signalled_, true);
    return true;
}

void CompletionQueue::signal() noexcept {
    Guard guard(lock_);
    if (!closed_) wake_.signal();
}

bool CompletionQueue::wake_loop() noexcept {
    Guard guard(lock_);
    if (closed_) return false;
    if (!std::exchange(signalled_, true)) wake_.signal();
    return true;
}

void CompletionQueue::take_all(std::vector<Operation*>& operations) noexcept {
    operations.clear();
    Guard guard(lock_);
    if (closed_) return;
    if (signalled_) wake_.drain();
    signalled_ = false;
    operations.swap(operations_);
}

void CompletionQueue::close(std::vector<Operation*>& operations) noexcept {
    Guard guard(lock_);
    closed_ = true;
    operations.swap(operations_);
    wake_.close();
}

bool CompletionQueue::closed() {
    Guard guard(lock_);
    return closed_;
}

}  // namespace fastcql
