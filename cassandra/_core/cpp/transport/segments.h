// Segments of protocol v5 (spec section 2; "frames" there): checksummed containers for envelopes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/crc.h"
#include "transport/envelope.h"

namespace fastcql {

constexpr size_t kMaxPayload = (1u << 17) - 1;
constexpr size_t kTrailerSize = 4;

using Buffer = std::vector<uint8_t>;

// Calls *visit* (payload, size, self contained) for the payloads of segments that carry whole envelopes: small ones
// together in one self-contained segment, one that is larger than a payload over several.
template <class Visit>
void for_each_payload(const uint8_t* envelopes, size_t size, Visit visit) {
    while (size > 0) {
        size_t group = 0;  // whole envelopes that fit together
        while (group < size) {
            const size_t next = kHeaderSize + load32(envelopes + group + 5);
            if (group + next > kMaxPayload) break;
            group += next;
        }
        if (group > 0) {
            visit(envelopes, group, true);
        } else {
            group = kHeaderSize + load32(envelopes + 5);
            for (size_t at = 0; at < group; at += kMaxPayload) {
                visit(envelopes + at, group - at < kMaxPayload ? group - at : kMaxPayload, false);
            }
        }
        envelopes += group;
        size -= group;
    }
}

// Appends whole envelopes as uncompressed segments.
void encode_segments(const uint8_t* envelopes, size_t size, Buffer& out);

// Appends one segment of the compressed format. *plain_size* 0: *payload* is not compressed.
void encode_compressed_segment(const uint8_t* payload, size_t size, size_t plain_size, bool self_contained,
                               Buffer& out);

// Decodes received bytes into checked payloads and these into envelopes.
//
// A segment that lies in one chunk is checked and then split. The parts of one that straddles chunks go to the splitter
// as they arrive, so that no byte is copied more than once, and the rest of a large body not at all (direct()); the
// frames are held back until the checksum was verified, and errors of the splitter are reported only if the checksum is
// right. A compressed segment that straddles chunks is assembled first. A segment is decompressed into the memory of
// the body that it continues, or, with whole envelopes, into a block in which large bodies stay.
class SegmentDecoder {
public:
    // Decompresses *size* bytes into the *plain_size* bytes at *plain*. Returns a fault or none.
    using Decompress = Fault (*)(void* context, const uint8_t* data, size_t size, uint8_t* plain, size_t plain_size);

    explicit SegmentDecoder(Decompress decompress) : decompress_(decompress) {}

    // Bytes to come of the segment in progress.
    size_t missing() const { return left_; }

    // As Splitter::feed; *context* is for the decompressor, *scratch* for small output. Without a context it stops
    // before a complete compressed segment. *used*: number of bytes taken; all if there is no compression.
    Fault feed(const uint8_t* data, size_t size, Block* owner, Arena& arena, Splitter& splitter,
               std::vector<Frame>& frames, Buffer& scratch, void* context, size_t* used = nullptr);
    // True if a compressed segment that straddled chunks is complete; feed() with a context continues.
    bool ready() const { return whole_; }

    // As Splitter::direct, for this segment's part of the body.
    uint8_t* direct(Splitter& splitter, size_t* room);
    void direct_filled(size_t size, const uint8_t* data, Splitter& splitter);

private:
    struct SegmentHeader {
        size_t size;
        size_t plain_size;
        bool self_contained;
    };
    size_t header_size() const { return decompress_ ? 8 : 6; }
    Fault feed_all(const uint8_t** at, const uint8_t* end_of_data, Block* owner, Arena& arena, Splitter& splitter,
                   std::vector<Frame>& frames, Buffer& scratch, void* context);
    Fault read_header(const uint8_t** at, const uint8_t* end_of_data);
    Fault parse(const uint8_t* data, SegmentHeader* header) const;
    Fault unpack(const SegmentHeader& header, const uint8_t* payload, Block* owner, Arena& arena,
                 Splitter& splitter, std::vector<Frame>& frames, Buffer& scratch, void* context);
    Fault begin(Arena& arena, const Splitter& splitter);
    void stream(const uint8_t* data, size_t size, Block* owner, Arena& arena, Splitter& splitter);
    Fault end(const Splitter& splitter, std::vector<Frame>& frames);

    const Decompress decompress_;
    uint8_t head_[8];
    size_t head_size_ = 0;
    // Of a segment that straddles chunks: its header, and bytes to come of payload and checksum.
    SegmentHeader header_{};
    size_t left_ = 0;
    bool headed_ = false;  // header_ was read, its payload comes next
    bool whole_ = false;   // compressed_ is complete
    BlockRef compressed_;  // the payload, if it is compressed
    SegmentCrc32 crc_;
    uint8_t trailer_[kTrailerSize];
    Fault fault_;
    std::vector<Frame> frames_;
};

}  // namespace fastcql
