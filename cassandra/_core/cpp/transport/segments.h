// Segments of protocol v5 (spec section 2; "frames" there): checksummed containers for envelopes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/envelope.h"

namespace fastcql {

constexpr size_t kMaxPayload = (1u << 17) - 1;
constexpr size_t kTrailerSize = 4;

using Buffer = std::vector<uint8_t>;

// Appends whole envelopes as uncompressed segments: small ones together in self-contained segments, one that
// is larger than a payload over several.
void encode_segments(const uint8_t* envelopes, size_t size, Buffer& out);

// Appends one segment of the compressed format. *plain_size* 0: *payload* is not compressed.
void encode_compressed_segment(const uint8_t* payload, size_t size, size_t plain_size, bool self_contained,
                               Buffer& out);

// Turns received bytes into checked payloads and these into envelopes.
class SegmentDecoder {
public:
    // Decompresses *size* bytes into *out* (resized to *plain_size*). Returns a fault or none.
    using Decompress = Fault (*)(void* context, const uint8_t* data, size_t size, size_t plain_size,
                                 Buffer& out);

    explicit SegmentDecoder(Decompress decompress) : decompress_(decompress) {}

    // Bytes to come of the segment that it is in the middle of.
    size_t missing() const { return partial_ ? header_.size + kTrailerSize - filled_ : 0; }

    // As Splitter::feed; *context* is for the decompressor, *scratch* for what it makes.
    Fault feed(const uint8_t* data, size_t size, Block* owner, Arena& arena, Splitter& splitter,
               std::vector<Frame>& frames, Buffer& scratch, void* context);

private:
    struct SegmentHeader {
        size_t size;
        size_t plain_size;
        bool self_contained;
    };
    size_t header_size() const { return decompress_ ? 8 : 6; }
    Fault parse(const uint8_t* data, SegmentHeader* header) const;
    Fault unpack(const SegmentHeader& header, const uint8_t* payload, Block* owner, Arena& arena,
                 Splitter& splitter, std::vector<Frame>& frames, Buffer& scratch, void* context);

    const Decompress decompress_;
    // A segment that straddles chunks. The block is of the largest size there is only while needed.
    BlockRef partial_;
    size_t filled_ = 0;
    uint8_t head_[8];
    size_t head_size_ = 0;
    SegmentHeader header_{};
};

}  // namespace fastcql
