// The tablet map against a list that is searched from end to end; many threads at once.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <stdexcept>
#include <string>

#include "routing/tablets_map.h"
#include "testing.h"

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
                if (random() % 2) several.push_back(make(5, 9, random));  // overlaps others
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

// A writer splits, merges, moves and drops while readers look up. Whoever finds a tablet finds a whole one: it covers
// the token, and version and replicas are those of its range. Two tablets that are never touched are always found.
TEST(readers_never_find_a_wrong_tablet) {
    constexpr int64_t kSpan = 1 << 14;
    TabletMap map(std::make_shared<TabletHosts>());
    const auto put = [&](int64_t first, int64_t last) {
        Replica replicas[6];
        const size_t count = 1 + static_cast<size_t>(first + last) % 6;
        for (size_t i = 0; i < count; ++i) replicas[i] = make_replica(static_cast<uint16_t>(first >> 6), static_cast<uint16_t>(last & 0xFF));
        map.add(kTable, {first, last, first * 31 + last, replicas, static_cast<uint8_t>(count), kHasVersion});
    };
    const auto check = [](int64_t token, const FoundTablet& found) {
        CHECK(found.first < token && token <= found.last);
        CHECK(found.version == found.first * 31 + found.last && found.flags == kHasVersion);
        CHECK(found.count == 1 + static_cast<size_t>(found.first + found.last) % 6);
        for (size_t i = 0; i < found.count; ++i) {
            CHECK(replica_host(found.replicas[i]) == static_cast<uint16_t>(found.first >> 6));
            CHECK(replica_shard(found.replicas[i]) == static_cast<uint16_t>(found.last & 0xFF));
        }
    };
    put(-2, -1);
    put(kSpan, kSpan + 1);
    for (int64_t at = 0; at < kSpan; at += 16) put(at, at + 16);

    constexpr int kReaders = 3, kLookups = 400000;
    std::atomic<int> ready{0}, through{0};
    std::vector<std::thread> readers;
    for (unsigned number = 0; number < kReaders; ++number) {
        readers.emplace_back([&, number] {
            Random random(number);
            TabletTable* table = map.hold(kTable);
            FoundTablet found;
            ++ready;
            while (ready.load() < kReaders) std::this_thread::yield();
            for (int i = 0; i < kLookups; ++i) {
                const int64_t token = 1 + static_cast<int64_t>(random() % kSpan);
                if (i % 2 ? map.find(kTable, token, found) : table->find(token, found)) check(token, found);
                if (i % 100) continue;
                CHECK(map.find(kTable, -1, found) && table->find(kSpan + 1, found));
                CHECK(!map.find({"ks", "other"}, 1, found) || found.last == 2);
            }
            map.release(table);
            ++through;
        });
    }
    Random random(99);
    for (int step = 0; step < 1000 || through.load() < kReaders; ++step) {
        const int64_t width = int64_t{16} << (random() % (step % 50 ? 3 : 9));
        const int64_t at = static_cast<int64_t>(random() % (kSpan / width)) * width;
        const Replica replica = make_replica(1, 1);
        switch (step % 5) {
            case 0:
                put(at, at + width);
                break;
            case 1:
            case 2:
                put(at, at + width / 2);
                put(at + width / 2, at + width);
                break;
            case 3:
                map.add({"ks", "other"}, {0, 2, 0, &replica, 1, 0});
                break;
            default:
                map.drop({"ks", "other"});
        }
        if (step % 500 == 499) map.drop_host(static_cast<uint16_t>(1 + random() % (kSpan >> 6)));
    }
    for (std::thread& reader : readers) reader.join();
}

// Threads come and go, each with its slot; what is retired is freed all the same.
TEST(short_lived_readers) {
    TabletMap map(std::make_shared<TabletHosts>());
    const Replica replica = make_replica(1, 1);
    for (int round = 0; round < 100; ++round) {
        map.add(kTable, {0, 10, round, &replica, 1, kHasVersion});
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; ++i)
            threads.emplace_back([&] {
                FoundTablet found;
                CHECK(map.find(kTable, 5, found) && found.version >= round);
            });
        map.add(kTable, {0, 10, round + 1, &replica, 1, kHasVersion});
        for (std::thread& thread : threads) thread.join();
    }
}

// A thread that reads while another forks does not read in the child: its pin is no pin there.
TEST(a_child_is_not_held_up_by_readers_it_does_not_have) {
    std::atomic<bool> pinned{false}, done{false};
    std::thread reader([&] {
        const Pin pin;
        pinned = true;
        while (!done.load()) std::this_thread::yield();
    });
    while (!pinned.load()) std::this_thread::yield();
    CHECK(Epochs::oldest() != UINT64_MAX);
    const pid_t child = fork();
    if (child == 0) _exit(Epochs::oldest() == UINT64_MAX ? 0 : 1);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    done = true;
    reader.join();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(Epochs::oldest() == UINT64_MAX);
}

TEST_MAIN()
