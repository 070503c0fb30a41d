// Lists by range, numbers by chance, and reading a map that no thread changes.
#include <vector>

#include "routing/ring.h"
#include "routing/tablet_map.h"
#include "testing.h"

namespace route_test {

using namespace fastcql;

TEST(lists_are_found_as_they_were_filled_in) {
    RangeLists lists;
    lists.reset(3);
    for (size_t range = 0; range < 3; ++range) CHECK(lists.find(range) == nullptr);
    const uint16_t some[] = {7, 65535, 0};
    lists.fill(2, some, 3);
    lists.fill(0, nullptr, 0);
    CHECK(lists.find(1) == nullptr);
    CHECK(lists.find(0)[0] == 0);
    const std::vector<uint16_t> found(lists.find(2), lists.find(2) + 4);
    CHECK((found == std::vector<uint16_t>{3, 7, 65535, 0}));
}

TEST(many_lists) {
    RangeLists lists;
    lists.reset(5000);
    for (uint16_t range = 0; range < 5000; ++range) {
        const uint16_t some[] = {range, static_cast<uint16_t>(range + 1)};
        lists.fill(range, some, range % 3);
    }
    for (uint16_t range = 0; range < 5000; ++range) {
        const uint16_t* found = lists.find(range);
        CHECK(found[0] == range % 3);
        for (uint16_t i = 0; i < found[0]; ++i) CHECK(found[i + 1] == range + i);
    }
}

TEST(dice_are_fair) {
    RandomSource dice(5);
    for (size_t sides : {1u, 2u, 3u, 255u}) {
        std::vector<size_t> counts(sides);
        for (size_t i = 0; i < 1000 * sides; ++i) ++counts.at(dice.below(sides));
        for (size_t count : counts) CHECK(count > 800 && count < 1200);
    }
}

TEST(a_held_table_finds_the_same_tablets_as_its_name) {
    const auto hosts = std::make_shared<TabletHosts>();
    TabletMap map(hosts);
    const TableName name("ks", "t");
    TabletTable* table = map.hold(name);
    std::vector<Replica> replicas;
    for (uint16_t i = 0; i < 9; ++i) replicas.push_back(make_replica(i, i));
    for (int64_t first = 0; first < 5000; first += 10) {
        const uint8_t count = static_cast<uint8_t>(first / 10 % 10);
        map.add(name, {first, first + 5, first, replicas.data(), count, kHasVersion});
    }
    for (int64_t token = -3; token < 5010; ++token) {
        FoundTablet one, other;
        const bool found = table->find(token, one);
        CHECK(map.find(name, token, other) == found);
        CHECK(found == (token > 0 && token < 5000 && token % 10 >= 1 && token % 10 <= 5));
        if (!found) continue;
        CHECK(one.first == other.first && one.last == other.last && one.version == other.version);
        CHECK(one.first == (token - 1) / 10 * 10 && one.version == one.first && one.count == other.count);
        for (size_t i = 0; i < one.count; ++i) CHECK(one.replicas[i] == replicas[i] && other.replicas[i] == replicas[i]);
    }
    map.release(table);
}

}  // namespace route_test
