#include "transport/role.h"

#include <algorithm>
#include <utility>

namespace fastcql {

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
