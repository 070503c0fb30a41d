// Input of a channel: from the socket, also through a filter, to the waiting requests; and the receive buffer.
//
// Some input passes through the runtime: a byte filter (TLS), a decompressor.
//
// The filter, and the data in it (feeding_, plain_, fault_, wire_), belong to the setter of writing_: the owner
// for input, the sender for output. plain_ and fault_ pass to the owner when that is finished.
//
// A runtime that interrupts threads may run foreign code, signal handlers, at the end of a call of the filter. Such a
// thread releases ownership meanwhile (lend): the reactor continues, regardless of the handler and its duration. A
// handler that waits for an operation gives the filter back before (give_back); its caller finds lease_ changed, and
// returns without access to any state. So does the child if the handler forks. A handler that waits for anything else
// keeps the filter until it returns, like one that works for long: then requests on this connection end at their
// deadlines, and the runtime is notified that it is quiet.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "transport/inbound.h"
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
    chunks.swap(pending_input_);
    for (const Chunk& chunk : chunks) {
        if (closed()) return;
        decode(chunk.data, chunk.size, chunk.block.get(), this);
    }
    after_input();
}

void Channel::after_input() {
    if (closed() || !pending_input_.empty()) return;
    if (pending_end_) {
        const InputEnd end = *pending_end_;
        if (filter && end.kind == Reason::Kind::Eof) {
            if (auto reason = Ref<Reason>::adopt(reactor_->runtime().filter_eof(filter)))
                return close(std::move(reason));
        }
        return fail(end.kind, end.message, end.error);
    }
    if (scan_waits_) on_scan(monotonic_now());
}

// By the owner: gives this thread the filter, with all its input. False while another thread has it: the reactor
// is notified when that thread has finished.
bool Channel::take_input() {
    Lock lock(mutex_);
    input_waits_ = writing_;
    if (writing_) return false;
    writing_ = true;
    for (Chunk& chunk : pending_input_) feeding_.push_back(std::move(chunk));
    pending_input_.clear();
    return true;
}

bool Channel::lend() { return !closed() && (input_lent_ = take_input()); }

// Inside the runtime lock, with the filter, which it releases; by the owner, or without ownership if the filter
// was lent. Output before a reason is to be delivered. False: the filter was given back, and its data belong to another
// thread.
bool Channel::feed_filter() {
    const Runtime& runtime = reactor_->runtime();
    const FilterCall lease(*this);
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

// By the owner, inside the runtime lock: delivers the output of the filter.
void Channel::filtered() {
    input_lent_ = false;
    if (closed()) return;
    Ref<Reason> failed = std::exchange(fault_, nullptr);
    const bool good = !failed || !plain_.empty();  // output before a fault is valid
    if (good && state() == State::Filtering && reactor_->runtime().filter_established(filter)) become_open();
    if (!plain_.empty()) {
        if (!is_lendable_) is_lendable_ = reactor_->runtime().filter_is_lendable(filter);
        if (!closed()) decode(plain_.data(), plain_.size(), nullptr, this);
    }
    plain_.clear();
    if (failed) return close(std::move(failed));
    after_input();
}

// After feed_filter(), by a thread that does not get ownership again.
void Channel::post_input() {
    Lock lock(mutex_);
    ask(kInput);
    leave(lock);
}

Channel::FilterCall::FilterCall(Channel& channel)
    : channel_(channel), number_(channel.lease_),
      outer_(std::exchange(borrowed_, channel.reactor_->runtime().interruptible() ? &channel : nullptr)) {}

Channel::FilterCall::~FilterCall() { borrowed_ = outer_; }

bool Channel::FilterCall::lost() const { return channel_.lease_ != number_ || channel_.reactor_->foreign(); }

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
    if (!closed()) failed = Ref<Reason>::adopt(reactor_->runtime().filter_complete(filter, plain_, wire_));
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

// ---- from the socket to the waiting requests

namespace {

constexpr int kReceiveRounds = 4;  // per turn, so that a busy peer does not starve the others

}  // namespace

// True if there may be more input.
bool Channel::receive() {
    for (int round = 0; round < kReceiveRounds && !closed() && !paused_; ++round) {
        ReceiveBuffer& receive_buffer = reactor_->receive_buffer();
        if (!receive_buffer.accepts_input()) return receive_bodies_only();
        size_t direct_size = 0;
        uint8_t* direct = filter || !pending_input_.empty() ? nullptr
                          : decoder_                ? decoder_->direct(splitter_, &direct_size)
                                             : splitter_.direct(&direct_size);
        const ReceiveBuffer::Room room = receive_buffer.room(Arena::AtLimit::Keep);
        if (!room.data) {
            if (!receive_buffer.accepts_input()) return receive_bodies_only();
            fail(Reason::Kind::System, "receive", ENOMEM);
            return false;
        }
        const ssize_t result = direct ? receive_bytes(fd_, direct, direct_size, room.data, room.size)
                                      : receive_bytes(fd_, room.data, room.size);
        if (result <= 0) {
            handle_receive_error(result);
            return false;
        }
        auto size = static_cast<size_t>(result);
        const bool full = size == direct_size + room.size;
        received(size);
        if (direct) {
            const size_t part = std::min(size, direct_size);
            if (decoder_) {
                decoder_->direct_filled(part, direct, splitter_);
            } else {
                splitter_.direct_filled(part, reactor_->frames);
            }
            size -= part;
        }
        receive_buffer.used(size);
        accept_bytes(room.data, size, room.block);
        if (!full) return false;
    }
    return !closed();
}

void Channel::received(size_t size) {
    bytes_received_.fetch_add(size, std::memory_order_relaxed);
    last_received_.store(monotonic_now(), std::memory_order_relaxed);
}

// At the limit of a strict pool: receives only more of a body that has its memory, else the channel is paused.
bool Channel::receive_bodies_only() {
    if (splitter_.waiting() || !(splitter_.holds() || (decoder_ && decoder_->missing()))) {
        pause();
        return false;
    }
    size_t size = 0;
    uint8_t* direct = filter || decoder_ ? nullptr : splitter_.direct_part(&size);
    ReceiveBuffer::Room room{direct, size, nullptr};
    if (!direct) {
        room = reactor_->receive_buffer().room(Arena::AtLimit::Exceed);
        const size_t missing = decoder_ ? decoder_->missing() : 0;
        room.size = std::min(room.size, missing ? missing : ReceiveBuffer::kMinRoom);
    }
    if (!room.data) {
        fail(Reason::Kind::System, "receive", ENOMEM);
        return false;
    }
    const ssize_t result = receive_bytes(fd_, room.data, room.size);
    if (result <= 0) {
        handle_receive_error(result);
        return false;
    }
    received(static_cast<size_t>(result));
    if (direct) {
        splitter_.direct_filled(static_cast<size_t>(result), reactor_->frames);
        complete({});
    } else {
        reactor_->receive_buffer().used(static_cast<size_t>(result));
        accept_bytes(room.data, static_cast<size_t>(result), room.block);
    }
    return !closed() && !paused_;
}

// recv() returned an error or the end.
void Channel::handle_receive_error(ssize_t result) {
    if (result == 0) return end_input(Reason::Kind::Eof, "closed by the server");
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        end_input(Reason::Kind::System, "receive", errno);
}

void Channel::pause() {
    if (closed() || paused_.exchange(true, std::memory_order_relaxed)) return;
    update_interest();
    reactor_->receive_buffer().pause(*this);
}

size_t Channel::wanted() const {
    return closed() ? 0 : splitter_.waiting() ? splitter_.wanted() : ReceiveBuffer::size_of_new_input();
}

bool Channel::resume() {
    if (closed()) return true;
    ReceiveBuffer& receive_buffer = reactor_->receive_buffer();
    if (splitter_.waiting()) {
        if (Fault fault = splitter_.retry_allocation(receive_buffer.arena())) {
            fail(fault);
            return true;
        }
        if (splitter_.waiting()) return false;
    } else if (!receive_buffer.accepts_input()) {
        return false;
    }
    paused_.store(false, std::memory_order_relaxed);
    update_interest();
    return true;
}

// Receives all remaining input of the socket at the end: responses that have arrived are not lost with the connection.
// Bounded, as the peer may go on sending.
void Channel::receive_rest() {
    constexpr int kCalls = 64;
    for (int call = 0; call < kCalls && receive(); ++call) {
    }
}

// Input that needs the runtime, and all input after it, waits for the runtime lock.
void Channel::accept_bytes(const uint8_t* data, size_t size, Block* owner) {
    if (!filter && pending_input_.empty()) {
        const size_t used = decode(data, size, owner, nullptr);
        if (closed() || (used == size && !(decoder_ && decoder_->ready()))) return;
        data += used;
        size -= used;
    }
    pending_input_.push_back({BlockRef(owner), data, size});
    reactor_->runtime_input(*this);
}

// Handles the end of input. A filter sees it first: it may give a better reason.
void Channel::end_input(Reason::Kind kind, const char* message, int error) {
    if (closed()) return;
    if (!filter && pending_input_.empty()) return fail(kind, message, error);
    if (!pending_end_) pending_end_.reset(new InputEnd{kind, message, error});
    reactor_->runtime_input(*this);
}

// Frames that were complete before a fault are delivered; then the channel fails with it. Returns the number of bytes
// taken: without *context* it stops before data that needs decompression.
size_t Channel::decode(const uint8_t* data, size_t size, Block* owner, void* context) {
    std::vector<Frame>& frames = reactor_->frames;
    size_t used = size;
    Fault fault = decoder_ ? decoder_->feed(data, size, owner, reactor_->receive_buffer().arena(), splitter_, frames,
                                            reactor_->scratch, context, &used)
                           : splitter_.feed(data, size, owner, reactor_->receive_buffer().arena(), frames);
    complete(std::move(fault));
    if (splitter_.waiting()) pause();
    return used;
}

void Channel::complete(Fault fault) {
    std::vector<Frame>& frames = reactor_->frames;
    auto& resolved = reactor_->resolved;
    resolved.clear();
    {
        Lock lock(mutex_);
        for (const Frame& frame : frames) {
            if (frame.stream >= 0) {
                if (!resolve(frame, &fault)) break;
            } else if (frame.opcode == kEvent) {
                resolved.push_back({nullptr, 0});
            } else {
                fault =
                    Fault::protocol("the server reported an error of the connection: " + error_text(frame));
                break;
            }
        }
        leave(lock);
    }
    for (size_t i = 0; i < resolved.size(); ++i) {
        if (frames[i].stream < 0) {
            reactor_->runtime_event(*this, std::move(frames[i]));
        } else if (resolved[i].operation) {
            Outcome outcome;
            outcome.attempt = resolved[i].attempt;
            outcome.arrived = last_received_.load(std::memory_order_relaxed);
            outcome.hot = is_hot(frames[i], peek_);
            outcome.frame = std::move(frames[i]);
            reactor_->deliver(resolved[i].operation, std::move(outcome));
        }
    }
    frames.clear();
    if (fault) fail(fault);
}

bool Channel::enable_segments(bool compressed) {
    Lock lock(mutex_);
    if (decoder_ || !splitter_.idle() || !queue_.empty()) return false;
    SegmentDecoder::Decompress decompress = nullptr;
    if (compressed) {
        decompress = [](void* context, const uint8_t* data, size_t size, uint8_t* plain, size_t plain_size) -> Fault {
            auto* channel = static_cast<Channel*>(context);
            const Runtime& runtime = channel->reactor_->runtime();
            size_t written = 0;
            if (auto reason = Ref<Reason>::adopt(
                    runtime.decompress(channel->decompressor, data, size, plain, plain_size, &written))) {
                return Fault::protocol("a segment cannot be decompressed: " + reason->message);
            }
            if (written == plain_size) return {};
            return Fault::protocol("a segment decompresses to " + std::to_string(written) + " bytes, its header says " +
                                   std::to_string(plain_size));
        };
    }
    decoder_ = std::make_unique<SegmentDecoder>(decompress);
    compressed_.store(compressed, std::memory_order_release);
    segmented_.store(true, std::memory_order_release);
    return true;
}

// ---- the receive buffer

ReceiveBuffer::ReceiveBuffer(Reactor& reactor, Arena* arena, Nanos warn_after)
    : reactor_(reactor), arena_(arena), warn_after_(warn_after) {}

ReceiveBuffer::~ReceiveBuffer() {
    finish();
    if (arena_) arena_->close();
}

// Room is kept in one slab while nothing pins it, so that its memory stays in cache.
ReceiveBuffer::Room ReceiveBuffer::room(Arena::AtLimit limit) {
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

void ReceiveBuffer::drop_slab() {
    if (slab_) slab_->kept.store(0, std::memory_order_relaxed);
    slab_ = nullptr;
}

void ReceiveBuffer::finish() {
    drop_slab();
    paused_.clear();
    if (arena_ && arena_->strict) arena_->stop_waiting();
}

void ReceiveBuffer::pause(Channel& channel) {
    if (paused_.empty()) {
        paused_since_ = monotonic_now();
        warn_at_ = paused_since_ + warn_after_;
    }
    paused_.push_back(Ref<Channel>(&channel));
    paused_count_.store(static_cast<int64_t>(paused_.size()), std::memory_order_relaxed);
    request_turn();  // memory may have been returned before wait_for()
}

void ReceiveBuffer::memory_returned() {
    memory_returned_.store(true, std::memory_order_seq_cst);
    reactor_.wake();
}

std::string ReceiveBuffer::turn() {
    std::string text;
    if (arena_->strict) {
        drop_slab();  // between turns it holds no memory that others wait for
        if (!paused_.empty()) {
            if (memory_returned_.exchange(false, std::memory_order_seq_cst)) resume();
            const Nanos now = warn_at_ == kNever ? 0 : monotonic_now();
            if (now >= warn_at_) {
                text = warning(now);
                warn_at_ = now + kWarnAgain;
            }
        } else {
            memory_returned_.store(false, std::memory_order_relaxed);
        }
    }
    arena_->collect();
    return text;
}

void ReceiveBuffer::resume() {
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

std::string ReceiveBuffer::warning(Nanos now) const {
    char text[240];
    std::snprintf(text, sizeof text,
                  "%zu connections have not been read from for %.1f s: the strict memory pool of %zu bytes is full. "
                  "Release kept results or blocks of the application",
                  paused_.size(), static_cast<double>(now - paused_since_) / static_cast<double>(kSecond),
                  arena_->max_bytes);
    return text;
}

}  // namespace fastcql
