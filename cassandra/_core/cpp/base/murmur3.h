// Murmur3 x64 128 as Apache Cassandra computes it: tail bytes are sign-extended, which the published algorithm does not
// do, so a generic implementation gives other tokens for keys with bytes >= 0x80.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace fastcql {

inline uint64_t rotl64(uint64_t x, int r) { return (x << r) | (x >> (64 - r)); }

inline uint64_t fmix64(uint64_t k) {
    k ^= k >> 33;
    k *= 0xff51afd7ed558ccdULL;
    k ^= k >> 33;
    k *= 0xc4ceb9fe1a85ec53ULL;
    k ^= k >> 33;
    return k;
}

inline int64_t murmur3_token(const uint8_t* data, size_t length) noexcept {
    constexpr uint64_t c1 = 0x87c37b91114253d5ULL, c2 = 0x4cf5ad432745937fULL;
    uint64_t h1 = 0, h2 = 0;
    const size_t blocks = length / 16;
    for (size_t i = 0; i < blocks; ++i) {
        const uint64_t k1 = load_little64(data + i * 16), k2 = load_little64(data + i * 16 + 8);
        h1 ^= rotl64(k1 * c1, 31) * c2;
        h1 = (rotl64(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= rotl64(k2 * c2, 33) * c1;
        h2 = (rotl64(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    const uint8_t* tail = data + blocks * 16;
    const size_t rest = length & 15;
    uint64_t k1 = 0, k2 = 0;
    auto signed_byte = [tail](size_t i) { return static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(tail[i]))); };
    for (size_t i = rest; i > 8; --i) k2 ^= signed_byte(i - 1) << (8 * (i - 9));
    if (rest > 8) h2 ^= rotl64(k2 * c2, 33) * c1;
    for (size_t i = rest < 8 ? rest : 8; i > 0; --i) k1 ^= signed_byte(i - 1) << (8 * (i - 1));
    if (rest > 0) h1 ^= rotl64(k1 * c1, 31) * c2;
    h1 ^= length;
    h2 ^= length;
    h1 += h2;
    h2 += h1;
    h1 = fmix64(h1);
    h2 = fmix64(h2);
    h1 += h2;
    const int64_t token = static_cast<int64_t>(h1);
    return token == INT64_MIN ? INT64_MAX : token;  // no key has the minimum token
}

}  // namespace fastcql
