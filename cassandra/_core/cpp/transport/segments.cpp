#include "transport/segments.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace fastcql {

namespace {

constexpr int kLengthBits = 17;

void append_le(Buffer& out, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

uint64_t load_le(const uint8_t* p, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(p[i]) << (8 * i);
    return value;
}

void append_segment(uint64_t header, int header_bytes, const uint8_t* payload, size_t size, Buffer& out) {
    append_le(out, header, header_bytes);
    append_le(out, crc24(header, header_bytes), 3);
    out.insert(out.end(), payload, payload + size);
    append_le(out, segment_crc32(payload, size), kTrailerSize);
}

void append_plain_segment(const uint8_t* payload, size_t size, bool self_contained, Buffer& out) {
    append_segment(size | static_cast<uint64_t>(self_contained) << kLengthBits, 3, payload, size, out);
}

// Compare *computed* with the checksum after a payload.
Fault checked(const uint8_t* trailer, uint32_t computed) {
    const auto expected = static_cast<uint32_t>(load_le(trailer, kTrailerSize));
    if (computed == expected) return {};
    char text[96];
    std::snprintf(text, sizeof text, "CRC32 of a segment payload is %08x, computed %08x", expected, computed);
    return Fault::crc(text);
}

Fault in_the_middle() { return Fault::protocol("a self-contained segment in the middle of a large envelope"); }
Fault unfinished() { return Fault::protocol("a self-contained segment ends in the middle of an envelope"); }

}  // namespace

void encode_segments(const uint8_t* envelopes, size_t size, Buffer& out) {
    out.reserve(out.size() + size + (size / kMaxPayload + 2) * 10);
    for_each_payload(envelopes, size, [&out](const uint8_t* payload, size_t length, bool self_contained) {
        append_plain_segment(payload, length, self_contained, out);
    });
}

void encode_compressed_segment(const uint8_t* payload, size_t size, size_t plain_size, bool self_contained,
                               Buffer& out) {
    const uint64_t header = size | static_cast<uint64_t>(plain_size) << kLengthBits |
                            static_cast<uint64_t>(self_contained) << (2 * kLengthBits);
    append_segment(header, 5, payload, size, out);
}

Fault SegmentDecoder::parse(const uint8_t* data, SegmentHeader* header) const {
    const int bytes = decompress_ ? 5 : 3;
    const uint64_t value = load_le(data, bytes);
    const auto expected = static_cast<uint32_t>(load_le(data + bytes, 3));
    const uint32_t computed = crc24(value, bytes);
    if (computed != expected) {
        char text[96];
        std::snprintf(text, sizeof text, "CRC24 of a segment header is %06x, computed %06x", expected,
                      computed);
        return Fault::crc(text);
    }
    header->size = value & kMaxPayload;
    header->plain_size = decompress_ ? (value >> kLengthBits) & kMaxPayload : 0;
    header->self_contained = (value >> (decompress_ ? 2 * kLengthBits : kLengthBits)) & 1;
    return {};
}

Fault SegmentDecoder::unpack(const SegmentHeader& header, const uint8_t* payload, Block* owner, Arena& arena,
                             Splitter& splitter, std::vector<Frame>& frames, Buffer& scratch, void* context) {
    if (Fault fault = checked(payload + header.size, segment_crc32(payload, header.size))) return fault;
    if (header.self_contained && !splitter.idle()) return in_the_middle();
    size_t size = header.size;
    BlockRef block;
    if (header.plain_size > 0) {
        size = header.plain_size;
        size_t room = 0;
        uint8_t* const body = splitter.direct_part(&room);
        if (body && size <= room) {
            if (Fault fault = decompress_(context, payload, header.size, body, size)) return fault;
            splitter.direct_filled(size, frames);
            return {};
        }
        if (header.self_contained && size >= Splitter::kInPlace) block = BlockRef::adopt(arena.allocate(size));
        if (!block && scratch.size() < size) scratch.resize(size);
        uint8_t* const plain = block ? block->data() : scratch.data();
        if (Fault fault = decompress_(context, payload, header.size, plain, size)) return fault;
        payload = plain;
        owner = block.get();
    }
    if (Fault fault = splitter.feed(payload, size, owner, arena, frames)) return fault;
    return header.self_contained && !splitter.idle() ? unfinished() : Fault{};
}

// Begin a segment that continues in the next chunk.
Fault SegmentDecoder::begin(Arena& arena, const Splitter& splitter) {
    left_ = header_.size + kTrailerSize;
    if (header_.plain_size > 0) {
        compressed_ = BlockRef::adopt(arena.allocate(left_, Arena::AtLimit::Outside));
        return compressed_ ? Fault{} : Fault::memory(left_, arena);
    }
    crc_ = SegmentCrc32();
    if (header_.self_contained && !splitter.idle()) fault_ = in_the_middle();
    return {};
}

// Process the next *size* of the remaining bytes.
void SegmentDecoder::stream(const uint8_t* data, size_t size, Block* owner, Arena& arena, Splitter& splitter) {
    const size_t payload = left_ > kTrailerSize ? std::min(size, left_ - kTrailerSize) : 0;
    left_ -= payload;
    if (payload > 0) {
        crc_.add(data, payload);
        const size_t more = header_.self_contained ? left_ - kTrailerSize : 0;
        if (!fault_) fault_ = splitter.feed(data, payload, owner, arena, frames_, more);
    }
    for (size_t at = payload; at < size; ++at) trailer_[kTrailerSize - left_--] = data[at];
}

Fault SegmentDecoder::end(const Splitter& splitter, std::vector<Frame>& frames) {
    Fault fault = std::exchange(fault_, {});
    if (Fault wrong = checked(trailer_, crc_.value())) {
        frames_.clear();
        return wrong;
    }
    std::move(frames_.begin(), frames_.end(), std::back_inserter(frames));
    frames_.clear();
    if (!fault && header_.self_contained && !splitter.idle()) fault = unfinished();
    return fault;
}

uint8_t* SegmentDecoder::direct(Splitter& splitter, size_t* room) {
    if (left_ < Splitter::kInPlace + kTrailerSize || compressed_ || fault_) return nullptr;
    uint8_t* body = splitter.direct(room);
    if (body) *room = std::min(*room, left_ - kTrailerSize);
    return body;
}

void SegmentDecoder::direct_filled(size_t size, const uint8_t* data, Splitter& splitter) {
    crc_.add(data, size);
    left_ -= size;
    splitter.direct_filled(size, frames_);
}

Fault SegmentDecoder::feed(const uint8_t* data, size_t size, Block* owner, Arena& arena, Splitter& splitter,
                           std::vector<Frame>& frames, Buffer& scratch, void* context, size_t* used) {
    const uint8_t* const start = data;
    Fault fault = feed_all(&data, data + size, owner, arena, splitter, frames, scratch, context);
    if (used) *used = static_cast<size_t>(data - start);
    return fault;
}

Fault SegmentDecoder::feed_all(const uint8_t** at, const uint8_t* end_of_data, Block* owner, Arena& arena,
                               Splitter& splitter, std::vector<Frame>& frames, Buffer& scratch, void* context) {
    const uint8_t*& data = *at;
    for (;;) {
        if (whole_) {
            if (!context) return {};
            whole_ = false;
            const BlockRef whole = std::move(compressed_);
            if (Fault fault = unpack(header_, whole->data(), nullptr, arena, splitter, frames, scratch, context))
                return fault;
        }
        if (data == end_of_data && !headed_) return {};
        const auto size = static_cast<size_t>(end_of_data - data);
        if (left_ > 0) {
            const size_t part = std::min(size, left_);
            if (compressed_) {
                std::memcpy(compressed_->data() + header_.size + kTrailerSize - left_, data, part);
                left_ -= part;
                whole_ = left_ == 0;
            } else {
                stream(data, part, owner, arena, splitter);
            }
            data += part;
            if (left_ == 0 && !whole_) {
                if (Fault fault = end(splitter, frames)) return fault;
            }
            continue;
        }
        if (!headed_) {
            if (Fault fault = read_header(at, end_of_data)) return fault;
            if (!headed_) return {};
            continue;
        }
        const size_t whole = header_.size + kTrailerSize;
        if (whole > size) {
            headed_ = false;
            if (Fault fault = begin(arena, splitter)) return fault;
            continue;
        }
        if (header_.plain_size > 0 && !context) return {};
        headed_ = false;
        if (Fault fault = unpack(header_, data, owner, arena, splitter, frames, scratch, context)) return fault;
        data += whole;
    }
}

Fault SegmentDecoder::read_header(const uint8_t** at, const uint8_t* end_of_data) {
    const uint8_t*& data = *at;
    const auto size = static_cast<size_t>(end_of_data - data);
    const uint8_t* head = data;
    if (head_size_ > 0 || size < header_size()) {
        const size_t part = std::min(size, header_size() - head_size_);
        std::memcpy(head_ + head_size_, data, part);
        head_size_ += part;
        data += part;
        if (head_size_ < header_size()) return {};
        head_size_ = 0;
        head = head_;
    } else {
        data += header_size();
    }
    if (Fault fault = parse(head, &header_)) return fault;
    headed_ = true;
    return {};
}

}  // namespace fastcql
