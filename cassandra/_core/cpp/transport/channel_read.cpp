// Input of a channel: from the socket to the waiting requests.
#include <algorithm>
#include <cerrno>
#include <sys/uio.h>

#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

namespace {

constexpr int kReceiveRounds = 4;  // per turn, so that a busy peer does not starve the others

}  // namespace

// True if there may be more input.
bool Channel::receive() {
    for (int round = 0; round < kReceiveRounds && !closed() && !paused_; ++round) {
        Intake& intake = reactor_->intake();
        if (!intake.admits()) return receive_held();
        size_t direct_size = 0;
        uint8_t* direct = filter || !stash_.empty() ? nullptr
                          : decoder_                ? decoder_->direct(splitter_, &direct_size)
                                             : splitter_.direct(&direct_size);
        const Intake::Room room = intake.room(Arena::AtLimit::Keep);
        if (!room.data) {
            if (!intake.admits()) return receive_held();
            fail(Reason::Kind::System, "receive", ENOMEM);
            return false;
        }
        const iovec parts[2] = {{direct, direct_size}, {room.data, room.size}};
        const ssize_t result = direct ? ::readv(fd_, parts, 2) : ::recv(fd_, room.data, room.size, 0);
        if (result <= 0) {
            end_of_receiving(result);
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
        intake.used(size);
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
bool Channel::receive_held() {
    if (splitter_.waiting() || !(splitter_.holds() || (decoder_ && decoder_->missing()))) {
        pause();
        return false;
    }
    size_t size = 0;
    uint8_t* direct = filter || decoder_ ? nullptr : splitter_.direct_any(&size);
    Intake::Room room{direct, size, nullptr};
    if (!direct) {
        room = reactor_->intake().room(Arena::AtLimit::Exceed);
        const size_t missing = decoder_ ? decoder_->missing() : 0;
        room.size = std::min(room.size, missing ? missing : Intake::kMinRoom);
    }
    if (!room.data) {
        fail(Reason::Kind::System, "receive", ENOMEM);
        return false;
    }
    const ssize_t result = ::recv(fd_, room.data, room.size, 0);
    if (result <= 0) {
        end_of_receiving(result);
        return false;
    }
    received(static_cast<size_t>(result));
    if (direct) {
        splitter_.direct_filled(static_cast<size_t>(result), reactor_->frames);
        complete({});
    } else {
        reactor_->intake().used(static_cast<size_t>(result));
        accept_bytes(room.data, static_cast<size_t>(result), room.block);
    }
    return !closed() && !paused_;
}

// recv() returned an error or the end.
void Channel::end_of_receiving(ssize_t result) {
    if (result == 0) return end_input(Reason::Kind::Eof, "closed by the server");
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        end_input(Reason::Kind::System, "receive", errno);
}

void Channel::pause() {
    if (closed() || paused_.exchange(true, std::memory_order_relaxed)) return;
    update_interest();
    reactor_->intake().pause(*this);
}

size_t Channel::wanted() const {
    return closed() ? 0 : splitter_.waiting() ? splitter_.wanted() : Intake::wanted_by_new_input();
}

bool Channel::resume() {
    if (closed()) return true;
    Intake& intake = reactor_->intake();
    if (splitter_.waiting()) {
        if (Fault fault = splitter_.ask_again(intake.arena())) {
            fail(fault);
            return true;
        }
        if (splitter_.waiting()) return false;
    } else if (!intake.admits()) {
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
    if (!filter && stash_.empty()) {
        const size_t used = decode(data, size, owner, nullptr);
        if (closed() || (used == size && !(decoder_ && decoder_->ready()))) return;
        data += used;
        size -= used;
    }
    stash_.push_back({BlockRef(owner), data, size});
    reactor_->runtime_input(*this);
}

// Handles the end of input. A filter sees it first: it may give a better reason.
void Channel::end_input(Reason::Kind kind, const char* message, int error) {
    if (closed()) return;
    if (!filter && stash_.empty()) return fail(kind, message, error);
    if (!stash_end_) stash_end_.reset(new InputEnd{kind, message, error});
    reactor_->runtime_input(*this);
}

// Frames that were complete before a fault are delivered; then the channel fails with it. Returns the number of bytes
// taken: without *context* it stops before data that needs decompression.
size_t Channel::decode(const uint8_t* data, size_t size, Block* owner, void* context) {
    std::vector<Frame>& frames = reactor_->frames;
    size_t used = size;
    Fault fault = decoder_ ? decoder_->feed(data, size, owner, reactor_->intake().arena(), splitter_, frames,
                                            reactor_->scratch, context, &used)
                           : splitter_.feed(data, size, owner, reactor_->intake().arena(), frames);
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
        decompress = [](void* context, const uint8_t* data, size_t size, size_t plain_size,
                        Buffer& out) -> Fault {
            auto* channel = static_cast<Channel*>(context);
            out.clear();
            const Runtime& runtime = channel->reactor_->runtime();
            if (auto reason =
                    Ref<Reason>::adopt(runtime.decompress(channel->decompressor, data, size, plain_size, out))) {
                return Fault::protocol("a segment cannot be decompressed: " + reason->message);
            }
            if (out.size() == plain_size) return {};
            return Fault::protocol("a segment decompresses to " + std::to_string(out.size()) +
                                   " bytes, its header says " + std::to_string(plain_size));
        };
    }
    decoder_ = std::make_unique<SegmentDecoder>(decompress);
    compressed_.store(compressed, std::memory_order_release);
    segmented_.store(true, std::memory_order_release);
    return true;
}

}  // namespace fastcql
