// Shards of tokens against the protocol text's arithmetic, in 128 bits.
#include <initializer_list>
#include <random>

#include "routing/ring.h"
#include "testing.h"

namespace shard_test {

namespace {

// The shard is the digit before the point when the biased token, without its highest bits, is written as a fraction
// of 2^64 and multiplied: done here bit by bit, so that no product exceeds 64 bits.
uint32_t by_the_text(int64_t token, uint32_t shards, uint32_t ignore_msb) {
    uint64_t biased = static_cast<uint64_t>(token) ^ (uint64_t{1} << 63);
    for (uint32_t i = 0; i < ignore_msb; ++i) biased <<= 1;
    uint64_t sum = 0;  // shards * (the lowest bits of biased so far) / 2^(their number)
    for (int bit = 0; bit < 64; ++bit) {
        sum += (biased >> bit & 1) * shards;
        sum >>= 1;
    }
    return static_cast<uint32_t>(sum);
}

}  // namespace

TEST(shards_are_those_of_the_protocol_text) {
    std::mt19937_64 random(3);
    for (uint32_t shards : {1u, 2u, 3u, 7u, 12u, 64u, 255u, 4096u, 0xffffffffu})
        for (uint32_t ignore_msb : {0u, 1u, 12u, 31u, 32u, 63u}) {
            for (int64_t token : {INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX}) {
                const uint32_t shard = fastcql::shard_of_token(token, shards, ignore_msb);
                CHECK(shard == by_the_text(token, shards, ignore_msb) && shard < shards);
            }
            for (int i = 0; i < 2000; ++i) {
                const auto token = static_cast<int64_t>(random());
                const uint32_t shard = fastcql::shard_of_token(token, shards, ignore_msb);
                CHECK(shard == by_the_text(token, shards, ignore_msb) && shard < shards);
            }
        }
}

TEST(shards_go_up_with_tokens) {
    CHECK(fastcql::shard_of_token(INT64_MIN, 8, 0) == 0);
    CHECK(fastcql::shard_of_token(-1, 8, 0) == 3);
    CHECK(fastcql::shard_of_token(0, 8, 0) == 4);
    CHECK(fastcql::shard_of_token(INT64_MAX, 8, 0) == 7);
}

}  // namespace shard_test
