// Cassandra's variable-length integers (native protocol v5, section 3): the leading one bits of the first byte count
// the bytes that follow it.
#pragma once

#include "base/bytes.h"

namespace fastcql {

// Reads one [unsigned vint] from [p, end); returns the bytes used, or 0 when the input ends inside it.
inline size_t read_unsigned_vint(const uint8_t* p, const uint8_t* end, uint64_t* value) noexcept {
    if (p >= end) return 0;
    const uint8_t first = *p;
    if (first < 0x80) {
        *value = first;
        return 1;
    }
    const int extra = first == 0xff ? 8 : __builtin_clz(static_cast<uint32_t>(static_cast<uint8_t>(~first))) - 24;
    if (end - p <= extra) return 0;
    uint64_t v = extra == 8 ? 0 : first & (0xffu >> extra);
    for (int i = 1; i <= extra; ++i) v = v << 8 | p[i];
    *value = v;
    return static_cast<size_t>(extra) + 1;
}

inline void put_unsigned_vint(ByteBuffer& out, uint64_t value) noexcept {
    const int bits = 64 - __builtin_clzll(value | 1);
    int size = (bits + 6) / 7;  // 7 payload bits per byte, up to 8 bytes
    if (size > 9) size = 9;
    uint8_t bytes[9];
    for (int i = size - 1; i >= 0; --i) {
        bytes[i] = static_cast<uint8_t>(value);
        value >>= 8;
    }
    if (size > 1) bytes[0] |= static_cast<uint8_t>(0xff00u >> (size - 1));
    out.put(bytes, static_cast<size_t>(size));
}

inline int64_t zigzag_decode(uint64_t n) noexcept { return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1); }
inline uint64_t zigzag_encode(int64_t n) noexcept {
    return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}

}  // namespace fastcql
