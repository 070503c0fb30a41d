// What goes through the runtime on its way in: a byte filter (TLS), a decompressor.
//
// The filter, and what is on its way through it (feeding_, plain_, fault_, wire_), belong to the setter of writing_: the
// role holder for input, whoever sends for output. plain_ and fault_ pass to the role holder when that is over.
//
// Where the runtime interrupts threads it may run foreign code, the handlers of signals, at the end of what a filter is asked
// on them. Such a thread does without the role meanwhile (lend): whatever a handler does, and for how long, the reactor goes
// on. A handler that waits for an operation gives the filter back before (give_back); who called it finds lease_ changed, and
// returns without touching anything. So does the child if the handler forks. A handler that waits for something else
// keeps the filter until it is through, like one that works for long: then requests on this connection end by their
// deadlines, and the runtime is told that it is quiet.
#include <utility>

#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

namespace {

constexpr int kInputBatches = 2;  // of requests that were queued while input went through a filter

}  // namespace

thread_local Channel* Channel::borrowed_ = nullptr;

// Inside the runtime lock: what arrived for a filter or a decompressor.
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

// By the role holder: the filter is this thread's, with all that came for it. False while another thread has it: the
// reactor is told when that is through.
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

// Inside the runtime lock, with the filter, which it gives up; by the role holder, or without the role where it was lent. What
// came out before a reason is to be delivered. False: the filter was given back, and whatever there is is another's.
bool Channel::feed_filter() {
    const Runtime& runtime = reactor_->runtime();
    const Lease lease(*this);
    if (!std::exchange(filter_started_, true)) fault_ = Ref<Reason>::adopt(runtime.filter_start(filter, wire_));
    bool more = std::exchange(unread_, false);  // of what it was fed before
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

// By the role holder, inside the runtime lock: delivers what came out of the filter.
void Channel::filtered() {
    input_lent_ = false;
    if (closed()) return;
    Ref<Reason> failed = std::exchange(fault_, nullptr);
    const bool good = !failed || !plain_.empty();  // what came before a fault is good
    if (good && state() == State::Filtering && reactor_->runtime().filter_established(filter)) become_open();
    if (!plain_.empty()) {
        if (!lends_) lends_ = reactor_->runtime().filter_lends(filter);
        if (!closed()) decode(plain_.data(), plain_.size(), nullptr, this);
    }
    plain_.clear();
    if (failed) return close(std::move(failed));
    after_input();
}

// After feed_filter(), by who does not get the role again.
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

// Inside the runtime lock, in a handler that interrupted the owner of the filter: completes what that was at.
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
