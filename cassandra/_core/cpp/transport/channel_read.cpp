// Input of a channel: from the socket to the requests it answers.
#include <cerrno>
#include <sys/uio.h>

#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

namespace {

constexpr int kReceiveRounds = 4;  // per turn, so that a busy peer does not starve the others

// What an ERROR body says (spec 4.2.1): [int] code, [string] message.
std::string error_text(const Frame& frame) {
    if (frame.length < 6) return "no message";
    const size_t size = load16(frame.body + 4);
    if (6 + size > frame.length) return "no message";
    return std::string(reinterpret_cast<const char*>(frame.body) + 6, size);
}

}  // namespace

// True if there may be more.
bool Channel::receive() {
    for (int round = 0; round < kReceiveRounds && !closed(); ++round) {
        size_t direct_size = 0;
        uint8_t* direct = needs_host_input() || decoder_ ? nullptr : splitter_.direct(&direct_size);
        const Intake::Room room = reactor_->intake().room();
        if (!room.data) {
            fail(Reason::Kind::System, "receive", ENOMEM);
            return false;
        }
        const iovec parts[2] = {{direct, direct_size}, {room.data, room.size}};
        const ssize_t result = direct ? ::readv(fd_, parts, 2) : ::recv(fd_, room.data, room.size, 0);
        if (result < 0) {
            if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
                end_input(Reason::Kind::System, "receive", errno);
            return false;
        }
        if (result == 0) {
            end_input(Reason::Kind::Eof, "closed by the server");
            return false;
        }
        auto size = static_cast<size_t>(result);
        const bool full = size == direct_size + room.size;
        bytes_received_.fetch_add(size, std::memory_order_relaxed);
        last_received_.store(monotonic_now(), std::memory_order_relaxed);
        if (direct) {
            const size_t part = std::min(size, direct_size);
            splitter_.direct_filled(part, reactor_->frames);
            size -= part;
        }
        reactor_->intake().used(size);
        accept_bytes(room.data, size, room.block);
        if (!full) return false;
    }
    return !closed();
}

// All that the socket has, when nothing more is to come: answers that arrived are not lost with the
// connection. Bounded, as the peer may go on.
void Channel::receive_rest() {
    constexpr int kCalls = 64;
    for (int call = 0; call < kCalls && receive(); ++call) {
    }
}

void Channel::accept_bytes(const uint8_t* data, size_t size, Block* owner) {
    if (!needs_host_input()) {
        decode(data, size, owner);
        return;
    }
    stash_.push_back({BlockRef(owner), data, size});
    reactor_->host_input(*this);
}

// Nothing comes after what was received. A filter sees that first: it may know better why.
void Channel::end_input(Reason::Kind kind, const char* message, int error) {
    if (closed()) return;
    if (!needs_host_input()) return fail(kind, message, error);
    if (!stash_end_) stash_end_.reset(new InputEnd{kind, message, error});
    reactor_->host_input(*this);
}

// Frames that were complete before a fault are delivered; then the channel fails with it.
void Channel::decode(const uint8_t* data, size_t size, Block* owner) {
    std::vector<Frame>& frames = reactor_->frames;
    Fault fault = decoder_ ? decoder_->feed(data, size, owner, reactor_->intake().arena(), splitter_, frames,
                                            reactor_->scratch, this)
                           : splitter_.feed(data, size, owner, reactor_->intake().arena(), frames);
    complete(std::move(fault));
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
            reactor_->host_event(*this, std::move(frames[i]));
        } else if (resolved[i].operation) {
            Outcome outcome;
            outcome.attempt = resolved[i].attempt;
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
            const Host& host = channel->reactor_->host();
            if (auto reason =
                    Ref<Reason>::adopt(host.decompress(channel->decompressor, data, size, plain_size, out))) {
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

// Inside the host lock: what arrived for a filter or a decompressor.
void Channel::host_input() {
    if (closed()) return;
    if (filter && !filter_started_ && !host_start_filter()) return;
    std::vector<Chunk> chunks;
    chunks.swap(stash_);
    for (const Chunk& chunk : chunks) {
        if (closed()) return;
        if (!filter) {
            decode(chunk.data, chunk.size, chunk.block.get());
        } else if (!host_filter_input(chunk.data, chunk.size)) {
            return;
        }
    }
    if (!stash_end_ || closed()) return;
    const InputEnd end = *stash_end_;
    if (filter && end.kind == Reason::Kind::Eof) {
        if (auto reason = Ref<Reason>::adopt(reactor_->host().filter_eof(filter)))
            return close(std::move(reason));
    }
    fail(end.kind, end.message, end.error);
}

bool Channel::host_start_filter() {
    filter_started_ = true;
    if (auto reason = Ref<Reason>::adopt(reactor_->host().filter_start(filter, wire_))) {
        close(std::move(reason));
        return false;
    }
    flush();
    return true;
}

bool Channel::host_filter_input(const uint8_t* data, size_t size) {
    const Host& host = reactor_->host();
    plain_.clear();
    if (auto reason = Ref<Reason>::adopt(host.filter_receive(filter, data, size, plain_, wire_))) {
        close(std::move(reason));
        return false;
    }
    flush();
    if (state() == State::Filtering && host.filter_established(filter)) become_open();
    if (!plain_.empty() && !closed()) decode(plain_.data(), plain_.size(), nullptr);
    return true;
}

}  // namespace fastcql
