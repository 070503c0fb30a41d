// The Python-free kernels of the codec. Inputs are exactly as long as they say, on the heap: the sanitizer sees one
// byte more.
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/bytes.h"
#include "codec/arrays.h"
#include "codec/civil.h"
#include "codec/row_index.h"
#include "codec/text.h"
#include "testing.h"

namespace kernels_test {

using namespace fastcql;

namespace {

using Bytes = std::vector<uint8_t>;

Bytes contents(ByteBuffer& out) { return Bytes(out.data(), out.data() + out.size()); }

Bytes vint(uint64_t value) {
    ByteBuffer out;
    put_unsigned_vint(out, value);
    return contents(out);
}

Bytes varint(int64_t value) {
    ByteBuffer out;
    put_varint(out, value);
    return contents(out);
}

std::string utf8(const std::u32string& text) {
    ByteBuffer out;
    CHECK(put_utf8(out, text.data(), text.size(), 4) == -1);
    return std::string(reinterpret_cast<char*>(out.data()), out.size());
}

std::string digits(int64_t value) {
    char text[20];
    return std::string(text, format_int(value, text));
}

std::string inet(const Bytes& address) {
    char text[kInetText];
    return std::string(text, format_inet(address.data(), address.size(), text));
}

}  // namespace

TEST(numbers_in_either_order_of_bytes) {
    const Bytes bytes = {1, 2, 3, 4, 5, 6, 7, 0x88};
    CHECK(load16(bytes.data()) == 0x0102 && load32(bytes.data()) == 0x01020304);
    CHECK(load64(bytes.data()) == 0x0102030405060788 && load_little32(bytes.data() + 4) == 0x88070605);
    CHECK(load_little64(bytes.data()) == 0x8807060504030201);
}

TEST(buffers_keep_what_was_put_while_they_grow) {
    ByteBuffer out;
    for (uint32_t i = 0; i < 100000; ++i) out.put32(i);
    CHECK(out.size() == 400000 && !out.failed());
    for (uint32_t i = 0; i < 100000; ++i) CHECK(load32(out.data() + i * 4) == i);
    out.patch32(8, 77);
    CHECK(load32(out.data() + 8) == 77);
    out.truncate(12);
    out.put8(1);
    out.put16(0x0203);
    out.put64(0x0405060708090a0bULL);
    CHECK(contents(out) == (Bytes{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 77, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST(buffers_take_one_large_piece) {
    for (size_t n : {0u, 1u, 479u, 480u, 481u, 1000000u}) {
        const Bytes piece(n, 0xab);
        ByteBuffer out;
        out.put8(1);
        out.put(piece.data(), n);
        CHECK(out.size() == n + 1);
        CHECK(n == 0 || (out.data()[1] == 0xab && out.data()[n] == 0xab));
    }
}

TEST(a_buffer_that_failed_stays_failed) {
    ByteBuffer out;
    out.put32(5);
    CHECK(out.extend(SIZE_MAX / 2) == nullptr);
    CHECK(out.failed());
    out.put32(6);
    out.put("abc", 3);
    out.patch32(0, 1);
    out.patch16(0, 1);
    out.patch8(0, 1);
    out.truncate(0);
    CHECK(out.failed() && out.size() == 0 && out.extend(1) == nullptr);
}

TEST(numbers_are_big_endian) {
    ByteBuffer out;
    out.put_float(1.5f);
    out.put_double(-2.0);
    CHECK(contents(out) == (Bytes{0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(load_float(out.data()) == 1.5f && load_double(out.data() + 4) == -2.0);
    const Bytes minus(8, 0xff);
    CHECK(load_i32(minus.data()) == -1 && load_i64(minus.data()) == -1 && load16(minus.data()) == 65535);
}

TEST(vints_of_the_specification) {
    CHECK(vint(0) == Bytes{0});
    CHECK(vint(127) == Bytes{0x7f});
    CHECK(vint(128) == (Bytes{0x80, 0x80}));
    CHECK(vint(16383) == (Bytes{0xbf, 0xff}));
    CHECK(vint(256000) == (Bytes{0xc3, 0xe8, 0x00}));
    CHECK(vint(UINT64_MAX) == Bytes(9, 0xff));
    CHECK(vint((1ULL << 56) - 1) == (Bytes{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}));
    CHECK(vint(1ULL << 56) == (Bytes{0xff, 1, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(vints_read_back_and_never_beyond_their_end) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        const uint64_t value = random() >> (random() % 64);
        const Bytes bytes = vint(value);
        uint64_t read = 0;
        CHECK(read_unsigned_vint(bytes.data(), bytes.data() + bytes.size(), &read) == bytes.size());
        CHECK(read == value);
        for (size_t n = 0; n < bytes.size(); ++n) {
            const Bytes cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
            CHECK(read_unsigned_vint(cut.data(), cut.data() + n, &read) == 0);
        }
    }
}

TEST(zigzag) {
    const int64_t values[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};
    const uint64_t codes[] = {0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX};
    for (int i = 0; i < 7; ++i) {
        CHECK(zigzag_encode(values[i]) == codes[i]);
        CHECK(zigzag_decode(codes[i]) == values[i]);
    }
}

TEST(varints_are_minimal_and_read_back) {
    CHECK(varint(0) == Bytes{0} && varint(-1) == Bytes{0xff});
    CHECK(varint(128) == (Bytes{0, 0x80}) && varint(-128) == Bytes{0x80});
    CHECK(varint(INT64_MIN) == (Bytes{0x80, 0, 0, 0, 0, 0, 0, 0}));
    std::mt19937_64 random(2);
    for (int i = 0; i < 20000; ++i) {
        const int64_t value = static_cast<int64_t>(random()) >> (random() % 64);
        const Bytes bytes = varint(value);
        CHECK(load_varint(bytes.data(), bytes.size()) == value);
    }
}

TEST(every_day_of_datetime_and_what_is_beyond) {
    int year = 1, month = 1, day = 1;
    const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    for (int64_t ms = kFirstDatetimeMs; ms <= kLastDatetimeMs; ms += kDayMs) {
        CivilTime t;
        CHECK(split_timestamp(ms + 86399999, &t));
        CHECK(t.year == year && t.month == month && t.day == day);
        CHECK(t.hour == 23 && t.minute == 59 && t.second == 59 && t.microsecond == 999000);
        CHECK(days_from_civil(year, month, day) * kDayMs == ms);
        const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        if (++day > lengths[month - 1] + (month == 2 && leap ? 1 : 0)) {
            day = 1;
            if (++month > 12) {
                month = 1;
                ++year;
            }
        }
    }
    CHECK(year == 10000);
    CivilTime t;
    for (int64_t ms : {kFirstDatetimeMs - 1, kLastDatetimeMs + 1, INT64_MAX, INT64_MIN}) CHECK(!split_timestamp(ms, &t));
}

TEST(ascii_is_seen_at_every_length_and_place) {
    for (size_t n = 0; n < 40; ++n) {
        Bytes text(n, 'a');
        CHECK(is_ascii(text.data(), n));
        for (size_t i = 0; i < n; ++i) {
            text[i] = 0x80;
            CHECK(!is_ascii(text.data(), n));
            text[i] = 0x7f;
        }
    }
}

TEST(utf8_of_every_width) {
    CHECK(utf8(U"a\u00e4\u20ac\U0001f600") == "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    ByteBuffer out;
    const uint8_t latin[] = {'a', 0xe4, 0xff};
    CHECK(put_utf8(out, latin, 3, 1) == -1);
    const uint16_t wide[] = {'a', 0x20ac, 0xffff};
    CHECK(put_utf8(out, wide, 3, 2) == -1);
    CHECK(contents(out) == (Bytes{'a', 0xc3, 0xa4, 0xc3, 0xbf, 'a', 0xe2, 0x82, 0xac, 0xef, 0xbf, 0xbf}));
    const uint16_t surrogate[] = {'a', 0xd800, 'b'};
    CHECK(put_utf8(out, surrogate, 3, 2) == 1);
    ByteBuffer large;
    const std::vector<uint8_t> many(100000, 0xe4);
    CHECK(put_utf8(large, many.data(), many.size(), 1) == -1 && large.size() == 200000);
}

TEST(addresses) {
    CHECK(inet({127, 0, 0, 1}) == "127.0.0.1" && inet({255, 10, 9, 100}) == "255.10.9.100");
    Bytes six(16, 0);
    six[15] = 1;
    CHECK(inet(six) == "::1");
    CHECK(inet({1, 2, 3}).empty() && inet({}).empty());
    uint8_t address[16];
    CHECK(parse_inet("10.0.0.1", address) == 4 && address[0] == 10 && address[3] == 1);
    CHECK(parse_inet("::1", address) == 16 && address[15] == 1);
    for (const char* wrong : {"", "1:2", "300.0.0.1", "host", "1.2.3.4.5", ":::", "10.0.0.1 hello", "12345", "127.1", "0x7f.0.0.1",
                              "192.168.001.010", " 10.0.0.1", "10.0.0.1 ", "::1%eth0", "::1 "}) CHECK(parse_inet(wrong, address) == 0);
    for (int i = 0; i < 256; ++i) {
        const std::string text = inet({static_cast<uint8_t>(i), 0, 0, static_cast<uint8_t>(255 - i)});
        CHECK(parse_inet(text.c_str(), address) == 4 && address[0] == i && address[3] == 255 - i);
    }
}

TEST(digits_of_integers) {
    CHECK(digits(0) == "0" && digits(-7) == "-7" && digits(1234567890123456789) == "1234567890123456789");
    CHECK(digits(INT64_MAX) == "9223372036854775807" && digits(INT64_MIN) == "-9223372036854775808");
}

TEST(formats_of_arrays) {
    bool swapped = true;
    CHECK(element_of("f", 4, &swapped) == Element::kFloat && !swapped);
    CHECK(element_of("<d", 8, &swapped) == Element::kDouble && !swapped);
    CHECK(element_of(">i", 4, &swapped) == Element::kInt32 && swapped);
    CHECK(element_of("@l", 8, &swapped) == Element::kInt64 && element_of("L", 8, &swapped) == Element::kUint64);
    CHECK(element_of(nullptr, 1, &swapped) == Element::kUint8);
    for (const char* other : {"", ">", "e", "ff", "2f", "Zd", "s", "?"})
        CHECK(element_of(other, 4, &swapped) == Element::kOther);
    CHECK(element_of("f", 8, &swapped) == Element::kOther && element_of("i", 16, &swapped) == Element::kOther);
}

TEST(arrays_of_every_stride) {
    const std::vector<float> values{1.5f, -2.0f, 3.0f, 4.0f};
    const auto* p = reinterpret_cast<const uint8_t*>(values.data());
    Bytes out(16);
    CHECK(copy_to_float(Element::kFloat, p, 4, 4, false, out.data()));
    CHECK(load_float(out.data()) == 1.5f && load_float(out.data() + 12) == 4.0f);
    CHECK(copy_to_double(Element::kFloat, p + 12, -8, 2, false, out.data()));
    CHECK(load_double(out.data()) == 4.0 && load_double(out.data() + 8) == -2.0);
    CHECK(!copy_to_int32(Element::kFloat, p, 4, 4, false, out.data()));
    const std::vector<double> large{1e39, std::numeric_limits<double>::infinity()};
    const auto* q = reinterpret_cast<const uint8_t*>(large.data());
    CHECK(!copy_to_float(Element::kDouble, q, 8, 1, false, out.data()));
    CHECK(copy_to_float(Element::kDouble, q + 8, 8, 1, false, out.data()));
    const Bytes big{0, 0, 0, 5, 0xff, 0xff, 0xff, 0xfe};
    CHECK(copy_to_int64(Element::kInt32, big.data(), 4, 2, true, out.data()));
    CHECK(load_i64(out.data()) == 5 && load_i64(out.data() + 8) == -2);
    const std::vector<int64_t> wide{INT32_MAX, int64_t{INT32_MAX} + 1, INT32_MIN, int64_t{INT32_MIN} - 1};
    for (size_t i = 0; i < 4; ++i) {
        const auto* one = reinterpret_cast<const uint8_t*>(&wide[i]);
        CHECK(copy_to_int32(Element::kInt64, one, 8, 1, false, out.data()) == (i % 2 == 0));
    }
    const uint64_t huge = UINT64_MAX;
    CHECK(!copy_to_int64(Element::kUint64, reinterpret_cast<const uint8_t*>(&huge), 8, 1, false, out.data()));
}

namespace {

void put_cell(Bytes& out, const char* text) {  // null for a null
    const auto size = text ? static_cast<int32_t>(std::strlen(text)) : -1;
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<uint8_t>(static_cast<uint32_t>(size) >> shift));
    if (text) out.insert(out.end(), text, text + size);
}

Bytes rows_of(std::initializer_list<const char*> cells) {
    Bytes out;
    for (const char* one : cells) put_cell(out, one);
    return out;
}

RowIndex::Text text_of(const char* text) {
    return {reinterpret_cast<const uint8_t*>(text), static_cast<int32_t>(std::strlen(text))};
}

}  // namespace

TEST(rows_by_the_texts_of_two_columns) {
    const Bytes first = rows_of({"ks", "a", "1", "ks", "a", "2", "ks", nullptr, "3", "ks", "b", nullptr, nullptr, "b", "4"});
    const Bytes second = rows_of({"ks", "a", "5", "other", "", "6", "ks", "c", "7"});
    RowIndex index;
    index.begin(3, 0, 1);
    CHECK(index.add(first.data(), first.data() + first.size(), 5) == 5);
    CHECK(index.add(second.data(), second.data() + second.size(), 3) == 3);
    index.seal();
    uint32_t run = index.find(text_of("ks"), text_of("a"));
    CHECK(run != RowIndex::kNone && index.run(run).page == 0 && index.run(run).row == 0 && index.run(run).count == 2);
    run = index.find(text_of("ks"), text_of("a"), run);
    CHECK(run != RowIndex::kNone && index.run(run).page == 1 && index.run(run).row == 0 && index.run(run).count == 1);
    CHECK(index.find(text_of("ks"), text_of("a"), run) == RowIndex::kNone);
    CHECK(index.find(text_of("other"), text_of("")) != RowIndex::kNone);
    CHECK(index.find(text_of("other"), text_of("a")) == RowIndex::kNone);
    size_t runs = 0;
    uint32_t group = index.find_group(text_of("ks"));
    for (; group != RowIndex::kNone; group = index.find_group(text_of("ks"), group))
        for (uint32_t i = index.group_first(group); i < index.group_last(group); ++i, ++runs) CHECK(index.run(i).count > 0);
    CHECK(runs == 4 && index.find_group(text_of("none")) == RowIndex::kNone);
}

TEST(rows_that_end_early_are_not_indexed) {
    const Bytes whole = rows_of({"ks", "a", "ks", "b", "ks", "c"});
    for (size_t size = 0; size < whole.size(); ++size) {
        const std::unique_ptr<uint8_t[]> part(new uint8_t[size + 1]);
        std::memcpy(part.get(), whole.data(), size);
        RowIndex index;
        index.begin(2, 0, 1);
        CHECK(index.add(part.get(), part.get() + size, 3) == size / 11);
        index.seal();
        CHECK((index.find(text_of("ks"), text_of("a")) != RowIndex::kNone) == (size >= 11));
    }
    Bytes claims = rows_of({"ks", "a"});
    claims[0] = 0x7f;
    RowIndex index;
    index.begin(2, 0, 1);
    CHECK(index.add(claims.data(), claims.data() + claims.size(), 1) == 0);
    index.seal();
    CHECK(index.find(text_of(""), text_of("")) == RowIndex::kNone);
}

TEST(many_rows_in_any_order) {
    std::mt19937 rng(1);
    std::vector<Bytes> pages(20);
    RowIndex index;
    index.begin(2, 0, 1);
    std::vector<size_t> count(50);
    for (size_t page = 0; page < pages.size(); ++page) {
        for (size_t row = 0; row < 100; ++row) {
            const size_t number = rng() % count.size();
            ++count[number];
            put_cell(pages[page], number % 2 ? "odd" : "even");
            put_cell(pages[page], std::to_string(number).c_str());
        }
        CHECK(index.add(pages[page].data(), pages[page].data() + pages[page].size(), 100) == 100);
    }
    index.seal();
    for (size_t number = 0; number < count.size(); ++number) {
        size_t found = 0;
        uint64_t before = 0;
        const std::string name = std::to_string(number);
        const RowIndex::Text first = text_of(number % 2 ? "odd" : "even"), second = text_of(name.c_str());
        for (uint32_t run = index.find(first, second); run != RowIndex::kNone; run = index.find(first, second, run)) {
            const uint64_t place = (uint64_t{index.run(run).page} << 32 | index.run(run).row) + 1;
            CHECK(place > before);
            before = place;
            found += index.run(run).count;
        }
        CHECK(found == count[number]);
    }
}

}  // namespace kernels_test
