// The merge without Python: random sources against a stable sort, batches that are let go, what is refused, threads.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "columns/merge.h"
#include "memory/pool.h"
#include "testing.h"

namespace merge_test {

using namespace fastcql;
using namespace fastcql::columns;

namespace {

struct Row {
    int64_t key;
    int32_t source, number;
    bool operator==(const Row& other) const {
        return key == other.key && source == other.source && number == other.number;
    }
};
using Rows = std::vector<Row>;

// The key as a number and as text, source, number, and a list that repeats the number.
Plan* new_plan() {
    auto* plan = new Plan;
    const auto add = [plan](int32_t parent, Kind kind) {
        Type& type = plan->add(parent);
        type.kind = kind;
        type.format = "x";
        type.name = "f";
        type.cql = "type";
    };
    for (const Kind kind : {Kind::Eight, Kind::Text, Kind::Four, Kind::Four, Kind::List, Kind::Boolean}) add(-1, kind);
    add(4, Kind::Four);
    CHECK(plan->complete());
    return plan;
}

std::vector<uint8_t> page_bytes(const Rows& rows) {
    std::vector<uint8_t> out;
    const auto put32 = [&out](int32_t v) {
        uint8_t raw[4];
        store32(raw, static_cast<uint32_t>(v));
        out.insert(out.end(), raw, raw + 4);
    };
    for (const Row& row : rows) {
        uint8_t raw[8];
        store64(raw, static_cast<uint64_t>(row.key));
        put32(8);
        out.insert(out.end(), raw, raw + 8);
        char text[32];
        const int size = std::snprintf(text, sizeof text, "%08d", static_cast<int>(row.key) + 1000000);
        put32(size);
        out.insert(out.end(), text, text + size);
        put32(4);
        put32(row.source);
        put32(4);
        put32(row.number);
        const int32_t items = row.number % 4;
        put32(items ? 4 + 8 * items : -1);
        if (items) put32(items);
        for (int32_t i = 0; i < items; ++i) {
            put32(4);
            put32(row.number);
        }
        put32(1);
        out.push_back(static_cast<uint8_t>(row.number & 1));
    }
    return out;
}

Batch* batch_of(const Plan& plan, memory::Pool& pool, const Rows& rows) {
    const std::vector<uint8_t> bytes = page_bytes(rows);
    Failure failure;
    Batch* batch = Batch::make(plan, pool);
    CHECK(batch->append({bytes.data(), bytes.size(), static_cast<int64_t>(rows.size())}, {}, failure));
    CHECK(batch->finish(failure));
    return batch;
}

template <typename T>
T value(const Column& column, int64_t row) {
    T found;
    std::memcpy(&found, column.values.data() + row * static_cast<int64_t>(sizeof found), sizeof found);
    return found;
}

void read(const Batch& batch, int64_t first, int64_t count, Rows& out) {
    for (int64_t row = first; row < first + count; ++row) {
        const Row found{value<int64_t>(batch.column(0), row), value<int32_t>(batch.column(2), row),
                        value<int32_t>(batch.column(3), row)};
        const Column& list = batch.column(4);
        const int32_t begin = value<int32_t>(list, row), end = value<int32_t>(list, row + 1);
        CHECK(end - begin == found.number % 4);
        for (int32_t i = begin; i < end; ++i) CHECK(value<int32_t>(list.children[0], i) == found.number);
        const bool known = !list.nulls || (list.validity.data()[row / 8] >> row % 8 & 1);
        CHECK(known == (end > begin));
        CHECK((batch.column(5).values.data()[row / 8] >> row % 8 & 1) == (found.number & 1));
        out.push_back(found);
    }
}

struct Random {
    std::mt19937_64 engine;
    explicit Random(uint64_t seed) : engine(seed) {}
    int64_t below(int64_t n) { return static_cast<int64_t>(engine() % static_cast<uint64_t>(n)); }
};

bool before(const Row& a, const Row& b, bool descends) { return descends ? a.key > b.key : a.key < b.key; }

std::vector<Rows> random_sources(Random& random, bool descends) {
    std::vector<Rows> sources(static_cast<size_t>(random.below(20)));
    const int64_t keys = random.below(2) ? 10 : 100000;
    for (size_t i = 0; i < sources.size(); ++i) {
        const int64_t run = random.below(3) ? 1 : 200;  // whole stretches are of one source
        for (int64_t n = random.below(600), k = 0; k < n; ++k) {
            sources[i].push_back({random.below(keys) / run * run * 7 % keys, static_cast<int32_t>(i), 0});
        }
        std::stable_sort(sources[i].begin(), sources[i].end(),
                         [&](const Row& a, const Row& b) { return before(a, b, descends); });
        for (size_t k = 0; k < sources[i].size(); ++k) sources[i][k].number = static_cast<int32_t>(k);
    }
    return sources;
}

Rows merged(Merge& merge, const Plan& plan, memory::Pool& pool, const std::vector<Rows>& sources, Random& random) {
    std::vector<size_t> at(sources.size());
    Failure failure;
    Rows out;
    for (;;) {
        bool hungry = false;
        for (size_t i = 0; i < sources.size(); ++i) {
            const auto source = static_cast<int32_t>(i);
            if (!merge.needs_rows(source)) continue;
            hungry = true;
            const size_t left = sources[i].size() - at[i];
            const size_t count = std::min(left, static_cast<size_t>(1 + random.below(200)));
            if (!left) {
                merge.end(source);
                continue;
            }
            const size_t early = at[i] ? 1 : 0;  // a row of the batch that is not fed
            Batch* batch = batch_of(plan, pool, Rows(sources[i].begin() + static_cast<ptrdiff_t>(at[i] - early),
                                                     sources[i].begin() + static_cast<ptrdiff_t>(at[i] + count)));
            CHECK(merge.feed(source, *batch, static_cast<int64_t>(early), static_cast<int64_t>(count), failure));
            batch->release();
            at[i] += count;
            if (count == left && random.below(2)) merge.end(source);
        }
        const int64_t pending = merge.advance(1 + random.below(1000));
        CHECK(pending >= 0);
        if (!hungry && !pending) return out;
        while (random.below(4)) {
            Merge::MergedRows piece;
            CHECK(merge.take(piece, failure));
            if (!piece.batch) break;
            read(*piece.batch, piece.first, piece.count, out);
            piece.batch->release();
        }
    }
}

}  // namespace

TEST(random_sources_against_a_sort) {
    memory::Pool* pool = new memory::Pool({size_t{256} << 20, size_t{8} << 20, 64, false});
    Plan* plan = new_plan();
    Random random(7);
    for (int round = 0; round < 60; ++round) {
        const bool descends = random.below(2);
        const auto sources = random_sources(random, descends);
        Rows wanted;
        for (const Rows& rows : sources) wanted.insert(wanted.end(), rows.begin(), rows.end());
        std::stable_sort(wanted.begin(), wanted.end(), [&](const Row& a, const Row& b) { return before(a, b, descends); });
        for (const auto& order : {std::vector<OrderColumn>{{0, descends}}, std::vector<OrderColumn>{{1, descends}}}) {
            Merge merge(*plan, *pool, order, static_cast<int32_t>(sources.size()), 1 + random.below(100));
            CHECK(merged(merge, *plan, *pool, sources, random) == wanted);
        }
    }
    plan->release();
    CHECK(counters().batches.load() == 0 && counters().blocks.load() == 0);
    pool->let_go();
}

TEST(what_is_not_in_order_is_refused_and_changes_nothing) {
    memory::Pool* pool = new memory::Pool({size_t{64} << 20, size_t{8} << 20, 64, false});
    Plan* plan = new_plan();
    {
        Merge merge(*plan, *pool, {{0, false}}, 1, 64);
        Failure failure;
        Batch* wrong = batch_of(*plan, *pool, {{1, 0, 0}, {3, 0, 1}, {2, 0, 2}});
        CHECK(!merge.feed(0, *wrong, 0, 3, failure) && failure.kind == Failure::Kind::Value && failure.row == 2);
        CHECK(merge.needs_rows(0) && merge.advance(10) == 0);
        CHECK(merge.feed(0, *wrong, 0, 2, failure));
        CHECK(merge.advance(10) == 2 && merge.needs_rows(0));
        CHECK(!merge.feed(0, *wrong, 2, 1, failure) && failure.row == 2);
        Merge::MergedRows piece;
        CHECK(merge.take(piece, failure) && piece.count == 2);
        piece.batch->release();
        wrong->release();
    }  // and one that is not read to its end
    {
        Merge merge(*plan, *pool, {{0, false}, {1, true}}, 2, 2);
        Failure failure;
        Batch* batch = batch_of(*plan, *pool, {{1, 0, 0}, {2, 0, 1}, {3, 0, 2}});
        CHECK(merge.feed(0, *batch, 0, 3, failure) && merge.feed(1, *batch, 0, 1, failure));
        CHECK(merge.advance(10) == 2);
        batch->release();
    }
    plan->release();
    CHECK(counters().batches.load() == 0 && counters().blocks.load() == 0);
    pool->let_go();
}

TEST(merges_on_threads_share_batches) {
    memory::Pool* pool = new memory::Pool({size_t{64} << 20, size_t{8} << 20, 64, false});
    Plan* plan = new_plan();
    std::vector<Batch*> batches;
    for (int32_t source = 0; source < 8; ++source) {
        Rows rows;
        for (int32_t i = 0; i < 500; ++i) rows.push_back({i / 100 * 800 + source * 100 + i % 100, source, i});
        batches.push_back(batch_of(*plan, *pool, rows));
    }
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 4; ++thread) {
        threads.emplace_back([&] {
            for (int round = 0; round < 20; ++round) {
                Merge merge(*plan, *pool, {{0, false}}, 8, 64);
                Failure failure;
                for (int32_t i = 0; i < 8; ++i) {
                    CHECK(merge.feed(i, *batches[static_cast<size_t>(i)], 0, 500, failure));
                    merge.end(i);
                }
                Rows out;
                while (merge.advance(1000) > 0) {
                    Merge::MergedRows piece;
                    CHECK(merge.take(piece, failure));
                    CHECK(piece.count == 100);
                    read(*piece.batch, piece.first, piece.count, out);
                    piece.batch->release();
                }
                CHECK(out.size() == 4000 && std::is_sorted(out.begin(), out.end(), [](const Row& a, const Row& b) {
                          return a.key < b.key;
                      }));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (Batch* batch : batches) batch->release();
    plan->release();
    CHECK(counters().batches.load() == 0 && counters().blocks.load() == 0);
    pool->let_go();
}

TEST(bits_are_copied_from_anywhere_to_anywhere) {
    Random random(3);
    for (int round = 0; round < 2000; ++round) {
        uint8_t in[40], out[40] = {}, wanted[40] = {};
        for (uint8_t& byte : in) byte = static_cast<uint8_t>(random.engine());
        const int64_t from = random.below(150), to = random.below(150), n = random.below(150);
        for (int64_t i = 0; i < n; ++i) wanted[(to + i) / 8] |= static_cast<uint8_t>((in[(from + i) / 8] >> (from + i) % 8 & 1) << (to + i) % 8);
        copy_bits(out, to, in, from, n);
        CHECK(std::memcmp(out, wanted, sizeof out) == 0);
        int64_t ones = 0;
        for (int64_t i = 0; i < n; ++i) ones += in[(from + i) / 8] >> (from + i) % 8 & 1;
        CHECK(count_bits(in, from, n) == ones);
        std::memset(out, 0, sizeof out);
        set_bits(out, to, n);
        CHECK(count_bits(out, 0, 320) == n && count_bits(out, to, n) == n);
    }
}

}  // namespace merge_test
