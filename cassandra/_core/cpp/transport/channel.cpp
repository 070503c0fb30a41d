// Life of a channel: connecting, opening, closing.
#include "transport/channel.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "transport/reactor.h"

namespace fastcql {

Channel::Channel(Reactor& reactor, const ConnectSpec& spec)
    : reactor_(&reactor),
      connect_deadline_(spec.timeout == kNever ? kNever : monotonic_now() + spec.timeout) {
    last_received_.store(monotonic_now(), std::memory_order_relaxed);
}

Channel::~Channel() {
    if (fd_ >= 0) close_socket(fd_);
}

void Channel::start(const ConnectStep& step) {
    if (step.fd < 0) {
        fail(Reason::Kind::System, step.operation, step.error);
        return;
    }
    Nanos scan_at;
    {
        Lock lock(mutex_);
        fd_ = step.fd;
        scan_at = scan_at_ = std::min(scan_at_, connect_deadline_);  // a request may have been submitted before
    }
    interest_ = kWritable;
    if (!reactor_->poller().add(fd_, interest_, this)) {
        fail(Reason::Kind::System, "poll", errno);
        return;
    }
    registered_ = true;
    reactor_->arm_scan(*this, scan_at);
}

void Channel::finish_connecting() {
    if (const int error = finish_connect(fd_)) {
        fail(Reason::Kind::System, "connect", error);
        return;
    }
    last_received_.store(monotonic_now(), std::memory_order_relaxed);
    if (!filter) {
        become_open();
        return;
    }
    {
        Lock lock(mutex_);
        if (state() != State::Connecting) return;
        state_.store(State::Filtering, std::memory_order_release);
    }
    update_interest();
    reactor_->runtime_input(*this);
}

void Channel::become_open() {
    {
        Lock lock(mutex_);
        if (state() >= State::Open) return;
        state_.store(State::Open, std::memory_order_release);
    }
    update_interest();
    reactor_->runtime_connected(*this);
    reactor_->mark_dirty(*this);  // requests may have been submitted before
}

// True if a request would expire, or a heartbeat.
bool Channel::has_due(Nanos now) {
    Lock lock(mutex_);
    if (heartbeat_.waits && heartbeat_.sent + heartbeat_.timeout <= now) return true;
    return in_flight() > 0 && std::any_of(entries_.begin(), entries_.end(), [now](const StreamEntry& entry) {
               return entry.state == StreamState::Waiting && entry.deadline <= now;
           });
}

void Channel::on_ready(uint32_t readiness) {
    switch (state()) {
        case State::Connecting:
            finish_connecting();
            return;
        case State::Filtering:
        case State::Open:
            break;
        default:
            return;
    }
    if (readiness & (kReadable | kBroken)) receive();
    if (readiness & kWritable && !closed()) {
        Lock lock(mutex_);
        blocked_ = write_error_ != 0;
        lock.unlock();
        flush();
        update_interest();
    }
}

// Interest follows the state: completion of the connect, input unless paused, and room for more output if there was
// none.
void Channel::update_interest() {
    uint32_t wanted = paused_.load(std::memory_order_relaxed) ? 0U : uint32_t{kReadable};
    {
        Lock lock(mutex_);
        if (state() >= State::Closing || !registered_) return;
        if (state() == State::Connecting || (blocked_ && write_error_ == 0)) wanted |= kWritable;
    }
    if (wanted == interest_) return;
    const uint32_t before = std::exchange(interest_, wanted);
    Poller& poller = reactor_->poller();
    if (wanted == 0) {
        poller.remove(fd_);  // pollers report a broken connection with any interest
    } else if (before != 0) {
        poller.modify(fd_, wanted, this);
    } else if (!poller.add(fd_, wanted, this)) {
        fail(Reason::Kind::System, "poll", errno);
    }
}

void Channel::on_attention() {
    uint32_t wanted;
    int write_error;
    Nanos scan_at;
    Ref<Reason> reason;
    std::vector<Operation*> waiters;
    {
        Lock lock(mutex_);
        wanted = wanted_attention_;
        wanted_attention_ = 0;
        attention_posted_ = false;
        write_error = write_error_;
        scan_at = scan_at_;
        if (wanted & kClose) reason = std::move(reason_);
        if (wanted & kRoom) take_waiters(waiters);
    }
    notify_waiters(waiters);
    if (wanted & kClose) {
        finish_close(std::move(reason));
        return;
    }
    if (closed()) return;
    if (wanted & kWriteFailed) {
        receive_rest();  // the peer may have sent an error before it closed
        end_input(Reason::Kind::System, "send", write_error);
        return;
    }
    if (wanted & kInput) reactor_->runtime_input(*this);
    if (wanted & kScan && scan_at < armed_scan_) reactor_->arm_scan(*this, scan_at);
    if (wanted & kInterest) update_interest();
    if (wanted & kFlush) reactor_->mark_dirty(*this);
}

// Unlocks, and notifies the owner if there is work for it.
void Channel::leave(Lock& lock) {
    if (!lock.owns_lock()) return;  // a child forked meanwhile
    const bool post = wanted_attention_ != 0 && !attention_posted_;
    if (post) attention_posted_ = true;
    const bool watch = std::exchange(watch_wanted_, false);
    lock.unlock();
    if (post) reactor_->attend(*this);
    if (watch) reactor_->watch();
}

void Channel::close(Ref<Reason> reason) noexcept {
    Lock lock(mutex_);
    begin_closing(std::move(reason));
    leave(lock);
}

// Locked.
void Channel::begin_closing(Ref<Reason> reason) {
    if (state() >= State::Closing) return;
    state_.store(State::Closing, std::memory_order_release);
    reason_ = std::move(reason);
    ask(kClose);
}

// By the owner. Without effect if the channel was closed already: the command to clean up is scheduled.
void Channel::fail(Reason::Kind kind, std::string message, int error) {
    {
        Lock lock(mutex_);
        if (state() >= State::Closing) return;
        state_.store(State::Closing, std::memory_order_release);
    }
    finish_close(Ref<Reason>::adopt(new Reason(kind, std::move(message), error)));
}

void Channel::stop() {
    Ref<Reason> reason;
    {
        Lock lock(mutex_);
        if (state() == State::Closed) return;
        state_.store(State::Closing, std::memory_order_release);
        reason = std::move(reason_);
        wanted_attention_ = 0;  // the command to clean up may be refused, or run too late
    }
    if (!reason)
        reason = Ref<Reason>::adopt(new Reason(Reason::Kind::Stopped, "the driver was shut down"));
    finish_close(std::move(reason));
}

void Channel::fail(const Fault& fault) {
    switch (fault.kind) {
        case Fault::Kind::None:
            break;
        case Fault::Kind::Protocol:
            fail(Reason::Kind::Protocol, fault.message);
            break;
        case Fault::Kind::Crc:
            fail(Reason::Kind::Crc, fault.message);
            break;
        case Fault::Kind::Memory:
            fail(Reason::Kind::System, fault.message, ENOMEM);
            break;
    }
}

void Channel::finish_close(Ref<Reason> reason) {
    if (registered_ && interest_ != 0) reactor_->poller().remove(fd_);
    registered_ = false;
    if (paused_.exchange(false, std::memory_order_relaxed)) reactor_->receive_buffer().request_turn();
    armed_scan_ = kNever;
    auto closing = std::make_unique<ChannelClosing>();
    {
        Lock lock(mutex_);
        state_.store(State::Closed, std::memory_order_release);
        take_requests(*closing);
        window_.leave();
        if (!filter_started_) close_descriptor();  // else after the filter's last bytes
        scheduled_ = false;
        queue_ = WriteQueue();
    }
    // A closed channel that is still referenced needs none of these.
    pending_input_.clear();
    pending_end_ = nullptr;
    splitter_ = Splitter();
    decoder_ = nullptr;
    closing->reason = std::move(reason);
    reactor_->runtime_closed(*this, std::move(closing));
    reactor_->forget(*this);
}

// Locked. A sender without the lock keeps the descriptor until it returns: the number must not be reused while it
// sends.
void Channel::close_descriptor() {
    close_fd_wanted_ = writing_;
    if (writing_ || fd_ < 0) return;
    const int fd = std::exchange(fd_, -1);  // first: a child that is forked here must not close another's number
    end_connection(fd);
    close_socket(fd);
}

// The connection itself, and its entry in the parent's poller, stay unchanged.
void Channel::close_copy() noexcept {
    const int fd = std::exchange(fd_, -1);
    if (fd >= 0) close_socket(fd);
}

// Inside the runtime lock: sends the peer the end of the stream, if the socket takes it at once and no thread is
// sending. Input received meanwhile is discarded: a socket closed with unread input is reset, and our last bytes may be
// lost on the way.
void Channel::end_filter() {
    constexpr int kDrainRounds = 256;
    {
        Lock lock(mutex_);
        if (writing_) return close_descriptor();  // the writer closes it when it has finished
        writing_ = true;
    }
    reactor_->runtime().filter_end(filter, wire_);
    if (write_error_ == 0 && wire_sent_ < wire_.size() && fd_ >= 0)
        static_cast<void>(send_bytes(fd_, wire_.data() + wire_sent_, wire_.size() - wire_sent_));
    if (fd_ >= 0) {
        end_output(fd_);
        uint8_t sink[4096];
        for (int round = 0; round < kDrainRounds && receive_bytes(fd_, sink, sizeof sink) > 0; ++round) {
        }
    }
    Buffer().swap(wire_);
    Lock lock(mutex_);
    writing_ = false;
    close_descriptor();
}

bool Channel::has_observed_requests() {
    if (in_flight() == 0) return false;
    Lock lock(mutex_);
    return std::any_of(entries_.begin(), entries_.end(), [](const StreamEntry& entry) {
        return entry.state == StreamState::Waiting && entry.operation->calls();
    });
}

bool Channel::socket_name(bool peer, SocketAddress* address) noexcept {
    Lock lock(mutex_);
    if (fd_ < 0) {
        errno = EBADF;
        return false;
    }
    return socket_address(fd_, peer, address);
}

void Channel::on_scan(Nanos now) {
    // Deadlines are met with this precision, so that scanning many streams stays cheap for any deadlines.
    constexpr Nanos kPrecision = 5 * kMillisecond;
    constexpr Nanos kInputPatience = 100 * kMillisecond;
    armed_scan_ = kNever;
    if (state() == State::Open && !scan_waits_ && has_due(now)) {
        receive_rest();  // a response that has arrived is not late, even if it is read late
        if (closed()) return;
        scan_waits_ = listed_runtime_input || input_lent_;
        if (scan_waits_) return reactor_->arm_scan(*this, now + kInputPatience);  // after_input() scans earlier
    }
    scan_waits_ = false;
    std::vector<EndedRequest> expired;
    Nanos next = kNever;
    bool opening, quiet, dead, sends;
    {
        Lock lock(mutex_);
        opening = state() < State::Open;
        if (opening) next = connect_deadline_;
        next = std::min(next, expire(now, expired));
        if (admission_.waiter && window_.is_limited()) {
            if (has_window_room()) {
                ask(kRoom);
            } else {
                next = std::min(next, window_.opens_at(in_flight()));
            }
        }
        const Nanos heartbeat_at = heartbeat_due(now);
        dead = heartbeat_at <= now;
        sends = heartbeat_.waits && heartbeat_.sent == now;
        next = std::min(next, heartbeat_at);
        const Nanos quiet_from = quiet_at(now);
        quiet = quiet_from <= now;
        next = std::min(next, quiet ? now + quiet_after_ : quiet_from);
        scan_at_ = next == kNever ? kNever : std::max(next, now + kPrecision);
        next = scan_at_;
        leave(lock);
    }
    for (const EndedRequest& one : expired) {
        Outcome outcome;
        outcome.attempt = one.attempt;
        outcome.arrived = now;
        outcome.elapsed = one.elapsed;
        outcome.failure.reset(new Failure{FailureKind::TimedOut, one.sent, "no response in time", nullptr});
        reactor_->deliver(one.operation, std::move(outcome));
    }
    if (opening && connect_deadline_ <= now) {
        fail(Reason::Kind::Timeout,
             state() == State::Filtering ? "handshake of the byte filter timed out" : "connect timed out",
             ETIMEDOUT);
        return;
    }
    if (dead) {
        char text[64];
        std::snprintf(text, sizeof text, "no response to a heartbeat within %g s",
                      static_cast<double>(heartbeat_.timeout) / kSecond);
        return fail(Reason::Kind::Silent, text);
    }
    if (sends) reactor_->mark_dirty(*this);
    if (quiet && is_quiet()) {
        quiet_reported_at_ = now;
        reactor_->runtime_quiet(*this);
    }
    if (next != kNever) reactor_->arm_scan(*this, next);
}

}  // namespace fastcql
