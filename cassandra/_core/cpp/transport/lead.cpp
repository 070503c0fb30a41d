// Threads that wait for their own responses, and run turns of the reactor meanwhile; and its ownership. See lead.h.
#include <algorithm>
#include <utility>

#include "transport/lead.h"
#include "transport/reactor.h"

namespace fastcql {

bool Reactor::may_lead() const { return callers_lead_ && !is_owner() && !foreign(); }

// With ownership: true if this thread may run the tasks that wait for the runtime. On an interruptible one at most one
// filter's, and only if that filter can be lent.
bool Reactor::may_run_input() const {
    if (!runtime_->interruptible()) return true;
    int filters = 0;
    for (const RuntimeTask& task : filter_tasks_) {
        if (!task.channel->filter) continue;
        if (task.kind != RuntimeTask::Kind::Input || !task.channel->is_lendable() || ++filters > 1) return false;
    }
    return true;
}

WaitResult Reactor::await(Operation& operation, Nanos deadline) noexcept {
    bool refused = false;
    for (;;) {
        if (!refused && may_lead() && ownership_.acquire()) {
            WaitResult waited = WaitResult::Ready;
            const LeadResult led = lead(operation, deadline, &waited);
            if (led == LeadResult::Done || led == LeadResult::NeedsRuntime) return waited;
            refused = led == LeadResult::Refused;
        }
        Operation::Sleep sleep(operation, &ownership_.sleepers);
        if (!sleep.needed()) return WaitResult::Ready;
        if (ownership_.is_free()) {  // the owner left before this sleeper was counted
            if (!refused && may_lead()) continue;
            ownership_.claim();
        }
        const Nanos now = monotonic_now();
        if (now >= deadline) return WaitResult::TimedOut;
        ask();
        const ParkResult parked = sleep.sleep(deadline == kNever ? kNever : deadline - now);
        if (!operation.still_waiting()) return WaitResult::Ready;
        if (parked == ParkResult::Interrupted) return WaitResult::Interrupted;
    }
}

// With ownership, which it releases, unless it needs the runtime. The runtime lock is not taken here: while the runtime
// shuts down a thread may end in the attempt.
Reactor::LeadResult Reactor::lead(Operation& operation, Nanos deadline, WaitResult* waited) {
    uint32_t ticket;
    LeadResult led = LeadResult::Refused;
    if (operation.begin_lead(this, &ticket)) {
        Reactor* const outer = std::exchange(current_, this);
        do {
            led = lead_turn(operation, deadline, &ticket, waited);
        } while (led == LeadResult::Continue);
        current_ = outer;
        operation.end_lead();
    }
    if (led == LeadResult::NeedsRuntime) {
        *waited = WaitResult::NeedsRuntime;
    } else {
        release_ownership();
    }
    return led;
}

Reactor::LeadResult Reactor::lead_turn(Operation& operation, Nanos deadline, uint32_t* ticket, WaitResult* waited) {
    if (needs_io_thread()) return LeadResult::HandedOver;
    const bool completed = poll(deadline, &operation, *ticket);
    run_native();
    if (!filter_tasks_.empty()) return may_run_input() ? LeadResult::NeedsRuntime : LeadResult::HandedOver;
    end_turn();
    if (operation.signalled(*ticket) && !operation.still_waiting(ticket)) {
        *waited = WaitResult::Ready;
    } else if (!completed) {
        *waited = WaitResult::Interrupted;
    } else if (deadline != kNever && monotonic_now() >= deadline) {
        *waited = WaitResult::TimedOut;
    } else {
        return LeadResult::Continue;
    }
    return LeadResult::Done;
}

void Reactor::run_input() noexcept {
    Reactor* const outer = std::exchange(current_, this);
    runtime_entries_.fetch_add(1, std::memory_order_relaxed);
    const Ref<Channel> lent = runtime_->interruptible() ? take_lent_filter() : nullptr;
    run_filter_tasks();
    end_caller_turn(outer);
    if (lent) run_lent_filter(*lent);
}

Ref<Channel> Reactor::take_lent_filter() {
    for (RuntimeTask& task : filter_tasks_) {
        if (!task.channel->filter) continue;
        Ref<Channel> channel = std::move(task.channel);
        filter_tasks_.erase(filter_tasks_.begin() + (&task - filter_tasks_.data()));
        channel->listed_runtime_input = false;
        return channel->lend() ? channel : nullptr;
    }
    return nullptr;
}

// Inside the runtime lock, without ownership during the part that a handler may interrupt.
void Reactor::run_lent_filter(Channel& channel) {
    if (!channel.feed_filter()) return;
    if (!ownership_.reacquire()) return channel.post_input();
    Reactor* const outer = std::exchange(current_, this);
    channel.filtered();
    end_caller_turn(outer);
}

void Reactor::end_caller_turn(Reactor* outer) {
    notify();
    flush_dirty();
    end_turn();
    current_ = outer;
    release_ownership();
}

// With ownership: true if there is work that a caller must not do, or work for other threads.
bool Reactor::needs_io_thread() {
    if (drops.empty()) drop_due_ = kNever;
    return stopping_.load(std::memory_order_seq_cst) || !runtime_tasks_.empty() || !filter_tasks_.empty() ||
           receive_buffer_.paused() > 0 || drops_due();
}

// With ownership: true if requests in flight have observers.
bool Reactor::watched() {
    if (!watched_.load(std::memory_order_relaxed)) return false;
    watched_.exchange(false, std::memory_order_seq_cst);
    for (const Ref<Channel>& channel : channels_) {
        if (!channel->has_observed_requests()) continue;
        watched_.store(true, std::memory_order_relaxed);
        return true;
    }
    return false;
}

void Reactor::watch() noexcept {
    watched_.exchange(true, std::memory_order_seq_cst);
    if (ownership_.is_free()) ownership_.claim();
}

// The next caller takes ownership, unless there is work that cannot wait for it. The I/O thread, which sleeps from now
// on, wakes in time for queued frames; as a rule the thread that queued them is about to send them.
void Reactor::release_ownership() {
    if (needs_io_thread() || (!ownership_.is_io() && !flush_list_.empty()) || ownership_.has_sleepers() || watched()) {
        ownership_.hand_over();
        return;
    }
    ownership_.release(next_due());
    if (has_commands_.load(std::memory_order_seq_cst) || stopping_.load(std::memory_order_seq_cst) ||
        watched_.load(std::memory_order_seq_cst) || receive_buffer_.has_returned_memory() ||
        ownership_.sleepers.load(std::memory_order_seq_cst) > 0)
        ownership_.claim();
}

// ---- ownership

bool Ownership::reacquire() {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kCaller, std::memory_order_seq_cst);
}

bool Ownership::acquire() {
    if (!reacquire()) return false;
    leads_.store(leads_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
}

bool Ownership::take_back() {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kIo, std::memory_order_seq_cst);
}

void Ownership::claim() {
    if (take_back()) wake();
}

void Ownership::hand_over() {
    state_.store(kIo, std::memory_order_seq_cst);
    wake();
}

void Ownership::release(Nanos next_due) {
    next_due_.store(next_due, std::memory_order_relaxed);
    state_.store(kFree, std::memory_order_seq_cst);
    if (rest_.load(std::memory_order_seq_cst) == kAsleep) wake();
}

void Ownership::wake() {
    if (rest_.exchange(kAwake, std::memory_order_seq_cst) != kAwake) unpark_one(&rest_);
}

bool Ownership::has_sleepers() {
    if (sleepers.load(std::memory_order_seq_cst) == 0) return false;
    has_other_callers_ = true;
    return true;
}

bool Ownership::wanted() {
    if (has_sleepers()) return false;
    const Nanos asked_at = asked_at_.load(std::memory_order_relaxed);
    if (asked_at == 0) return false;
    asked_at_.store(0, std::memory_order_relaxed);
    const Nanos before = std::exchange(last_wanted_at_, monotonic_now());
    if (std::exchange(has_other_callers_, false) || asked_at - before >= kBoundedSleepTime) single_caller_asks_ = 0;
    single_caller_asks_ = std::min(single_caller_asks_ + 1, kSingleCallerAsks);
    return single_caller_asks_ == kSingleCallerAsks;
}

Nanos Ownership::due(const FlushList& flush_list) const {
    return std::min(next_due_.load(std::memory_order_relaxed), flush_list.due());
}

void Ownership::rest(const FlushList& flush_list) {
    int64_t seen = leads();
    bool one_polls = false;  // by the same caller for a whole bounded sleep
    while (!is_io()) {
        rest_.store(one_polls ? kAsleep : kBoundedSleep, std::memory_order_seq_cst);
        const uint32_t state = state_.load(std::memory_order_seq_cst);
        Nanos limit = kBoundedSleepTime;
        if (state == kFree) {
            limit = std::min(limit, due(flush_list) - monotonic_now());
        } else if (state == kCaller && one_polls) {
            limit = kNever;
        }
        const bool over =
            state != kIo && (limit <= 0 || park(rest_, one_polls ? kAsleep : kBoundedSleep, limit) == ParkResult::TimedOut);
        rest_.store(kAwake, std::memory_order_seq_cst);
        const int64_t now = leads();
        const bool led = now != seen;  // the leader handled the work that was due then
        if (over && (!led || due(flush_list) <= monotonic_now()) && take_back()) break;
        one_polls = over && !led;
        seen = now;
    }
}

}  // namespace fastcql
