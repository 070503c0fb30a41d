// Rows from Arrow without Python: arrays of all shapes, broken in all ways that the C data interface lets one see.
#include <algorithm>
#include <climits>
#include <random>

#include "ingest/arrays.h"
#include "ingest/encode.h"
#include "ingest/rows.h"
#include "ingest/scalars.h"
#include "ingest/text.h"
#include "testing.h"

namespace ingest_test {

using namespace fastcql;
using namespace fastcql::ingest;
using testing::Made;
using testing::numbers;
using testing::texts;
using testing::views;

namespace {

using Random = std::mt19937_64;

Target scalar(Cql cql, const char* name = "f") {
    Target target;
    target.cql = cql;
    target.name = name;
    target.text = "type";
    return target;
}

Target with(Cql cql, std::vector<Target> children, int32_t dimensions = 0) {
    Target target = scalar(cql);
    target.children = std::move(children);
    target.dimensions = dimensions;
    return target;
}

struct Pair {
    Target target;
    std::unique_ptr<Made> made;
};

std::vector<uint8_t> bits(Random& random, int64_t length) {
    std::vector<uint8_t> found(static_cast<size_t>((length + 7) / 8));
    for (uint8_t& byte : found) byte = static_cast<uint8_t>(random());
    return found;
}

template <typename T>
std::vector<T> some(Random& random, int64_t length, uint64_t below) {
    std::vector<T> found(static_cast<size_t>(length));
    for (T& v : found) v = static_cast<T>(random() % below);
    return found;
}

std::vector<std::string> some_texts(Random& random, int64_t length) {
    std::vector<std::string> found(static_cast<size_t>(length));
    for (std::string& text : found) text = std::string(random() % 20, static_cast<char>('a' + random() % 26));
    return found;
}

template <typename T>
std::vector<T> rising(Random& random, int64_t length) {
    std::vector<T> found{0};
    for (int64_t i = 0; i < length; ++i) found.push_back(static_cast<T>(found.back() + static_cast<T>(random() % 4)));
    return found;
}

Pair any(Random& random, int64_t length, int depth);

template <typename T>
Pair lists(Random& random, const char* format, int64_t length, int depth) {
    const std::vector<T> offsets = rising<T>(random, length);
    Pair items = any(random, static_cast<int64_t>(offsets.back()), depth - 1);
    auto made = std::make_unique<Made>(format, length);
    made->no_buffer().buffer(offsets).child(std::move(items.made));
    return {with(Cql::List, {std::move(items.target)}), std::move(made)};
}

Pair ranges(Random& random, int64_t length, int depth) {
    Pair items = any(random, 6, depth - 1);
    auto made = std::make_unique<Made>("+vl", length);
    made->no_buffer().buffer(some<int32_t>(random, length, 4)).buffer(some<int32_t>(random, length, 3)).child(std::move(items.made));
    return {with(Cql::Set, {std::move(items.target)}), std::move(made)};
}

Pair vectors(Random& random, int64_t length, int depth) {
    Pair items = any(random, length * 3, depth - 1);
    auto made = std::make_unique<Made>("+w:3", length);
    made->no_buffer().child(std::move(items.made));
    return {with(Cql::Vector, {std::move(items.target)}, 3), std::move(made)};
}

Pair structs(Random& random, int64_t length, int depth, const char* format = "+s") {
    Pair one = any(random, length, depth - 1), other = any(random, length, depth - 1);
    auto made = std::make_unique<Made>(format, length);
    made->no_buffer().child(std::move(one.made)).child(std::move(other.made));
    return {with(Cql::Tuple, {std::move(one.target), std::move(other.target)}), std::move(made)};
}

// A struct of one field as a map.
Pair field_maps(Random& random, int64_t length, int depth) {
    Pair one = any(random, length, depth - 1);
    auto made = std::make_unique<Made>("+s", length);
    made->no_buffer().child(std::move(one.made));
    return {with(Cql::Map, {scalar(Cql::Text), std::move(one.target)}), std::move(made)};
}

// A list as a tuple of two fields.
Pair list_tuples(Random& random, int64_t length, int depth) {
    const std::vector<int32_t> offsets = rising<int32_t>(random, length);
    Pair items = any(random, static_cast<int64_t>(offsets.back()), depth - 1);
    auto made = std::make_unique<Made>("+l", length);
    made->no_buffer().buffer(offsets).child(std::move(items.made));
    return {with(Cql::Tuple, {items.target, items.target}), std::move(made)};
}

Pair maps(Random& random, int64_t length, int depth) {
    const std::vector<int32_t> offsets = rising<int32_t>(random, length);
    Pair entries = structs(random, offsets.back(), depth);
    entries.target.cql = Cql::Map;
    auto made = std::make_unique<Made>("+m", length);
    made->no_buffer().buffer(offsets).child(std::move(entries.made));
    return {std::move(entries.target), std::move(made)};
}

Pair dictionaries(Random& random, int64_t length, int depth) {
    Pair values = any(random, 5, depth - 1);
    auto made = std::make_unique<Made>("C", length);
    made->no_buffer().buffer(some<uint8_t>(random, length, 5));
    made->dictionary = std::move(values.made);
    return {std::move(values.target), std::move(made)};
}

Pair runs(Random& random, int64_t length, int depth) {
    std::vector<int16_t> ends;
    for (int64_t end = 0; end < length;) ends.push_back(static_cast<int16_t>(end += 1 + static_cast<int64_t>(random() % 3)));
    Pair values = any(random, static_cast<int64_t>(ends.size()), depth - 1);
    auto made = std::make_unique<Made>("+r", length);
    made->child(numbers("s", ends)).child(std::move(values.made));
    return {std::move(values.target), std::move(made)};
}

Pair leaf(Random& random, int64_t length) {
    constexpr Cql kOfText[] = {Cql::Int, Cql::Float, Cql::Double, Cql::Boolean, Cql::Timestamp, Cql::Date, Cql::Time};
    switch (random() % 15) {
        case 12: return {scalar(kOfText[random() % 7]), texts(some_texts(random, length))};
        case 13: return {scalar(Cql::Varint), numbers("g", some<double>(random, length, UINT64_MAX))};
        case 14: return {scalar(Cql::Smallint), numbers("f", some<float>(random, length, 1 << 16))};
        case 0: return {scalar(Cql::Int), numbers("i", some<int32_t>(random, length, UINT64_MAX))};
        case 1: return {scalar(Cql::Int), numbers("L", some<uint64_t>(random, length, uint64_t{1} << 32))};
        case 2: return {scalar(Cql::Float), numbers("g", some<double>(random, length, 1 << 25))};
        case 3: return {scalar(Cql::Text), texts(some_texts(random, length))};
        case 4: return {scalar(Cql::Ascii), views(some_texts(random, length))};
        case 5: return {scalar(Cql::Uuid), numbers("w:16", some<uint8_t>(random, length * 16, 256), length)};
        case 6: return {scalar(Cql::Decimal), numbers("d:38,3", some<uint64_t>(random, length * 2, UINT64_MAX), length)};
        case 7: return {scalar(Cql::Duration), numbers("tin", some<int32_t>(random, length * 4, UINT64_MAX), length)};
        case 8: return {scalar(Cql::Timestamp), numbers("tsu:UTC", some<int64_t>(random, length, UINT64_MAX))};
        case 9: return {scalar(Cql::Boolean), numbers("b", bits(random, length), length)};
        case 10: return {scalar(Cql::Varint), texts(some_texts(random, length))};
        default: return {scalar(Cql::Date), numbers("tdD", some<int32_t>(random, length, UINT64_MAX))};
    }
}

Pair any(Random& random, int64_t length, int depth) {
    Pair found = [&]() -> Pair {
        if (depth == 0) return leaf(random, length);
        switch (random() % 12) {
            case 10: return field_maps(random, length, depth);
            case 11: return list_tuples(random, length, depth);
            case 0: return lists<int32_t>(random, "+l", length, depth);
            case 1: return lists<int64_t>(random, "+L", length, depth);
            case 2: return ranges(random, length, depth);
            case 3: return vectors(random, length, depth);
            case 4: return structs(random, length, depth);
            case 5: return maps(random, length, depth);
            case 6: return dictionaries(random, length, depth);
            case 7: return runs(random, length, depth);
            default: return leaf(random, length);
        }
    }();
    Made& made = *found.made;
    if (made.format != "+r" && random() % 2) {
        made.buffers[0] = (made.storage.emplace_back(new uint8_t[static_cast<size_t>((length + 7) / 8) + 1]), made.storage.back().get());
        for (int64_t i = 0; i < (length + 7) / 8; ++i) made.storage.back()[static_cast<size_t>(i)] = static_cast<uint8_t>(random());
        made.array.null_count = -1;
    }
    return found;
}

struct Table {
    std::shared_ptr<Plan> plan = std::make_shared<Plan>();
    Made rows;

    explicit Table(int64_t length) : rows("+s", length) { rows.no_buffer(); }
    void add(Target target, std::unique_ptr<Made> made, bool is_key = false) {
        target.name = made->name = "c" + std::to_string(plan->columns.size());
        if (is_key) plan->key.push_back(static_cast<int32_t>(plan->columns.size()));
        plan->columns.push_back({std::move(target), is_key});
        rows.child(std::move(made));
    }
    std::shared_ptr<const Reading> reading(std::vector<std::string>& problems) {
        return Reading::make(plan, rows.schema, false, {}, problems);
    }
    // Of the sealed array, which it owns from then on.
    std::unique_ptr<Rows> open(std::string& problem) {
        std::vector<std::string> problems;
        const auto found = reading(problems);
        if (!found) {
            problem = problems.at(0);
            return nullptr;
        }
        return std::unique_ptr<Rows>(Rows::make(found, rows.array, 100, problem));
    }
};

Table* random_table(Random& random) {
    const auto length = static_cast<int64_t>(random() % 12);
    auto* table = new Table(length);
    const int columns = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < columns; ++i) {
        Pair pair = any(random, length, static_cast<int>(random() % 4));
        table->add(std::move(pair.target), std::move(pair.made), i == 0);
    }
    table->rows.seal();
    return table;
}

// What can be written is; the rest says why, and leaves nothing behind.
int write_all(Rows& rows) {
    int done = 0;
    ByteBuffer out;
    for (size_t i = 0; i < rows.rows(); ++i) {
        const size_t before = out.size();
        int64_t token = 0;
        if (rows.write(i, out, token)) {
            ++done;
            CHECK(out.size() > before);
        } else {
            CHECK(out.size() == before && !rows.failure().empty());
        }
        rows.same_partition(i, (i + 1) % rows.rows());
    }
    return done;
}

std::string written(Table& table, size_t row = 0) {
    table.rows.seal();
    std::string problem;
    const auto rows = table.open(problem);
    if (!rows) return "broken: " + problem;
    ByteBuffer out;
    int64_t token = 0;
    if (!rows->write(row, out, token)) return rows->failure();
    return std::string(reinterpret_cast<const char*>(out.data()), out.size());
}

std::string one(Cql cql, std::unique_ptr<Made> made) {
    Table table(made->array.length);
    table.add(scalar(cql), std::move(made));
    return written(table);
}

std::string cell(const std::string& bytes) {
    const auto n = static_cast<char>(bytes.size());
    return std::string("\0\0\0", 3) + n + bytes;
}

const int64_t kOdd[] = {0, 1, -1, -2, 2, 3, 7, 100, INT32_MAX, INT64_MAX, INT64_MIN, int64_t{1} << 40, int64_t{1} << 62};

int64_t odd(Random& random) { return kOdd[random() % (sizeof kOdd / sizeof *kOdd)]; }

// The numbers in the values, offsets, indexes or views, but for the last of text's offsets: nothing else says how long
// the bytes are.
void spoil_values(Random& random, Made& made) {
    const size_t which = made.format == "+vl" ? 1 + random() % 2 : 1;
    if (made.buffers.size() <= which || made.sizes[which] < 4) return;
    const size_t words = made.sizes[which] / 4 - (made.format == "u" ? 1 : 0);
    if (words == 0) return;
    auto* first = static_cast<uint8_t*>(const_cast<void*>(made.buffers[which]));
    if (!first) return;
    const auto v = static_cast<int32_t>(odd(random));
    std::memcpy(first + 4 * (random() % words), &v, 4);
}

void spoil(Random& random, Table& table) {
    std::vector<Made*> all;
    table.rows.all(all);
    Made& made = *all[random() % all.size()];
    ArrowArray& array = made.array;
    switch (random() % 14) {
        case 0: if (!made.buffers.empty()) made.buffers[random() % made.buffers.size()] = nullptr; break;
        case 1: array.n_buffers = made.format == "vu" ? static_cast<int64_t>(random() % 3) : odd(random); break;
        case 2: array.buffers = nullptr; break;
        case 3: array.n_children = odd(random); break;
        case 4: array.children = nullptr; break;
        case 5: if (!made.children.empty()) made.child_arrays[random() % made.children.size()] = nullptr; break;
        case 6: if (!made.children.empty()) made.children[0]->array.release = nullptr; break;
        case 7: array.null_count = odd(random); break;
        case 8: if (made.format != "u") array.length = &made == &table.rows ? odd(random) : std::min(odd(random), array.length); break;
        case 9: array.offset = &made == &table.rows ? odd(random) : random() % 2 ? -1 : INT64_MAX; break;
        case 10: array.dictionary = array.dictionary ? nullptr : &table.rows.array; break;
        default: spoil_values(random, made);
    }
}

}  // namespace

TEST(whole_arrays_are_read) {
    Random random(1);
    int done = 0, all = 0;
    for (int i = 0; i < 3000; ++i) {
        const std::unique_ptr<Table> table(random_table(random));
        std::string problem;
        const auto rows = table->open(problem);
        CHECK(rows);
        done += write_all(*rows);
        all += static_cast<int>(rows->rows());
    }
    CHECK(done > all / 10 && done < all);
}

TEST(broken_arrays_are_refused_or_read_within_their_buffers) {
    Random random(2);
    int refused = 0, read = 0;
    for (int i = 0; i < 60000; ++i) {
        const std::unique_ptr<Table> table(random_table(random));
        for (uint64_t left = 1 + random() % 2; left > 0; --left) spoil(random, *table);
        const int before = testing::released();
        std::string problem;
        {
            const auto rows = table->open(problem);
            CHECK(!rows == !problem.empty());
            if (rows && rows->rows() < 100) write_all(*rows);
            ++(rows ? read : refused);
        }
        CHECK(testing::released() == before + 1);
    }
    CHECK(refused > 10000 && read > 10000);
}

TEST(broken_schemas_are_refused) {
    Random random(3);
    int refused = 0;
    const char* formats[] = {"", "x", "+", "+w:", "+w:-1", "+w:99999999999999999999", "w:x", "d:", "d:1", "d:0,0", "d:5,2,7", "t", "ts", "tsx:",
                             "+ud:0", "tiX", "+z", "vx", "+l", "+s", "+m", "+r", "i"};
    for (int i = 0; i < 20000; ++i) {
        const std::unique_ptr<Table> table(random_table(random));
        std::vector<Made*> all;
        table->rows.all(all);
        ArrowSchema& schema = all[random() % all.size()]->schema;
        switch (random() % 7) {
            case 0: schema.format = nullptr; break;
            case 1: schema.name = nullptr; break;
            case 2: schema.n_children = odd(random) < 0 ? -1 : 0; break;
            case 3: schema.children = nullptr; break;
            case 4: if (schema.n_children > 0) schema.children[0] = nullptr; break;
            case 5: schema.release = nullptr; break;
            default: schema.format = formats[random() % (sizeof formats / sizeof *formats)];
        }
        std::vector<std::string> problems;  // what is of one format and says another one cannot be seen: only types are read
        CHECK(!table->reading(problems) == !problems.empty());
        refused += problems.empty() ? 0 : 1;
    }
    CHECK(refused > 5000);
    Made deep("+l", 0);
    Made* at = &deep;
    for (int i = 0; i < 1000; ++i) at = at->child(std::make_unique<Made>("+l", 0)).children[0].get();
    at->child(numbers("i", std::vector<int32_t>{}));
    deep.seal();
    Source source;
    std::string problem;
    CHECK(!read_schema(deep.schema, source, problem) && problem.find("too deeply") != std::string::npos);
}

TEST(numbers_are_checked_by_value) {
    CHECK(one(Cql::Int, numbers<int64_t>("l", {-2147483648})) == cell(std::string("\x80\0\0\0", 4)));
    CHECK(one(Cql::Int, numbers<int64_t>("l", {2147483648})) == "column 'c0' (type), row 100: 2147483648 is out of range (-2147483648 to 2147483647)");
    CHECK(one(Cql::Bigint, numbers<uint64_t>("L", {UINT64_MAX})).find("18446744073709551615 is out of range") != std::string::npos);
    CHECK(one(Cql::Tinyint, numbers<uint8_t>("C", {200})).find("200 is out of range (-128 to 127)") != std::string::npos);
    CHECK(one(Cql::Float, numbers<double>("g", {0.5})) == cell(std::string("\x3f\0\0\0", 4)));
    CHECK(one(Cql::Float, numbers<double>("g", {0.1})) == cell("\x3d\xcc\xcc\xcd"));
    CHECK(one(Cql::Float, numbers<double>("g", {1e300})).find("1e+300 is out of range for float") != std::string::npos);
    CHECK(one(Cql::Int, numbers<double>("g", {-7})) == cell("\xff\xff\xff\xf9"));
    CHECK(one(Cql::Int, numbers<float>("f", {0.5f})).find("0.5 is not an integer") != std::string::npos);
    CHECK(one(Cql::Int, numbers<double>("g", {2147483648.0})).find("2147483648 is out of range") != std::string::npos);
    CHECK(one(Cql::Varint, numbers<double>("g", {18446744073709551616.0})) == cell(std::string("\1\0\0\0\0\0\0\0\0", 9)));
    CHECK(one(Cql::Varint, numbers<double>("g", {-9223372036854775808.0})) == cell(std::string("\x80\0\0\0\0\0\0\0", 8)));
    CHECK(one(Cql::Float, numbers<double>("g", {-1.0 / 0.0})) == cell(std::string("\xff\x80\0\0", 4)));
    CHECK(one(Cql::Float, numbers<int64_t>("l", {16777217})).find("16777217 is not an exact float") != std::string::npos);
    CHECK(one(Cql::Double, numbers<int64_t>("l", {INT64_MAX})).find("9223372036854775807 is not an exact double") != std::string::npos);
    CHECK(one(Cql::Double, numbers<int64_t>("l", {INT64_MIN})) == cell(std::string("\xc3\xe0\0\0\0\0\0\0", 8)));
    CHECK(one(Cql::Double, numbers<uint64_t>("L", {uint64_t{1} << 63})) == cell(std::string("\x43\xe0\0\0\0\0\0\0", 8)));
    CHECK(one(Cql::Double, numbers<uint64_t>("L", {UINT64_MAX})).find("is not an exact double") != std::string::npos);
    CHECK(one(Cql::Float, numbers<uint16_t>("e", {0xc000})) == cell(std::string("\xc0\0\0\0", 4)));   // -2
    CHECK(one(Cql::Float, numbers<uint16_t>("e", {0x0001})) == cell(std::string("\x33\x80\0\0", 4)));  // 2^-24
    CHECK(one(Cql::Varint, numbers<uint64_t>("L", {UINT64_MAX})) == cell(std::string("\0\xff\xff\xff\xff\xff\xff\xff\xff", 9)));
    CHECK(one(Cql::Varint, numbers<int8_t>("c", {-1})) == cell("\xff"));
}

TEST(times_are_checked_by_value) {
    CHECK(one(Cql::Timestamp, numbers<int64_t>("tsu:", {5000})) == cell(std::string("\0\0\0\0\0\0\0\5", 8)));
    CHECK(one(Cql::Timestamp, numbers<int64_t>("tsn:", {1500000})).find("1970-01-01 00:00:00.001500000 has fractions of a millisecond") != std::string::npos);
    CHECK(one(Cql::Timestamp, numbers<int64_t>("tsn:", {INT64_MIN})).find("has fractions of a millisecond") != std::string::npos);
    CHECK(one(Cql::Timestamp, numbers<int64_t>("tss:", {INT64_MAX})).find("9223372036854775807 s exceeds 64 bits of milliseconds") != std::string::npos);
    CHECK(one(Cql::Timestamp, numbers<int32_t>("tdD", {-1})) == cell(std::string("\xff\xff\xff\xff\xfa\xd9\xa4\0", 8)));
    CHECK(one(Cql::Date, numbers<int64_t>("tdm", {86400000})) == cell(std::string("\x80\0\0\1", 4)));
    CHECK(one(Cql::Date, numbers<int64_t>("tsm:", {-1})).find("1969-12-31 23:59:59.999 is not a whole day") != std::string::npos);
    CHECK(one(Cql::Date, numbers<int64_t>("tss:", {86400LL << 33})).find("is out of range for date") != std::string::npos);
    CHECK(one(Cql::Time, numbers<int32_t>("tts", {86399})) == cell(std::string("\0\0\x4e\x94\x55\xb4\x36\0", 8)));
    CHECK(one(Cql::Time, numbers<int64_t>("ttu", {86400000000})).find("is not within a day") != std::string::npos);
    CHECK(one(Cql::Time, numbers<int64_t>("ttn", {-1})).find("is not within a day") != std::string::npos);
    CHECK(one(Cql::Duration, numbers<int32_t>("tiD", {1, -1}, 1)).find("has mixed signs") != std::string::npos);
    CHECK(one(Cql::Duration, numbers<int32_t>("tiM", {3})) == cell(std::string("\6\0\0", 3)));
    CHECK(one(Cql::Duration, numbers<int64_t>("tDs", {INT64_MAX})).find("exceeds 64 bits of nanoseconds") != std::string::npos);
    CHECK(one(Cql::Duration, numbers<int64_t>("tDu", {-1})) == cell(std::string("\0\0\x87\xcf", 4)));
}

TEST(texts_are_parsed_as_a_whole) {
    const auto moment = [](const std::string& text) {
        Moment at;
        if (!parse_moment(reinterpret_cast<const uint8_t*>(text.data()), text.size(), at)) return std::string("none");
        return std::to_string(at.days) + " " + std::to_string(at.nanos) + " " + std::to_string(at.offset);
    };
    CHECK(moment("1970-01-02") == "1 0 0");
    CHECK(moment("1970-01-01T00:00:01.5Z") == "0 1500000000 0");
    CHECK(moment("1969-12-31 23:59 -01:30") == "-1 86340000000000 -5400");
    CHECK(moment("+275760-09-13") == "100000000 0 0");
    CHECK(moment("-0001-01-01") == "-719893 0 0");
    for (const char* text : {"", "-", "1970", "1970-02-30", "1970-01-01T", "1970-01-01T1:00", "1970-01-01T00:00:00.", "1970-01-01T00:00+",
                             "1970-01-01T00:00Z ", "1970-01-01T00:00+1", "19700-01-01", "1970-00-01", "1970-01-00"}) {
        CHECK(moment(text) == "none");
    }
    const auto number = [](const std::string& text) {
        double v = 0;
        const Parsed parsed = parse_number(reinterpret_cast<const uint8_t*>(text.data()), text.size(), v);
        return parsed == Parsed::Yes ? std::to_string(v) : parsed == Parsed::No ? "none" : "range";
    };
    CHECK(number("-1.5e1") == "-15.000000" && number("+.25") == "0.250000" && number("1.") == "1.000000");
    CHECK(number("INF") == "inf" && number("-Infinity") == "-inf" && number("1e999") == "range" && number("1e-999") == "range");
    for (const char* text : {"", "+", "-", ".", "e5", "1e", "0x10", "1 ", "nan(0)", "+-1", "--1", "infi"}) CHECK(number(text) == "none");
    int64_t whole = 0;
    const auto integer = [&whole](const std::string& text) {
        return parse_integer(reinterpret_cast<const uint8_t*>(text.data()), text.size(), whole);
    };
    CHECK(integer("-9223372036854775808") == Parsed::Yes && whole == INT64_MIN);
    CHECK(integer("9223372036854775808") == Parsed::OutOfRange && integer("1.0") == Parsed::No && integer("+") == Parsed::No);
}

TEST(decimals_keep_their_digits) {
    const auto decimal = [](const std::string& text) {
        ByteBuffer out;
        if (!put_decimal_text(out, reinterpret_cast<const uint8_t*>(text.data()), text.size())) {
            CHECK(out.size() == 0);
            return std::string("none");
        }
        return std::string(reinterpret_cast<const char*>(out.data()), out.size());
    };
    CHECK(decimal("1.50") == std::string("\0\0\0\2\0\x96", 6));
    CHECK(decimal("-.5e+3") == std::string("\xff\xff\xff\xfe\xfb", 5));
    CHECK(decimal("1.") == std::string("\0\0\0\0\1", 5));
    CHECK(decimal("+00") == std::string("\0\0\0\0\0", 5));
    CHECK(decimal("1E-2147483647") == std::string("\x7f\xff\xff\xff\1", 5));
    CHECK(decimal("1E+2147483648") == std::string("\x80\0\0\0\1", 5));
    CHECK(decimal("1.23E+2147483650") == std::string("\x80\0\0\0\x7b", 5));
    for (const char* text : {"", "-", ".", "e5", "1e", "1e+", "1e5x", "1.2.3", "NaN", "Infinity", " 1", "1 ", "1_0", "1e2147483649", "1.23E+2147483651", "1.0e-2147483647", "0x10"}) {
        CHECK(decimal(text) == "none");
    }
    CHECK(decimal(std::string(kMaxDigits, '9')).size() > 7000);
    CHECK(decimal(std::string(kMaxDigits + 1, '9')) == "none");
    const auto words = [](std::vector<uint64_t> given, int32_t scale) {
        ByteBuffer out;
        if (scale ? !put_scaled_words(out, given.data(), given.size(), scale) : (put_words(out, given.data(), given.size()), false)) return std::string("none");
        return std::string(reinterpret_cast<const char*>(out.data()), out.size());
    };
    CHECK(words({0, 0}, 0) == std::string("\0", 1));
    CHECK(words({128, 0}, 0) == std::string("\0\x80", 2));
    CHECK(words({~uint64_t{0}, ~uint64_t{0}}, 0) == "\xff");
    CHECK(words({0, 1}, 0) == std::string("\1\0\0\0\0\0\0\0\0", 9));
    CHECK(words({uint64_t{1} << 63, 0}, 0) == std::string("\0\x80\0\0\0\0\0\0\0", 9));
    CHECK(words({uint64_t{1} << 63, ~uint64_t{0}}, 0) == std::string("\x80\0\0\0\0\0\0\0", 8));
    CHECK(words({1500, 0}, 2) == "\x0f");
    CHECK(words({1501, 0}, 2) == "none");
    CHECK(words({static_cast<uint64_t>(-15), ~uint64_t{0}}, -1) == std::string("\xff\x6a", 2));
    CHECK(words({0, uint64_t{1} << 63}, 1) == "none");
    CHECK(words({0, uint64_t{1} << 63}, -20).size() == 25);
}

TEST(text_is_what_it_says) {
    const auto utf8 = [](const std::string& text) { return is_utf8(reinterpret_cast<const uint8_t*>(text.data()), text.size()); };
    for (const char* text : {"", "a", "\xc3\xbc", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) CHECK(utf8(text));
    for (const char* text : {"\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                             "\xf5\x80\x80\x80", "\xff", "a\xf0\x9f\x98"}) {
        CHECK(!utf8(text));
    }
    CHECK(one(Cql::Text, texts({"a\xff"})).find("'a\xff' is not UTF-8") != std::string::npos);
    CHECK(one(Cql::Ascii, texts({"gr\xc3\xbc\xc3\x9f" "e"})).find("is not ASCII") != std::string::npos);
    CHECK(one(Cql::Uuid, texts({"00112233-4455-1677-8899-aAbBcCdDeEfF"})).size() == 20);
    CHECK(one(Cql::Uuid, texts({"00112233445516778899aabbccddeeff"})).size() == 20);
    CHECK(one(Cql::Uuid, texts({"00112233-4455-1677-8899+aabbccddeeff"})).find("is not a UUID") != std::string::npos);
    CHECK(one(Cql::Inet, texts({"127.0.0.1"})) == cell(std::string("\x7f\0\0\1", 4)));
    CHECK(one(Cql::Inet, texts({std::string("::1\0", 4)})).find("is not an IP address") != std::string::npos);
    CHECK(one(Cql::Inet, texts({std::string(500, 'x')})).find("xxx'... is not an IP address") != std::string::npos);
}

TEST(keys_are_never_null_and_not_too_long) {
    Table table(2);
    table.add(scalar(Cql::Text), texts({std::string(65536, 'k'), "k"}), true);
    auto other = numbers<int32_t>("i", {1, 2});
    other->storage.emplace_back(new uint8_t[1]{0x01});
    other->buffers[0] = other->storage.back().get();
    other->array.null_count = 1;
    table.add(scalar(Cql::Int), std::move(other), true);
    CHECK(written(table, 0) == "column 'c0' (type), row 100: a part of the partition key has 65536 bytes, the limit is 65535");
    CHECK(written(table, 1) == "column 'c1' (type), row 101: null in a column of the primary key");
}

TEST(nulls_are_unset_or_null) {
    for (const bool unset : {true, false}) {
        Table table(1);
        table.add(scalar(Cql::Int), std::make_unique<Made>("n", 1));
        table.plan->nulls_are_unset = unset;
        CHECK(written(table) == (unset ? "\xff\xff\xff\xfe" : "\xff\xff\xff\xff"));
    }
}

namespace {

std::string big(int32_t v) {
    std::string out(4, '\0');
    store32(reinterpret_cast<uint8_t*>(out.data()), static_cast<uint32_t>(v));
    return out;
}

std::string items(const std::vector<std::string>& values) {
    std::string out = big(static_cast<int32_t>(values.size()));
    for (const std::string& value : values) out += cell(value);
    return out;
}

uint64_t hash(const Target& target, const std::string& bytes) {
    return key_hash(target, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

std::string decimal(int32_t scale, const std::string& number) {
    ByteBuffer out;
    CHECK(put_varint_text(out, reinterpret_cast<const uint8_t*>(number.data()), number.size()));
    return big(scale) + std::string(reinterpret_cast<const char*>(out.data()), out.size());
}

}  // namespace

TEST(equal_numbers_have_equal_hashes) {
    const Target number = scalar(Cql::Decimal), whole = scalar(Cql::Varint);
    const std::string zeros(500, '0');
    CHECK(hash(number, decimal(1, "10")) == hash(number, decimal(2, "100")));
    CHECK(hash(number, decimal(-500, "-12")) == hash(number, decimal(0, "-12" + zeros)));
    CHECK(hash(number, decimal(0, "0")) == hash(number, decimal(7, "0")));
    CHECK(hash(number, decimal(INT32_MAX, "1")) != hash(number, decimal(INT32_MAX - 1, "1")));
    CHECK(hash(number, decimal(INT32_MIN + 1, "1")) == hash(number, decimal(INT32_MIN + 2, "10")));
    CHECK(hash(number, decimal(0, "1")) != hash(number, decimal(0, "-1")));
    CHECK(hash(number, decimal(0, "255")) != hash(number, decimal(0, "-1")));
    CHECK(hash(whole, std::string("\x01")) == hash(whole, std::string("\0\x01", 2)));
    CHECK(hash(whole, std::string("\xff")) == hash(whole, std::string("\xff\xff")));
    CHECK(hash(whole, std::string("\xff")) != hash(whole, std::string("\0\xff", 2)));
    std::vector<uint64_t> all;
    for (int v = -3000; v < 3000; ++v) {
        all.push_back(hash(number, decimal(1, std::to_string(v))));
        CHECK(all.back() == hash(number, decimal(3, std::to_string(v) + "00")));
    }
    std::sort(all.begin(), all.end());
    CHECK(std::unique(all.begin(), all.end()) == all.end());
}

TEST(nan_is_nan_and_minus_zero_is_not_zero) {
    const Target single = scalar(Cql::Float), twice = scalar(Cql::Double);
    CHECK(hash(single, std::string("\x7f\xc0\0\0", 4)) == hash(single, std::string("\xff\xc0\0\1", 4)));
    CHECK(hash(single, std::string("\x80\0\0\0", 4)) != hash(single, std::string(4, '\0')));
    CHECK(hash(twice, std::string("\x7f\xf8\0\0\0\0\0\0", 8)) == hash(twice, std::string("\xff\xf0\0\0\0\0\0\1", 8)));
    CHECK(hash(twice, std::string("\x80\0\0\0\0\0\0\0", 8)) != hash(twice, std::string(8, '\0')));
}

TEST(collections_are_equal_as_on_servers) {
    const Target number = scalar(Cql::Decimal);
    const Target set = with(Cql::Set, {number}), list = with(Cql::List, {number}), map = with(Cql::Map, {number, number});
    const std::string one = decimal(0, "1"), other = decimal(1, "10"), two = decimal(0, "2");
    CHECK(hash(set, items({one, two})) == hash(set, items({two, other, one})));
    CHECK(hash(set, items({one})) != hash(set, items({two})));
    CHECK(hash(list, items({one, two})) == hash(list, items({other, two})));
    CHECK(hash(list, items({one, two})) != hash(list, items({two, one})));
    CHECK(hash(map, big(1) + cell(one) + cell(two)) == hash(map, big(2) + cell(other) + cell(one) + cell(one) + cell(two)));
    const Target pair = with(Cql::Tuple, {number, number});
    CHECK(hash(pair, cell(one) + big(-1)) == hash(pair, cell(other)));
    CHECK(hash(pair, cell(one) + big(-1)) != hash(pair, big(-1) + cell(one)));
    Target vector = with(Cql::Vector, {number}, 2);
    vector.children[0].element = -1;
    const auto element = [](const std::string& bytes) { return std::string(1, static_cast<char>(bytes.size())) + bytes; };
    CHECK(hash(vector, element(one) + element(two)) == hash(vector, element(other) + element(two)));
    CHECK(hash(vector, element(one) + element(two)) != hash(vector, element(two) + element(one)));
    CHECK(hash(scalar(Cql::Custom), "a") == hash(scalar(Cql::Custom), "b"));
}

TEST(hashes_read_no_byte_too_many) {
    Random random(7);
    for (int round = 0; round < 20000; ++round) {
        Target any = scalar(static_cast<Cql>(random() % 0x16));
        for (int depth = static_cast<int>(random() % 3); depth > 0; --depth) {
            constexpr Cql kinds[] = {Cql::List, Cql::Set, Cql::Map, Cql::Tuple, Cql::Vector};
            const Target inner = any;
            any = with(kinds[random() % 5], {inner, inner}, static_cast<int32_t>(random() % 5));
            any.children[0].element = static_cast<int64_t>(random() % 6) - 1;
        }
        std::vector<uint8_t> bytes(random() % 40);  // of its own, so that a byte too many is told
        for (uint8_t& byte : bytes) byte = random() % 3 ? 0 : static_cast<uint8_t>(random());
        key_hash(any, bytes.data(), bytes.size());
        if (is_compared_by_bytes(any)) {
            CHECK(key_hash(any, bytes.data(), bytes.size()) == key_hash(scalar(Cql::Blob), bytes.data(), bytes.size()));
        }
    }
}

}  // namespace ingest_test
