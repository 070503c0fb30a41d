#include "transport/unsent.h"

#include <algorithm>
#include <utility>

#include "transport/channel.h"

namespace fastcql {

bool Unsent::add(Channel* channel, Nanos now) {
    {
        std::lock_guard<SmallLock> guard(lock_);
        channel->next_unsent = head_;
        if (!head_) since_.store(now, std::memory_order_seq_cst);
        head_ = channel;
        added_.store(added_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    return !watched_.load(std::memory_order_seq_cst) && !watched_.exchange(true, std::memory_order_seq_cst);
}

Channel* Unsent::take() {
    if (empty()) return nullptr;
    std::lock_guard<SmallLock> guard(lock_);
    since_.store(kNever, std::memory_order_seq_cst);
    return std::exchange(head_, nullptr);
}

Channel* Unsent::take_for_runtime() {
    std::lock_guard<SmallLock> guard(lock_);
    for (Channel** link = &head_; *link; link = &(*link)->next_unsent) {
        Channel* const channel = *link;
        if (!channel->needs_runtime_output()) continue;
        *link = channel->next_unsent;
        if (!head_) since_.store(kNever, std::memory_order_seq_cst);
        return channel;
    }
    return nullptr;
}

size_t Unsent::size() {
    if (empty()) return 0;
    std::lock_guard<SmallLock> guard(lock_);
    size_t found = 0;
    for (const Channel* channel = head_; channel; channel = channel->next_unsent) ++found;
    return found;
}

Nanos Unsent::due() const {
    if (!watched()) return kNever;
    const Nanos tick = monotonic_now() + kTick;
    const Nanos since = since_.load(std::memory_order_seq_cst);
    return since == kNever ? tick : std::min(tick, since + kPatience);
}

Channel* Unsent::tick() {
    if (!watched()) return nullptr;
    const Nanos now = monotonic_now();
    const Nanos since = since_.load(std::memory_order_seq_cst);
    if (since != kNever) return now - since >= kPatience ? take() : nullptr;
    if (now < tick_at_) return nullptr;
    tick_at_ = now + kTick;
    const uint32_t added = added_.load(std::memory_order_relaxed);
    idle_ticks_ = added == seen_ ? idle_ticks_ + 1 : 0;
    seen_ = added;
    if (idle_ticks_ < kIdleTicks) return nullptr;
    idle_ticks_ = 0;
    watched_.store(false, std::memory_order_seq_cst);
    if (!empty()) watched_.store(true, std::memory_order_seq_cst);
    return nullptr;
}

}  // namespace fastcql
