// A filter of two columns and the sum of a third, in nanoseconds of CPU per row, in two ways of the same engine without
// Python: the mask of a batch first and then the sum of its rows; or interleaved, row by row, each one being tested and
// then mapped and reduced, as a fold by row does it. Prints JSON in seconds.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "columns/groups.h"
#include "columns/mask.h"

namespace {

using namespace fastcql;
using namespace fastcql::columns;

constexpr int64_t kRows = 65536;
constexpr int kSamples = 31;

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void put(std::string& page, const void* value, int32_t size) {
    uint8_t head[4];
    store32(head, static_cast<uint32_t>(size));
    page.append(reinterpret_cast<const char*>(head), sizeof head);
    page.append(static_cast<const char*>(value), static_cast<size_t>(size));
}

// score bigint, ratio double, name text
Batch* random_rows(Plan& plan) {
    for (const auto& [kind, format] : {std::pair{Kind::Eight, "l"}, {Kind::Eight, "g"}, {Kind::Text, "u"}}) {
        Type& type = plan.add(-1);
        type.kind = kind;
        type.format = format;
    }
    if (!plan.complete()) std::abort();
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> ratio(0, 1);
    std::string page;
    for (int64_t row = 0; row < kRows; ++row) {
        uint8_t value[8];
        store64(value, random() >> 32);
        put(page, value, 8);
        store_double(value, ratio(random));
        put(page, value, 8);
        const std::string name = "user-" + std::to_string(random() % 100);
        put(page, name.data(), static_cast<int32_t>(name.size()));
    }
    Batch* batch = Batch::make(plan, PlainBlocks::instance());
    Failure failure;
    const Page at{reinterpret_cast<const uint8_t*>(page.data()), page.size(), kRows};
    if (!batch || !batch->append(at, 0, failure) || !batch->finish(failure)) std::abort();
    return batch;
}

// The row-wise engine: what is known when it is compiled is known here as well, but each row is a call.
struct RowTest {
    virtual ~RowTest() = default;
    virtual bool holds(const Batch& batch, int64_t row) const = 0;
};

struct RowWithin final : RowTest {
    explicit RowWithin(const Test& test) : test(test) {}
    bool holds(const Batch& batch, int64_t row) const override {
        bool found = false;
        with_cells(batch, test.column, test.form, [&](const auto& cells) {
            using V = decltype(cells.get(0));
            if constexpr (std::is_same_v<V, int64_t>) {
                found = cells.get(row) >= test.integers.low && cells.get(row) <= test.integers.high;
            } else if constexpr (std::is_same_v<V, double>) {
                found = cells.get(row) >= test.floats.low && cells.get(row) <= test.floats.high;
            }
        });
        return found;
    }
    const Test& test;
};

struct RowBoth final : RowTest {
    RowBoth(const RowTest& one, const RowTest& two) : one(one), two(two) {}
    bool holds(const Batch& batch, int64_t row) const override { return one.holds(batch, row) && two.holds(batch, row); }
    const RowTest& one;
    const RowTest& two;
};

struct RowSum {
    virtual ~RowSum() = default;
    virtual void add(const Batch& batch, int64_t row) { total += Numbers<int64_t>{batch.column(0).values.data()}.get(row); }
    __int128 total = 0;
};

template <class Step>
double best_of(Step step) {
    double best = 1e9;
    for (int sample = 0; sample < kSamples; ++sample) {
        const double begun = cpu_seconds();
        step();
        best = std::min(best, cpu_seconds() - begun);
    }
    return best / static_cast<double>(kRows);
}

void ablation(Batch* batch, int percent, bool last) {
    Test ratio, score;
    ratio.column = 1;
    ratio.form = Form::Double;
    ratio.what = score.what = Test::What::Within;
    ratio.floats = {0.0, percent / 100.0};
    score.column = 0;
    score.form = Form::Int64;
    score.integers = {1000, int64_t{1} << 40};

    const Slice rows{batch, 0, kRows};
    Groups sum;
    if (!sum.make({}, {{Aggregate::Sum, 0, Form::Int64}})) std::abort();
    const double mask_first = best_of([&] {
        Mask one, two, both;
        ratio.run(rows, one);
        score.run(rows, two);
        both.set_and(one, two);
        if (!sum.add(rows, &both)) std::abort();
    });

    const RowWithin one(ratio), two(score);
    const auto both = std::make_unique<RowBoth>(one, two);
    const auto total = std::make_unique<RowSum>();
    const RowTest* volatile tests = both.get();  // known when it runs, not before
    RowSum* volatile sums = total.get();
    const double interleaved = best_of([&] {
        const RowTest* test = tests;
        RowSum* into = sums;
        for (int64_t row = 0; row < kRows; ++row) {
            if (test->holds(*batch, row)) into->add(*batch, row);
        }
    });
    __int128 ours;
    const std::string found = sum.result(0, 0).text;
    std::memcpy(&ours, found.data(), sizeof ours);
    if (ours != total->total) std::abort();
    std::printf("\"mask first %d\": %.4e, \"interleaved %d\": %.4e%s", percent, mask_first, percent, interleaved, last ? "" : ", ");
}

}  // namespace

int main() {
    auto* plan = new Plan;
    Batch* batch = random_rows(*plan);
    std::printf("{");
    for (const int percent : {10, 50, 90}) ablation(batch, percent, percent == 90);
    std::printf("}\n");
    batch->release();
    plan->release();
}
