#include "transport/limits.h"

#include <mutex>

namespace fastcql {

using Guard = std::lock_guard<SmallLock>;

bool Limit::take(Right right) {
    Guard guard(lock_);
    if (in_flight() >= maximum_ || (line_.formed && right != Right::InLine)) return false;
    if (parent_ && !parent_->take(right)) return false;
    taken_.store(in_flight() + 1, std::memory_order_relaxed);
    return true;
}

bool Limit::give() {
    const bool above = parent_ && parent_->give();
    Guard guard(lock_);
    taken_.store(in_flight() - 1, std::memory_order_relaxed);
    return above || line_.waiter;
}

bool Limit::has_waiter() {
    Guard guard(lock_);
    return line_.waiter || (parent_ && parent_->has_waiter());
}

void Limit::tell(std::vector<Operation*>& waiters) {
    if (parent_) parent_->tell(waiters);
    Guard guard(lock_);
    if (line_.waiter) waiters.push_back(std::exchange(line_.waiter, nullptr));
}

Wait Limit::wait(Operation* waiter) noexcept {
    Guard guard(lock_);
    line_.formed = true;
    if (in_flight() < maximum_) return Wait::Room;
    if (line_.waiter) return Wait::Known;
    line_.waiter = waiter;
    return Wait::Armed;
}

void Limit::end_line() noexcept {
    Guard guard(lock_);
    line_.formed = line_.waiter != nullptr;
}

}  // namespace fastcql
