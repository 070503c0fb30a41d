// Kernels without Python: masks against row by row, at every offset; groups and batches as bytes, whole and broken.
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "columns/groups.h"
#include "columns/batch.h"
#include "columns/groups.h"
#include "columns/mask.h"
#include "columns/merge.h"
#include "testing.h"

namespace kernels_test {

using namespace fastcql;
using namespace fastcql::columns;

namespace {

void put(std::string& page, const void* value, int32_t size) {
    uint8_t head[4];
    store32(head, static_cast<uint32_t>(size));
    page.append(reinterpret_cast<const char*>(head), sizeof head);
    if (size > 0) page.append(static_cast<const char*>(value), static_cast<size_t>(size));
}

struct Table {
    Plan* plan = new Plan;
    Batch* batch = nullptr;
    std::vector<int64_t> numbers;
    std::vector<bool> there;
    std::vector<std::string> names;

    // n bigint, name text, as it is, as views and as a dictionary; every third number is null if that is wanted
    Table(int64_t rows, bool nulls) {
        for (const auto& [kind, format] :
             {std::pair{Kind::Eight, "l"}, {Kind::Text, "u"}, {Kind::View, "vu"}, {Kind::Dictionary, "i"}}) {
            Type& type = plan->add(-1);
            type.kind = kind;
            type.format = format;
            type.cql = "type";
        }
        CHECK(plan->complete());
        std::mt19937_64 random(static_cast<uint64_t>(rows));
        std::string page;
        for (int64_t row = 0; row < rows; ++row) {
            numbers.push_back(static_cast<int64_t>(random() % 20) - 10);
            there.push_back(!nulls || row % 3 != 0);
            names.push_back("a name that is as long as this one " + std::to_string(random() % 10));
            uint8_t value[8];
            store64(value, static_cast<uint64_t>(numbers.back()));
            put(page, value, there.back() ? 8 : -1);
            for (int i = 0; i < 3; ++i) put(page, names.back().data(), static_cast<int32_t>(names.back().size()));
        }
        batch = Batch::make(*plan, PlainBlocks::instance());
        Failure failure;
        CHECK(batch->append({reinterpret_cast<const uint8_t*>(page.data()), page.size(), rows}, {}, failure));
        CHECK(batch->finish(failure));
    }
    Table(const Table&) = delete;
    Table& operator=(const Table&) = delete;
    ~Table() {
        batch->release();
        plan->release();
    }
};

bool bit(const std::vector<uint64_t>& words, int64_t row) { return words[static_cast<size_t>(row / 64)] >> row % 64 & 1; }

}  // namespace

TEST(bits_begin_anywhere) {
    std::mt19937 random(1);
    for (size_t size = 1; size < 40; ++size) {
        std::vector<uint8_t> bits(size);  // no byte more, for the sanitizer
        for (uint8_t& byte : bits) byte = static_cast<uint8_t>(random());
        const auto all = static_cast<int64_t>(size) * 8;
        for (int64_t at = 0; at < all; ++at) {
            for (const int64_t n : {int64_t{1}, int64_t{7}, int64_t{63}, int64_t{64}}) {
                if (at + n > all) continue;
                uint64_t expected = 0;
                for (int64_t i = 0; i < n; ++i) {
                    expected |= uint64_t{bits[static_cast<size_t>((at + i) / 8)] >> (at + i) % 8 & 1u} << i;
                }
                CHECK(bits_at(bits.data(), at, n) == expected);
            }
        }
    }
}

TEST(masks_are_what_rows_are) {
    for (const bool nulls : {false, true}) {
        for (const int64_t rows : {0, 1, 63, 64, 65, 200, 1000}) {
            const Table table(rows, nulls);
            Test test;
            test.form = Form::Int64;
            test.what = Test::What::Within;
            test.integers = {-3, 5};
            Test words;
            words.column = 3;
            words.form = Form::Words;
            words.what = Test::What::Among;
            words.some_texts = {"a name that is as long as this one 3", "none", "a name that is as long as this one 7"};
            words.finish();
            for (int64_t first = 0; first <= rows; first += 1 + rows / 7) {
                const Slice slice{table.batch, first, rows - first};
                Mask mask, named, both, either, other;
                test.run(slice, mask);
                words.run(slice, named);
                both.set_and(mask, named);
                either.set_or(mask, named);
                other.set_not(mask);
                int64_t selected = 0;
                for (int64_t row = 0; row < slice.rows; ++row) {
                    const auto i = static_cast<size_t>(first + row);
                    const bool within = table.numbers[i] >= -3 && table.numbers[i] <= 5;
                    const char last = table.names[i].back();
                    CHECK(bit(mask.yes, row) == (table.there[i] && within));
                    CHECK(bit(other.yes, row) == (table.there[i] && !within));
                    CHECK(bit(named.yes, row) == (last == '3' || last == '7'));
                    CHECK(bit(both.yes, row) == (bit(mask.yes, row) && bit(named.yes, row)));
                    CHECK(bit(either.yes, row) == (bit(mask.yes, row) || bit(named.yes, row)));
                    selected += bit(mask.yes, row);
                }
                CHECK(mask.selected == selected);
                int64_t runs = 0, counted = 0;
                mask.each_run([&](int64_t begin, int64_t count) {
                    ++runs;
                    for (int64_t row = begin; row < begin + count; ++row) counted += bit(mask.yes, row);
                    CHECK(begin == 0 || !bit(mask.yes, begin - 1));
                });
                CHECK(runs == mask.run_count() && counted == selected);
            }
        }
    }
}

TEST(groups_go_over_as_bytes) {
    const Table table(500, true);
    const std::vector<MeasureSpec> wanted = {{Aggregate::Sum, 0, Form::Int64}, {Aggregate::Max, 1, Form::Bytes}};
    for (const Form form : {Form::Bytes, Form::Views, Form::Words}) {
        Groups groups, again, whole;
        const std::vector<Key> keys = {{form == Form::Bytes ? 1 : form == Form::Views ? 2 : 3, form}, {0, Form::Int64}};
        CHECK(groups.make(keys, wanted) && again.make(keys, wanted) && whole.make(keys, wanted));
        CHECK(groups.add({table.batch, 0, 200}, nullptr));
        CHECK(whole.add({table.batch, 0, 500}, nullptr));
        std::string bytes;
        groups.save(bytes);
        CHECK(again.load(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
        Groups rest;
        CHECK(rest.make(keys, wanted) && rest.add({table.batch, 200, 300}, nullptr));
        CHECK(again.merge(rest) && again.size() == whole.size());
        std::map<std::string, std::string> sums;
        for (size_t i = 0; i < whole.size(); ++i) sums[whole.key(i, 0).text + whole.key(i, 1).text] = whole.result(i, 0).text;
        for (size_t i = 0; i < again.size(); ++i) CHECK(sums[again.key(i, 0).text + again.key(i, 1).text] == again.result(i, 0).text);

        std::mt19937 random(3);
        for (int round = 0; round < 2000; ++round) {  // broken ones are refused, or are other groups
            std::string broken = bytes;
            if (round % 2) {
                broken.resize(random() % broken.size());
            } else {
                broken[random() % broken.size()] ^= static_cast<char>(1 << random() % 8);
            }
            Groups found;
            CHECK(found.make(keys, wanted));
            if (!found.load(reinterpret_cast<const uint8_t*>(broken.data()), broken.size())) continue;
            for (size_t i = 0; i < found.size(); ++i) {
                (void)found.key(i, 1);
                (void)found.result(i, 1);
            }
        }
    }
}

TEST(batches_go_over_as_bytes) {
    const Table table(100, true);
    std::string bytes;
    save_batch(*table.batch, bytes);
    std::mt19937 random(3);
    for (int round = 0; round < 3000; ++round) {
        std::string broken = bytes;
        if (round % 3 == 1) broken.resize(random() % broken.size());
        if (round % 3 == 2) broken[random() % broken.size()] ^= static_cast<char>(1 << random() % 8);
        Batch* found = Batch::make(*table.plan, PlainBlocks::instance());
        Failure failure;
        const bool loaded = found->load(reinterpret_cast<const uint8_t*>(broken.data()), broken.size(), failure);
        CHECK(loaded || broken != bytes);
        if (loaded) {
            Groups groups;
            CHECK(groups.make({{1, Form::Bytes}, {2, Form::Views}, {3, Form::Words}}, {{Aggregate::Sum, 0, Form::Int64}}));
            CHECK(groups.add({found, 0, found->rows()}, nullptr));
            const auto best = first_rows({{{found, 0, found->rows()}, nullptr}}, 2, Form::Views, 5, true);
            CHECK(best.size() == std::min<size_t>(5, static_cast<size_t>(found->rows())));
        }
        found->release();
    }
}

TEST(identities_keep_their_bytes) {
    std::mt19937_64 random(9);
    for (int round = 0; round < 1000; ++round) {
        const Id id{random(), random()};
        const Id time = from_time(by_time(id)), any = from_version(by_version(id));
        CHECK(time == id);
        CHECK(any == id);
    }
}

TEST(sums_carry) {
    WideSum sum;
    const Wide least{{0, 0, 0, uint64_t{1} << 63}}, minus{{~0ull, ~0ull, ~0ull, ~0ull}};
    for (int i = 0; i < 4; ++i) sum.add(least);
    sum.add(minus);
    CHECK((sum.limbs == std::array<uint64_t, 5>{~0ull, ~0ull, ~0ull, ~0ull, ~0ull - 2}));
    FloatSum floats;
    for (const double value : {1e100, 1.0, -1e100, 1e-300}) floats.add(value);
    CHECK(floats.result() == 1.0);
    floats.add(std::numeric_limits<double>::infinity());
    CHECK(std::isinf(floats.result()));
}

}  // namespace kernels_test
