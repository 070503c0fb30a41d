// Threads that wait for their own responses, and run turns of the reactor meanwhile; and its role. See lead.h.
#include <algorithm>
#include <utility>

#include "transport/lead.h"
#include "transport/reactor.h"

namespace fastcql {

bool Reactor::may_lead() const { return callers_lead_ && !on_role() && !foreign(); }

// With the role: true if this thread may run the tasks that wait for the runtime. On an interruptible one at most one
// filter's, and only if that filter can be lent.
bool Reactor::may_run_input() const {
    if (!runtime_->interruptible()) return true;
    int filters = 0;
    for (const RuntimeTask& task : filter_tasks_) {
        if (!task.channel->filter) continue;
        if (task.kind != RuntimeTask::Kind::Input || !task.channel->lends() || ++filters > 1) return false;
    }
    return true;
}

Waited Reactor::await(Operation& operation, Nanos deadline) noexcept {
    bool refused = false;
    for (;;) {
        if (!refused && may_lead() && role_.take()) {
            Waited waited = Waited::Ready;
            const Led led = lead(operation, deadline, &waited);
            if (led == Led::Done || led == Led::NeedsRuntime) return waited;
            refused = led == Led::Refused;
        }
        Operation::Sleep sleep(operation, &role_.sleepers);
        if (!sleep.needed()) return Waited::Ready;
        if (role_.is_free()) {  // the holder left before this sleeper was counted
            if (!refused && may_lead()) continue;
            role_.claim();
        }
        const Nanos now = monotonic_now();
        if (now >= deadline) return Waited::TimedOut;
        ask();
        const Parked parked = sleep.sleep(deadline == kNever ? kNever : deadline - now);
        if (!operation.still_waiting()) return Waited::Ready;
        if (parked == Parked::Interrupted) return Waited::Interrupted;
    }
}

// With the role, which it releases, unless it needs the runtime. The runtime lock is not taken here: while the runtime
// shuts down a thread may end in the attempt.
Reactor::Led Reactor::lead(Operation& operation, Nanos deadline, Waited* waited) {
    uint32_t ticket;
    Led led = Led::Refused;
    if (operation.begin_lead(this, &ticket)) {
        Reactor* const outer = std::exchange(current_, this);
        do {
            led = lead_turn(operation, deadline, &ticket, waited);
        } while (led == Led::On);
        current_ = outer;
        operation.end_lead();
    }
    if (led == Led::NeedsRuntime) {
        *waited = Waited::NeedsRuntime;
    } else {
        leave_role();
    }
    return led;
}

Reactor::Led Reactor::lead_turn(Operation& operation, Nanos deadline, uint32_t* ticket, Waited* waited) {
    if (for_io()) return Led::HandedOver;
    const bool calm = poll(deadline, &operation, *ticket);
    run_native();
    if (!filter_tasks_.empty()) return may_run_input() ? Led::NeedsRuntime : Led::HandedOver;
    end_turn();
    if (operation.signalled(*ticket) && !operation.still_waiting(ticket)) {
        *waited = Waited::Ready;
    } else if (!calm) {
        *waited = Waited::Interrupted;
    } else if (deadline != kNever && monotonic_now() >= deadline) {
        *waited = Waited::TimedOut;
    } else {
        return Led::On;
    }
    return Led::Done;
}

void Reactor::run_input() noexcept {
    Reactor* const outer = std::exchange(current_, this);
    runtime_entries_.fetch_add(1, std::memory_order_relaxed);
    const Ref<Channel> lent = runtime_->interruptible() ? take_lent() : nullptr;
    run_filter_tasks();
    end_led(outer);
    if (lent) run_lent(*lent);
}

Ref<Channel> Reactor::take_lent() {
    for (RuntimeTask& task : filter_tasks_) {
        if (!task.channel->filter) continue;
        Ref<Channel> channel = std::move(task.channel);
        filter_tasks_.erase(filter_tasks_.begin() + (&task - filter_tasks_.data()));
        channel->listed_runtime_input = false;
        return channel->lend() ? channel : nullptr;
    }
    return nullptr;
}

// Inside the runtime lock, without the role during the part that a handler may interrupt.
void Reactor::run_lent(Channel& channel) {
    if (!channel.feed_filter()) return;
    if (!role_.retake()) return channel.post_input();
    Reactor* const outer = std::exchange(current_, this);
    channel.filtered();
    end_led(outer);
}

void Reactor::end_led(Reactor* outer) {
    notify();
    flush_dirty();
    end_turn();
    current_ = outer;
    leave_role();
}

// With the role: true if there is work that a caller must not do, or work for other threads.
bool Reactor::for_io() {
    if (drops.empty()) drop_due_ = kNever;
    return stopping_.load(std::memory_order_seq_cst) || !runtime_tasks_.empty() || !filter_tasks_.empty() ||
           intake_.paused() > 0 || drops_due();
}

// With the role: true if requests in flight have observers.
bool Reactor::watched() {
    if (!watched_.load(std::memory_order_relaxed)) return false;
    watched_.exchange(false, std::memory_order_seq_cst);
    for (const Ref<Channel>& channel : channels_) {
        if (!channel->anybody_called()) continue;
        watched_.store(true, std::memory_order_relaxed);
        return true;
    }
    return false;
}

void Reactor::watch() noexcept {
    watched_.exchange(true, std::memory_order_seq_cst);
    if (role_.is_free()) role_.claim();
}

// The next caller takes the role, unless there is work that cannot wait for it. The I/O thread, which sleeps from now
// on, wakes in time for queued frames; as a rule the thread that queued them is about to send them.
void Reactor::leave_role() {
    if (for_io() || (!role_.is_io() && !unsent_.empty()) || role_.crowded() || watched()) {
        role_.hand_over();
        return;
    }
    role_.leave(next_due());
    if (has_commands_.load(std::memory_order_seq_cst) || stopping_.load(std::memory_order_seq_cst) ||
        watched_.load(std::memory_order_seq_cst) || intake_.news() ||
        role_.sleepers.load(std::memory_order_seq_cst) > 0)
        role_.claim();
}

// ---- the role

bool Role::retake() {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kCaller, std::memory_order_seq_cst);
}

bool Role::take() {
    if (!retake()) return false;
    leads_.store(leads_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
}

bool Role::take_back() {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kIo, std::memory_order_seq_cst);
}

void Role::claim() {
    if (take_back()) wake();
}

void Role::hand_over() {
    state_.store(kIo, std::memory_order_seq_cst);
    wake();
}

void Role::leave(Nanos next_due) {
    next_due_.store(next_due, std::memory_order_relaxed);
    state_.store(kFree, std::memory_order_seq_cst);
    if (rest_.load(std::memory_order_seq_cst) == kAsleep) wake();
}

void Role::wake() {
    if (rest_.exchange(kAwake, std::memory_order_seq_cst) != kAwake) unpark_one(&rest_);
}

bool Role::crowded() {
    if (sleepers.load(std::memory_order_seq_cst) == 0) return false;
    others_ = true;
    return true;
}

bool Role::wanted() {
    if (crowded()) return false;
    const Nanos asked_at = asked_at_.load(std::memory_order_relaxed);
    if (asked_at == 0) return false;
    asked_at_.store(0, std::memory_order_relaxed);
    const Nanos before = std::exchange(served_at_, monotonic_now());
    if (std::exchange(others_, false) || asked_at - before >= kGrace) alone_ = 0;
    alone_ = std::min(alone_ + 1, kAlone);
    return alone_ == kAlone;
}

Nanos Role::due(const Unsent& unsent) const {
    return std::min(next_due_.load(std::memory_order_relaxed), unsent.due());
}

void Role::rest(const Unsent& unsent) {
    int64_t seen = leads();
    bool led_long = false;  // by the same caller for a whole nap
    while (!is_io()) {
        rest_.store(led_long ? kAsleep : kNapping, std::memory_order_seq_cst);
        const uint32_t state = state_.load(std::memory_order_seq_cst);
        Nanos nap = kGrace;
        if (state == kFree) {
            nap = std::min(nap, due(unsent) - monotonic_now());
        } else if (state == kCaller && led_long) {
            nap = kNever;
        }
        const bool over =
            state != kIo && (nap <= 0 || park(rest_, led_long ? kAsleep : kNapping, nap) == Parked::TimedOut);
        rest_.store(kAwake, std::memory_order_seq_cst);
        const int64_t now = leads();
        const bool led = now != seen;  // the leader handled the work that was due then
        if (over && (!led || due(unsent) <= monotonic_now()) && take_back()) break;
        led_long = over && !led;
        seen = now;
    }
}

}  // namespace fastcql
