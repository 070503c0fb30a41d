// Streams of a channel: requests in flight, the ways in which they end, and detection of a silent peer.
//
// A peer is silent while sent requests wait, and no bytes arrive. The runtime is notified once per silence, and finds
// out the cause.
//
// A request with a late response does not mean a silent peer, but both look the same. So the notified runtime sends a
// request that is answered at once; its response is a sign of life for every request sent before
// (*quiet_reported_at_*), and those are checked again only after the longer kLongPatience.
//
// Requests do not pay for this: the first one of a busy time arms the channel's scan a little sooner than its deadline
// would, and the scan reads times that are recorded anyway.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

namespace {

constexpr Nanos kLongPatience = kSecond;
constexpr int kUpload = 32 << 10;  // bytes that the peer's system has yet to take

}  // namespace

void Channel::watch_quiet(Nanos patience) noexcept {
    Lock lock(mutex_);
    quiet_after_ = std::min(patience, kNoQuietCheck);
}

// Locked; the owner. Returns the time at which the silence becomes too long, by the present state.
Nanos Channel::quiet_at(Nanos now) {
    if (quiet_after_ >= kNoQuietCheck || in_flight() == 0 || state() != State::Open) return kNever;
    const Nanos last_input = last_received();
    Nanos oldest = kNever;
    bool unsent = false, reported = false;
    for (const StreamEntry& entry : entries_) {
        if (entry.state != StreamState::Waiting) continue;
        if (queue_.still_queued(entry.position)) {
            unsent = true;  // the delay is on this side
        } else if (entry.started <= quiet_reported_at_) {
            reported = true;
        } else {
            oldest = std::min(oldest, entry.started);
        }
    }
    Nanos at = oldest == kNever ? kNever : std::max(oldest, last_input) + quiet_after_;
    if (reported) at = std::min(at, std::max(quiet_reported_at_, last_input) + std::max(quiet_after_, kLongPatience));
    if (unsent) at = std::min(at, now + quiet_after_);
    return at;
}

// The owner, when quiet_at() is reached. False if there is input after all: this process was busy, or did not run
// at all. A peer that takes an upload is not silent either.
bool Channel::is_quiet() {
    if (!pending_input_.empty()) return false;
    if (has_input(fd_)) return false;
    const uint64_t taken = uploaded();
    return taken == 0 || std::exchange(taken_, taken) == taken;
}

uint64_t Channel::uploaded() noexcept {
    Lock lock(mutex_);
    const int queued = fd_ < 0 ? 0 : unsent_bytes(fd_);
    if (queued < kUpload) return 0;
    return bytes_sent() - static_cast<uint64_t>(queued);
}

// ---- heartbeats: a response has no request, any bytes of the peer show that it is alive

void Channel::keep_alive(uint8_t version, Nanos interval, Nanos timeout) noexcept {
    Lock lock(mutex_);
    if (state() >= State::Closing) return;
    heartbeat_.version = version;
    heartbeat_.interval = std::min(interval, kNever / 4);
    heartbeat_.timeout = std::min(timeout, kNever / 4);
    if (!writing_ && queue_.empty() && wire_sent_ == wire_.size()) {  // longer messages than the handshake's are rare
        for (Buffer* buffer : {&wire_, &batch_, &segments_, &packed_}) Buffer().swap(*buffer);
        wire_sent_ = 0;
        queue_.release();
    }
    const Nanos due = last_received() + heartbeat_.interval;
    if (due < scan_at_) {
        scan_at_ = due;
        ask(kScan);
    }
    leave(lock);
}

// Locked; the owner. Queues a heartbeat if it is time for one. Returns when to look again, or a time that has passed if
// the last one has had no response in time.
Nanos Channel::heartbeat_due(Nanos now) {
    if (heartbeat_.interval == 0 || state() != State::Open) return kNever;
    const Nanos heard = last_received();
    if (heard > heartbeat_.sent) heartbeat_.waits = false;
    // A response does not end the wait at once: it is seen when the next one may be due.
    if (heartbeat_.waits) return std::min(heartbeat_.sent + heartbeat_.timeout, now + heartbeat_.interval);
    const Nanos due = heard + heartbeat_.interval;
    if (due > now) return due;
    if (!queue_heartbeat(now)) return now + heartbeat_.interval;
    heartbeat_.sent = now;
    heartbeat_.waits = true;
    return now + std::min(heartbeat_.timeout, heartbeat_.interval);
}

// Locked.
bool Channel::queue_heartbeat(Nanos now) noexcept try {
    const uint8_t frame[] = {heartbeat_.version, 0, 0, 0, kOptions, 0, 0, 0, 0};
    queue_.reserve(sizeof frame);
    make_room_for_entry();
    const int stream = ids_.acquire(kMaxStreams);
    if (stream < 0) return false;
    StreamEntry& entry = entries_[static_cast<size_t>(stream)];
    entry.started = now;
    entry.position = queue_.position();
    entry.state = StreamState::Heartbeat;
    queue_.append(frame, sizeof frame, stream);
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

// Locked. A node that answers something else has a defect, or is no node.
void Channel::check_heartbeat(const Frame& frame) {
    if (frame.opcode == kSupported) return;
    std::string text = "unexpected response to a heartbeat: ";
    text += frame.opcode == kError ? error_text(frame) : "opcode " + std::to_string(frame.opcode);
    begin_closing(Ref<Reason>::adopt(new Reason(Reason::Kind::Heartbeat, std::move(text))));
}

void Channel::waiting(std::vector<WaitingRequest>& found) {
    Lock lock(mutex_);
    for (const StreamEntry& entry : entries_) {
        if (entry.state != StreamState::Waiting || queue_.still_queued(entry.position)) continue;
        found.push_back({entry.operation, entry.attempt});
        reactor_->runtime().retain(entry.operation);
    }
}

// ---- requests in flight, and the ways in which they end

namespace {

// True if a request is a QUERY with USE. (A prepared one, or one behind a comment, is detected by its response.)
bool changes_keyspace(const uint8_t* frame, size_t size) {
    constexpr uint8_t kQuery = 0x07;
    size_t at = 9 + 4;  // header and length of the text
    if (size < at || frame[4] != kQuery || (frame[1] & kCompressed) != 0) return false;
    while (at < size && (frame[at] == ' ' || (frame[at] >= '\t' && frame[at] <= '\r'))) ++at;
    if (size - at < 4) return false;
    const uint8_t* word = frame + at;
    return (word[0] | 0x20) == 'u' && (word[1] | 0x20) == 's' && (word[2] | 0x20) == 'e' &&
           (word[3] <= ' ' || word[3] == '"');
}

bool sets_keyspace(const Frame& frame) {
    constexpr uint32_t kSetKeyspace = 3;
    const bool plain = (frame.flags & (kTracing | kPayload | kWarning)) == 0 &&
                       ((frame.flags & kCompressed) == 0 || frame.version >= 5);
    return frame.opcode == kResult && plain && frame.length >= 4 && load32(frame.body) == kSetKeyspace;
}

// True if *frame* is the error OVERLOADED. A compressed body begins with its length, and then has the code as literals:
// neither LZ4 nor Snappy can encode these bytes otherwise.
bool rejects_overload(const Frame& frame) {
    constexpr uint8_t kOverloaded[] = {0, 0, 0x10, 0x01};
    constexpr uint32_t kPrefix = 8;
    if (frame.opcode != kError || (frame.flags & (kTracing | kPayload | kWarning)) != 0) return false;
    const bool compressed = (frame.flags & kCompressed) != 0 && frame.version < 5;
    const uint8_t* const end = frame.body + std::min(frame.length, (compressed ? kPrefix : 0) + 4);
    return std::search(frame.body, end, std::begin(kOverloaded), std::end(kOverloaded)) != end;
}

Ref<Reason> unknown_keyspace() {
    return Ref<Reason>::adopt(new Reason(
        Reason::Kind::Keyspace, "a USE was abandoned: the keyspace of the connection is unknown"));
}

}  // namespace

// Locked. The next stream id has an entry afterwards.
void Channel::make_room_for_entry() {
    const auto lowest = static_cast<size_t>(ids_.reserve());
    if (lowest >= entries_.size() && lowest < kMaxStreams) entries_.resize(std::max<size_t>(16, 2 * entries_.size()));
}

// Locked. Returns the stream, or -1 if none is free.
int Channel::allocate(Operation* operation, uint32_t attempt, double timeout, bool uses) {
    make_room_for_entry();
    const int stream = acquire(operation->priority);
    if (stream < 0) return -1;
    StreamEntry& entry = entries_[static_cast<size_t>(stream)];
    entry.operation = operation;
    entry.attempt = attempt;
    entry.started = monotonic_now();
    entry.deadline = deadline_after(entry.started, timeout);
    entry.position = queue_.position();
    entry.uses = uses;
    entry.limited = limit_ && operation->priority != Priority::Driver;
    entry.load = operation->priority != Priority::Driver ? load_ : nullptr;
    if (entry.load) entry.load->begin(entry.started);
    entry.state = StreamState::Waiting;
    FASTCQL_COUNT(requests, 1);
    in_flight_.fetch_add(1, std::memory_order_relaxed);
    if (operation->priority != Priority::Driver) submitted_.store(submitted() + 1, std::memory_order_relaxed);
    if (operation->calls()) watch_wanted_ = true;
    const Nanos scan_due = std::min(entry.deadline, entry.started + quiet_after_);
    if (scan_due < scan_at_) {
        scan_at_ = scan_due;
        ask(kScan);
    }
    return stream;
}

// Locked. Takes a stream id, and a place in the limit if there is one; -1 if either is missing, or reserved for
// waiters.
int Channel::acquire(Priority priority) {
    if (priority == Priority::Driver) return ids_.acquire(kMaxStreams);
    if (held_ > 0 || (admission_.has_queue && priority != Priority::First) || !has_window_room()) return -1;
    const int stream = ids_.acquire(max_requests());
    if (stream >= 0 && limit_ && !limit_->take(priority)) {
        ids_.release(stream);
        return -1;
    }
    return stream;
}

// Locked; leave() must follow.
void Channel::release_stream(int stream) {
    StreamEntry& entry = entries_[static_cast<size_t>(stream)];
    const bool waited = entry.limited && limit_->give();
    if (waited || (admission_.waiter && has_window_room())) {
        ask(kRoom);
    } else {
        wait_for_window();
    }
    if (entry.load) entry.load->end();
    entry = StreamEntry{};
    ids_.release(stream);
}

// Locked.
bool Channel::has_window_room() {
    return !window_.is_limited() || window_.has_room(in_flight(), monotonic_now());
}

// Locked; leave() must follow. Has the channel scanned when requests in the admission queue can be sent though none ends.
void Channel::wait_for_window() {
    if (!admission_.waiter || !window_.is_limited()) return;
    const Nanos opens_at = window_.opens_at(in_flight());
    if (opens_at < scan_at_) {
        scan_at_ = opens_at;
        ask(kScan);
    }
}

void Channel::responds_again() noexcept {
    Lock lock(mutex_);
    if (load_) load_->responds_again(monotonic_now());
}

void Channel::follow_overload() noexcept {
    Lock lock(mutex_);
    if (load_ && !window_.has_joined() && state() < State::Closing) window_.join(reactor_->windows);
}

double Channel::window() noexcept {
    Lock lock(mutex_);
    return window_.is_limited() ? window_.size() : std::numeric_limits<double>::infinity();
}

bool Channel::is_window_full() noexcept {
    if (!window_.is_limited()) return false;
    Lock lock(mutex_);
    return !has_window_room();
}

void Channel::set_limit(Ref<Limit> limit) noexcept {
    Lock lock(mutex_);
    limit_ = std::move(limit);
}

void Channel::set_load(std::shared_ptr<HostLoad> host, ShardLoad& load) noexcept {
    Lock lock(mutex_);
    if (host_load_) return;  // requests may count there
    host_load_ = std::move(host);
    load_ = &load;
}

Wait Channel::wait_for_stream(Operation* waiter) noexcept {
    Lock lock(mutex_);
    if (state() >= State::Closing) return Wait::Room;
    admission_.has_queue = true;
    if (held_ == 0 && ids_.lowest() < max_requests() && has_window_room()) return Wait::Room;
    const bool known = admission_.waiter != nullptr;
    if (!known) admission_.waiter = waiter;
    wait_for_window();
    leave(lock);
    return known ? Wait::Known : Wait::Armed;
}

void Channel::hold() noexcept {
    Lock lock(mutex_);
    ++held_;
}

void Channel::let_go() noexcept {
    Lock lock(mutex_);
    if (--held_ == 0 && admission_.waiter) ask(kRoom);
    leave(lock);
}

bool Channel::held() noexcept {
    Lock lock(mutex_);
    return held_ > 0;
}

void Channel::end_queue() noexcept {
    Lock lock(mutex_);
    admission_.has_queue = admission_.waiter != nullptr;
}

// Locked.
void Channel::take_waiters(std::vector<Operation*>& waiters) {
    if (admission_.waiter) waiters.push_back(std::exchange(admission_.waiter, nullptr));
    if (limit_) limit_->collect_waiters(waiters);
}

// By the owner: notifies those that wait for room.
void Channel::notify_waiters(const std::vector<Operation*>& waiters) {
    for (Operation* waiter : waiters) {
        Outcome outcome;
        outcome.failure.reset(new Failure{FailureKind::Cancelled, false, "look again", nullptr});
        reactor_->deliver(waiter, std::move(outcome));
    }
}

// Locked.
bool Channel::unsent(const StreamEntry& entry) const {
    if (writing_ || filter) return queue_.still_queued(entry.position);
    return queue_.unsent(entry.position, wire_sent_, !segmented_.load(std::memory_order_relaxed));
}

// Locked; leave() must follow. The caller owns the entry's operation from here on.
void Channel::give_up(StreamEntry& entry) {
    if (queue_.still_queued(entry.position)) {
        entry.state = StreamState::Withdrawn;
        queue_.withdraw();
    } else {
        entry.state = StreamState::Orphaned;
        orphaned_.fetch_add(1, std::memory_order_relaxed);
        if (entry.uses) begin_closing(unknown_keyspace());
        // The number of orphaned requests may require that the connection is replaced.
        if (admission_.waiter || (entry.limited && limit_->has_waiter())) ask(kRoom);
    }
    entry.operation = nullptr;
    in_flight_.fetch_sub(1, std::memory_order_relaxed);
    FASTCQL_COUNT(requests, -1);
}

// No other exception is caught: a runtime that ends may end a thread in the middle of a call, by unwinding its stack.
SubmitResult Channel::submit(const uint8_t* frame, size_t size, Operation* operation, uint32_t attempt,
                          double timeout, bool later) noexcept try {
    return try_submit(frame, size, operation, attempt, timeout, later);
} catch (const std::bad_alloc&) {
    return {SubmitStatus::NoMemory, -1, 0};
}

SubmitResult Channel::try_submit(const uint8_t* frame, size_t size, Operation* operation, uint32_t attempt,
                              double timeout, bool later) {
    // Larger queues are sent at once instead of being coalesced.
    constexpr size_t kEnough = 64 << 10;
    Lock lock(mutex_);
    if (state() >= State::Closing) return {SubmitStatus::Closed, -1, 0};
    queue_.reserve(size);
    const int stream = allocate(operation, attempt, timeout, changes_keyspace(frame, size));
    if (stream < 0) return {SubmitStatus::Busy, -1, 0};
    const Nanos now = entries_[static_cast<size_t>(stream)].started;
    queue_.append(frame, size, stream);
    if (later && state() == State::Open && queue_.queued_bytes() < kEnough) {
        const bool first = !std::exchange(scheduled_, true);
        leave(lock);
        if (first) reactor_->send_soon(*this, now);
    } else {
        send_or_hand_over(lock);
    }
    return {SubmitStatus::Accepted, stream, now};
}

// The stream may carry another request by now: only the attempt that it was allocated for is orphaned.
bool Channel::orphan(int stream, const Operation* operation, uint32_t attempt) noexcept {
    Lock lock(mutex_);
    if (stream < 0 || static_cast<size_t>(stream) >= entries_.size()) return false;
    StreamEntry& entry = entries_[static_cast<size_t>(stream)];
    if (entry.state != StreamState::Waiting || entry.operation != operation || entry.attempt != attempt)
        return false;
    give_up(entry);
    leave(lock);
    return true;
}

// Locked; leave() must follow. Collects expired requests; returns the next deadline.
Nanos Channel::expire(Nanos now, std::vector<EndedRequest>& expired) {
    Nanos next = kNever;
    if (in_flight() == 0) return next;
    for (StreamEntry& entry : entries_) {
        if (entry.state != StreamState::Waiting) continue;
        if (entry.deadline > now) {
            next = std::min(next, entry.deadline);
            continue;
        }
        expired.push_back({entry.operation, entry.attempt, false, now - entry.started});
        if (window_.has_joined() && entry.load && !queue_.still_queued(entry.position))
            window_.timed_out(entry.started, now, entry.load->usual.get(), in_flight());
        give_up(entry);
        expired.back().sent = entry.state == StreamState::Orphaned;
    }
    return next;
}

// Locked, when the channel closes.
void Channel::take_requests(ChannelClosing& closing) {
    const Nanos now = monotonic_now();
    for (StreamEntry& entry : entries_) {
        if (std::exchange(entry.limited, false)) limit_->give();
        if (ShardLoad* const load = std::exchange(entry.load, nullptr)) load->end();
        if (entry.state != StreamState::Waiting) continue;
        closing.requests.push_back({entry.operation, entry.attempt, !unsent(entry), now - entry.started});
        entry.operation = nullptr;
        entry.state = StreamState::Free;
        FASTCQL_COUNT(requests, -1);
    }
    take_waiters(closing.waiters);
    in_flight_.store(0, std::memory_order_relaxed);
    orphaned_.store(0, std::memory_order_relaxed);
}

// Locked. Finds the request of *frame* and appends it to the reactor's list; false if there is none.
bool Channel::resolve(const Frame& frame, Fault* fault) {
    const auto stream = static_cast<size_t>(frame.stream);
    StreamEntry* entry = stream < entries_.size() ? &entries_[stream] : nullptr;
    if (entry && entry->state == StreamState::Waiting && !queue_.still_queued(entry->position)) {
        reactor_->resolved.push_back({entry->operation, entry->attempt});
        in_flight_.fetch_sub(1, std::memory_order_relaxed);
        FASTCQL_COUNT(requests, -1);
    } else if (entry && entry->state == StreamState::Orphaned) {
        reactor_->resolved.push_back({nullptr, 0});
        orphaned_.fetch_sub(1, std::memory_order_relaxed);
        if (sets_keyspace(frame)) begin_closing(unknown_keyspace());
    } else if (entry && entry->state == StreamState::Heartbeat) {
        reactor_->resolved.push_back({nullptr, 0});
        check_heartbeat(frame);
    } else {
        std::string text = "response on stream " + std::to_string(frame.stream) + ", which has no request";
        if (frame.opcode == kError) text += "; it is an error: " + error_text(frame);
        *fault = Fault::protocol(std::move(text));
        return false;
    }
    if (entry->load) {
        const Nanos now = last_received();
        entry->load->answered(now - entry->started, now, frame.opcode == kError);
        if (window_.has_joined() && entry->state == StreamState::Waiting) {
            const Nanos usual = entry->load->usual.get();
            window_.answered(entry->started, now, usual, in_flight() + 1, rejects_overload(frame));
        }
    }
    release_stream(frame.stream);
    return true;
}

void Channel::runtime_closed(ChannelClosing& closing) {
    if (filter_started_) end_filter();
    reactor_->runtime().closed(*this, *closing.reason);
    const Reason::Kind kind = closing.reason->kind;
    const Nanos now = monotonic_now();
    const bool malformed = kind == Reason::Kind::Protocol || kind == Reason::Kind::Crc;
    for (const EndedRequest& request : closing.requests) {
        Outcome outcome;
        outcome.attempt = request.attempt;
        outcome.arrived = now;
        outcome.elapsed = request.elapsed;
        outcome.failure.reset(new Failure{malformed ? FailureKind::Protocol : FailureKind::Closed,
                                          request.sent, closing.reason->message, closing.reason});
        reactor_->deliver(request.operation, std::move(outcome));
    }
    notify_waiters(closing.waiters);
}

// ---- limits on requests in flight that several channels share, see limits.h

bool Limit::take(Priority priority) {
    std::lock_guard<SmallLock> guard(lock_);
    if (in_flight() >= maximum_ || (admission_.has_queue && priority != Priority::First)) return false;
    if (parent_ && !parent_->take(priority)) return false;
    taken_.store(in_flight() + 1, std::memory_order_relaxed);
    return true;
}

bool Limit::give() {
    const bool above = parent_ && parent_->give();
    std::lock_guard<SmallLock> guard(lock_);
    taken_.store(in_flight() - 1, std::memory_order_relaxed);
    return above || admission_.waiter;
}

bool Limit::has_waiter() {
    std::lock_guard<SmallLock> guard(lock_);
    return admission_.waiter || (parent_ && parent_->has_waiter());
}

void Limit::collect_waiters(std::vector<Operation*>& waiters) {
    if (parent_) parent_->collect_waiters(waiters);
    std::lock_guard<SmallLock> guard(lock_);
    if (admission_.waiter) waiters.push_back(std::exchange(admission_.waiter, nullptr));
}

Wait Limit::wait(Operation* waiter) noexcept {
    std::lock_guard<SmallLock> guard(lock_);
    admission_.has_queue = true;
    if (in_flight() < maximum_) return Wait::Room;
    if (admission_.waiter) return Wait::Known;
    admission_.waiter = waiter;
    return Wait::Armed;
}

void Limit::end_queue() noexcept {
    std::lock_guard<SmallLock> guard(lock_);
    admission_.has_queue = admission_.waiter != nullptr;
}

}  // namespace fastcql
