#include "transport/envelope.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "transport/sys.h"

namespace fastcql {

namespace {

template <class... Args>
std::string format(const char* pattern, Args... args) {
    char text[240];
    std::snprintf(text, sizeof text, pattern, args...);
    return text;
}

bool is_response(uint8_t opcode) {
    switch (opcode) {
        case kError:
        case kReady:
        case kAuthenticate:
        case kSupported:
        case kResult:
        case kEvent:
        case kAuthChallenge:
        case kAuthSuccess:
            return true;
        default:
            return false;
    }
}

Frame frame_of(const Header& header) {
    Frame frame;
    frame.version = static_cast<uint8_t>(header.version & 0x7f);
    frame.flags = header.flags;
    frame.opcode = header.opcode;
    frame.stream = header.stream;
    frame.length = static_cast<uint32_t>(header.length);
    return frame;
}

bool is_hot_kind(const uint8_t* kind) { return load32(kind) == 1 || load32(kind) == 2; }  // VOID, ROWS

// A compressed body starts with literals: its first four bytes (00 00 00 kind) have no repetition that could
// be a match, so that the result kind is found without decompressing.
bool is_hot_lz4(const uint8_t* body, size_t length) {  // spec 5: [int] length, then an LZ4 block
    size_t at = 4;
    if (length < at + 5) return false;
    const unsigned literals = body[at++] >> 4;
    if (literals < 4) return false;
    if (literals == 15) {
        while (at < length && body[at] == 255) ++at;
        ++at;
    }
    return at + 4 <= length && is_hot_kind(body + at);
}

bool is_hot_snappy(const uint8_t* body, size_t length) {  // varint length, then elements
    size_t at = 0;
    while (at < length && body[at] & 0x80) ++at;
    ++at;
    if (at >= length || (body[at] & 3) != 0) return false;  // not a literal
    const unsigned size = body[at++] >> 2;
    if (size < 3) return false;
    if (size >= 60) at += size - 59;
    return at + 4 <= length && is_hot_kind(body + at);
}

}  // namespace

bool is_hot(const Frame& frame, Peek peek) noexcept {
    if (frame.opcode != kResult || (frame.flags & (kTracing | kPayload | kWarning)) != 0) return false;
    if ((frame.flags & kCompressed) == 0 || frame.version >= 5)
        return frame.length >= 4 && is_hot_kind(frame.body);
    if (peek == Peek::Lz4) return is_hot_lz4(frame.body, frame.length);
    return peek == Peek::Snappy && is_hot_snappy(frame.body, frame.length);
}

std::string error_text(const Frame& frame) {
    const uint8_t* at = frame.body;
    const uint8_t* const end = at + frame.length;
    const auto left = [&] { return static_cast<size_t>(end - at); };
    // Skip *n* bytes; return their beginning, null if there are fewer.
    const auto pass = [&](size_t n) -> const uint8_t* {
        if (n > left()) return nullptr;
        return std::exchange(at, at + n);
    };
    const auto pass_string = [&] {
        const uint8_t* size = pass(2);
        return size && pass(load16(size));
    };
    const auto pass_prefix = [&] {
        if ((frame.flags & kTracing) != 0 && !pass(16)) return false;
        if ((frame.flags & kWarning) != 0) {
            const uint8_t* count = pass(2);
            for (int i = count ? load16(count) : -1; i != 0; --i)
                if (i < 0 || !pass_string()) return false;
        }
        return (frame.flags & kPayload) == 0;  // servers send none with errors
    };
    if ((frame.flags & kCompressed) != 0 && frame.version < 5) return "a compressed message";
    if (!pass_prefix() || !pass(4)) return "no message";
    const uint8_t* size = pass(2);
    const uint8_t* text = size ? pass(load16(size)) : nullptr;
    return text ? std::string(reinterpret_cast<const char*>(text), load16(size)) : "no message";
}

Fault EnvelopeRules::check(const Header& header) const {
    if ((header.version & kResponseBit) == 0) {
        const char* hint = "";
        if (header.version == 0x15 || header.version == 0x16) hint = " (the peer seems to speak TLS)";
        if (header.version == 'H') hint = " (the peer seems to speak HTTP)";
        return Fault::protocol(
            format("frame starts with byte 0x%02x, which is not a response header%s", header.version, hint));
    }
    const uint8_t received = header.version & 0x7f;
    if (received < 3) {  // its header is shorter: the rest cannot be read
        return Fault::protocol(
            format("response of protocol version %u; the oldest supported version is 3", received));
    }
    if (version != 0 && received != version) {
        return Fault::protocol(
            format("response has protocol version %u on a connection of version %u", received, version));
    }
    if (version == 0 && !is_response(header.opcode)) {  // later its request handles it as an unexpected message
        return Fault::protocol(format("invalid opcode of a response: 0x%02x", header.opcode));
    }
    if (header.length < 0) return Fault::protocol(format("response with negative length %d", header.length));
    if ((header.opcode == kEvent) != (header.stream < 0) && header.opcode != kError) {
        return Fault::protocol(
            format("response with opcode 0x%02x on stream %d", header.opcode, static_cast<int>(header.stream)));
    }
    return {};
}

Fault Splitter::feed(const uint8_t* data, size_t size, Block* owner, Arena& arena, std::vector<Frame>& frames,
                     size_t more) {
    while (size > 0) {
        if (waiting_) {
            const size_t part = std::min(size, partial_.length - buffered_.size());
            if (Fault fault = feed_buffered(data, part, arena, frames)) return fault;
            data += part;
            size -= part;
            continue;
        }
        if (skip_ > 0) {
            const size_t part = std::min(size, skip_);
            skip_ -= part;
            data += part;
            size -= part;
            continue;
        }
        if (partial_.block && room() == 0) {
            make_room(arena, frames);
            continue;
        }
        if (partial_.block) {
            const size_t part = std::min(size, room());
            std::memcpy(partial_.block->data() + filled_, data, part);
            data += part;
            size -= part;
            direct_filled(part, frames);
            continue;
        }
        const uint8_t* head = data;
        if (head_size_ > 0 || size < kHeaderSize) {
            const size_t part = std::min(size, kHeaderSize - head_size_);
            std::memcpy(head_ + head_size_, data, part);
            head_size_ = static_cast<uint8_t>(head_size_ + part);
            data += part;
            size -= part;
            if (head_size_ < kHeaderSize) break;
            head_size_ = 0;
            head = head_;
        } else {
            data += kHeaderSize;
            size -= kHeaderSize;
        }
        const Header header = Header::parse(head);
        if (Fault fault = rules.check(header)) return fault;
        const auto length = static_cast<size_t>(header.length);
        if (length > rules.max_frame) {
            skip(frame_of(header), length, frames);
            continue;
        }
        if (owner && length >= kInPlace && length <= size) {
            if (!owner->shared()) owner->since.store(monotonic_now(), std::memory_order_relaxed);
            Frame frame = frame_of(header);
            frame.body = data;
            frame.block = BlockRef(owner);
            frames.push_back(std::move(frame));
            data += length;
            size -= length;
            continue;
        }
        open_partial(header, arena, length <= size + more, frames);
        if (length == 0 && partial_.block) close_partial(frames);
    }
    return {};
}

// *complete*: the whole body is present already, or arrives in any case.
void Splitter::open_partial(const Header& header, Arena& arena, bool complete, std::vector<Frame>& frames) {
    const auto length = static_cast<size_t>(header.length);
    BlockRef block = BlockRef::adopt(complete ? arena.allocate(length, Arena::AtLimit::Exceed)
                                              : arena.begin(length, Arena::AtLimit::Keep));
    Frame frame = frame_of(header);
    if (!block) {
        if (complete || !arena.strict || !arena.may_fit(length)) return skip(frame, length, frames);
        waiting_ = true;
    }
    frame.body = block ? block->data() : nullptr;
    frame.block = std::move(block);
    partial_ = std::move(frame);
    filled_ = 0;
}

// Return the bytes that are free in the memory of the body.
size_t Splitter::room() const {
    return std::min<size_t>(partial_.length, partial_.block->capacity) - filled_;
}

// The memory is full and the body continues: double it.
void Splitter::make_room(Arena& arena, std::vector<Frame>& frames) {
    Block* const block = partial_.block.detach();
    const size_t wanted = std::min<size_t>(partial_.length, 2 * filled_);
    if (Block* const larger = arena.grow(block, filled_, wanted)) {
        partial_.block = BlockRef::adopt(larger);
        partial_.body = larger->data();
        return;
    }
    block->release();
    skip(partial_, partial_.length - filled_, frames);
    partial_ = Frame{};
}

// Emit the frame of *head* without its body. *rest* bytes of the body are still to come.
void Splitter::skip(const Frame& head, size_t rest, std::vector<Frame>& frames) {
    static const uint8_t nothing = 0;
    Frame frame = head;
    frame.skipped = head.length;
    frame.length = 0;
    frame.body = &nothing;
    frame.block = nullptr;
    frames.push_back(std::move(frame));
    skip_ = rest;
}

void Splitter::close_partial(std::vector<Frame>& frames) {
    frames.push_back(std::move(partial_));
    partial_ = Frame{};
}

// Store bytes that arrived without memory for their frame.
Fault Splitter::feed_buffered(const uint8_t* data, size_t size, Arena& arena, std::vector<Frame>& frames) {
    buffered_.insert(buffered_.end(), data, data + size);
    if (buffered_.size() < partial_.length) return {};
    partial_.block = BlockRef::adopt(arena.allocate(partial_.length, Arena::AtLimit::Exceed));
    if (!partial_.block) return Fault::memory(partial_.length, arena);
    const size_t all = buffered_.size();
    move_buffered();
    filled_ = 0;
    direct_filled(all, frames);
    return {};
}

Fault Splitter::retry_allocation(Arena& arena) {
    partial_.block = BlockRef::adopt(arena.allocate(partial_.length, Arena::AtLimit::Keep));
    if (partial_.block) {
        move_buffered();
    } else if (!arena.may_fit(partial_.length)) {
        return Fault::memory(partial_.length, arena);
    }
    return {};
}

void Splitter::move_buffered() {
    uint8_t* body = partial_.block->data();
    if (!buffered_.empty()) std::memcpy(body, buffered_.data(), buffered_.size());
    partial_.body = body;
    filled_ = buffered_.size();
    waiting_ = false;
    std::vector<uint8_t>().swap(buffered_);
}

uint8_t* Splitter::direct(size_t* size) {
    if (!partial_.block || room() < kInPlace) return nullptr;
    return direct_part(size);
}

uint8_t* Splitter::direct_part(size_t* size) {
    if (!partial_.block) return nullptr;
    *size = room();
    return partial_.block->data() + filled_;
}

void Splitter::direct_filled(size_t size, std::vector<Frame>& frames) {
    filled_ += size;
    if (filled_ == partial_.length) close_partial(frames);
}

}  // namespace fastcql
