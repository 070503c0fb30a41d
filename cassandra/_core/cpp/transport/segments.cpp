#include "transport/segments.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "transport/crc.h"

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

size_t envelope_size(const uint8_t* envelope) { return kHeaderSize + load32(envelope + 5); }

}  // namespace

void encode_segments(const uint8_t* envelopes, size_t size, Buffer& out) {
    out.reserve(out.size() + size + (size / kMaxPayload + 2) * 10);
    while (size > 0) {
        size_t group = 0;  // whole envelopes that fit together
        while (group < size) {
            const size_t next = envelope_size(envelopes + group);
            if (group + next > kMaxPayload) break;
            group += next;
        }
        if (group > 0) {
            append_plain_segment(envelopes, group, true, out);
        } else {
            group = envelope_size(envelopes);
            for (size_t at = 0; at < group; at += kMaxPayload) {
                append_plain_segment(envelopes + at, std::min(kMaxPayload, group - at), false, out);
            }
        }
        envelopes += group;
        size -= group;
    }
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
    const auto expected = static_cast<uint32_t>(load_le(payload + header.size, kTrailerSize));
    const uint32_t computed = segment_crc32(payload, header.size);
    if (computed != expected) {
        char text[96];
        std::snprintf(text, sizeof text, "CRC32 of a segment payload is %08x, computed %08x", expected,
                      computed);
        return Fault::crc(text);
    }
    size_t size = header.size;
    if (header.plain_size > 0) {
        if (Fault fault = decompress_(context, payload, size, header.plain_size, scratch)) return fault;
        payload = scratch.data();
        size = header.plain_size;
        owner = nullptr;
    }
    if (header.self_contained && !splitter.idle()) {
        return Fault::protocol("a self-contained segment in the middle of a large envelope");
    }
    if (Fault fault = splitter.feed(payload, size, owner, arena, frames)) return fault;
    if (header.self_contained && !splitter.idle()) {
        return Fault::protocol("a self-contained segment ends in the middle of an envelope");
    }
    return {};
}

Fault SegmentDecoder::feed(const uint8_t* data, size_t size, Block* owner, Arena& arena, Splitter& splitter,
                           std::vector<Frame>& frames, Buffer& scratch, void* context) {
    while (size > 0) {
        if (partial_) {
            const size_t whole = header_.size + kTrailerSize;
            const size_t part = std::min(size, whole - filled_);
            std::memcpy(partial_->data() + filled_, data, part);
            filled_ += part;
            data += part;
            size -= part;
            if (filled_ < whole) break;
            BlockRef block = std::move(partial_);
            Fault fault =
                unpack(header_, block->data(), block.get(), arena, splitter, frames, scratch, context);
            if (fault) return fault;
            continue;
        }
        const uint8_t* head = data;
        if (head_size_ > 0 || size < header_size()) {
            const size_t part = std::min(size, header_size() - head_size_);
            std::memcpy(head_ + head_size_, data, part);
            head_size_ += part;
            data += part;
            size -= part;
            if (head_size_ < header_size()) break;
            head_size_ = 0;
            head = head_;
        } else {
            data += header_size();
            size -= header_size();
        }
        if (Fault fault = parse(head, &header_)) return fault;
        const size_t whole = header_.size + kTrailerSize;
        if (whole <= size) {
            if (Fault fault = unpack(header_, data, owner, arena, splitter, frames, scratch, context))
                return fault;
            data += whole;
            size -= whole;
            continue;
        }
        partial_ = BlockRef::adopt(arena.allocate(whole, Arena::Limit::Outside));
        filled_ = 0;
        if (!partial_) return Fault::memory(whole, arena);
    }
    return {};
}

}  // namespace fastcql
