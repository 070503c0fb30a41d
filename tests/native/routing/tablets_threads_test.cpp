// The tablet map without the GIL: readers without a lock beside writers, and tables that are dropped and held.
#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "routing/tablet_map.h"
#include "testing.h"

namespace tablets_threads_test {

using namespace fastcql;

namespace {

constexpr int64_t kTokens = 4096;
constexpr int kReaders = 3;
#ifdef __SANITIZE_THREAD__
constexpr int kLookUps = 200 * 1000;  // of each reader
#else
constexpr int kLookUps = 3500 * 1000;
#endif

using Random = std::mt19937_64;

// What a reader must find in each tablet, by its tokens: a mixture of two tablets differs.
Replica replica_of(int64_t first, int64_t last) {
    const auto mixed = static_cast<uint64_t>(first * 0x9E3779B97F4A7C15 + last) * 0xBF58476D1CE4E5B9u;
    return make_replica(static_cast<uint16_t>(mixed >> 32) % 50, static_cast<uint16_t>(mixed >> 48));
}

void add(TabletMap& map, const TableName& name, int64_t first, int64_t last) {
    const Replica replicas[3] = {replica_of(first, last), make_replica(1, 1), make_replica(2, 2)};
    map.add(name, {first, last, first ^ last, replicas, 3, kHasVersion});
}

void check(const FoundTablet& found, int64_t token) {
    CHECK(found.first < token && token <= found.last && found.version == (found.first ^ found.last));
    CHECK(found.count == 3 && found.replicas[0] == replica_of(found.first, found.last));
}

// Readers look up random tokens until all are done, and *write* is called meanwhile.
template <class Find, class Write>
void race(Find find, Write write) {
    std::atomic<int> left{kReaders};
    std::vector<std::thread> readers;
    for (int number = 0; number < kReaders; ++number) {
        readers.emplace_back([&, number] {
            Random random(static_cast<unsigned>(number));
            FoundTablet found;
            for (int count = 0; count < kLookUps; ++count) {
                const auto token = static_cast<int64_t>(random() % kTokens) + 1;
                if (find(token, found)) check(found, token);
            }
            --left;
        });
    }
    Random random(99);
    while (left.load() > 0) write(random);
    for (std::thread& reader : readers) reader.join();
}

void add_any(TabletMap& map, const TableName& name, Random& random) {
    const int64_t width = int64_t{1} << random() % 9;
    const auto first = static_cast<int64_t>(random() % kTokens) / width * width;
    add(map, name, first, first + width);
}

}  // namespace

TEST(readers_beside_writers) {
    TabletMap map(std::make_shared<TabletHosts>());
    const TableName name("ks", "t");
    TabletTable* table = map.hold(name);
    race([&](int64_t token, FoundTablet& found) { return table->find(token, found); },
         [&](Random& random) {
             if (random() % 1000 == 0) {
                 map.drop_host(static_cast<uint16_t>(random() % 50));
             } else {
                 add_any(map, name, random);
             }
         });
    map.release(table);
}

TEST(tables_come_and_go) {
    TabletMap map(std::make_shared<TabletHosts>());
    std::vector<std::string> names;
    for (int i = 0; i < 20; ++i) names.push_back("t" + std::to_string(i));
    race(
        [&](int64_t token, FoundTablet& found) {
            return map.find({"ks", names[static_cast<size_t>(token) % names.size()]}, token, found);
        },
        [&](Random& random) {
            const std::string& table = names[random() % names.size()];
            switch (random() % 50) {
                case 0:
                    map.drop({"ks", table});
                    break;
                case 1:
                    map.drop_keyspace("ks");
                    break;
                case 2:
                    map.release(map.hold({"ks", table}));
                    break;
                default:
                    add_any(map, {"ks", table}, random);
            }
        });
}

TEST(several_writers) {
    TabletMap map(std::make_shared<TabletHosts>());
    const TableName name("ks", "t");
    std::vector<std::thread> writers;
    for (unsigned number = 0; number < kReaders; ++number) {
        writers.emplace_back([&, number] {
            Random random(number);
            for (int count = 0; count < kLookUps / 100; ++count) add_any(map, name, random);
        });
    }
    for (std::thread& writer : writers) writer.join();
    CHECK(map.changes() == static_cast<uint64_t>(kReaders) * (kLookUps / 100));
    FoundTablet found;
    for (int64_t token = 1; token <= kTokens; ++token)
        if (map.find(name, token, found)) check(found, token);
}

}  // namespace tablets_threads_test
