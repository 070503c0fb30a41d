// Output of a channel: the sending thread, and the time of sending; and the flush list.
#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "transport/outbound.h"
#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

namespace {

constexpr size_t kKeepCapacity = 256 << 10;
// Clears a buffer for the next use; a connection that once sent much does not keep the memory.
void clear_buffer(Buffer& buffer) {
    buffer.clear();
    if (buffer.capacity() > kKeepCapacity) Buffer().swap(buffer);
}

constexpr int kCallerBatches = 2;  // sent by a caller, then the owner takes over
constexpr int kOwnerBatches = 8;
// A request or two with short values: LZ4 saves a few bytes of a packet, if any.
constexpr size_t kWorthCompressing = 128;

Ref<Reason> out_of_memory() {
    return Ref<Reason>::adopt(new Reason(Reason::Kind::System, "send", ENOMEM));
}

}  // namespace

// After a frame was queued; unlocks. Frames queued in a turn of the reactor are sent together at its end. Any other
// thread sends itself unless another one is sending: the response to a single request then costs no thread switch.
void Channel::send_or_hand_over(Lock& lock) {
    if (state() == State::Open) {
        if (reactor_->is_owner()) {
            leave(lock);
            reactor_->mark_dirty(*this);
            return;
        }
        if (!writing_ && !blocked_) pump(lock, kCallerBatches, RuntimeLock::Take);
    }
    leave(lock);
}

void Channel::send_queued() {
    Lock lock(mutex_);
    scheduled_ = false;
    if (queue_.empty()) return;  // another thread's submit has sent it
    send_or_hand_over(lock);
}

// The owner sends the queue; if that needs the runtime lock, in a task that has it.
void Channel::flush() {
    Lock lock(mutex_);
    if (!writing_ && !blocked_ && state() < State::Closing) pump(lock, kOwnerBatches, RuntimeLock::None);
    const bool encode = needs_runtime_output() && !writing_ && !blocked_ && state() == State::Open && !queue_.empty();
    leave(lock);
    if (encode) reactor_->mark_dirty(*this);
}

// Inside the runtime lock.
void Channel::runtime_flush() {
    Lock lock(mutex_);
    if (state() == State::Open && !writing_ && !blocked_) pump(lock, kOwnerBatches, RuntimeLock::Held);
    leave(lock);
}

// Locked, with no other writer. Sends the rest of the last batch, then up to *batches* more. Not locked afterwards in a
// child forked meanwhile.
void Channel::pump(Lock& lock, int batches, RuntimeLock runtime) {
    writing_ = true;
    const int fd = fd_;
    while (state() < State::Closing) {
        bool fresh = false;
        if (wire_sent_ == wire_.size()) {
            clear_buffer(wire_);
            wire_sent_ = 0;
            queue_.batch_sent();
            if (queue_.empty() || state() != State::Open) break;
            if (needs_runtime_output() && runtime == RuntimeLock::None) break;
            if (filter && runtime == RuntimeLock::Take && !is_lendable_ && reactor_->runtime().interruptible()) {
                ask(kFlush);
                break;
            }
            if (batches-- == 0) {
                ask(kFlush);
                break;
            }
            try {
                take_queue(batch_);
            } catch (const std::bad_alloc&) {
                blocked_ = true;
                write_error_ = ENOMEM;
                ask(kWriteFailed);
                break;
            }
            fresh = true;
        }
        lock.unlock();
        const uint32_t lease = lease_;
        Ref<Reason> failed = fresh ? encode(runtime) : nullptr;
        if (fresh && reactor_->foreign()) return;
        if (lease_ != lease) return lock.lock();
        const ssize_t sent =
            failed || wire_.empty() ? 0 : send_bytes(fd, wire_.data() + wire_sent_, wire_.size() - wire_sent_);
        const int error = errno;
        lock.lock();
        if (failed) {
            begin_closing(std::move(failed));
        } else if (sent >= 0) {
            wire_sent_ += static_cast<size_t>(sent);
            bytes_sent_.fetch_add(static_cast<uint64_t>(sent), std::memory_order_relaxed);
        } else if (error == EAGAIN || error == EWOULDBLOCK) {
            blocked_ = true;
            ask(kInterest);
            break;
        } else if (error != EINTR) {
            blocked_ = true;
            write_error_ = error;
            ask(kWriteFailed);
            break;
        }
    }
    stop_writing();
}

// Locked, by the owner of writing_; leave() must follow.
void Channel::stop_writing() {
    writing_ = false;
    if (close_fd_wanted_) close_descriptor();
    if (std::exchange(input_waits_, false)) ask(kInput);
}

// Locked, by the writer. Withdrawn requests are left out and their streams freed.
void Channel::take_queue(Buffer& batch) {
    released_.clear();
    queue_.take(batch, released_, [this](int stream) {
        return entries_[static_cast<size_t>(stream)].state == StreamState::Withdrawn;
    });
    for (int stream : released_) release_stream(stream);
}

// By the writer, unlocked: encodes batch_ into wire_, the bytes to send. A reason closes the channel.
Ref<Reason> Channel::encode(RuntimeLock runtime) try {
    if (batch_.empty()) return nullptr;
    if (!needs_runtime_output()) {
        if (segmented_.load(std::memory_order_relaxed)) {
            encode_segments(batch_.data(), batch_.size(), wire_);
            clear_buffer(batch_);
        } else {
            wire_.swap(batch_);
        }
        return nullptr;
    }
    void* token = nullptr;
    if (runtime == RuntimeLock::Take && !reactor_->runtime().enter(&token))
        return Ref<Reason>::adopt(new Reason(Reason::Kind::Stopped, "the driver was shut down"));
    const FilterCall lease(*this);
    Ref<Reason> failed = encode_with_runtime();
    if (runtime == RuntimeLock::Take) reactor_->runtime().leave(token);
    if (lease.lost()) return nullptr;
    clear_buffer(batch_);
    clear_buffer(segments_);
    return failed;
} catch (const std::bad_alloc&) {
    return out_of_memory();
}

Channel::FilterReferences::FilterReferences(Channel& channel) : runtime_(channel.reactor_->runtime()) {
    Lock lock(channel.mutex_);
    if (channel.closed()) return;
    self_ = channel.self;
    filter_ = channel.filter;
    runtime_.retain_object(self_);
    if (filter_) runtime_.retain_object(filter_);
}

Channel::FilterReferences::~FilterReferences() {
    if (filter_) runtime_.drop_object(filter_);
    if (self_) runtime_.drop_object(self_);
}

// Inside the runtime lock.
Ref<Reason> Channel::encode_with_runtime() {
    const FilterReferences held(*this);
    if (!held) return nullptr;
    Buffer* encoded = &batch_;
    if (segmented_.load(std::memory_order_relaxed)) {
        encoded = &segments_;
        if (compressed()) {
            if (auto failed = compress(batch_, segments_)) return failed;
        } else {
            encode_segments(batch_.data(), batch_.size(), segments_);
        }
    }
    if (filter)
        return Ref<Reason>::adopt(reactor_->runtime().filter_send(filter, encoded->data(), encoded->size(), wire_));
    wire_.swap(*encoded);
    return nullptr;
}

// Inside the runtime lock: encodes compressed segments. A payload that would not become smaller is sent uncompressed;
// small ones are not tried.
Ref<Reason> Channel::compress(const Buffer& frames, Buffer& out) {
    Ref<Reason> failed;
    for_each_payload(frames.data(), frames.size(), [&](const uint8_t* payload, size_t size, bool self_contained) {
        if (failed) return;
        packed_.clear();
        if (size < kWorthCompressing) return encode_compressed_segment(payload, size, 0, self_contained, out);
        failed = Ref<Reason>::adopt(reactor_->runtime().compress(compressor, payload, size, packed_));
        if (failed) return;
        if (packed_.size() < size) {
            encode_compressed_segment(packed_.data(), packed_.size(), size, self_contained, out);
        } else {
            encode_compressed_segment(payload, size, 0, self_contained, out);
        }
    });
    return failed;
}

// ---- the flush list

bool FlushList::add(Channel* channel, Nanos now) {
    {
        std::lock_guard<SmallLock> guard(lock_);
        channel->next_to_flush = head_;
        if (!head_) since_.store(now, std::memory_order_seq_cst);
        head_ = channel;
        added_.store(added_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    return !watched_.load(std::memory_order_seq_cst) && !watched_.exchange(true, std::memory_order_seq_cst);
}

Channel* FlushList::take() {
    if (empty()) return nullptr;
    std::lock_guard<SmallLock> guard(lock_);
    since_.store(kNever, std::memory_order_seq_cst);
    return std::exchange(head_, nullptr);
}

Channel* FlushList::take_for_runtime() {
    std::lock_guard<SmallLock> guard(lock_);
    for (Channel** link = &head_; *link; link = &(*link)->next_to_flush) {
        Channel* const channel = *link;
        if (!channel->needs_runtime_output()) continue;
        *link = channel->next_to_flush;
        if (!head_) since_.store(kNever, std::memory_order_seq_cst);
        return channel;
    }
    return nullptr;
}

size_t FlushList::size() {
    if (empty()) return 0;
    std::lock_guard<SmallLock> guard(lock_);
    size_t found = 0;
    for (const Channel* channel = head_; channel; channel = channel->next_to_flush) ++found;
    return found;
}

Nanos FlushList::due() const {
    if (!watched()) return kNever;
    const Nanos tick = monotonic_now() + kTick;
    const Nanos since = since_.load(std::memory_order_seq_cst);
    return since == kNever ? tick : std::min(tick, since + kPatience);
}

Channel* FlushList::tick() {
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
