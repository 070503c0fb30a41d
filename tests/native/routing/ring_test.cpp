// The ring against a linear search, and murmur3 tokens of a real Cassandra.
#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "base/murmur3.h"
#include "routing/ring.h"
#include "testing.h"

namespace ring_test {

using fastcql::Ring;

namespace {

int64_t token_of(const std::string& key) {
    return fastcql::murmur3_token(reinterpret_cast<const uint8_t*>(key.data()), key.size());
}

size_t linear(const Ring& ring, int64_t token) {
    for (size_t i = 0; i < ring.size(); ++i)
        if (ring.token(i) >= token) return i;
    return 0;
}

}  // namespace

TEST(tokens_are_those_of_cassandra) {
    CHECK(token_of("123") == -7468325962851647638);
    CHECK(token_of("test") == -6017608668500074083);
    CHECK(token_of(std::string(8, '\xfe')) == -8927430733708461935);
    CHECK(token_of("9223372036854775807") == 7162290910810015547);
    CHECK(token_of("") == 0);
}

TEST(a_token_never_reads_past_its_key) {
    for (size_t length = 0; length < 70; ++length) {
        std::vector<uint8_t> key(length, 0x80);  // exactly as long: the sanitizer sees one byte more
        fastcql::murmur3_token(key.data(), key.size());
    }
}

TEST(lookups_agree_with_a_linear_search) {
    std::mt19937_64 random(7);
    for (size_t size = 1; size < 300; size += size < 20 ? 1 : 37) {
        std::set<int64_t> values;
        while (values.size() < size) values.insert(static_cast<int64_t>(random()) >> (random() % 60));
        std::vector<int64_t> tokens(values.begin(), values.end());
        std::shuffle(tokens.begin(), tokens.end(), random);
        const Ring ring(tokens);
        CHECK(ring.size() == size && !ring.has_duplicates());
        for (size_t i = 0; i < size; ++i) {
            CHECK(i == 0 || ring.token(i - 1) < ring.token(i));
            CHECK(tokens[ring.order(i)] == ring.token(i));
            for (int64_t around : {ring.token(i), ring.token(i) > INT64_MIN ? ring.token(i) - 1 : INT64_MIN,
                                   ring.token(i) < INT64_MAX ? ring.token(i) + 1 : INT64_MAX})
                CHECK(ring.index(around) == linear(ring, around));
        }
        for (int64_t token : {INT64_MIN, INT64_MAX, int64_t{0}, static_cast<int64_t>(random())})
            CHECK(ring.index(token) == linear(ring, token));
    }
}

TEST(duplicates_are_noticed) {
    CHECK(Ring(std::vector<int64_t>{3, 1, 3}).has_duplicates());
    CHECK(!Ring(std::vector<int64_t>{}).has_duplicates());
    CHECK(Ring().size() == 0);
}

}  // namespace ring_test
