// Payloads that tell of tablets: whole, cut anywhere, damaged everywhere.
#include <memory>
#include <random>

#include "base/bytes.h"
#include "routing/tablet_map.h"
#include "testing.h"

namespace tablets_payload_test {

using namespace fastcql;

namespace {

using Bytes = std::vector<uint8_t>;

void put32(Bytes& to, uint32_t value) {
    to.resize(to.size() + 4);
    store32(to.data() + to.size() - 4, value);
}

void put_value(Bytes& to, const Bytes& value) {
    put32(to, static_cast<uint32_t>(value.size()));
    to.insert(to.end(), value.begin(), value.end());
}

void put_number(Bytes& to, int64_t value) {
    Bytes data(8);
    store64(data.data(), static_cast<uint64_t>(value));
    put_value(to, data);
}

Bytes make(int64_t first, int64_t last, size_t count, bool versioned) {
    Bytes list, payload;
    put32(list, static_cast<uint32_t>(count));
    for (size_t i = 0; i < count; ++i) {
        Bytes replica, shard;
        put_value(replica, Bytes(16, static_cast<uint8_t>(i)));
        put32(shard, static_cast<uint32_t>(i * 3));
        put_value(replica, shard);
        put_value(list, replica);
    }
    put_number(payload, first);
    put_number(payload, last);
    put_value(payload, list);
    if (versioned) put_number(payload, -7);
    return payload;
}

// In memory of exactly its size: the sanitizer sees one byte more.
const char* parse(const Bytes& payload, TabletPayload& parsed) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[payload.size()]);
    std::copy(payload.begin(), payload.end(), exact.get());
    parsed = TabletPayload();
    return parse_tablet(exact.get(), payload.size(), parsed);
}

}  // namespace

TEST(whole_ones) {
    TabletPayload parsed;
    for (size_t count : {size_t{1}, size_t{3}, kMaxReplicas}) {
        for (bool versioned : {false, true}) {
            CHECK(parse(make(-5, 10, count, versioned), parsed) == nullptr);
            CHECK(parsed.first == -5 && parsed.last == 10 && parsed.has_version == versioned);
            CHECK(!versioned || parsed.version == -7);
            CHECK(parsed.replicas.size() == count);
            for (size_t i = 0; i < count; ++i) {
                CHECK(parsed.replicas[i].shard == i * 3);
                CHECK(parsed.replicas[i].host[0] == i && parsed.replicas[i].host[15] == i);
            }
        }
    }
    CHECK(parse(make(INT64_MIN, INT64_MAX, 1, false), parsed) == nullptr);
    CHECK(parsed.first == INT64_MIN && parsed.last == INT64_MAX);
    CHECK(parse(make(0, 1, 0, true), parsed) == nullptr && parsed.replicas.empty());
    CHECK(parse(make(0, 1, kMaxReplicas + 1, false), parsed) != nullptr);
}

TEST(cut_anywhere) {
    TabletPayload parsed;
    const Bytes whole = make(1, 2, 3, true), first_version = make(1, 2, 3, false);
    for (size_t size = 0; size < whole.size(); ++size) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK((parse(cut, parsed) == nullptr) == (cut == first_version));
    }
    Bytes longer(whole);
    longer.push_back(0);
    CHECK(parse(longer, parsed) != nullptr);
}

TEST(damaged_everywhere) {
    std::mt19937_64 random(11);
    TabletMap map(std::make_shared<TabletHosts>());
    TabletPayload parsed;
    int good = 0, bad = 0;
    for (int round = 0; round < 60000; ++round) {
        Bytes payload = make(static_cast<int64_t>(random()), static_cast<int64_t>(random()), random() % 5, random() % 2);
        for (size_t times = random() % 4; times > 0; --times) {
            const size_t at = random() % payload.size();
            switch (random() % 5) {
                case 0: payload[at] = static_cast<uint8_t>(random()); break;
                case 1: payload[at] ^= static_cast<uint8_t>(1 << (random() % 8)); break;
                case 2: payload.resize(at + 1); break;
                case 3: payload.insert(payload.begin() + static_cast<std::ptrdiff_t>(at), 0xFF); break;
                default:
                    if (at + 4 <= payload.size()) store32(payload.data() + at, random() % 2 ? 0xFFFFFFFF : 0x7FFFFFFF);
            }
        }
        const bool fits = parse(payload, parsed) == nullptr;
        CHECK(!fits || parsed.replicas.size() <= kMaxReplicas);
        bool added = false;
        CHECK((map.learn({"ks", "t"}, payload.data(), payload.size(), added) == nullptr) == fits);
        CHECK(added == (fits && !parsed.replicas.empty()));
        ++(fits ? good : bad);
    }
    CHECK(good > 5000 && bad > 5000);
}

TEST(more_hosts_than_numbers) {
    TabletMap map(std::make_shared<TabletHosts>());
    const TableName table("ks", "t");
    bool added = false;
    size_t refused = 0;
    for (uint32_t i = 0; i < 66000; ++i) {
        Bytes payload = make(0, 10, 1, false);
        store32(payload.data() + 40, i);  // the beginning of the host id
        if (map.learn(table, payload.data(), payload.size(), added)) ++refused;
    }
    CHECK(refused == 66000 - TabletHosts::kMax);
    CHECK(map.learn(table, make(0, 10, 1, false).data(), make(0, 10, 1, false).size(), added) == nullptr);
    CHECK(map.has_tablets(table));
}

}  // namespace tablets_payload_test
