// Input that passes through the runtime: a byte filter (TLS), a decompressor.
//
// The filter, and the data in it (feeding_, plain_, fault_, wire_), belong to the setter of writing_: the role holder
// for input, the sender for output. plain_ and fault_ pass to the role holder when that is finished.
//
// A runtime that interrupts threads may run foreign code, signal handlers, at the end of a call of the filter. Such a
// thread releases the role meanwhile (lend): the reactor continues, regardless of the handler and its duration. A
// handler that waits for an operation gives the filter back before (give_back); its caller finds lease_ changed, and
// returns without access to any state. So does the child if the handler forks. A handler that waits for anything else
// keeps the filter until it returns, like one that works for long: then requests on this connection end at their
// deadlines, and the runtime is notified that it is quiet.
#include <utility>

#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

namespace {

constexpr int kInputBatches = 2;  // of requests that were queued while input went through a filter

}  // namespace

thread_local Channel* Channel::borrowed_ = nullptr;

// Inside the runtime lock: processes input for a filter or a decompressor.
void Channel::runtime_input() {
    if (closed()) return;
    if (filter) {
        if (take_input() && feed_filter()) filtered();
        return;
    }
    std::vector<Chunk> chunks;
    chunks.swap(stash_);
    for (const Chunk& chunk : chunks) {
        if (closed()) return;
        decode(chunk.data, chunk.size, chunk.block.get(), this);
    }
    after_input();
}

void Channel::after_input() {
    if (closed() || !stash_.empty()) return;
    if (stash_end_) {
        const InputEnd end = *stash_end_;
        if (filter && end.kind == Reason::Kind::Eof) {
            if (auto reason = Ref<Reason>::adopt(reactor_->runtime().filter_eof(filter)))
                return close(std::move(reason));
        }
        return fail(end.kind, end.message, end.error);
    }
    if (scan_waits_) on_scan(monotonic_now());
}

// By the role holder: gives this thread the filter, with all its input. False while another thread has it: the reactor
// is notified when that thread has finished.
bool Channel::take_input() {
    Lock lock(mutex_);
    input_waits_ = writing_;
    if (writing_) return false;
    writing_ = true;
    for (Chunk& chunk : stash_) feeding_.push_back(std::move(chunk));
    stash_.clear();
    return true;
}

bool Channel::lend() { return !closed() && (input_lent_ = take_input()); }

// Inside the runtime lock, with the filter, which it releases; by the role holder, or without the role if the filter
// was lent. Output before a reason is to be delivered. False: the filter was given back, and its data belong to another
// thread.
bool Channel::feed_filter() {
    const Runtime& runtime = reactor_->runtime();
    const Lease lease(*this);
    if (!std::exchange(filter_started_, true)) fault_ = Ref<Reason>::adopt(runtime.filter_start(filter, wire_));
    bool more = std::exchange(unread_, false);  // of earlier input
    while (!fault_ && !closed() && (more || fed_ < feeding_.size())) {
        const Chunk chunk = more ? Chunk{} : std::move(feeding_[fed_++]);
        more = false;
        auto failed = Ref<Reason>::adopt(runtime.filter_receive(filter, chunk.data, chunk.size, plain_, wire_));
        if (lease.lost()) return false;
        fault_ = std::move(failed);
    }
    feeding_.clear();
    fed_ = 0;
    Lock lock(mutex_);
    stop_writing();
    if (!blocked_ && state() < State::Closing) pump(lock, kInputBatches, RuntimeLock::Held);
    leave(lock);
    return !reactor_->foreign();
}

// By the role holder, inside the runtime lock: delivers the output of the filter.
void Channel::filtered() {
    input_lent_ = false;
    if (closed()) return;
    Ref<Reason> failed = std::exchange(fault_, nullptr);
    const bool good = !failed || !plain_.empty();  // output before a fault is valid
    if (good && state() == State::Filtering && reactor_->runtime().filter_established(filter)) become_open();
    if (!plain_.empty()) {
        if (!lends_) lends_ = reactor_->runtime().filter_lends(filter);
        if (!closed()) decode(plain_.data(), plain_.size(), nullptr, this);
    }
    plain_.clear();
    if (failed) return close(std::move(failed));
    after_input();
}

// After feed_filter(), by a thread that does not get the role again.
void Channel::post_input() {
    Lock lock(mutex_);
    ask(kInput);
    leave(lock);
}

Channel::Lease::Lease(Channel& channel)
    : channel_(channel), number_(channel.lease_),
      outer_(std::exchange(borrowed_, channel.reactor_->runtime().interruptible() ? &channel : nullptr)) {}

Channel::Lease::~Lease() { borrowed_ = outer_; }

bool Channel::Lease::lost() const { return channel_.lease_ != number_ || channel_.reactor_->foreign(); }

void Channel::give_back() noexcept {
    Channel* const channel = std::exchange(borrowed_, nullptr);
    if (!channel || channel->reactor_->foreign()) return;
    const Ref<Channel> kept(channel);
    channel->settle();
}

// Inside the runtime lock, in a handler that interrupted the owner of the filter: completes the interrupted call.
void Channel::settle() {
    ++lease_;
    Ref<Reason> failed;
    if (!closed()) failed = Ref<Reason>::adopt(reactor_->runtime().filter_settle(filter, plain_, wire_));
    unread_ = true;
    batch_.clear();
    segments_.clear();
    Lock lock(mutex_);
    if (failed) begin_closing(std::move(failed));
    input_waits_ = true;
    stop_writing();
    ask(kFlush);
    leave(lock);
}

}  // namespace fastcql
