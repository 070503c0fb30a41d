#include "transport/limits.h"

#include <mutex>

namespace fastcql {

using Guard = std::lock_guard<SmallLock>;

bool Limit::take(Priority priority) {
    Guard guard(lock_);
    if (in_flight() >= maximum_ || (admission_.has_queue && priority != Priority::First)) return false;
    if (parent_ && !parent_->take(priority)) return false;
    taken_.store(in_flight() + 1, std::memory_order_relaxed);
    return true;
}

bool Limit::give() {
    const bool above = parent_ && parent_->give();
    Guard guard(lock_);
    taken_.store(in_flight() - 1, std::memory_order_relaxed);
    return above || admission_.waiter;
}

bool Limit::has_waiter() {
    Guard guard(lock_);
    return admission_.waiter || (parent_ && parent_->has_waiter());
}

void Limit::collect_waiters(std::vector<Operation*>& waiters) {
    if (parent_) parent_->collect_waiters(waiters);
    Guard guard(lock_);
    if (admission_.waiter) waiters.push_back(std::exchange(admission_.waiter, nullptr));
}

Wait Limit::wait(Operation* waiter) noexcept {
    Guard guard(lock_);
    admission_.has_queue = true;
    if (in_flight() < maximum_) return Wait::Room;
    if (admission_.waiter) return Wait::Known;
    admission_.waiter = waiter;
    return Wait::Armed;
}

void Limit::end_queue() noexcept {
    Guard guard(lock_);
    admission_.has_queue = admission_.waiter != nullptr;
}

}  // namespace fastcql
