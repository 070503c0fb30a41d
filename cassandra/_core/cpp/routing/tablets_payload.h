// A tablet as described by a ScyllaDB server: the values of the custom payload keys tablets-routing-v1,
// tuple<bigint, bigint, list<tuple<uuid, int>>>, and tablets-routing-v2, which has the version as a fourth bigint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastcql {

using HostId = std::array<uint8_t, 16>;

struct PayloadReplica {
    HostId host;
    uint16_t shard;
};

struct TabletPayload {
    int64_t first = 0;
    int64_t last = 0;
    int64_t version = 0;
    bool has_version = false;
    std::vector<PayloadReplica> replicas;
};

// Return null, or the error in the bytes. Throws bad_alloc.
const char* parse_tablet(const uint8_t* data, size_t size, TabletPayload& parsed);

}  // namespace fastcql
