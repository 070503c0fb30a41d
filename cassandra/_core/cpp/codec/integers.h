// Two's complement integers of any width up to 8 bytes (varint), in Java's minimal big-endian form.
#pragma once

#include "base/bytes.h"

namespace fastcql {

// n is 1..8.
inline int64_t load_varint(const uint8_t* p, size_t n) noexcept {
    uint64_t v = p[0] & 0x80 ? ~0ULL : 0;
    for (size_t i = 0; i < n; ++i) v = v << 8 | p[i];
    return static_cast<int64_t>(v);
}

inline void put_varint(ByteBuffer& out, int64_t v) noexcept {
    uint8_t bytes[8];
    store64(bytes, static_cast<uint64_t>(v));
    int skip = 0;
    const uint8_t filler = v < 0 ? 0xff : 0x00;
    while (skip < 7 && bytes[skip] == filler && (bytes[skip + 1] & 0x80) == (filler & 0x80)) ++skip;
    out.put(bytes + skip, static_cast<size_t>(8 - skip));
}

}  // namespace fastcql
