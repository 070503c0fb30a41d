// Scalars, and code common to all types; collections are in nested.cpp.
#include "columns/column.h"

#include <cstring>

#include "base/bytes.h"
#include "base/vint.h"
#include "codec/text.h"
#include "columns/numbers.h"
#include "columns/words.h"

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
    if (++nulls > kMostNulls) return failure.value("more nulls than a page can have");
    if (!reserve(column) || !mark_null(column)) return false;
    if (type.has_offsets()) {
        int32_t* offsets = offsets_of(column);
        offsets[column.length + 1] = offsets[column.length];
    } else if (type.kind == Kind::Struct) {
        for (int32_t i = 0; i < type.children; ++i) {
            if (!append_null(column.kids[i])) return false;
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
    Column& items = column.kids[0];
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

}  // namespace fastcql::columns
