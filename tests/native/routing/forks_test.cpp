// Forks without the GIL: a child finds no lock of another thread. A program of its own, as ThreadSanitizer does not
// follow a fork of several threads.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "base/epochs.h"
#include "routing/tablet_map.h"
#include "testing.h"

namespace forks_test {

using namespace fastcql;

namespace {

constexpr int64_t kTokens = 64;

void add(TabletMap& map, const TableName& name, int64_t first, int64_t last) {
    const Replica replica = make_replica(1, 1);
    map.add(name, {first, last, first ^ last, &replica, 1, kHasVersion});
}

bool finds(TabletMap& map, const TableName& name, int64_t token) {
    FoundTablet found;
    return map.find(name, token, found) && found.first < token && token <= found.last;
}

// Forks *rounds* times beside threads that use a map; each child does the same *deeper* times.
void fork_beside_threads(int rounds, int deeper) {
    TabletMap map(std::make_shared<TabletHosts>());
    const TableName name("ks", "t");
    add(map, name, 0, kTokens);
    std::atomic<bool> over{false};
    std::atomic<int> begun{0};
    std::vector<std::thread> threads;
    for (int64_t number = 0; number < 2; ++number) {
        threads.emplace_back([&, number] {
            ++begun;
            while (!over.load()) {
                add(map, name, number * 32, number * 32 + 32);
                for (int64_t token = 1; token <= 20; ++token) CHECK(finds(map, name, number * 32 + token));
            }
        });
    }
    // A sanitizer has a lock while a thread begins, which would stay locked in a child that makes threads.
    while (begun < 2) std::this_thread::yield();
    for (int count = 0; count < rounds; ++count) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);  // ends a child that waits for a lock
            add(map, name, 0, kTokens);
            CHECK(finds(map, name, 1) && Epochs::over(Epochs::retire()));
            if (deeper > 0) fork_beside_threads(rounds, deeper - 1);
            _exit(0);
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(status == 0);
    }
    over = true;
    for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST(children_find_no_lock_of_another_thread) { fork_beside_threads(300, 0); }

TEST(threads_of_children_are_found_by_their_forks) { fork_beside_threads(15, 1); }

}  // namespace forks_test
