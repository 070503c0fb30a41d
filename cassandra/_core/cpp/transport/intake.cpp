#include "transport/intake.h"

#include <algorithm>
#include <cstdio>

#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

Intake::Intake(Reactor& reactor, Arena* arena, Nanos warn_after)
    : reactor_(reactor), arena_(arena), warn_after_(warn_after) {}

Intake::~Intake() {
    finish();
    if (arena_) arena_->close();
}

// Room is kept in one slab while nothing pins it, so that its memory stays in cache.
Intake::Room Intake::room(Arena::AtLimit limit) {
    if (slab_ && !slab_->shared()) used_ = 0;
    if (!slab_ || kSlabSize - used_ < kMinRoom) {
        drop_slab();
        slab_ = BlockRef::adopt(arena_->allocate(kSlabSize, limit));
        used_ = 0;
        if (!slab_) return {nullptr, 0, nullptr};
        slab_->kept.store(1, std::memory_order_relaxed);
    }
    return {slab_->data() + used_, kSlabSize - used_, slab_.get()};
}

void Intake::drop_slab() {
    if (slab_) slab_->kept.store(0, std::memory_order_relaxed);
    slab_ = nullptr;
}

void Intake::finish() {
    drop_slab();
    paused_.clear();
    if (arena_ && arena_->strict) arena_->stop_waiting();
}

void Intake::pause(Channel& channel) {
    if (paused_.empty()) {
        paused_since_ = monotonic_now();
        warn_at_ = paused_since_ + warn_after_;
    }
    paused_.push_back(Ref<Channel>(&channel));
    paused_count_.store(static_cast<int64_t>(paused_.size()), std::memory_order_relaxed);
    nudge();  // memory may have been returned before wait_for()
}

void Intake::memory_returned() {
    news_.store(true, std::memory_order_seq_cst);
    reactor_.wake();
}

std::string Intake::turn() {
    std::string text;
    if (arena_->strict) {
        drop_slab();  // between turns it holds no memory that others wait for
        if (!paused_.empty()) {
            if (news_.exchange(false, std::memory_order_seq_cst)) resume();
            const Nanos now = warn_at_ == kNever ? 0 : monotonic_now();
            if (now >= warn_at_) {
                text = warning(now);
                warn_at_ = now + kWarnAgain;
            }
        } else {
            news_.store(false, std::memory_order_relaxed);
        }
    }
    arena_->collect();
    return text;
}

void Intake::resume() {
    size_t wanted = SIZE_MAX;
    for (const Ref<Channel>& channel : paused_) wanted = std::min(wanted, channel->wanted());
    arena_->wait_for(wanted, *this);  // wait first, then try
    const auto gone_on = [](const Ref<Channel>& channel) { return channel->resume(); };
    const auto left = std::remove_if(paused_.begin(), paused_.end(), gone_on);
    const bool some = left != paused_.end();
    paused_.erase(left, paused_.end());
    paused_count_.store(static_cast<int64_t>(paused_.size()), std::memory_order_relaxed);
    if (paused_.empty()) {
        warn_at_ = kNever;
        arena_->stop_waiting();
    } else if (some) {
        paused_since_ = monotonic_now();
        warn_at_ = paused_since_ + warn_after_;
    }
}

std::string Intake::warning(Nanos now) const {
    char text[240];
    std::snprintf(text, sizeof text,
                  "%zu connections have not been read from for %.1f s: the strict memory pool of %zu bytes is full. "
                  "Release kept results or blocks of the application",
                  paused_.size(), static_cast<double>(now - paused_since_) / static_cast<double>(kSecond),
                  arena_->max_bytes);
    return text;
}

}  // namespace fastcql
