#include "transport/crc.h"

#include <array>

#include "base/bytes.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define FASTCQL_CARRY_LESS 1
#endif

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

// Slicing by eight: table[k][b] is the effect of byte b at k bytes before the end of a block of eight. About 2 GB/s, on
// any CPU.
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

// The register after the four bytes with which every payload checksum starts.
constexpr uint32_t kCrc32Start =
    crc32_byte(crc32_byte(crc32_byte(crc32_byte(0xFFFFFFFF, 0xFA), 0x2D), 0x55), 0xCA);

// The register *crc* after *data*, by tables.
uint32_t sliced(uint32_t crc, const uint8_t* data, size_t size) {
    const auto& t = kCrc32Tables;
    for (; size >= 8; size -= 8, data += 8) {
        const uint32_t low = load_little32(data) ^ crc, high = load_little32(data + 4);
        crc = t[7][low & 0xFF] ^ t[6][(low >> 8) & 0xFF] ^ t[5][(low >> 16) & 0xFF] ^ t[4][low >> 24] ^
              t[3][high & 0xFF] ^ t[2][(high >> 8) & 0xFF] ^ t[1][(high >> 16) & 0xFF] ^ t[0][high >> 24];
    }
    for (; size > 0; --size) crc = crc32_byte(crc, *data++);
    return crc;
}

#if FASTCQL_CARRY_LESS

// By carry-less multiplication, six times as fast. Data is a polynomial; the checksum is its remainder by the
// generator. 16 bytes that are followed by n bits can be replaced by another 16 bytes with the same remainder in place
// of the last ones of those: the sum of their upper and lower half, each multiplied with the remainder of the power of
// x between. So four registers run over the data, 64 bytes at a time; then they become one; and its 16 bytes go through
// the tables. After Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel,
// 2009.

// The remainder of x^n, bits reversed as in the register, and one up, as a product of reversed numbers is one short.
constexpr long long remainder_of_x(int n) {
    uint32_t remainder = 0x80000000;
    for (; n > 0; --n) remainder = remainder & 1 ? (remainder >> 1) ^ kCrc32Poly : remainder >> 1;
    return static_cast<long long>(remainder) << 1;
}

constexpr size_t kFolded = 16, kRegisters = 4, kBlock = kRegisters * kFolded;
constexpr int kFoldedBits = kFolded * 8, kBlockBits = kBlock * 8;
constexpr long long kOverBlock[] = {remainder_of_x(kBlockBits + 32), remainder_of_x(kBlockBits - 32)};
constexpr long long kOverOne[] = {remainder_of_x(kFoldedBits + 32), remainder_of_x(kFoldedBits - 32)};

__attribute__((target("pclmul"))) inline __m128i fold(__m128i folded, __m128i by, __m128i onto) {
    const __m128i halves =
        _mm_xor_si128(_mm_clmulepi64_si128(folded, by, 0x00), _mm_clmulepi64_si128(folded, by, 0x11));
    return _mm_xor_si128(halves, onto);
}

inline __m128i load_16(const uint8_t* data) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data)); }

// The register *crc* after *data*, of at least kBlock bytes.
__attribute__((target("pclmul"))) uint32_t folded(uint32_t crc, const uint8_t* data, size_t size) {
    __m128i registers[kRegisters];
    for (size_t i = 0; i < kRegisters; ++i) registers[i] = load_16(data + i * kFolded);
    registers[0] = _mm_xor_si128(registers[0], _mm_cvtsi32_si128(static_cast<int>(crc)));
    data += kBlock, size -= kBlock;
    const __m128i over_block = _mm_set_epi64x(kOverBlock[1], kOverBlock[0]);
    for (; size >= kBlock; size -= kBlock, data += kBlock) {
        for (size_t i = 0; i < kRegisters; ++i) {
            registers[i] = fold(registers[i], over_block, load_16(data + i * kFolded));
        }
    }
    const __m128i over_one = _mm_set_epi64x(kOverOne[1], kOverOne[0]);
    __m128i last = registers[0];
    for (size_t i = 1; i < kRegisters; ++i) last = fold(last, over_one, registers[i]);
    for (; size >= kFolded; size -= kFolded, data += kFolded) last = fold(last, over_one, load_16(data));
    alignas(kFolded) uint8_t bytes[kFolded];
    _mm_store_si128(reinterpret_cast<__m128i*>(bytes), last);
    return sliced(sliced(0, bytes, kFolded), data, size);
}

const bool kFolds = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("pclmul") != 0;
}();

#endif

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
#if FASTCQL_CARRY_LESS
    if (size >= kBlock && kFolds) {
        register_ = folded(register_, data, size);
        return;
    }
#endif
    register_ = sliced(register_, data, size);
}

uint32_t segment_crc32(const uint8_t* data, size_t size) {
    SegmentCrc32 crc;
    crc.add(data, size);
    return crc.value();
}

}  // namespace fastcql
