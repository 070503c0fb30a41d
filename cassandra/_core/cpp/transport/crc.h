// Checksums of protocol v5 segments (spec 2.1, 2.2).
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastcql {

// CRC24 of the low *length* bytes of *bytes*, least significant first.
uint32_t crc24(uint64_t bytes, int length);

// CRC32 (ISO-HDLC, as zlib's) of the bytes FA 2D 55 CA followed by *data*.
uint32_t segment_crc32(const uint8_t* data, size_t size);

// The same for data that arrives in pieces.
class SegmentCrc32 {
public:
    SegmentCrc32();
    void add(const uint8_t* data, size_t size);
    uint32_t value() const { return ~register_; }

private:
    uint32_t register_;
};

}  // namespace fastcql
