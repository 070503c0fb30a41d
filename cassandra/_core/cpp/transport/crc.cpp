#include "transport/crc.h"

#include <array>

#include "base/bytes.h"

namespace fastcql {

namespace {

constexpr uint32_t kCrc24Init = 0x875060;
constexpr uint32_t kCrc24Poly = 0x1974F0B;
constexpr uint32_t kCrc32Poly = 0xEDB88320;  // reflected

constexpr std::array<uint32_t, 256> make_crc24_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t crc = byte << 16;
        for (int bit = 0; bit < 8; ++bit) {
            crc <<= 1;
            if (crc & 0x1000000) crc ^= kCrc24Poly;
        }
        table[byte] = crc & 0xFFFFFF;
    }
    return table;
}

// Slicing by eight: table[k][b] is the effect of byte b seen k bytes before the end of a block of eight. It
// runs at the speed of zlib's crc32 (about 2 GB/s) without making the extension depend on a system zlib.
constexpr std::array<std::array<uint32_t, 256>, 8> make_crc32_tables() {
    std::array<std::array<uint32_t, 256>, 8> tables{};
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ kCrc32Poly : crc >> 1;
        tables[0][byte] = crc;
    }
    for (size_t k = 1; k < 8; ++k) {
        for (size_t byte = 0; byte < 256; ++byte) {
            const uint32_t before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
        }
    }
    return tables;
}

constexpr auto kCrc24Table = make_crc24_table();
constexpr auto kCrc32Tables = make_crc32_tables();

constexpr uint32_t crc32_byte(uint32_t crc, uint8_t byte) {
    return (crc >> 8) ^ kCrc32Tables[0][(crc ^ byte) & 0xFF];
}

// The register after the four bytes every payload checksum starts with.
constexpr uint32_t kCrc32Start =
    crc32_byte(crc32_byte(crc32_byte(crc32_byte(0xFFFFFFFF, 0xFA), 0x2D), 0x55), 0xCA);

}  // namespace

uint32_t crc24(uint64_t bytes, int length) {
    uint32_t crc = kCrc24Init;
    for (; length > 0; --length, bytes >>= 8) {
        crc = ((crc << 8) ^ kCrc24Table[((crc >> 16) ^ bytes) & 0xFF]) & 0xFFFFFF;
    }
    return crc;
}

SegmentCrc32::SegmentCrc32() : register_(kCrc32Start) {}

void SegmentCrc32::add(const uint8_t* data, size_t size) {
    const auto& t = kCrc32Tables;
    uint32_t crc = register_;
    for (; size >= 8; size -= 8, data += 8) {
        const uint32_t low = load_little32(data) ^ crc, high = load_little32(data + 4);
        crc = t[7][low & 0xFF] ^ t[6][(low >> 8) & 0xFF] ^ t[5][(low >> 16) & 0xFF] ^ t[4][low >> 24] ^
              t[3][high & 0xFF] ^ t[2][(high >> 8) & 0xFF] ^ t[1][(high >> 16) & 0xFF] ^ t[0][high >> 24];
    }
    for (; size > 0; --size) crc = crc32_byte(crc, *data++);
    register_ = crc;
}

uint32_t segment_crc32(const uint8_t* data, size_t size) {
    SegmentCrc32 crc;
    crc.add(data, size);
    return crc.value();
}

}  // namespace fastcql
