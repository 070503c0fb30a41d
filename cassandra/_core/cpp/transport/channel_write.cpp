// Output of a channel: who sends, and when.
#include <cerrno>
#include <sys/socket.h>

#include "transport/channel.h"
#include "transport/reactor.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

namespace fastcql {

namespace {

constexpr size_t kKeepCapacity = 256 << 10;
// Empty for the next use; a connection that once sent much does not keep the memory.
void recycle(Buffer& buffer) {
    buffer.clear();
    if (buffer.capacity() > kKeepCapacity) Buffer().swap(buffer);
}

constexpr int kCallerBatches = 2;  // a caller sends for others this often, then the role holder takes over
constexpr int kRoleBatches = 8;

}  // namespace

// After something was queued; unlocks. What is queued in a turn of the reactor goes out together at its end.
// Any other thread sends itself unless somebody else is at it: the answer to a single request then costs no
// thread switch.
void Channel::send_or_hand_over(Lock& lock) {
    if (state() == State::Open) {
        if (reactor_->on_role()) {
            leave(lock);
            reactor_->mark_dirty(*this);
            return;
        }
        if (filter) {
            ask(kFlush);
        } else if (!writing_ && !blocked_) {
            pump(lock, kCallerBatches);
        }
    }
    leave(lock);
}

void Channel::send_queued() {
    Lock lock(mutex_);
    if (queue_.empty()) return;  // somebody else's submit took it along
    send_or_hand_over(lock);
}

// The role holder sends what there is.
void Channel::flush() {
    Lock lock(mutex_);
    if (!writing_ && !blocked_ && state() < State::Closing) pump(lock, kRoleBatches);
    const bool encrypt = filter && !blocked_ && state() == State::Open && !queue_.empty();
    leave(lock);
    if (encrypt) reactor_->mark_dirty(*this);
}

// Locked, nobody else writing. Sends what is left of the last batch, then up to *batches* more.
void Channel::pump(Lock& lock, int batches) {
    writing_ = true;
    const int fd = fd_;
    while (state() < State::Closing) {
        bool encode = false;
        if (wire_sent_ == wire_.size()) {
            recycle(wire_);
            wire_sent_ = 0;
            queue_.batch_sent();
            if (filter || queue_.empty() || state() != State::Open) break;
            if (batches-- == 0) {
                ask(kFlush);
                break;
            }
            encode = segmented_.load(std::memory_order_relaxed) && !compressed();
            take_queue(encode ? batch_ : wire_);
        }
        lock.unlock();
        if (encode) {
            encode_segments(batch_.data(), batch_.size(), wire_);
            recycle(batch_);
        }
        const ssize_t sent =
            wire_.empty() ? 0
                          : ::send(fd, wire_.data() + wire_sent_, wire_.size() - wire_sent_, MSG_NOSIGNAL);
        const int error = errno;
        lock.lock();
        if (sent >= 0) {
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
    writing_ = false;
    if (close_fd_wanted_) close_descriptor();
}

// Locked, by the one who writes. Withdrawn requests are left out and their streams freed.
void Channel::take_queue(Buffer& batch) {
    released_.clear();
    queue_.take(batch, released_, [this](int stream) {
        return entries_[static_cast<size_t>(stream)].state == StreamState::Withdrawn;
    });
    for (int stream : released_) release_stream(stream);
}

// Inside the host lock, channels with a filter only: no other thread ever writes to these.
void Channel::host_flush() {
    Lock lock(mutex_);
    if (state() != State::Open || blocked_ || queue_.empty()) return;
    Buffer frames;
    take_queue(frames);
    lock.unlock();
    if (segmented_.load(std::memory_order_relaxed) && !compressed() && !frames.empty()) {
        Buffer segments;
        encode_segments(frames.data(), frames.size(), segments);
        frames.swap(segments);
    }
    if (!frames.empty()) {
        if (auto reason = Ref<Reason>::adopt(
                reactor_->host().filter_send(filter, frames.data(), frames.size(), wire_))) {
            close(std::move(reason));
            return;
        }
    }
    flush();
}

}  // namespace fastcql
