// Collections, tuples, user types and vectors. A count is accepted only if the remaining bytes can hold so many items;
// the text of errors is that of rows.
#include <cstring>

#include "base/bytes.h"
#include "base/vint.h"
#include "codec/columns.h"
#include "columns/column.h"

namespace fastcql::columns {

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
    Column& items = column.kids[0];
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
void Appender::expect_like(Column& column, int32_t count, int32_t n) {
    const size_t bytes = column.expected;
    column.expected = 0;
    const auto entries = static_cast<int64_t>(static_cast<double>(bytes) / n * count * 1.05) + 1;
    for (int32_t i = 0; i < 2; ++i) {
        Column& part = column.kids[0].kids[i];
        if (!reserve(part, entries)) failure.kind = Failure::Kind::None;
        if (!part.type->is_variable()) continue;
        const size_t other = column.kids[0].kids[1 - i].type->width();
        const size_t taken = static_cast<size_t>(entries) * (8 + other);
        if (bytes > taken && part.data.size() + bytes <= INT32_MAX) {
            (void)part.data.ensure(plus(part.data.size(), times(bytes - taken, 9) / 8 + 64), memory);
        }
    }
}

bool Appender::map(Column& column, const uint8_t* p, int32_t n) {
    const uint8_t* end = p + n;
    Column& entries = column.kids[0];
    Column& keys = entries.kids[0];
    Column& values = entries.kids[1];
    int32_t count = 0;
    if (!count_of(column, p, end, 2, count) || !reserve(column)) return false;
    if (entries.length + count > INT32_MAX) return failure.value("more than 2^31 items in one batch");
    const int64_t nulls = keys.nulls;
    if (column.expected && count) expect_like(column, count, n);
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
    Column* kid = column.kids;
    for (const Column* last = kid + column.type->children; kid != last; ++kid) {
        if (p == end) {
            if (!append_null(*kid)) return false;
        } else if (!(p = cell(*kid, p, end))) {
            return false;
        }
    }
    ++column.length;
    return true;
}

bool Appender::vector(Column& column, const uint8_t* p, int32_t n) {
    const Type& type = *column.type;
    Column& items = column.kids[0];
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

}  // namespace fastcql::columns
