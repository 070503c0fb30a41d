#include "cache/pages.h"

#include <atomic>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "testing.h"

namespace pages_test {

using namespace fastcql;
using namespace fastcql::cache;

namespace {

constexpr int64_t kTtl = 1000;

// Plain memory, which is counted.
class Blocks final : public memory::BlockPool {
public:
    bool take_block(size_t size, memory::ColumnBlock& block) override {
        if (fails) return false;
        block.capacity = (size + 63) / 64 * 64;
        block.data = static_cast<uint8_t*>(allocate_aligned(64, block.capacity));
        block.handle = nullptr;
        ++blocks;
        return true;
    }
    bool grow_block(memory::ColumnBlock&, size_t, size_t) override { return false; }
    void give_block(const memory::ColumnBlock& block) override {
        --blocks;
        free_aligned(block.data);
    }
    void hold() noexcept override { ++holders; }
    void let_go() noexcept override { --holders; }

    std::atomic<int> blocks{0}, holders{0};
    bool fails = false;
};

const uint8_t* bytes_of(const std::string& text) { return reinterpret_cast<const uint8_t*>(text.data()); }
Key key_of(const std::string& text, uint64_t shape = 1) { return {shape, bytes_of(text), text.size()}; }

std::string found(PageCache& cache, const std::string& key, int64_t now, const TableWrites& writes, uint64_t shape = 1) {
    Page* page = cache.find(key_of(key, shape), now, writes);
    if (!page) return "";
    std::string text(reinterpret_cast<const char*>(page->body()), page->size());
    page->release();
    return text;
}

void put(PageCache& cache, const std::string& key, const std::string& body, const Read& read, int64_t now,
         const TableWrites& writes, uint64_t shape = 1) {
    cache.put(key_of(key, shape), bytes_of(body), body.size(), 0x040008, read, now, writes);
}

Read read_at(int64_t sent, const TableWrites& writes, int64_t token) { return {sent, writes.now(), true, token}; }

}  // namespace

TEST(a_page_is_found_by_its_key_and_shape) {
    Blocks blocks;
    TableWrites writes;
    {
        PageCache cache(blocks, 1 << 20, kTtl, 7);
        CHECK(found(cache, "a", 0, writes).empty());
        put(cache, "a", "one", read_at(0, writes, 1), 0, writes);
        put(cache, "", "none", read_at(0, writes, 1), 0, writes);
        CHECK(found(cache, "a", 1, writes) == "one");
        CHECK(found(cache, "", 1, writes) == "none");
        CHECK(found(cache, "a", 1, writes, 2).empty());
        CHECK(found(cache, "b", 1, writes).empty());
        const Statistics all = cache.statistics();
        CHECK(all.hits == 2 && all.misses == 3 && all.entries == 2);
    }
    CHECK(blocks.blocks == 0 && blocks.holders == 0);
}

TEST(a_page_outlives_its_cache_for_those_who_have_it) {
    Blocks blocks;
    TableWrites writes;
    Page* page;
    {
        PageCache cache(blocks, 1 << 20, kTtl, 7);
        put(cache, "a", "one", read_at(0, writes, 1), 0, writes);
        page = cache.find(key_of("a"), 0, writes);
    }
    CHECK(blocks.blocks == 1 && blocks.holders == 1);
    CHECK(std::string(reinterpret_cast<const char*>(page->body()), page->size()) == "one" && page->header() == 0x040008);
    page->release();
    CHECK(blocks.blocks == 0 && blocks.holders == 0);
}

TEST(its_age_counts_from_its_request) {
    Blocks blocks;
    TableWrites writes;
    PageCache cache(blocks, 1 << 20, kTtl, 7);
    put(cache, "a", "one", read_at(100, writes, 1), 900, writes);
    CHECK(found(cache, "a", 100 + kTtl - 1, writes) == "one");
    CHECK(found(cache, "a", 100 + kTtl, writes).empty());
    put(cache, "a", "late", read_at(100, writes, 1), 100 + kTtl, writes);
    CHECK(cache.statistics().entries == 0 && cache.statistics().expirations == 1);
}

TEST(the_page_of_an_earlier_read_replaces_none_of_a_later_one) {
    Blocks blocks;
    TableWrites writes;
    PageCache cache(blocks, 1 << 20, kTtl, 7);
    put(cache, "a", "later", read_at(200, writes, 1), 300, writes);
    put(cache, "a", "earlier", read_at(100, writes, 1), 400, writes);
    CHECK(found(cache, "a", 500, writes) == "later");
}

TEST(a_write_makes_pages_of_earlier_reads_invalid) {
    Blocks blocks;
    TableWrites writes;
    PageCache cache(blocks, 1 << 20, kTtl, 7);
    const Read before = read_at(0, writes, 1), other = read_at(0, writes, 2);
    Read whole = before;
    whole.routed = false;
    put(cache, "a", "one", before, 0, writes);
    put(cache, "b", "two", other, 0, writes);
    put(cache, "all", "three", whole, 0, writes);
    writes.note(1);
    CHECK(found(cache, "a", 1, writes).empty() && found(cache, "b", 1, writes) == "two");
    CHECK(found(cache, "all", 1, writes).empty());
    put(cache, "a", "one", before, 2, writes);  // its response comes late
    CHECK(found(cache, "a", 2, writes).empty());
    put(cache, "a", "new", read_at(2, writes, 1), 2, writes);
    CHECK(found(cache, "a", 3, writes) == "new");
    writes.note_all();
    CHECK(found(cache, "a", 3, writes).empty() && found(cache, "b", 3, writes).empty());
}

TEST(invalidating_all_concerns_reads_in_flight) {
    Blocks blocks;
    TableWrites writes;
    PageCache cache(blocks, 1 << 20, kTtl, 7);
    const Read before = read_at(0, writes, 1);
    put(cache, "a", "one", before, 0, writes);
    cache.invalidate(writes.tick());
    CHECK(cache.statistics().entries == 0 && cache.statistics().bytes == 0);
    put(cache, "a", "one", before, 0, writes);
    CHECK(found(cache, "a", 1, writes).empty());
    put(cache, "a", "two", read_at(1, writes, 1), 1, writes);
    CHECK(found(cache, "a", 1, writes) == "two");
}

TEST(memory_is_bounded_and_pages_that_are_read_again_stay) {
    Blocks blocks;
    TableWrites writes;
    PageCache cache(blocks, 1 << 18, INT64_MAX / 2, 7);
    const std::string body(100, 'x');
    for (int n = 0; n < 100; ++n) put(cache, "hot" + std::to_string(n), body, read_at(0, writes, n), 0, writes);
    for (int n = 0; n < 100; ++n) CHECK(found(cache, "hot" + std::to_string(n), 0, writes) == body);
    for (int n = 0; n < 100000; ++n) {
        put(cache, "scan" + std::to_string(n), body, read_at(0, writes, n), 0, writes);
        CHECK(cache.statistics().bytes <= 1 << 18);
    }
    int kept = 0;
    for (int n = 0; n < 100; ++n) kept += !found(cache, "hot" + std::to_string(n), 0, writes).empty();
    CHECK(kept == 100);
    CHECK(blocks.blocks == cache.statistics().entries);
}

TEST(a_page_that_is_too_large_or_without_memory_is_not_kept) {
    Blocks blocks;
    TableWrites writes;
    PageCache cache(blocks, 1 << 16, kTtl, 7);
    put(cache, "a", "small", read_at(0, writes, 1), 0, writes);
    put(cache, "a", std::string(1 << 14, 'x'), read_at(1, writes, 1), 1, writes);
    CHECK(found(cache, "a", 1, writes).empty());
    blocks.fails = true;
    put(cache, "a", "small", read_at(2, writes, 1), 2, writes);
    CHECK(found(cache, "a", 2, writes).empty() && blocks.blocks == 0);
}

// Totals count what caches that are gone have done, but not their pages.
TEST(totals_of_several_caches) {
    Blocks blocks;
    TableWrites writes;
    auto totals = std::make_shared<Totals>();
    auto first = std::make_unique<PageCache>(blocks, 1 << 20, kTtl, 7, totals);
    PageCache second(blocks, 1 << 20, kTtl, 7, totals);
    {
        PageCache third(blocks, 1 << 20, kTtl, 7, totals);
        found(third, "a", 0, writes);
    }
    for (PageCache* cache : {first.get(), &second}) {
        put(*cache, "a", "body", read_at(0, writes, 1), 0, writes);
        CHECK(found(*cache, "a", 0, writes) == "body");
    }
    CHECK(totals->read().hits == 2 && totals->read().misses == 1 && totals->read().entries == 2);
    CHECK(totals->read().bytes == first->statistics().bytes + second.statistics().bytes);
    first.reset();
    CHECK(totals->read().hits == 2 && totals->read().misses == 1 && totals->read().entries == 1);
    CHECK(totals->read().bytes == second.statistics().bytes);
}

// Caches come and go while a thread reads the totals: counters never go back.
TEST(totals_only_grow) {
#if FASTCQL_FREE_THREADED
    Blocks blocks;
    TableWrites writes;
    auto totals = std::make_shared<Totals>();
    std::atomic<int> running{2};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread) {
        threads.emplace_back([&] {
            for (int step = 0; step < 500; ++step) {
                PageCache cache(blocks, 1 << 20, kTtl, 7, totals);
                found(cache, "a", 0, writes);
            }
            --running;
        });
    }
    int64_t before = 0;
    while (running > 0) {
        const int64_t misses = totals->read().misses;
        CHECK(misses >= before);
        before = misses;
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(totals->read().misses == 1000);
#endif
}

// Random steps beside a map: a page that is found is that of the map, and valid; it may be missing only if it was
// evicted, which does not happen in a large cache.
TEST(like_a_map_with_a_clock) {
    for (const size_t size : {size_t{1} << 16, size_t{1} << 24}) {
        std::mt19937_64 random(size);
        Blocks blocks;
        TableWrites writes;
        PageCache cache(blocks, size, kTtl, random());
        struct Entry {
            Read read;
            std::string body;
        };
        std::map<std::string, Entry> oracle;
        std::vector<std::pair<std::string, Entry>> flying;
        std::map<int64_t, uint64_t> written;
        uint64_t all = 0, since = 0;
        int64_t now = 0;
        const auto is_valid = [&](const Entry& entry) {
            return now - entry.read.sent < kTtl && entry.read.time >= std::max({all, since, written[entry.read.token]});
        };
        for (int step = 0; step < 200000; ++step) {
            const int64_t token = static_cast<int64_t>(random() % 200);
            const std::string key = "key" + std::to_string(token);
            const auto choice = random() % 100;
            if (choice < 50) {
                const std::string body = found(cache, key, now, writes);
                const auto entry = oracle.find(key);
                const bool there = entry != oracle.end() && is_valid(entry->second);
                CHECK(body.empty() || (there && body == entry->second.body));
                CHECK(!there || !body.empty() || size < (1 << 20));
            } else if (choice < 70) {
                flying.push_back({key, {read_at(now, writes, token), std::to_string(step)}});
            } else if (choice < 90 && !flying.empty()) {
                std::swap(flying[random() % flying.size()], flying.back());
                const auto [name, entry] = flying.back();
                flying.pop_back();
                put(cache, name, entry.body, entry.read, now, writes);
                const auto old = oracle.find(name);
                if (old == oracle.end() || old->second.read.sent <= entry.read.sent) oracle[name] = entry;
            } else if (choice < 96) {
                writes.note(token);
                written[token] = writes.now();
            } else if (choice < 99) {
                now += static_cast<int64_t>(random() % 20);
            } else if (random() % 50 == 0) {
                if (random() % 2) {
                    writes.note_all();
                    all = writes.now();
                } else {
                    cache.invalidate(writes.tick());
                    since = writes.now();
                }
            }
        }
        CHECK(cache.statistics().hits > 1000);
        CHECK(blocks.blocks == cache.statistics().entries);
    }
}

// Each thread writes to a partition of its own, and then reads it: it never finds a page of before.
TEST(threads_that_write_find_nothing_older) {
#if FASTCQL_FREE_THREADED
    Blocks blocks;
    TableWrites writes;
    PageCache cache(blocks, 1 << 16, INT64_MAX / 2, 7);
    std::atomic<int> wrong{0};
    std::vector<std::atomic<int>> stored(4);
    std::vector<std::thread> threads;
    for (int own = 0; own < 4; ++own)
        threads.emplace_back([&, own] {
            std::mt19937_64 random(own);
            for (int n = 1; n < 5000; ++n) {
                stored[own] = n;
                writes.note(own);
                for (const int read : {own, static_cast<int>(random() % 4)}) {
                    const std::string key = std::to_string(read);
                    const std::string body = found(cache, key, n, writes);
                    if (read == own && !body.empty() && body != std::to_string(n)) ++wrong;
                    if (!body.empty()) continue;
                    const Read begun = read_at(n, writes, read);
                    put(cache, key, std::to_string(stored[read].load()), begun, n, writes);
                }
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(cache.statistics().hits > 0);
#endif
}

}  // namespace pages_test
