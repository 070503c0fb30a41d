// The shard of a ScyllaDB node that owns a token: biased-token-round-robin, as defined in the text "Intranode sharding"
// of the protocol extensions.
#pragma once

#include <cstdint>

namespace fastcql {

// *shards* is at least 1, *ignore_msb* at most 63. The product of 64 and 32 bits is computed in two halves, so that no
// compiler needs 128-bit integers.
inline uint32_t shard_of_token(int64_t token, uint32_t shards, uint32_t ignore_msb) noexcept {
    const uint64_t biased = (static_cast<uint64_t>(token) + (uint64_t{1} << 63)) << ignore_msb;
    const uint64_t low = (biased & 0xffffffffu) * shards;
    const uint64_t high = (biased >> 32) * shards;
    return static_cast<uint32_t>((high + (low >> 32)) >> 32);
}

}  // namespace fastcql
