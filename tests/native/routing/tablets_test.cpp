// The tablet map against a list that is searched from end to end.
#include <algorithm>
#include <ctime>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "routing/tablet_map.h"
#include "testing.h"

namespace tablets_test {

using namespace fastcql;

namespace {

const TableName kTable("ks", "t");
using Random = std::mt19937_64;

struct Owned {  // a tablet with its replicas
    int64_t first, last, version;
    uint8_t flags;
    std::vector<Replica> replicas;

    TabletRow row() const {
        return {first, last, version, replicas.data(), static_cast<uint8_t>(replicas.size()), flags};
    }
    bool covers(int64_t token) const {
        return first < last ? first < token && token <= last : first < token || token <= last;
    }
    // Two ranges overlap if and only if one covers the last token of the other.
    bool overlaps(const Owned& other) const { return covers(other.last) || other.covers(last); }
    bool equals(const FoundTablet& found) const {
        return first == found.first && last == found.last && version == found.version && flags == found.flags &&
               replicas == std::vector<Replica>(found.replicas, found.replicas + found.count);
    }
};

Owned make(int64_t first, int64_t last, Random& random) {
    Owned tablet{first, last, 0, 0, {}};
    if (random() % 3 == 0) {
        tablet.flags = kHasVersion;
        tablet.version = static_cast<int64_t>(random());
    }
    const size_t count = random() % 40 == 0 ? random() % (kMaxReplicas + 1) : random() % 5;
    for (size_t i = 0; i < count; ++i) tablet.replicas.push_back(static_cast<Replica>(random() % 9) << 16 | (i & 7));
    return tablet;
}

class Model {
public:
    std::vector<Owned> tablets;

    void add(const Owned& tablet) {
        remove([&](const Owned& other) { return other.overlaps(tablet); });
        tablets.push_back(tablet);
    }
    void drop_host(uint16_t host) {
        remove([host](const Owned& tablet) {
            return std::any_of(tablet.replicas.begin(), tablet.replicas.end(),
                               [host](Replica replica) { return replica_host(replica) == host; });
        });
    }
    const Owned* find(int64_t token) const {
        for (const Owned& tablet : tablets)
            if (tablet.covers(token)) return &tablet;
        return nullptr;
    }

private:
    template <class Condition>
    void remove(Condition condition) {
        tablets.erase(std::remove_if(tablets.begin(), tablets.end(), condition), tablets.end());
    }
};

void check_token(const TabletMap& map, const Model& model, int64_t token) {
    FoundTablet found;
    const Owned* expected = model.find(token);
    CHECK(map.find(kTable, token, found) == (expected != nullptr));
    CHECK(!expected || expected->equals(found));
}

void check_same(const TabletMap& map, const Model& model) {
    uint64_t changes = 0;
    const std::vector<TabletMap::Copy> copies = map.copy(changes);
    CHECK(copies.size() == (model.tablets.empty() ? 0u : 1u));
    if (copies.empty()) return;
    CHECK(copies[0].rows.size() == model.tablets.size());
    for (size_t i = 1; i < copies[0].rows.size(); ++i) CHECK(copies[0].rows[i - 1].last < copies[0].rows[i].last);
    for (const Owned& tablet : model.tablets) {
        check_token(map, model, tablet.last);
        check_token(map, model, tablet.first);
        if (tablet.last < INT64_MAX) check_token(map, model, tablet.last + 1);
        if (tablet.first < INT64_MAX) check_token(map, model, tablet.first + 1);
    }
    for (int64_t token : {INT64_MIN, INT64_MIN + 1, int64_t{0}, INT64_MAX}) check_token(map, model, token);
}

int64_t token_below(Random& random, int64_t limit) {
    if (random() % 50 == 0) return random() % 2 ? INT64_MAX : INT64_MIN;
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

HostId id(uint8_t number) {
    HostId id = {};
    id[15] = number;
    return id;
}

}  // namespace

TEST(any_changes_give_what_a_simple_list_gives) {
    for (unsigned seed = 0; seed < 12; ++seed) {
        Random random(seed);
        TabletMap map(std::make_shared<TabletHosts>());
        Model model;
        const bool wraps = seed % 3 == 0;
        const int64_t limit = seed % 2 ? 3000 : 60;  // many chunks, or many overlaps
        for (int step = 0; step < 1500; ++step) {
            const int64_t a = token_below(random, limit), width = static_cast<int64_t>(random() % (step % 100 ? 4 : 400));
            const int64_t b = a > INT64_MAX - 400 ? a : a + width;
            if (step % 300 == 299) {
                const uint16_t host = static_cast<uint16_t>(random() % 9);
                map.drop_host(host);
                model.drop_host(host);
            } else if (step % 700 == 699) {
                std::vector<Owned> several;
                std::vector<TabletRow> rows;
                for (int64_t at = 0; at < limit; at += 1 + static_cast<int64_t>(random() % 3))
                    several.push_back(make(at, at + 1, random));
                for (uint64_t more = random() % 6; more > 0; --more) {  // overlaps others, some wrap
                    const int64_t at = token_below(random, limit), other = token_below(random, limit);
                    several.push_back(make(random() % 2 ? at : std::min(at, other), std::max(at, other), random));
                }
                std::shuffle(several.begin(), several.end(), random);
                model.tablets.clear();
                for (const Owned& tablet : several) {
                    rows.push_back(tablet.row());
                    model.add(tablet);
                }
                map.replace(kTable, rows);
            } else if (a < b || wraps) {
                const Owned tablet = random() % 30 == 0 && wraps ? make(b, a, random) : make(a, b, random);
                map.add(kTable, tablet.row());
                model.add(tablet);
            }
            check_token(map, model, token_below(random, limit));
            if (step % 60 == 0) check_same(map, model);
        }
        check_same(map, model);
    }
}

TEST(replacing_by_any_rows) {
    for (unsigned seed = 0; seed < 500; ++seed) {
        Random random(seed);
        TabletMap map(std::make_shared<TabletHosts>());
        Model model;
        std::vector<Owned> several;
        std::vector<TabletRow> rows;
        const auto token = [&] {
            const int64_t edge = random() % 3 ? 0 : random() % 2 ? INT64_MAX - 3 : INT64_MIN + 3;
            return edge + static_cast<int64_t>(random() % 16) % (edge ? 4 : 16) - (edge < 0 ? 3 : 0);
        };
        for (uint64_t left = random() % 10; left > 0; --left) {
            const int64_t a = token(), b = token();
            const bool wraps = random() % 6 == 0;
            several.push_back(make(wraps ? std::max(a, b) : std::min(a, b), wraps ? std::min(a, b) : std::max(a, b), random));
        }
        for (const Owned& tablet : several) {
            rows.push_back(tablet.row());
            model.add(tablet);
        }
        map.replace(kTable, rows);
        check_same(map, model);
    }
}

TEST(chunks_split_and_merge) {
    Random random(3);
    TabletMap map(std::make_shared<TabletHosts>());
    Model model;
    for (int64_t i = 0; i < 2000; ++i) {  // one after the other
        model.add(make(i * 10, i * 10 + 10, random));
        map.add(kTable, model.tablets.back().row());
    }
    check_same(map, model);
    for (int64_t width : {20, 40, 800, 20000}) {  // merges, down to one
        for (int64_t first = 0; first < 20000; first += width) {
            model.add(make(first, first + width, random));
            map.add(kTable, model.tablets.back().row());
        }
        check_same(map, model);
    }
    CHECK(model.tablets.size() == 1 && map.bytes() < 2048);
}

TEST(memory_is_bounded_by_what_is_there) {
    TabletMap map(std::make_shared<TabletHosts>());
    const Replica replicas[3] = {make_replica(1, 1), make_replica(2, 2), make_replica(3, 3)};
    Random random(5);
    constexpr int64_t kCount = 20000;
    std::vector<int64_t> order(kCount);
    for (int64_t i = 0; i < kCount; ++i) order[static_cast<size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), random);
    for (int64_t i : order) map.add(kTable, {i, i + 1, i, replicas, 3, kHasVersion});
    CHECK(map.bytes() <= 42 * kCount);
    for (int64_t i : order)  // nearly everything goes, a little in every chunk stays
        if (i % 100) map.add(kTable, {i / 100 * 100, i / 100 * 100 + 100, i, replicas, 3, 0});
    CHECK(map.bytes() <= 60 * kCount / 100);
}

TEST(tables_have_nothing_to_do_with_each_other) {
    TabletMap map(std::make_shared<TabletHosts>());
    const Replica replica = make_replica(1, 1);
    FoundTablet found;
    std::vector<std::string> names;
    for (int i = 0; i < 200; ++i) names.push_back(std::string(static_cast<size_t>(i % 23), 'x') + std::to_string(i));
    for (size_t i = 0; i < names.size(); ++i)
        map.add({names[i % 5], names[i]}, {0, static_cast<int64_t>(i) + 1, 0, &replica, 1, 0});
    for (size_t i = 0; i < names.size(); ++i) {
        CHECK(map.find({names[i % 5], names[i]}, 1, found) && found.last == static_cast<int64_t>(i) + 1);
        CHECK(!map.find({names[(i + 1) % 5], names[i]}, 1, found));
    }
    CHECK(!map.find({"", ""}, 1, found) && map.tables() == names.size());
    map.drop_keyspace(names[2]);
    map.drop({names[3], names[3]});
    CHECK(map.tables() == names.size() * 4 / 5 - 1);
    for (size_t i = 0; i < names.size(); ++i)
        CHECK(map.has_tablets({names[i % 5], names[i]}) == (i % 5 != 2 && i != 3));
}

TEST(a_held_table_stays) {
    TabletMap map(std::make_shared<TabletHosts>());
    const Replica replica = make_replica(1, 1);
    FoundTablet found;
    TabletTable* table = map.hold(kTable);
    CHECK(map.hold(kTable) == table && map.tables() == 1 && !table->find(5, found));
    for (int round = 0; round < 3; ++round) {
        map.add(kTable, {0, 10, 0, &replica, 1, 0});
        CHECK(table->find(5, found) && found.last == 10 && map.tables() == 1);
        round % 2 ? map.drop(kTable) : map.drop_host(1);
        CHECK(!table->find(5, found) && map.tables() == 1);
    }
    map.release(table);
    CHECK(map.tables() == 1);
    map.release(table);
    CHECK(map.tables() == 0);
}

TEST(hosts_have_numbers) {
    TabletHosts hosts;
    uint16_t number = 0;
    CHECK(!hosts.look_up(id(7), number));
    for (uint8_t i = 0; i < 255; ++i) CHECK(hosts.intern(id(i)) == i);
    for (uint8_t i = 0; i < 255; ++i) CHECK(hosts.intern(id(i)) == i && hosts.id(i) == id(i));
    CHECK(hosts.look_up(id(7), number) && number == 7);
    for (size_t i = 255; i < TabletHosts::kMax; ++i) CHECK(hosts.add(id(0)) == i);
    bool full = false;
    try {
        hosts.add(id(0));
    } catch (const std::overflow_error&) {
        full = true;
    }
    CHECK(full && hosts.intern(id(3)) == 3);
}

// Overlaps and tablets that wrap around cost no more than sorting does.
TEST(replacing_takes_no_time_by_the_square) {
    static constexpr int64_t kCount = 20000;
    const Replica replica = make_replica(1, 1);
    const auto clocks_for = [&](auto tablet_of) {
        std::vector<TabletRow> rows;
        for (int64_t i = 0; i < kCount; ++i) {
            const std::pair<int64_t, int64_t> range = tablet_of(i);
            rows.push_back({range.first, range.second, 0, &replica, 1, 0});
        }
        TabletMap map(std::make_shared<TabletHosts>());
        const std::clock_t start = std::clock();
        map.replace(kTable, rows);
        FoundTablet found;
        CHECK(map.find(kTable, rows.back().last, found) && found.first == rows.back().first);
        return static_cast<double>(std::clock() - start);
    };
    using Range = std::pair<int64_t, int64_t>;
    const Range middle(kCount * 5, kCount * 5 + 11);
    const auto in_order = [](int64_t i) { return Range(i * 10, i * 10 + 10); };
    const auto in_any_order = [](int64_t i) { return Range(i * 7919 % kCount * 10, i * 7919 % kCount * 10 + 10); };
    const double most = 200 * clocks_for(in_order) + 1e4;
    CHECK(clocks_for([&](int64_t i) { return i ? in_any_order(i) : middle; }) < most);
    CHECK(clocks_for([&](int64_t i) { return i > 1 ? in_any_order(i) : i ? middle : Range(kCount * 10, 0); }) < most);
}

// So does learning them one by one beside a tablet that wraps around.
TEST(adding_beside_a_tablet_that_wraps) {
    constexpr int64_t kCount = 20000;
    const Replica replica = make_replica(1, 1);
    const auto clocks = [&](bool wraps) {
        TabletMap map(std::make_shared<TabletHosts>());
        if (wraps) map.add(kTable, {kCount * 10, 0, 0, &replica, 1, 0});
        const std::clock_t start = std::clock();
        for (int64_t i = 0; i < kCount; ++i) map.add(kTable, {i * 10, i * 10 + 10, 0, &replica, 1, 0});
        FoundTablet found;
        CHECK(map.find(kTable, 5, found) && map.find(kTable, -5, found) == wraps);
        return static_cast<double>(std::clock() - start);
    };
    CHECK(clocks(true) < 20 * clocks(false) + 1e4);
}

}  // namespace tablets_test
