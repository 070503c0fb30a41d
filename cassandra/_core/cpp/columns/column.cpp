// Values of pages into columns: scalars, collections, the loop over the cells, texts of dictionaries.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>

#include "columns/column.h"
#include "base/bytes.h"
#include "codec/arrays.h"
#include "codec/text.h"
#include "columns/batch.h"
#include "columns/numbers.h"

namespace fastcql::columns {

namespace {

constexpr int64_t kDayNanos = 86400000000000;

void set_range(uint8_t* bits, int64_t from, int64_t to) {
    for (; from < to && from % 8; ++from) bits[from / 8] |= static_cast<uint8_t>(1 << from % 8);
    if (to - from >= 8) std::memset(bits + from / 8, 0xff, static_cast<size_t>((to - from) / 8));
    for (from = std::max(from, to - to % 8); from < to; ++from) bits[from / 8] |= static_cast<uint8_t>(1 << from % 8);
}

const char* needs_of(const Type& type) {
    switch (type.kind) {
        case Kind::One:
        case Kind::Boolean: return "1 byte";
        case Kind::Two: return "2 bytes";
        case Kind::Four:
        case Kind::Date: return "4 bytes";
        case Kind::Uuid: return "16 bytes";
        case Kind::Inet: return "4 or 16 bytes";
        case Kind::DecimalText:
        case Kind::Decimal: return "5 bytes or more";
        default: return "8 bytes";
    }
}

}  // namespace

Column::~Column() { delete words; }

bool Appender::no_room(const Column& column) {
    if (memory.held >= memory.limit / 2) {
        return failure.value("%s takes more memory than %zu bytes for one page", column.type->cql.c_str(), memory.limit);
    }
    return failure.memory();
}

bool Appender::wrong_size(const Column& column, int32_t n, const char* needs) {
    return failure.value("%s needs %s, the value has %d", column.type->cql.c_str(), needs, n);
}

// The written size is stored in the buffer first: only written bytes are moved with it.
bool Appender::reserve(Column& column, int64_t count) {
    const Type& type = *column.type;
    Buffer& values = column.values;
    const size_t length = plus(static_cast<size_t>(column.length), static_cast<size_t>(count));
    if (type.kind == Kind::Boolean) {
        const size_t before = values.capacity();
        const size_t bytes = length / 8 + (length % 8 != 0);
        if (bytes <= before) return true;
        values.set_size(before);
        if (!values.ensure(bytes, memory)) return no_room(column);
        std::memset(values.data() + before, 0, values.capacity() - before);
        return true;
    }
    const size_t width = type.width();
    const size_t extra = type.has_offsets() ? 1 : 0;
    const size_t bytes = times(plus(length, extra), width);
    if (bytes <= values.capacity()) return true;
    const bool fresh = values.capacity() == 0;
    values.set_size((static_cast<size_t>(column.length) + extra) * (fresh ? 0 : width));
    if (!values.ensure(bytes, memory)) return no_room(column);
    if (extra && fresh) offsets_of(column)[0] = 0;
    return true;
}

// The value at `length` is null.
bool Appender::mark_null(Column& column) {
    Buffer& bits = column.validity;
    const auto bytes = static_cast<size_t>(column.length / 8 + 1);
    if (bytes > bits.capacity()) {
        const size_t before = bits.capacity();
        bits.set_size(before);
        // As many bits as there is room for values, so that it need not grow again.
        const size_t width = column.type->width();
        const size_t room = width ? column.values.capacity() / width / 8 + 1 : column.values.capacity();
        if (!bits.ensure(padded(std::max(bytes, std::min(room, bytes + 65536))), memory)) return no_room(column);
        std::memset(bits.data() + before, 0xff, bits.capacity() - before);
    }
    bits.data()[column.length / 8] &= static_cast<uint8_t>(~(1u << column.length % 8));
    ++column.nulls;
    return true;
}

bool Appender::append_null(Column& column) {
    const Type& type = *column.type;
    if (++nulls > kMaxNulls) return failure.value("more nulls than a page can have");
    if (!reserve(column) || !mark_null(column)) return false;
    if (type.has_offsets()) {
        int32_t* offsets = offsets_of(column);
        offsets[column.length + 1] = offsets[column.length];
    } else if (type.kind == Kind::Struct) {
        for (int32_t i = 0; i < type.children; ++i) {
            if (!append_null(column.children[i])) return false;
        }
    } else if (type.kind == Kind::Vector) {
        if (!pad_vector(column)) return false;
    } else if (type.kind != Kind::Boolean) {
        const size_t width = type.width();
        std::memset(column.values.data() + static_cast<size_t>(column.length) * width, 0, width);
    }
    ++column.length;
    return true;
}

// Append all elements of a null vector: zeros, if they have a fixed width.
bool Appender::pad_vector(Column& column) {
    Column& items = column.children[0];
    const int32_t dimensions = column.type->dimensions;
    if (items.length + dimensions > INT32_MAX) return failure.value("more than 2^31 elements in one batch");
    const size_t width = items.type->has_offsets() ? 0 : items.type->width();
    if (!width || items.type->kind == Kind::Dictionary) {
        for (int32_t i = 0; i < dimensions; ++i) {
            if (!append_null(items)) return false;
        }
        return true;
    }
    if (!reserve(items, dimensions)) return false;
    std::memset(items.values.data() + static_cast<size_t>(items.length) * width, 0, width * static_cast<size_t>(dimensions));
    items.length += dimensions;
    return true;
}

bool Appender::append(Column& column, const uint8_t* p, int32_t n) {
    const Type& type = *column.type;
    if (n < 0) return append_null(column);
    switch (type.kind) {
        case Kind::Ascii:
        case Kind::Text:
        case Kind::Binary: return variable(column, p, static_cast<size_t>(n));
        case Kind::View: return view(column, p, static_cast<size_t>(n));
        case Kind::Dictionary: return word(column, p, static_cast<size_t>(n));
        default: break;
    }
    if (n == 0) return append_null(column);  // the other types have no empty value
    switch (type.kind) {
        case Kind::List: return list(column, p, n);
        case Kind::Map: return map(column, p, n);
        case Kind::Struct: return fields(column, p, n);
        case Kind::Vector: return vector(column, p, n);
        case Kind::Inet:
            return n == 4 || n == 16 ? variable(column, p, static_cast<size_t>(n)) : wrong_size(column, n, needs_of(type));
        case Kind::VarintText:
        case Kind::DecimalText: return number_text(column, p, n);
        case Kind::Varint:
        case Kind::Decimal: return decimal(column, p, n);
        case Kind::Duration: return duration(column, p, n);
        default: break;
    }
    if (!reserve(column)) return false;
    uint8_t* out = column.values.data();
    const auto index = static_cast<size_t>(column.length);
    switch (type.kind) {
        case Kind::One:
            if (n != 1) return wrong_size(column, n, needs_of(type));
            out[index] = *p;
            break;
        case Kind::Boolean:
            if (n != 1) return wrong_size(column, n, needs_of(type));
            if (*p) out[index / 8] |= static_cast<uint8_t>(1u << index % 8);
            break;
        case Kind::Two: {
            if (n != 2) return wrong_size(column, n, needs_of(type));
            const uint16_t v = load16(p);
            std::memcpy(out + index * 2, &v, 2);
            break;
        }
        case Kind::Four:
        case Kind::Date: {
            if (n != 4) return wrong_size(column, n, needs_of(type));
            const uint32_t v = load32(p) ^ (type.kind == Kind::Date ? 0x80000000u : 0);
            std::memcpy(out + index * 4, &v, 4);
            break;
        }
        case Kind::Uuid:
            if (n != 16) return wrong_size(column, n, needs_of(type));
            std::memcpy(out + index * 16, p, 16);
            break;
        case Kind::VarintLong: {
            int64_t v = 0;
            if (!to_int64(p, static_cast<size_t>(n), &v)) return failure.value("a varint of %d bytes exceeds int64", n);
            std::memcpy(out + index * 8, &v, 8);
            break;
        }
        default: {  // Eight, Time
            if (n != 8) return wrong_size(column, n, needs_of(type));
            const uint64_t v = load64(p);
            std::memcpy(out + index * 8, &v, 8);
        }
    }
    ++column.length;
    return true;
}

bool Appender::variable(Column& column, const uint8_t* p, size_t n) {
    if (!reserve(column)) return false;
    if (column.data.size() + n > INT32_MAX) return failure.value("more than 2 GiB of values in one batch");
    if (n) {
        if (!column.data.ensure(column.data.size() + n, memory)) return no_room(column);
        std::memcpy(column.data.data() + column.data.size(), p, n);
        column.data.add(n);
    }
    offsets_of(column)[++column.length] = static_cast<int32_t>(column.data.size());
    return true;
}

bool Appender::number_text(Column& column, const uint8_t* p, int32_t n) {
    const bool is_decimal = column.type->kind == Kind::DecimalText;
    if (is_decimal && n < 5) return wrong_size(column, n, needs_of(*column.type));
    const auto bytes = static_cast<size_t>(n) - (is_decimal ? 4 : 0);
    if (bytes > kMaxTextBytes) return failure.value("a number of %zu bytes is too long to be converted to text", bytes);
    if (!reserve(column)) return false;
    const size_t room = text_room(bytes);
    if (column.data.size() + room > INT32_MAX) return failure.value("more than 2 GiB of values in one batch");
    if (!column.data.ensure(column.data.size() + room, memory)) return no_room(column);
    char* out = reinterpret_cast<char*>(column.data.data() + column.data.size());
    column.data.add(is_decimal ? decimal_text(p + 4, bytes, load_i32(p), out) : varint_text(p, bytes, out));
    offsets_of(column)[++column.length] = static_cast<int32_t>(column.data.size());
    return true;
}

bool Appender::decimal(Column& column, const uint8_t* p, int32_t n) {
    const Type& type = *column.type;
    const bool scaled = type.kind == Kind::Decimal;
    if (scaled && n < 5) return wrong_size(column, n, needs_of(type));
    if (!reserve(column)) return false;
    const int32_t scale = scaled ? load_i32(p) : 0;
    const size_t head = scaled ? 4 : 0;
    const size_t width = type.width();
    uint8_t* out = column.values.data() + static_cast<size_t>(column.length) * width;
    switch (to_decimal(p + head, static_cast<size_t>(n) - head, scale, type.precision, type.scale, width, out)) {
        case Fit::TooLarge:
            return failure.value("the value has more digits than decimal(%d, %d) holds", type.precision, type.scale);
        case Fit::Inexact:
            return failure.value("the value has more decimal places than decimal(%d, %d) holds", type.precision, type.scale);
        case Fit::Yes: break;
    }
    ++column.length;
    return true;
}

bool Appender::duration(Column& column, const uint8_t* p, int32_t n) {
    const uint8_t* end = p + n;
    int64_t parts[3];
    for (int64_t& part : parts) {
        uint64_t raw = 0;
        const size_t used = read_unsigned_vint(p, end, &raw);
        if (!used) return failure.value("duration ends within one of its three numbers");
        part = zigzag_decode(raw);
        p += used;
    }
    if (p != end) return failure.value("duration has %td bytes too many", end - p);
    const auto months = static_cast<int32_t>(parts[0]);
    const auto days = static_cast<int32_t>(parts[1]);
    if (months != parts[0] || days != parts[1]) return failure.value("months or days of a duration are beyond 32 bits");
    if (!reserve(column)) return false;
    uint8_t* out = column.values.data() + static_cast<size_t>(column.length) * 16;
    std::memcpy(out, &months, 4);
    std::memcpy(out + 4, &days, 4);
    std::memcpy(out + 8, &parts[2], 8);
    ++column.length;
    return true;
}

// Up to twelve bytes are in the view itself; longer text stays in the page.
bool Appender::view(Column& column, const uint8_t* p, size_t n) {
    if (!is_ascii(p, n) && !is_utf8(p, n)) return failure.value("the text is not UTF-8");
    if (!reserve(column)) return false;
    uint8_t* out = column.values.data() + static_cast<size_t>(column.length) * 16;
    const auto size = static_cast<int32_t>(n);
    std::memset(out, 0, 16);
    std::memcpy(out, &size, 4);
    if (n <= 12) {
        if (n) std::memcpy(out + 4, p, n);
    } else {
        const auto at = static_cast<int32_t>(p - page);
        std::memcpy(out + 4, p, 4);
        std::memcpy(out + 8, &page_buffer, 4);
        std::memcpy(out + 12, &at, 4);
        page_is_needed = true;
    }
    ++column.length;
    return true;
}

bool Appender::word(Column& column, const uint8_t* p, size_t n) {
    if (!is_ascii(p, n) && !is_utf8(p, n)) return failure.value("the text is not UTF-8");
    if (!reserve(column)) return false;
    if (!column.words) column.words = new (std::nothrow) Words;
    const int32_t index = column.words ? column.words->index(p, n, memory) : -1;
    if (index < 0) return no_room(column);
    std::memcpy(column.values.data() + static_cast<size_t>(column.length) * 4, &index, 4);
    ++column.length;
    return true;
}

bool is_utf8(const uint8_t* p, size_t n) {
    const uint8_t* end = p + n;
    while (p < end) {
        const uint8_t c = *p++;
        if (c < 0x80) continue;
        int more;
        uint8_t low = 0x80, high = 0xbf;  // of the second byte
        if (c >= 0xc2 && c <= 0xdf) {
            more = 1;
        } else if (c >= 0xe0 && c <= 0xef) {
            more = 2;
            if (c == 0xe0) low = 0xa0;
            if (c == 0xed) high = 0x9f;
        } else if (c >= 0xf0 && c <= 0xf4) {
            more = 3;
            if (c == 0xf0) low = 0x90;
            if (c == 0xf4) high = 0x8f;
        } else {
            return false;
        }
        if (end - p < more || *p < low || *p > high) return false;
        for (int i = 1; i < more; ++i) {
            if ((p[i] & 0xc0) != 0x80) return false;
        }
        p += more;
    }
    return true;
}

int64_t first_bad(const Column& column) {
    const Type& type = *column.type;
    if (type.is_text() && column.data.size() > column.data_before) {
        // Nearly always all of it is ASCII, which one sweep confirms.
        if (is_ascii(column.data.data() + column.data_before, column.data.size() - column.data_before)) return -1;
        const int32_t* offsets = offsets_of(column);
        for (int64_t i = column.length_before; i < column.length; ++i) {
            const uint8_t* text = column.data.data() + offsets[i];
            const auto size = static_cast<size_t>(offsets[i + 1] - offsets[i]);
            if (!is_ascii(text, size) && (type.kind == Kind::Ascii || !is_utf8(text, size))) return i;
        }
    }
    if (type.kind == Kind::Time) {
        for (int64_t i = column.length_before; i < column.length; ++i) {
            int64_t v;
            std::memcpy(&v, column.values.data() + i * 8, 8);
            if (v < 0 || v >= kDayNanos) return i;
        }
    }
    return -1;
}

void take_back(Column& column) {
    const int64_t from = column.length_before;
    if (column.validity.capacity()) {
        const auto known = static_cast<int64_t>(column.validity.capacity()) * 8;
        set_range(column.validity.data(), from, std::min(column.length + 1, known));
    }
    if (column.type->kind == Kind::Boolean) {
        uint8_t* bits = column.values.data();
        for (int64_t i = from; i < column.length; ++i) bits[i / 8] &= static_cast<uint8_t>(~(1u << i % 8));
    }
    column.length = from;
    column.nulls = column.nulls_before;
    column.data.set_size(column.data_before);
}

// ---- collections, tuples, user types and vectors
//
// A count is accepted only if the remaining bytes can hold so many items; the text of errors is that of rows.

namespace {

constexpr size_t kShort = 16;  // texts up to this size are copied as one block

}  // namespace

bool Appender::count_of(Column& column, const uint8_t*& p, const uint8_t* end, int cells, int32_t& count) {
    const char* name = column.type->cql.c_str();
    if (end - p < 4) return failure.value("%s of %td bytes has no room for its count", name, end - p);
    count = load_i32(p);
    p += 4;
    if (count < 0 || int64_t{count} * cells * 4 > end - p) {
        return failure.value("%s claims %d items in %td bytes", name, count, end - p);
    }
    return true;
}

// Read one [bytes] at p; return the end of it, or null. Numbers and texts with reserved room, which are nearly all, are
// stored here directly.
inline const uint8_t* Appender::cell(Column& column, const uint8_t* p, const uint8_t* end) {
    if (end - p < 4) {
        failure.value("%s item: its length is cut off", column.type->cql.c_str());
        return nullptr;
    }
    const int32_t n = load_i32(p);
    const auto left = end - p - 4;
    const auto length = static_cast<size_t>(column.length);
    switch (column.type->kind) {
        case Kind::Four:
            if (n == 4 && left >= 4 && (length + 1) * 4 <= column.values.capacity()) {
                load_number(p + 4, 4, column.values.data() + length * 4);
                ++column.length;
                return p + 8;
            }
            break;
        case Kind::Eight:
            if (n == 8 && left >= 8 && (length + 1) * 8 <= column.values.capacity()) {
                load_number(p + 4, 8, column.values.data() + length * 8);
                ++column.length;
                return p + 12;
            }
            break;
        case Kind::Ascii:
        case Kind::Text:
        case Kind::Binary: {
            const size_t at = column.data.size();
            const auto size = static_cast<size_t>(n);
            const size_t room = column.data.capacity();  // offsets cannot overflow: the page fits
            if (n >= 0 && n <= left && size <= room - at && (length + 2) * 4 <= column.values.capacity()) {
                copy_short(column.data.data() + at, p + 4, size, left, room - at);
                column.data.add(size);
                offsets_of(column)[++column.length] = static_cast<int32_t>(at + size);
                return p + 4 + n;
            }
            break;
        }
        default: break;
    }
    return any_cell(column, p, end);
}

const uint8_t* Appender::any_cell(Column& column, const uint8_t* p, const uint8_t* end) {
    const int32_t n = load_i32(p);
    p += 4;
    if (n < 0) return append_null(column) ? p : nullptr;
    if (n > end - p) {
        failure.value("%s item of %d bytes where %td are left", column.type->cql.c_str(), n, end - p);
        return nullptr;
    }
    return append(column, p, n) ? p + n : nullptr;
}

bool Appender::list(Column& column, const uint8_t* p, int32_t n) {
    const uint8_t* end = p + n;
    Column& items = column.children[0];
    int32_t count = 0;
    if (!count_of(column, p, end, 1, count) || !reserve(column)) return false;
    if (items.length + count > INT32_MAX) return failure.value("more than 2^31 items in one batch");
    if (!reserve(items, count)) return false;
    const Kind kind = items.type->kind;
    if (kind == Kind::Four || kind == Kind::Eight) {
        const int32_t width = kind == Kind::Four ? 4 : 8;
        uint8_t* out = items.values.data() + items.length * width;
        int32_t i = 0;
        for (; i < count && end - p >= 4 + width && load_i32(p) == width; ++i, p += 4 + width, out += width) {
            load_number(p + 4, static_cast<size_t>(width), out);
        }
        items.length += i;
        count -= i;
    }
    for (int32_t i = 0; i < count; ++i) {
        if (!(p = cell(items, p, end))) return false;
    }
    if (p != end) return failure.value("%s has %td bytes too many", column.type->cql.c_str(), end - p);
    offsets_of(column)[++column.length] = static_cast<int32_t>(items.length);
    return true;
}

// Read entries from texts to numbers (the most frequent maps) while there is room and none is null; return their
// number. The state of both columns is held in local variables meanwhile.
int32_t Appender::texts_to_numbers(Column& keys, Column& values, const uint8_t*& p, const uint8_t* end, int32_t count) {
    const Kind kind = values.type->kind;
    if (!keys.type->is_text() || (kind != Kind::Four && kind != Kind::Eight)) return 0;
    const int32_t width = kind == Kind::Four ? 4 : 8;
    const auto many = static_cast<size_t>(count);
    if (keys.values.capacity() < (static_cast<size_t>(keys.length) + many + 1) * 4) return 0;
    if (values.values.capacity() < (static_cast<size_t>(values.length) + many) * static_cast<size_t>(width)) return 0;
    int32_t* offsets = offsets_of(keys) + keys.length + 1;
    uint8_t* out = values.values.data() + values.length * width;
    if (keys.data.capacity() - keys.data.size() < static_cast<size_t>(end - p) + kShort) return 0;
    const uint8_t* begin = keys.data.data();
    uint8_t* text = keys.data.data() + keys.data.size();
    int32_t i = 0;
    for (; i < count && end - p >= 8 + width; ++i, out += width) {
        const size_t n = load32(p);  // a negative length exceeds the rest
        const auto left = static_cast<size_t>(end - p - 4);
        if (n > left - 4 - static_cast<size_t>(width) || load_i32(p + 4 + n) != width) break;
        if (n <= kShort && left >= kShort) {
            std::memcpy(text, p + 4, kShort);
        } else {
            std::memcpy(text, p + 4, n);
        }
        text += n;
        offsets[i] = static_cast<int32_t>(text - begin);
        load_number(p + 8 + n, static_cast<size_t>(width), out);
        p += 8 + n + static_cast<size_t>(width);
    }
    keys.data.set_size(static_cast<size_t>(text - begin));
    keys.length += i;
    values.length += i;
    return i;
}

// Reserve memory for the entries of all maps to come, if they are like the first one, of n bytes. This only avoids
// repeated growth: a failed reservation is repeated when the memory is needed.
void Appender::expect_entries(Column& column, int32_t count, int32_t n) {
    const size_t bytes = column.expected;
    column.expected = 0;
    const auto entries = static_cast<int64_t>(static_cast<double>(bytes) / n * count * 1.05) + 1;
    for (int32_t i = 0; i < 2; ++i) {
        Column& part = column.children[0].children[i];
        if (!reserve(part, entries)) failure.kind = Failure::Kind::None;
        if (!part.type->is_variable()) continue;
        const size_t other = column.children[0].children[1 - i].type->width();
        const size_t taken = static_cast<size_t>(entries) * (8 + other);
        if (bytes > taken && part.data.size() + bytes <= INT32_MAX) {
            (void)part.data.ensure(plus(part.data.size(), times(bytes - taken, 9) / 8 + 64), memory);
        }
    }
}

bool Appender::map(Column& column, const uint8_t* p, int32_t n) {
    const uint8_t* end = p + n;
    Column& entries = column.children[0];
    Column& keys = entries.children[0];
    Column& values = entries.children[1];
    int32_t count = 0;
    if (!count_of(column, p, end, 2, count) || !reserve(column)) return false;
    if (entries.length + count > INT32_MAX) return failure.value("more than 2^31 items in one batch");
    const int64_t nulls = keys.nulls;
    if (column.expected && count) expect_entries(column, count, n);
    for (int32_t i = texts_to_numbers(keys, values, p, end, count); i < count; ++i) {
        if (!(p = cell(keys, p, end)) || !(p = cell(values, p, end))) return false;
    }
    if (p != end) return failure.value("%s has %td bytes too many", column.type->cql.c_str(), end - p);
    if (keys.nulls != nulls) return failure.value("a key of %s is null", column.type->cql.c_str());
    entries.length += count;
    offsets_of(column)[++column.length] = static_cast<int32_t>(entries.length);
    return true;
}

// Missing fields at the end are null; fields beyond those of the type (it was altered since) are ignored.
bool Appender::fields(Column& column, const uint8_t* p, int32_t n) {
    const uint8_t* end = p + n;
    Column* child = column.children;
    for (const Column* last = child + column.type->children; child != last; ++child) {
        if (p == end) {
            if (!append_null(*child)) return false;
        } else if (!(p = cell(*child, p, end))) {
            return false;
        }
    }
    ++column.length;
    return true;
}

bool Appender::vector(Column& column, const uint8_t* p, int32_t n) {
    const Type& type = *column.type;
    Column& items = column.children[0];
    const uint8_t* end = p + n;
    const int64_t size = items.type->element;
    if (type.element >= 0 ? n != type.element : n < type.dimensions) {
        return failure.value("%s cannot have %d bytes", type.cql.c_str(), n);
    }
    if (items.length + type.dimensions > INT32_MAX) return failure.value("more than 2^31 elements in one batch");
    if (!reserve(items, type.dimensions)) return false;
    const Kind kind = items.type->kind;
    if (size > 0 && (kind == Kind::Four || kind == Kind::Eight)) {
        const auto width = static_cast<size_t>(size);
        load_numbers(p, static_cast<size_t>(type.dimensions), width, items.values.data() + items.length * size);
        items.length += type.dimensions;
        ++column.length;
        return true;
    }
    for (int32_t i = 0; i < type.dimensions; ++i) {
        uint64_t length = static_cast<uint64_t>(size);
        if (size < 0) {
            const size_t used = read_unsigned_vint(p, end, &length);
            p += used;
            if (!used || length > static_cast<uint64_t>(end - p)) {
                return failure.value("vector element %d goes past the end of the value", i);
            }
        }
        if (!append(items, p, static_cast<int32_t>(length))) return false;
        p += length;
    }
    if (p != end) return failure.value("%s has %td bytes too many", type.cql.c_str(), end - p);
    ++column.length;
    return true;
}

// ---- the loop over the cells of a page
//
// Numbers and texts of columns, which are nearly all cells, are handled in it; the others, nulls included, go through
// Appender::append.

namespace {

constexpr ptrdiff_t kShortText = 16;  // texts up to this size are copied as one block

enum class Method : uint8_t { Four, Eight, Variable, Place, Fields, Other };

// Destination of the values of a column. Values of a field are in the row of their parent value.
struct Lane {
    Method method;
    uint32_t flip;       // of numbers of four bytes
    uint32_t length;     // in wire order, the length before a number
    uint32_t least;      // minimal wire bytes of a value, its length included
    uint32_t run;        // number of consecutive numbers from here on; 0: not a number
    uint32_t run_bytes;  // their bytes if none is null
    uint8_t* values;     // at the page's first row
    uint8_t* begin;      // of a variable column: its bytes,
    uint8_t* data;       // the position of the next value,
    uint8_t* limit;      // and the end of its room
    Column* column;
    Lane* fields;  // of a user type or tuple
    Lane* fields_end;
};

Method method_of(const Type& type) {
    switch (type.kind) {
        case Kind::Four:
        case Kind::Date: return Method::Four;
        case Kind::Eight:
        case Kind::Time: return Method::Eight;
        case Kind::Text:
        case Kind::Ascii:
        case Kind::Binary: return Method::Variable;
        case Kind::Place: return Method::Place;
        case Kind::Struct: return Method::Fields;
        default: return Method::Other;
    }
}

// Called after the column has grown.
void open(Lane& lane) {
    Column& column = *lane.column;
    const Type& type = *column.type;
    lane.values = column.values.data();
    if (lane.values && column.length_before) lane.values += static_cast<size_t>(column.length_before) * type.width();
    if (lane.method == Method::Variable) {
        lane.begin = column.data.data();
        lane.data = lane.begin + column.data.size();
        lane.limit = lane.begin + std::min(column.data.capacity(), size_t{INT32_MAX});
    }
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) open(*field);
}

// Store the loop's progress in the column.
void close(Lane& lane, int64_t row) {
    if (lane.method == Method::Other) return;
    lane.column->length = lane.column->length_before + row;
    if (lane.method == Method::Variable) {
        lane.column->data.set_size(static_cast<size_t>(lane.data - lane.begin));
    }
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) close(*field, row);
}

// Append a value that the fast paths do not handle: check it, append it, and reopen the lane. Return its end, or null.
const uint8_t* read_slow(Lane& lane, int64_t row, const uint8_t* p, const uint8_t* end, int32_t n, Appender& appender) {
    if (n > end - p) {
        const Type& type = *lane.column->type;
        if (type.parent < 0) {
            appender.failure.value("a value of %d bytes where the response has %td left", n, end - p);
        } else {
            appender.failure.value("%s item of %d bytes where %td are left", type.cql.c_str(), n, end - p);
        }
        return nullptr;
    }
    close(lane, row);
    if (!appender.append(*lane.column, p, n)) return nullptr;
    if (lane.method != Method::Other) open(lane);
    return n > 0 ? p + n : p;
}

// Reserve room for all rows of a page in the fields of a column; columns themselves have theirs already.
bool make_room_for(Lane& lane, int64_t rows, Appender& appender) {
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) {
        if (!appender.reserve(*field->column, rows) || !make_room_for(*field, rows, appender)) return false;
    }
    return true;
}

// A lane, and the bytes for it; null bytes after a failure.
struct At {
    Lane* lane;
    const uint8_t* p;
};

At read_fields(At at, const Lane* last, int64_t row, const uint8_t* end, Appender& appender);

// Read consecutive numbers, up to the length of the run.
inline At read_numbers(At at, int64_t row, const uint8_t* end) {
    const ptrdiff_t left = end - at.p;
    Lane* lane = at.lane;
    const bool all = left >= static_cast<ptrdiff_t>(lane->run_bytes);
    const bool one = left >= static_cast<ptrdiff_t>(lane->least);
    const Lane* const stop = lane + (all ? lane->run : one);
    const uint8_t* p = at.p;
    for (; lane != stop; ++lane) {
        uint32_t length;
        std::memcpy(&length, p, 4);
        if (length != lane->length) break;
        if (lane->method == Method::Four) {
            const uint32_t v = load32(p + 4) ^ lane->flip;
            std::memcpy(lane->values + row * 4, &v, 4);
            p += 8;
        } else {
            const uint64_t v = load64(p + 4);
            std::memcpy(lane->values + row * 8, &v, 8);
            p += 12;
        }
    }
    return {lane, p};
}

// Read a [bytes] at p that is a text with room for it; return its end. Null, with nothing done, for any other value.
inline const uint8_t* read_text(Lane& lane, int64_t row, const uint8_t* p, const uint8_t* end, const Appender& appender) {
    const ptrdiff_t left = end - p - 4;
    if (left < 0) return nullptr;
    const auto n = static_cast<ptrdiff_t>(load32(p));  // the length of a null exceeds the rest
    if (n > left) return nullptr;
    p += 4;
    if (lane.method == Method::Variable) {
        const ptrdiff_t room = lane.limit - lane.data;
        if (n <= kShortText && left >= kShortText && room >= kShortText) {
            std::memcpy(lane.data, p, kShortText);
        } else if (n > room) {
            return nullptr;
        } else if (n) {
            std::memcpy(lane.data, p, static_cast<size_t>(n));
        }
        lane.data += n;
        const auto to = static_cast<int32_t>(lane.data - lane.begin);
        std::memcpy(lane.values + row * 4 + 4, &to, 4);
        return p + n;
    }
    if (lane.method != Method::Place) return nullptr;
    const auto at = static_cast<int32_t>(p - 4 - appender.page);
    std::memcpy(lane.values + row * 4, &at, 4);
    return p + n;
}

// Read a [bytes] at p that is neither. Return its end, or null.
const uint8_t* read_other(Lane& lane, int64_t row, const uint8_t* p, const uint8_t* end, Appender& appender) {
    const Type& type = *lane.column->type;
    if (end - p < 4) {
        if (type.parent < 0) {
            appender.failure.value("the response ends before the length of this value");
        } else if (p == end) {
            return read_slow(lane, row, p, end, -1, appender);  // fields at the end may be missing
        } else {
            appender.failure.value("%s item: its length is cut off", type.cql.c_str());
        }
        return nullptr;
    }
    const int32_t n = load_i32(p);
    if (lane.method != Method::Place || n >= 0) return read_slow(lane, row, p + 4, end, n, appender);
    const auto at = static_cast<int32_t>(p - appender.page);
    std::memcpy(lane.values + row * 4, &at, 4);
    return p + 4;
}

// Read the values of a row, or the fields of a value: of the lanes up to *last*. Return the end position. Fields of
// columns are read inline, *levels* deep.
template <int levels>
[[gnu::always_inline]] inline At read_row(At at, const Lane* last, int64_t row, const uint8_t* end, Appender& appender) {
    while (at.lane != last) {
        Lane& lane = *at.lane;
        const uint8_t* next = nullptr;
        if (lane.run) {
            at = read_numbers(at, row, end);
            if (at.lane != &lane) continue;
        } else if (lane.method == Method::Fields) {
            const ptrdiff_t left = end - at.p - 4;
            const ptrdiff_t n = left < 0 ? 0 : load_i32(at.p);
            if (n > 0 && n <= left) {
                next = at.p + 4 + n;
                const At first{lane.fields, at.p + 4};
                At all;
                if constexpr (levels > 0) {
                    all = read_row<levels - 1>(first, lane.fields_end, row, next, appender);
                } else {
                    all = read_fields(first, lane.fields_end, row, next, appender);
                }
                if (!all.p) return {&lane, nullptr};
            }
        } else {
            next = read_text(lane, row, at.p, end, appender);
        }
        if (!next && !(next = read_other(lane, row, at.p, end, appender))) return {&lane, nullptr};
        at = {&lane + 1, next};
    }
    return at;
}

// Equivalent of Appender::fields.
At read_fields(At at, const Lane* last, int64_t row, const uint8_t* end, Appender& appender) {
    return read_row<0>(at, last, row, end, appender);
}

bool read_cells(const Page& page, Lane* lanes, size_t count, Appender& appender) {
    const uint8_t* p = page.data;
    const uint8_t* end = p + page.size;
    for (int64_t row = 0; row < page.rows; ++row) {
        const At at = read_row<1>({lanes, p}, lanes + count, row, end, appender);
        if (!at.p) {
            appender.failure.column = static_cast<int32_t>(at.lane - lanes);
            appender.failure.row = row;
            return false;
        }
        p = at.p;
    }
    return true;
}

// Find runs of consecutive numbers, of columns or fields.
void find_runs(Lane* first, size_t count) {
    for (size_t i = count; i-- > 0;) {
        Lane& lane = first[i];
        if (lane.method != Method::Four && lane.method != Method::Eight) continue;
        const bool on = i + 1 < count;
        lane.run = 1 + (on ? first[i + 1].run : 0);
        lane.run_bytes = lane.least + (on ? first[i + 1].run_bytes : 0);
    }
}

}  // namespace

bool Batch::read(const Page& page, Appender& appender) {
    constexpr size_t kFew = 16;
    Lane few[kFew];
    const size_t types = plan_.types.size();
    const auto count = static_cast<size_t>(plan_.columns);
    Lane* many = types > kFew ? new (std::nothrow) Lane[types] : nullptr;
    Lane* lanes = types > kFew ? many : few;
    if (!lanes) return appender.failure.memory();
    bool done = true;
    for (size_t i = 0; i < types; ++i) {
        const Type& type = plan_.types[i];
        Lane& lane = lanes[i] = {};
        lane.column = &columns_[i];
        lane.method = method_of(type);
        const uint32_t width = lane.method == Method::Four ? 4 : lane.method == Method::Eight ? 8 : 0;
        lane.least = 4 + width;
        lane.length = big32(width);
        lane.flip = type.kind == Kind::Date ? 0x80000000u : 0;
        if (lane.method != Method::Fields) continue;
        lane.fields = lanes + type.first_child;
        lane.fields_end = lane.fields + type.children;
    }
    find_runs(lanes, count);
    for (size_t i = 0; i < types; ++i) {
        if (lanes[i].fields) find_runs(lanes[i].fields, static_cast<size_t>(lanes[i].fields_end - lanes[i].fields));
    }
    for (size_t i = 0; done && i < count; ++i) {
        done = make_room_for(lanes[i], page.rows, appender);
        open(lanes[i]);
    }
    if (done) done = read_cells(page, lanes, count, appender);
    for (size_t i = 0; done && i < count; ++i) close(lanes[i], page.rows);
    delete[] many;
    return done;
}

// ---- the distinct texts of a dictionary column

// Seeded with a secret of this process, so that hostile texts cannot be made to collide.
uint64_t Words::hash(const uint8_t* p, size_t n) {
    static const uint64_t secret = [] {
        std::random_device random;
        return uint64_t{random()} << 32 | random();
    }();
    uint64_t h = secret ^ (n * 0x9e3779b97f4a7c15ULL);
    const auto mix = [&h](uint64_t word) {
        const unsigned __int128 product = static_cast<unsigned __int128>(h ^ word) * 0xa0761d6478bd642fULL;
        h = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ secret;
    };
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        mix(word);
    }
    uint64_t rest = 0;
    if (n) std::memcpy(&rest, p, n);
    mix(rest);
    return h;
}

bool Words::grow() {
    const size_t size = mask_ ? times(mask_ + 1, 2) : 64;
    const size_t bytes = times(size, sizeof(Slot));
    if (bytes > PTRDIFF_MAX) return false;
    auto* slots = static_cast<Slot*>(std::malloc(bytes));
    if (!slots) return false;
    for (size_t i = 0; i < size; ++i) slots[i].index = -1;
    for (size_t i = 0; slots_ && i <= mask_; ++i) {
        if (slots_[i].index < 0) continue;
        size_t at = slots_[i].hash & (size - 1);
        while (slots[at].index >= 0) at = (at + 1) & (size - 1);
        slots[at] = slots_[i];
    }
    std::free(slots_);
    slots_ = slots;
    mask_ = size - 1;
    return true;
}

int32_t Words::index(const uint8_t* p, size_t n, Memory& memory) {
    if (static_cast<size_t>(count) * 4 >= mask_ * 3 && !grow()) return -1;
    const uint64_t h = hash(p, n);
    const auto* starts = reinterpret_cast<const int32_t*>(offsets.data());
    size_t at = h & mask_;
    for (; slots_[at].index >= 0; at = (at + 1) & mask_) {
        if (slots_[at].hash != h) continue;
        const int32_t i = slots_[at].index;
        const auto size = static_cast<size_t>(starts[i + 1] - starts[i]);
        if (size == n && (n == 0 || std::memcmp(data.data() + starts[i], p, n) == 0)) return i;
    }
    if (data.size() + n > INT32_MAX || count == INT32_MAX) return -1;
    offsets.set_size(count ? (static_cast<size_t>(count) + 1) * 4 : 0);
    if (!offsets.ensure(times(static_cast<size_t>(count) + 2, 4), memory)) return -1;
    if (n && !data.ensure(data.size() + n, memory)) return -1;
    if (n) std::memcpy(data.data() + data.size(), p, n);
    data.add(n);
    auto* ends = reinterpret_cast<int32_t*>(offsets.data());
    if (count == 0) ends[0] = 0;
    ends[count + 1] = static_cast<int32_t>(data.size());
    slots_[at] = {h, count};
    return count++;
}

}  // namespace fastcql::columns
