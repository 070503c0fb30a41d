// Columns without Python: pages of random and of broken bytes, who owns what, and threads that release.
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "columns/batch.h"
#include "columns/numbers.h"
#include "memory/pool.h"
#include "testing.h"

namespace columns_test {

using namespace fastcql;
using namespace fastcql::columns;

namespace {

memory::Pool* new_pool(size_t max_bytes = size_t{256} << 20) { return new memory::Pool({max_bytes, size_t{8} << 20, 64, false}); }

Type& field(Plan& plan, int32_t parent, Kind kind, const char* format) {
    Type& type = plan.add(parent);
    type.kind = kind;
    type.format = format;
    type.name = "f";
    type.cql = "type";
    return type;
}

// One column of each kind, nested ones too.
Plan* every_kind() {
    auto* plan = new Plan;
    for (const Kind kind : {Kind::One, Kind::Two, Kind::Four, Kind::Eight, Kind::Date, Kind::Time, Kind::Uuid, Kind::Boolean,
                            Kind::Ascii, Kind::Text, Kind::Binary, Kind::View, Kind::Dictionary, Kind::Inet, Kind::Duration,
                            Kind::VarintText, Kind::VarintLong, Kind::DecimalText}) {
        field(*plan, -1, kind, "x");
    }
    Type& decimal = field(*plan, -1, Kind::Decimal, "d:38,9");
    decimal.precision = 38;
    decimal.scale = 9;
    Type& varint = field(*plan, -1, Kind::Varint, "d:76,0,256");
    varint.precision = 76;
    varint.is_decimal256 = true;
    const auto list = static_cast<int32_t>(plan->types.size());
    field(*plan, -1, Kind::List, "+l");
    field(*plan, -1, Kind::Map, "+m");
    field(*plan, -1, Kind::Struct, "+s");
    Type& packed = field(*plan, -1, Kind::Vector, "+w:3");
    packed.dimensions = 3;
    packed.element = 12;
    Type& loose = field(*plan, -1, Kind::Vector, "+w:2");
    loose.dimensions = 2;
    field(*plan, list, Kind::Text, "u");
    const auto entries = static_cast<int32_t>(plan->types.size());
    field(*plan, list + 1, Kind::Struct, "+s");
    field(*plan, list + 2, Kind::Four, "i");
    field(*plan, list + 2, Kind::Boolean, "b");
    field(*plan, list + 3, Kind::Four, "f").element = 4;
    field(*plan, list + 4, Kind::View, "vu");
    field(*plan, entries, Kind::Text, "u");
    field(*plan, entries, Kind::Four, "i");
    CHECK(plan->complete());
    return plan;
}

using Bytes = std::vector<uint8_t>;

void put32(Bytes& out, int32_t v) {
    uint8_t raw[4];
    store32(raw, static_cast<uint32_t>(v));
    out.insert(out.end(), raw, raw + 4);
}

void cell(Bytes& out, const std::string& value) {
    put32(out, static_cast<int32_t>(value.size()));
    out.insert(out.end(), value.begin(), value.end());
}

Page page_of(const Bytes& bytes, int64_t rows) { return {bytes.data(), bytes.size(), rows}; }

struct Random {
    std::mt19937_64 engine;
    explicit Random(uint64_t seed) : engine(seed) {}
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(engine() % n); }
};

// Cells of mostly believable lengths.
Bytes random_page(Random& random, int32_t columns, int64_t rows) {
    Bytes out;
    for (int64_t i = 0; i < rows * columns; ++i) {
        constexpr int32_t kLengths[] = {-1, 0, 1, 2, 4, 8, 12, 16, 5, 9, 24};
        const int32_t n = random.below(40) == 0 ? static_cast<int32_t>(random.engine()) : kLengths[random.below(11)];
        put32(out, n);
        for (int32_t k = 0; k < n && k < 64; ++k) out.push_back(static_cast<uint8_t>(random.below(3) ? random.below(5) : random.below(256)));
    }
    return out;
}

void release(ArrowArray& array) {
    if (array.release) array.release(&array);
}

// Reads all that is exported, as a consumer would.
uint64_t sum(const ArrowArray& array, const Batch& batch) {
    uint64_t total = static_cast<uint64_t>(array.length) + static_cast<uint64_t>(array.null_count);
    for (int64_t i = 0; i < array.n_children; ++i) total += sum(*array.children[i], batch);
    for (int64_t i = 0; i < array.n_buffers; ++i) {
        if (const auto* bytes = static_cast<const uint8_t*>(array.buffers[i])) {
            CHECK(reinterpret_cast<uintptr_t>(bytes) % 8 == 0);
            total += bytes[0];
        }
    }
    if (array.dictionary) total += sum(*array.dictionary, batch);
    return total;
}

}  // namespace

TEST(random_pages_are_decoded_or_refused) {
    memory::Pool* pool = new_pool();
    Plan* plan = every_kind();
    Random random(20261123);
    int good = 0;
    for (int round = 0; round < 3000; ++round) {
        Batch* batch = Batch::make(*plan, *pool);
        int64_t rows = 0;
        for (int k = 0; k < 3; ++k) {
            const int64_t count = random.below(4);
            Bytes bytes = random_page(random, plan->columns, count);
            bytes.shrink_to_fit();
            Failure failure;
            if (batch->append(page_of(bytes, count), {random.below(2) * 50, random.below(3) * 20}, failure)) {
                rows += count;
                ++good;
            } else {
                CHECK(failure.happened() && failure.column >= 0 && failure.column < plan->columns && failure.row <= count);
            }
            CHECK(batch->rows() == rows);
        }
        Failure failure;
        CHECK(batch->finish(failure));
        ArrowArray array;
        CHECK(batch->export_array(&array));
        sum(array, *batch);
        batch->release();
        release(array);
    }
    CHECK(good > 0);
    plan->release();
    CHECK(pool->stats().in_use == 0);
    CHECK(counters().batches == 0 && counters().blocks == 0 && counters().arrays == 0 && counters().plans == 0);
    pool->release();
}

TEST(one_kind_at_a_time) {
    memory::Pool* pool = new_pool();
    Random random(7);
    Plan* every = every_kind();
    for (int32_t column = 0; column < every->columns; ++column) {
        auto* plan = new Plan;
        std::vector<int32_t> places(every->types.size(), -1);
        for (size_t i = 0; i < every->types.size(); ++i) {  // that column and what is below it
            const Type& type = every->types[i];
            const bool wanted = type.parent < 0 ? static_cast<int32_t>(i) == column : places[static_cast<size_t>(type.parent)] >= 0;
            if (!wanted) continue;
            places[i] = static_cast<int32_t>(plan->types.size());
            Type& added = plan->add(type.parent < 0 ? -1 : places[static_cast<size_t>(type.parent)]);
            const int32_t parent = added.parent;
            added = type;
            added.parent = parent;
            added.children = 0;
        }
        CHECK(plan->complete() && plan->columns == 1);
        for (int round = 0; round < 2000; ++round) {
            Batch* batch = Batch::make(*plan, *pool);
            const int64_t count = random.below(30);
            Bytes bytes = random_page(random, 1, count);
            bytes.shrink_to_fit();
            Failure failure;
            batch->append(page_of(bytes, count), {}, failure);
            CHECK(batch->finish(failure));
            ArrowArray array;
            CHECK(batch->export_array(&array));
            batch->release();
            release(array);
        }
        plan->release();
    }
    every->release();
    CHECK(pool->stats().in_use == 0);
    pool->release();
}

TEST(a_child_that_was_moved_lives_on) {
    memory::Pool* pool = new_pool();
    auto* plan = new Plan;
    field(*plan, -1, Kind::Text, "u");
    field(*plan, -1, Kind::List, "+l");
    field(*plan, 1, Kind::Four, "i");
    CHECK(plan->complete());
    Bytes bytes;
    cell(bytes, "hello");
    put32(bytes, -1);
    Batch* batch = Batch::make(*plan, *pool);
    Failure failure;
    CHECK(batch->append(page_of(bytes, 1), {}, failure) && batch->finish(failure));
    ArrowArray array, moved;
    ArrowSchema schema, field_schema;
    CHECK(batch->export_array(&array) && export_schema(*plan, &schema));
    batch->release();
    plan->release();
    pool->release();
    moved = *array.children[0];
    array.children[0]->release = nullptr;
    array.release(&array);
    CHECK(!array.release);
    field_schema = *schema.children[1];
    schema.children[1]->release = nullptr;
    schema.release(&schema);
    CHECK(std::string(static_cast<const char*>(moved.buffers[2]), 5) == "hello");
    CHECK(std::string(field_schema.children[0]->format) == "i");
    moved.release(&moved);
    field_schema.release(&field_schema);
    CHECK(counters().batches == 0 && counters().arrays == 0 && counters().schemas == 0 && counters().plans == 0);
    CHECK(memory::pool_counters().pools == 0);
}

TEST(growth_keeps_values_and_alignment) {
    memory::Pool* pool = new_pool(size_t{1} << 20);  // most of it is beyond the limit
    auto* plan = new Plan;
    field(*plan, -1, Kind::Eight, "l");
    field(*plan, -1, Kind::Text, "u");
    CHECK(plan->complete());
    Batch* batch = Batch::make(*plan, *pool);
    constexpr int kPages = 40, kRows = 2000;
    for (int page = 0; page < kPages; ++page) {
        Bytes bytes;
        for (int row = 0; row < kRows; ++row) {
            put32(bytes, 8);
            put32(bytes, 0);
            put32(bytes, page * kRows + row);
            cell(bytes, "row " + std::to_string(page * kRows + row));
        }
        Failure failure;
        CHECK(batch->append(page_of(bytes, kRows), {}, failure));
    }
    Failure failure;
    CHECK(batch->finish(failure));
    const Column& numbers = batch->column(0);
    const Column& texts = batch->column(1);
    for (int i = 0; i < kPages * kRows; ++i) {
        int64_t v;
        std::memcpy(&v, numbers.values.data() + i * 8, 8);
        CHECK(v == i);
        const int32_t* offsets = offsets_of(texts);
        const std::string text(reinterpret_cast<char*>(texts.data.data()) + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
        CHECK(text == "row " + std::to_string(i));
    }
    for (const Column* column : {&numbers, &texts}) {
        for (const Buffer* buffer : {&column->values, &column->data}) {
            CHECK(reinterpret_cast<uintptr_t>(buffer->data()) % 64 == 0);
            for (size_t i = buffer->size(); i < padded(buffer->size()); ++i) CHECK(buffer->data()[i] == 0);
        }
    }
    batch->release();
    plan->release();
    CHECK(pool->stats().in_use == 0 && pool->stats().overflow_bytes == 0);
    pool->release();
}

// A hint is no need: it neither fails an append nor makes room for more than a few times what came.
TEST(any_hint_of_rows_is_taken) {
    for (const int64_t hint : {int64_t{1}, int64_t{100000000}, int64_t{1} << 31, int64_t{1} << 59, int64_t{1} << 60, INT64_MAX}) {
        memory::Pool* pool = new_pool();
        Plan* plan = every_kind();
        Random random(3);
        for (const RowCount& in_all : {RowCount{hint, 0}, RowCount{0, hint}, RowCount{hint, hint}}) {
            Batch* batch = Batch::make(*plan, *pool);
            for (int k = 0; k < 4; ++k) {
                Bytes bytes;
                for (int32_t i = 0; i < plan->columns * 20; ++i) put32(bytes, i % 3 ? -1 : 0);
                bytes.shrink_to_fit();
                Failure failure;
                CHECK(batch->append(page_of(bytes, 20), in_all, failure));
                CHECK(pool->stats().in_use < (int64_t{96} << 20));
            }
            Failure failure;
            CHECK(batch->finish(failure) && batch->rows() == 80);
            batch->release();
        }
        plan->release();
        CHECK(pool->stats().in_use == 0);
        pool->release();
    }
}

TEST(threads_release_what_others_exported) {
    memory::Pool* pool = new_pool();
    auto* plan = new Plan;
    for (int i = 0; i < 8; ++i) field(*plan, -1, Kind::Text, "u");
    CHECK(plan->complete());
    Bytes bytes;
    for (int i = 0; i < 8 * 100; ++i) cell(bytes, "some text of a cell");
    for (int round = 0; round < 50; ++round) {
        Batch* batch = Batch::make(*plan, *pool);
        Failure failure;
        CHECK(batch->append(page_of(bytes, 100), {}, failure) && batch->finish(failure));
        ArrowArray array;
        CHECK(batch->export_array(&array));
        std::vector<ArrowArray> children;
        for (int i = 0; i < 8; ++i) {
            children.push_back(*array.children[i]);
            array.children[i]->release = nullptr;
        }
        std::vector<std::thread> threads;
        for (ArrowArray& child : children) threads.emplace_back([&child] { child.release(&child); });
        threads.emplace_back([&array] { array.release(&array); });
        threads.emplace_back([batch] { batch->release(); });
        for (std::thread& thread : threads) thread.join();
    }
    plan->release();
    CHECK(counters().batches == 0 && counters().blocks == 0 && counters().arrays == 0);
    pool->release();
}

TEST(numbers_are_written_out) {
    const auto text = [](const std::string& bytes, int32_t scale, bool decimal) {
        std::vector<char> out(text_room(bytes.size()));
        const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
        const size_t n = decimal ? decimal_text(p, bytes.size(), scale, out.data()) : varint_text(p, bytes.size(), out.data());
        return std::string(out.data(), n);
    };
    CHECK(text(std::string("\x00", 1), 0, false) == "0");
    CHECK(text("\xff", 0, false) == "-1");
    CHECK(text("\x80", 0, false) == "-128");
    CHECK(text(std::string("\x00\x80", 2), 0, false) == "128");
    CHECK(text(std::string("\x01\x00\x00\x00\x00\x00\x00\x00\x00", 9), 0, false) == "18446744073709551616");
    CHECK(text(std::string("\x80\x00\x00\x00\x00\x00\x00\x00", 8), 0, false) == "-9223372036854775808");
    CHECK(text("\x7b", 2, true) == "1.23");
    CHECK(text("\x7b", 0, true) == "123");
    CHECK(text("\x85", 5, true) == "-0.00123");
    CHECK(text("\x7b", -2, true) == "1.23E+4");
    CHECK(text("\x01", 7, true) == "1E-7");
    CHECK(text(std::string("\x00", 1), INT32_MAX, true) == "0E-2147483647");
    CHECK(text("\x7b", INT32_MIN, true) == "1.23E+2147483650");
    CHECK(text(std::string(kMaxTextBytes, '\x7f'), INT32_MIN, true).size() > 19000);
}

}  // namespace columns_test
