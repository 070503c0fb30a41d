// Values of Arrow arrays to bound values: scalars, collections, and their text in messages.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ingest/encode.h"
#include "base/bytes.h"
#include "codec/civil.h"
#include "columns/numbers.h"
#include "ingest/scalars.h"
#include "ingest/text.h"

namespace fastcql::ingest {

namespace {

constexpr int64_t kDayNanos = 86400000000000;
constexpr uint32_t kMiddle = 0x80000000u;  // zero point of dates

bool bit_at(const Input& input, int64_t i) {
    if (input.width == 1) return input.at<uint8_t>(i) != 0;
    i += input.offset;
    return input.values[i / 8] >> (i % 8) & 1;
}

double half(uint16_t bits) {
    const int exponent = bits >> 10 & 0x1f;
    const int fraction = bits & 0x3ff;
    double value = 0;
    if (exponent == 0x1f) {
        value = fraction ? NAN : INFINITY;
    } else {
        value = exponent ? std::ldexp(fraction | 0x400, exponent - 25) : std::ldexp(fraction, -24);
    }
    return bits & 0x8000 ? -value : value;
}

// True if the integer can be represented exactly as *Number*; *too_large*: it is unsigned and exceeds int64.
template <typename Number>
bool holds(int64_t v, bool too_large, Number& out) {
    if (too_large) {
        out = static_cast<Number>(static_cast<uint64_t>(v));
        return out < Number(18446744073709551616.0) && static_cast<uint64_t>(out) == static_cast<uint64_t>(v);
    }
    out = static_cast<Number>(v);
    return out < Number(9223372036854775808.0) && static_cast<int64_t>(out) == v;
}

// Appends a machine number with its length prefix.
bool put_cell(ByteBuffer& out, uint32_t v) {
    uint8_t* p = out.extend(8);
    if (!p) return false;
    store32(p, 4);
    store32(p + 4, v);
    return true;
}
bool put_cell(ByteBuffer& out, uint64_t v) {
    uint8_t* p = out.extend(12);
    if (!p) return false;
    store32(p, 8);
    store64(p + 4, v);
    return true;
}

}  // namespace

size_t words_at(const Input& input, int64_t i, uint64_t (&words)[4]) {
    const uint8_t* p = input.values + (input.offset + i) * input.width;
    if (input.width < 8) {
        words[0] = static_cast<uint64_t>(int64_t{load<int32_t>(p, 0)});
        return 1;
    }
    const size_t count = input.width / 8;
    for (size_t k = 0; k < count; ++k) words[k] = load<uint64_t>(p, static_cast<int64_t>(k));
    return count;
}

int64_t integer_at(const Input& input, int64_t i, bool& too_large) {
    const bool is_signed = input.conversion->source->is_signed;
    too_large = false;
    if (input.conversion->source->shape == Shape::Decimal) {
        uint64_t words[4];
        const size_t count = words_at(input, i, words);
        const auto v = static_cast<int64_t>(words[0]);
        for (size_t k = 1; k < count; ++k) too_large = too_large || words[k] != (v < 0 ? ~uint64_t{0} : 0);
        return v;
    }
    switch (input.width) {
        case 1: return is_signed ? input.at<int8_t>(i) : int64_t{input.at<uint8_t>(i)};
        case 2: return is_signed ? input.at<int16_t>(i) : int64_t{input.at<uint16_t>(i)};
        case 4: return is_signed ? input.at<int32_t>(i) : int64_t{input.at<uint32_t>(i)};
        default: break;
    }
    const auto v = input.at<int64_t>(i);
    too_large = !is_signed && v < 0;
    return v;
}

double floating_at(const Input& input, int64_t i) {
    if (input.width == 2) return half(input.at<uint16_t>(i));
    return input.width == 4 ? static_cast<double>(input.at<float>(i)) : input.at<double>(i);
}

bool Encoder::cell(const Input& input, int64_t i, uint32_t null) {
    if (input.is_null(i)) {
        out_.put32(null);
        return done();
    }
    switch (input.method) {
        case Method::Four: return put_cell(out_, input.at<uint32_t>(i));
        case Method::Eight: return put_cell(out_, input.at<uint64_t>(i));
        case Method::Text: {
            const uint8_t* p = nullptr;
            size_t n = 0;
            if (!bytes_of(input, i, p, n)) return false;
            if (!is_ascii(p, n) && !is_utf8(p, n)) return no(input, p, n, "is not UTF-8");
            uint8_t* to = out_.extend(4 + n);
            if (!to) return false;
            store32(to, static_cast<uint32_t>(n));
            if (n) std::memcpy(to + 4, p, n);
            return true;
        }
        case Method::Dictionary: {
            int64_t index = 0;
            return index_of(input, i, index) && cell(input.children[0], index, null);
        }
        case Method::Runs: return cell(input.children[0], run_of(input, i), null);
        case Method::Whole:
            if (!std::isnan(floating_at(input, i))) break;
            out_.put32(null);
            return done();
        default: break;
    }
    const size_t at = out_.size();
    out_.put32(0);
    if (!value(input, i) || !done()) return false;
    const size_t size = out_.size() - at - 4;
    if (size > INT32_MAX) return failure_.no("a value of " + std::to_string(size) + " bytes is too large");
    out_.patch32(at, static_cast<uint32_t>(size));
    return true;
}

// Appends the value without a length; it is not null.
bool Encoder::value(const Input& input, int64_t i) {
    switch (input.method) {
        case Method::One: out_.put8(input.at<uint8_t>(i)); return done();
        case Method::Two: out_.put16(input.at<uint16_t>(i)); return done();
        case Method::Four: out_.put32(input.at<uint32_t>(i)); return done();
        case Method::Eight: out_.put64(input.at<uint64_t>(i)); return done();
        case Method::Day: out_.put32(input.at<uint32_t>(i) ^ kMiddle); return done();
        case Method::Sixteen: out_.put(input.values + (input.offset + i) * 16, 16); return done();
        case Method::Boolean: out_.put8(bit_at(input, i)); return done();
        case Method::Text:
        case Method::Ascii:
        case Method::Bytes: return text(input, i);
        case Method::Integer: return integer(input, i);
        case Method::Whole: return whole(input, i);
        case Method::IntegerText:
        case Method::FloatText:
        case Method::DoubleText:
        case Method::BooleanText: return number_of_text(input, i);
        case Method::TimestampText:
        case Method::DateText:
        case Method::TimeText: return moment_of_text(input, i);
        case Method::Float:
        case Method::Double: return floating(input, i);
        case Method::UuidText:
        case Method::UuidBytes: return uuid(input, i);
        case Method::InetText:
        case Method::InetBytes: return inet(input, i);
        case Method::Timestamp: return timestamp(input, i);
        case Method::Date: return date(input, i);
        case Method::Time: return time(input, i);
        case Method::Duration: return duration(input, i);
        case Method::Varint:
        case Method::Decimal: return number(input, i);
        case Method::List: return list(input, i);
        case Method::Map: return map(input, i);
        case Method::FieldMap: return field_map(input, i);
        case Method::ListFields: return list_fields(input, i);
        case Method::Struct: return fields(input, i);
        case Method::Vector: return vector(input, i);
        default: return broken("a value in a column of nulls");
    }
}

bool Encoder::view_of(const Input& input, int64_t i, const uint8_t*& p, size_t& n) {
    constexpr int32_t kInside = 12;
    const uint8_t* view = input.values + (input.offset + i) * 16;
    const auto size = load<int32_t>(view, 0);
    if (size < 0) return broken("a view of negative length");
    n = static_cast<size_t>(size);
    p = view + 4;
    if (size <= kInside) return true;
    const auto buffer = load<int32_t>(view, 2);
    const auto start = load<int32_t>(view, 3);
    if (buffer < 0 || buffer >= input.buffer_count) return broken("a view into a missing buffer");
    const auto held = load<int64_t>(input.sizes, buffer);
    if (start < 0 || held - start < size) return broken("a view beyond the end of its buffer");
    p = static_cast<const uint8_t*>(input.buffers[buffer]) + start;
    return true;
}

bool Encoder::bytes_of(const Input& input, int64_t i, const uint8_t*& p, size_t& n) {
    if (input.layout == Layout::View) return view_of(input, i, p, n);
    if (input.layout == Layout::Fixed) {
        p = input.values + (input.offset + i) * input.size;
        n = static_cast<size_t>(input.size);
        return true;
    }
    const int64_t start = input.offset_at(i), end = input.offset_at(i + 1);
    if (start < 0 || end < start || end > input.limit) return broken("its offsets descend");
    if (end - start > INT32_MAX) {
        return failure_.no("a value of " + std::to_string(end - start) + " bytes is too large");
    }
    p = input.data + start;
    n = static_cast<size_t>(end - start);
    return true;
}

bool Encoder::index_of(const Input& input, int64_t i, int64_t& out) {
    bool too_large = false;
    out = integer_at(input, i, too_large);
    const int64_t length = input.children[0].length;
    return (!too_large && out >= 0 && out < length) || broken("an index beyond the end of its dictionary");
}

// Return the first run that ends behind the value.
int64_t Encoder::run_of(const Input& input, int64_t i) {
    const Input& ends = input.children[1];
    const auto end_of = [&](int64_t run) -> int64_t {
        return input.width == 2 ? ends.at<int16_t>(run) : input.width == 4 ? ends.at<int32_t>(run) : ends.at<int64_t>(run);
    };
    int64_t low = 0, high = ends.length;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (end_of(middle) > input.offset + i) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// Appends text, ascii and bytes.
bool Encoder::text(const Input& input, int64_t i) {
    const uint8_t* p = nullptr;
    size_t n = 0;
    if (!bytes_of(input, i, p, n)) return false;
    if (input.method == Method::Ascii && !is_ascii(p, n)) return no(input, p, n, "is not ASCII");
    if (input.method == Method::Text && !is_ascii(p, n) && !is_utf8(p, n)) return no(input, p, n, "is not UTF-8");
    out_.put(p, n);
    return done();
}

namespace {

int bits_of(Cql cql) { return cql == Cql::Tinyint ? 8 : cql == Cql::Smallint ? 16 : cql == Cql::Int ? 32 : 64; }

int64_t highest(int bits) { return bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1; }

std::string out_of_range(Cql cql) {
    const int64_t high = highest(bits_of(cql));
    return "is out of range (" + std::to_string(-high - 1) + " to " + std::to_string(high) + ")";
}

// Appends an integer of the type; false, and nothing appended, if it is out of range.
bool put_in_range(ByteBuffer& out, Cql cql, int64_t v) {
    const int bits = bits_of(cql);
    const int64_t high = highest(bits);
    if (v > high || v < -high - 1) return false;
    switch (bits) {
        case 8: out.put8(static_cast<uint8_t>(v)); break;
        case 16: out.put16(static_cast<uint16_t>(v)); break;
        case 32: out.put32(static_cast<uint32_t>(v)); break;
        default: out.put64(static_cast<uint64_t>(v));
    }
    return true;
}

}  // namespace

bool Encoder::integer(const Input& input, int64_t i) {
    bool too_large = false;
    const int64_t v = integer_at(input, i, too_large);
    const Cql cql = input.conversion->target->cql;
    if (too_large || !put_in_range(out_, cql, v)) return no(input, i, out_of_range(cql));
    return done();
}

// Appends the integer of a floating-point number without a fraction, also a varint; NaN is null, see cell().
bool Encoder::whole(const Input& input, int64_t i) {
    const double v = floating_at(input, i);
    const Cql cql = input.conversion->target->cql;
    if (!std::isfinite(v) || v != std::trunc(v)) {
        return no(input, i, "is not an integer: round it");
    }
    if (cql == Cql::Varint) {
        put_whole(out_, v);
        return done();
    }
    const bool fits = v >= -9223372036854775808.0 && v < 9223372036854775808.0;
    if (!fits || !put_in_range(out_, cql, static_cast<int64_t>(v))) return no(input, i, out_of_range(cql));
    return done();
}

// Appends an integer, a float, a double or a boolean of its text.
bool Encoder::number_of_text(const Input& input, int64_t i) {
    const uint8_t* p = nullptr;
    size_t n = 0;
    if (!bytes_of(input, i, p, n)) return false;
    switch (input.method) {
        case Method::IntegerText: {
            const Cql cql = input.conversion->target->cql;
            int64_t v = 0;
            const Parsed parsed = parse_integer(p, n, v);
            if (parsed == Parsed::No) return no(input, p, n, "is not an integer");
            if (parsed == Parsed::OutOfRange || !put_in_range(out_, cql, v)) return no(input, p, n, out_of_range(cql));
            return done();
        }
        case Method::BooleanText: {
            const int v = parse_boolean(p, n);
            if (v < 0) return no(input, p, n, "is not true or false");
            out_.put8(static_cast<uint8_t>(v));
            return done();
        }
        case Method::FloatText: {
            float v = 0;
            const Parsed parsed = parse_number(p, n, v);
            if (parsed != Parsed::Yes) return no(input, p, n, parsed == Parsed::No ? "is not a number" : "is out of range for float");
            out_.put_float(v);
            return done();
        }
        default: {
            double v = 0;
            const Parsed parsed = parse_number(p, n, v);
            if (parsed != Parsed::Yes) return no(input, p, n, parsed == Parsed::No ? "is not a number" : "is out of range for double");
            out_.put_double(v);
            return done();
        }
    }
}

// Appends a float or double: of a floating-point number the nearest one, of an integer only the same number.
bool Encoder::floating(const Input& input, int64_t i) {
    const bool is_float = input.method == Method::Float;
    float narrow = 0;
    double wide = 0;
    bool fits = true;
    if (input.conversion->source->shape == Shape::Integer) {
        bool too_large = false;
        const int64_t v = integer_at(input, i, too_large);
        fits = is_float ? holds(v, too_large, narrow) : holds(v, too_large, wide);
    } else {
        wide = floating_at(input, i);
        const bool in_range = !(std::fabs(wide) > 3.4028234663852886e38) || std::isinf(wide);
        if (is_float && in_range) narrow = static_cast<float>(wide);
        if (is_float && std::isnan(wide)) narrow = static_cast<float>(wide);
        if (is_float && !std::isnan(wide) && (!in_range || (std::isinf(narrow) && !std::isinf(wide)))) {
            return no(input, i, "is out of range for float");
        }
    }
    if (!fits) {
        return no(input, i, is_float ? "is not an exact float: cast the column to float64 to round it" : "is not an exact double");
    }
    if (is_float) {
        out_.put_float(narrow);
    } else {
        out_.put_double(wide);
    }
    return done();
}

bool Encoder::uuid(const Input& input, int64_t i) {
    const uint8_t* p = nullptr;
    size_t n = 0;
    uint8_t parsed[16];
    if (!bytes_of(input, i, p, n)) return false;
    if (input.method == Method::UuidText) {
        if (!parse_uuid(p, n, parsed)) return no(input, p, n, "is not a UUID");
        p = parsed;
    } else if (n != 16) {
        return no(input, p, n, "is not a UUID, which has 16 bytes");
    }
    out_.put(p, 16);
    return done();
}

bool Encoder::inet(const Input& input, int64_t i) {
    const uint8_t* p = nullptr;
    size_t n = 0;
    uint8_t parsed[16];
    if (!bytes_of(input, i, p, n)) return false;
    if (input.method == Method::InetText) {
        const size_t size = parse_address(p, n, parsed);
        if (!size) return no(input, p, n, "is not an IP address");
        p = parsed;
        n = size;
    } else if (n != 4 && n != 16) {
        return no(input, p, n, "is not an IP address, which has 4 or 16 bytes");
    }
    out_.put(p, n);
    return done();
}

namespace {

const char* const kFractions = "has fractions of a millisecond: use round=\"floor\" or round=\"nearest\"";

// *whole* and *rest* of *per*, as *rounding* has it.
int64_t rounded(int64_t whole, int64_t rest, int64_t per, Rounding rounding) {
    const bool is_up = rounding == Rounding::Nearest && (2 * rest > per || (2 * rest == per && whole % 2 != 0));
    return whole + is_up;
}

}  // namespace

bool Encoder::timestamp(const Input& input, int64_t i) {
    const Source& source = *input.conversion->source;
    int64_t v = input.width == 4 ? input.at<int32_t>(i) : input.at<int64_t>(i);
    if (source.shape == Shape::Date) {
        if (input.width == 4) {
            v *= 86400000;
        } else if (v % 86400000) {
            return no(input, i, "is not a whole day");
        }
    } else if (source.unit == 1) {
        if (__builtin_mul_overflow(v, 1000, &v)) return no(input, i, "exceeds 64 bits of milliseconds");
    } else {
        const int64_t per_millisecond = source.unit / 1000;
        const int64_t whole = floor_div(v, per_millisecond);
        const int64_t part = v % per_millisecond;
        const int64_t rest = part < 0 ? part + per_millisecond : part;
        if (rest && input.conversion->target->rounding == Rounding::Refuse) return no(input, i, kFractions);
        v = rounded(whole, rest, per_millisecond, input.conversion->target->rounding);
    }
    out_.put64(static_cast<uint64_t>(v));
    return done();
}

// Appends the date of milliseconds or timestamps that are whole days.
bool Encoder::date(const Input& input, int64_t i) {
    const Source& source = *input.conversion->source;
    const int64_t per_day = 86400 * (source.shape == Shape::Date ? 1000 : source.unit);
    const auto v = input.at<int64_t>(i);
    if (v % per_day) return no(input, i, "is not a whole day");
    const int64_t days = v / per_day;
    if (days < INT32_MIN || days > INT32_MAX) return no(input, i, "is out of range for date");
    out_.put32(static_cast<uint32_t>(days) ^ kMiddle);
    return done();
}

bool Encoder::time(const Input& input, int64_t i) {
    const int64_t unit = input.conversion->source->unit;
    int64_t v = input.width == 4 ? input.at<int32_t>(i) : input.at<int64_t>(i);
    if (__builtin_mul_overflow(v, 1000000000 / unit, &v) || v < 0 || v >= kDayNanos) return no(input, i, "is not within a day");
    out_.put64(static_cast<uint64_t>(v));
    return done();
}

// Appends a timestamp, a date or a time of its text in ISO 8601.
bool Encoder::moment_of_text(const Input& input, int64_t i) {
    const uint8_t* p = nullptr;
    size_t n = 0;
    if (!bytes_of(input, i, p, n)) return false;
    if (input.method == Method::TimeText) {
        int64_t nanos = 0;
        if (!parse_time(p, n, nanos)) return no(input, p, n, "is not a time such as 23:59:59.999");
        out_.put64(static_cast<uint64_t>(nanos));
        return done();
    }
    Moment at;
    const bool is_date = input.method == Method::DateText;
    if (!parse_moment(p, n, at)) {
        return no(input, p, n, is_date ? "is not a date such as 2024-12-31" : "is not a timestamp such as 2024-12-31T23:59:59Z");
    }
    if (is_date) {
        if (at.nanos || at.offset) return no(input, p, n, "is not a whole day in UTC");
        if (at.days < INT32_MIN || at.days > INT32_MAX) return no(input, p, n, "is out of range for date");
        out_.put32(static_cast<uint32_t>(at.days) ^ kMiddle);
        return done();
    }
    const Rounding rounding = input.conversion->target->rounding;
    const int64_t rest = at.nanos % 1000000;
    if (rest && rounding == Rounding::Refuse) return no(input, p, n, kFractions);
    const int64_t whole = at.days * kDayMs + at.nanos / 1000000 - at.offset * 1000;
    out_.put64(static_cast<uint64_t>(rounded(whole, rest, 1000000, rounding)));
    return done();
}

bool Encoder::duration(const Input& input, int64_t i) {
    const Source& source = *input.conversion->source;
    int64_t months = 0, days = 0, nanos = 0;
    const uint8_t* p = input.values + (input.offset + i) * input.width;
    switch (source.shape) {
        case Shape::Months: months = load<int32_t>(p, 0); break;
        case Shape::DayTime:
            days = load<int32_t>(p, 0);
            nanos = int64_t{load<int32_t>(p, 1)} * 1000000;
            break;
        case Shape::MonthDayNano:
            months = load<int32_t>(p, 0);
            days = load<int32_t>(p, 1);
            nanos = load<int64_t>(p, 1);
            break;
        default:
            if (__builtin_mul_overflow(load<int64_t>(p, 0), 1000000000 / source.unit, &nanos)) {
                return no(input, i, "exceeds 64 bits of nanoseconds");
            }
    }
    if ((months < 0 || days < 0 || nanos < 0) && (months > 0 || days > 0 || nanos > 0)) {
        return no(input, i, "has mixed signs: months, days and nanoseconds of a duration must have the same sign");
    }
    put_unsigned_vint(out_, zigzag_encode(months));
    put_unsigned_vint(out_, zigzag_encode(days));
    put_unsigned_vint(out_, zigzag_encode(nanos));
    return done();
}

// Appends varint and decimal, from integers, decimals and text.
bool Encoder::number(const Input& input, int64_t i) {
    const Source& source = *input.conversion->source;
    const bool is_decimal = input.method == Method::Decimal;
    if (source.shape == Shape::Text) {
        const uint8_t* p = nullptr;
        size_t n = 0;
        if (!bytes_of(input, i, p, n)) return false;
        const bool fits = is_decimal ? put_decimal_text(out_, p, n) : put_varint_text(out_, p, n);
        return fits ? done() : no(input, p, n, is_decimal ? "is not a decimal number" : "is not an integer");
    }
    if (source.shape == Shape::Integer) {
        bool too_large = false;
        const int64_t v = integer_at(input, i, too_large);
        if (is_decimal) out_.put32(0);
        if (too_large) out_.put8(0);
        if (too_large) {
            out_.put64(static_cast<uint64_t>(v));
        } else {
            put_varint(out_, v);
        }
        return done();
    }
    uint64_t words[4];
    const size_t count = words_at(input, i, words);
    if (is_decimal) out_.put32(static_cast<uint32_t>(source.scale));
    if (is_decimal || source.scale == 0) {
        put_words(out_, words, count);
    } else if (!put_scaled_words(out_, words, count, source.scale)) {
        return no(input, i, "is not an integer");
    }
    return done();
}

// ---- collections, maps, tuples, user types and vectors

namespace {

std::string item(int64_t k) { return "item " + std::to_string(k); }

}  // namespace

// Find the items of the child that belong to the i-th value.
bool Encoder::items_of(const Input& input, int64_t i, int64_t& first, int64_t& count) {
    const int64_t at = input.offset + i;
    switch (input.layout) {
        case Layout::Fixed:
            first = at * input.size;
            count = input.size;
            return true;
        case Layout::Ranges32:
            first = load<int32_t>(input.values, at);
            count = load<int32_t>(input.data, at);
            break;
        case Layout::Ranges64:
            first = load<int64_t>(input.values, at);
            count = load<int64_t>(input.data, at);
            break;
        default:
            first = input.offset_at(i);
            count = input.offset_at(i + 1);
            if (__builtin_sub_overflow(count, first, &count)) return broken("its offsets descend");
    }
    if (first < 0 || count < 0 || first > input.limit || count > input.limit - first) return broken("its offsets descend");
    return count <= INT32_MAX || failure_.no("a collection of " + std::to_string(count) + " items is too large");
}

bool Encoder::list(const Input& input, int64_t i) {
    int64_t first = 0, count = 0;
    if (!items_of(input, i, first, count)) return false;
    out_.put32(static_cast<uint32_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        if (!cell(input.children[0], first + k, kNull)) return failure_.in(item(k));
    }
    return done();
}

bool Encoder::map(const Input& input, int64_t i) {
    int64_t first = 0, count = 0;
    if (!items_of(input, i, first, count)) return false;
    const Input& pairs = input.children[0];
    out_.put32(static_cast<uint32_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        if (pairs.is_null(first + k)) return failure_.no("pair " + std::to_string(k) + " is null");
        const int64_t at = pairs.offset + first + k;
        if (!cell(pairs.children[0], at, kNull)) return failure_.in("key " + std::to_string(k));
        if (!cell(pairs.children[1], at, kNull)) return failure_.in("value " + std::to_string(k));
    }
    return done();
}

bool Encoder::field_map(const Input& input, int64_t i) {
    const size_t at = out_.size();
    out_.put32(0);
    uint32_t count = 0;
    for (const Input& field : input.children) {
        const std::string& key = field.conversion->source->name;
        const size_t before = out_.size();
        out_.put32(static_cast<uint32_t>(key.size()));
        out_.put(key.data(), key.size());
        const size_t value = out_.size();
        if (!cell(field, input.offset + i, kNull)) return failure_.in("field '" + key + "'");
        if (load_i32(out_.data() + value) < 0) {
            out_.truncate(before);
        } else {
            ++count;
        }
    }
    if (!done()) return false;
    out_.patch32(at, count);
    return true;
}

bool Encoder::list_fields(const Input& input, int64_t i) {
    int64_t first = 0, count = 0;
    if (!items_of(input, i, first, count)) return false;
    if (count != static_cast<int64_t>(input.children.size())) {
        return failure_.no(std::to_string(count) + " items, expected " + std::to_string(input.children.size()));
    }
    for (int64_t k = 0; k < count; ++k) {
        if (!cell(input.children[static_cast<size_t>(k)], first + k, kNull)) return failure_.in("field " + std::to_string(k));
    }
    return done();
}

bool Encoder::fields(const Input& input, int64_t i) {
    for (size_t k = 0; k < input.children.size(); ++k) {
        const Input& field = input.children[k];
        if (!cell(field, input.offset + i, kNull)) {
            const std::string& name = field.conversion->target->name;
            return failure_.in("field " + (name.empty() ? std::to_string(k) : "'" + name + "'"));
        }
    }
    return done();
}

// Append numbers unchanged, in one loop. False, with nothing written, if the element-wise conversion is needed.
bool Encoder::packed(const Input& items, int64_t first, int64_t count) {
    if (items.validity || (items.method != Method::Four && items.method != Method::Eight)) return false;
    const size_t width = items.method == Method::Four ? 4 : 8;
    uint8_t* to = out_.extend(static_cast<size_t>(count) * width);
    if (!to) return false;
    for (int64_t k = 0; k < count; ++k, to += width) {
        if (width == 4) {
            store32(to, items.at<uint32_t>(first + k));
        } else {
            store64(to, items.at<uint64_t>(first + k));
        }
    }
    return true;
}

bool Encoder::vector(const Input& input, int64_t i) {
    const Target& target = *input.conversion->target;
    int64_t first = 0, count = 0;
    if (!items_of(input, i, first, count)) return false;
    if (count != target.dimensions) {
        return failure_.no(std::to_string(count) + " elements, expected " + std::to_string(target.dimensions));
    }
    const Input& items = input.children[0];
    const bool with_length = target.children[0].element < 0;
    if (!with_length && packed(items, first, count)) return true;
    for (int64_t k = 0; k < count; ++k) {
        if (!element(items, first + k, with_length)) return failure_.in(item(k));
    }
    return done();
}

// Append an element: without a prefix if its type has one size, else behind its length.
bool Encoder::element(const Input& input, int64_t i, bool with_length) {
    if (input.is_null(i)) return failure_.no("the elements of a vector cannot be null");
    if (input.method == Method::Runs) return element(input.children[0], run_of(input, i), with_length);
    if (input.method == Method::Dictionary) {
        int64_t index = 0;
        return index_of(input, i, index) && element(input.children[0], index, with_length);
    }
    if (input.method == Method::Whole && std::isnan(floating_at(input, i))) {
        return failure_.no("the elements of a vector cannot be null");
    }
    if (!with_length) return value(input, i);
    ByteBuffer bytes;
    if (!Encoder(bytes, failure_).value(input, i)) return false;
    put_unsigned_vint(out_, bytes.size());
    out_.put(bytes.data(), bytes.size());
    return done();
}

// ---- values in messages

namespace {

constexpr size_t kShown = 80;  // bytes of text

std::string number(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", v);
    if (double shorter = 0; std::isfinite(v)) {
        for (int digits = 1; digits < 17; ++digits) {
            std::snprintf(text, sizeof text, "%.*g", digits, v);
            if (std::sscanf(text, "%lf", &shorter) == 1 && shorter == v) break;
            std::snprintf(text, sizeof text, "%.17g", v);
        }
    }
    return text;
}

const char* name_of(int64_t unit) { return unit == 1 ? " s" : unit == 1000 ? " ms" : unit == 1000000 ? " us" : " ns"; }

// In ISO notation if the year has four digits, else as a number of units.
std::string moment(int64_t v, int64_t unit) {
    const int64_t per_day = 86400 * unit;
    const int64_t days = floor_div(v, per_day);
    const int64_t rest = v % per_day < 0 ? v % per_day + per_day : v % per_day;
    CivilTime at{};
    if (days < -719162 || days > 2932896 || !split_timestamp(days * kDayMs, &at)) {
        return std::to_string(v) + name_of(unit);
    }
    char text[64];
    const auto seconds = static_cast<int>(rest / unit);
    int size = std::snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d", at.year, at.month, at.day, seconds / 3600,
                             seconds / 60 % 60, seconds % 60);
    std::string found(text, static_cast<size_t>(size));
    if (rest % unit == 0) return found;
    const int digits = unit == 1000 ? 3 : unit == 1000000 ? 6 : 9;
    size = std::snprintf(text, sizeof text, ".%0*lld", digits, static_cast<long long>(rest % unit));
    return found + std::string(text, static_cast<size_t>(size));
}

std::string decimal(const Input& input, int64_t i) {
    uint64_t words[4];
    const size_t count = words_at(input, i, words);
    uint8_t bytes[32];
    for (size_t k = 0; k < count; ++k) store64(bytes + 8 * k, words[count - 1 - k]);
    std::string text(columns::text_room(sizeof bytes), '\0');
    text.resize(columns::decimal_text(bytes, 8 * count, input.conversion->source->scale, text.data()));
    return text;
}

std::string interval(const Input& input, int64_t i) {
    const uint8_t* p = input.values + (input.offset + i) * input.width;
    const auto part = [p](int64_t which) { return std::to_string(load<int32_t>(p, which)); };
    switch (input.conversion->source->shape) {
        case Shape::Months: return part(0) + " months";
        case Shape::DayTime: return part(0) + " days, " + part(1) + " ms";
        case Shape::MonthDayNano: return part(0) + " months, " + part(1) + " days, " + std::to_string(load<int64_t>(p, 1)) + " ns";
        default: return std::to_string(load<int64_t>(p, 0)) + name_of(input.conversion->source->unit);
    }
}

}  // namespace

std::string shown_text(const uint8_t* p, size_t n) {
    std::string found = "'";
    for (size_t i = 0; i < std::min(n, kShown); ++i) {
        char escaped[8];
        if (p[i] >= 0x20 && p[i] != 0x7f) {
            found += static_cast<char>(p[i]);
        } else {
            std::snprintf(escaped, sizeof escaped, "\\x%02x", p[i]);
            found += escaped;
        }
    }
    return found + (n > kShown ? "'..." : "'");
}

std::string shown(const Input& input, int64_t i) {
    const Source& source = *input.conversion->source;
    bool too_large = false;
    switch (source.shape) {
        case Shape::Integer: {
            const int64_t v = integer_at(input, i, too_large);
            return too_large ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v);
        }
        case Shape::Floating: return number(floating_at(input, i));
        case Shape::Date:
            return input.width == 4 ? moment(int64_t{input.at<int32_t>(i)} * 86400, 1) : moment(input.at<int64_t>(i), 1000);
        case Shape::Timestamp: return moment(input.at<int64_t>(i), source.unit);
        case Shape::Time:
            return (input.width == 4 ? std::to_string(input.at<int32_t>(i)) : std::to_string(input.at<int64_t>(i))) + name_of(source.unit);
        case Shape::Decimal: return decimal(input, i);
        case Shape::Elapsed:
        case Shape::Months:
        case Shape::DayTime:
        case Shape::MonthDayNano: return interval(input, i);
        default: return "a value of " + source.text();
    }
}

// ---- integers of any length, and decimals

namespace {

using Wide = unsigned __int128;
using Words = std::vector<uint64_t>;

uint64_t power_of_ten(size_t n) {  // 0 to 19
    uint64_t result = 1;
    while (n-- > 0) result *= 10;
    return result;
}

void multiply_add(Words& words, uint64_t by, uint64_t plus) {
    Wide carry = plus;
    for (uint64_t& word : words) {
        carry += static_cast<Wide>(word) * by;
        word = static_cast<uint64_t>(carry);
        carry >>= 64;
    }
    if (carry) words.push_back(static_cast<uint64_t>(carry));
}

// Divides in place; returns the remainder.
uint64_t divide(Words& words, uint64_t by) {
    Wide rest = 0;
    for (size_t i = words.size(); i-- > 0;) {
        const Wide part = rest << 64 | words[i];
        words[i] = static_cast<uint64_t>(part / by);
        rest = part % by;
    }
    return static_cast<uint64_t>(rest);
}

void negate(Words& words) {
    uint64_t carry = 1;
    for (uint64_t& word : words) {
        word = ~word + carry;
        carry = carry && word == 0;
    }
}

// Appends a magnitude as two's complement.
void put_magnitude(ByteBuffer& out, Words& words, bool negative) {
    words.push_back(0);
    if (negative) negate(words);
    put_words(out, words.data(), words.size());
}

bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

// Collects digits of consecutive parts, most significant first, into a magnitude.
class Digits {
public:
    // Takes the leading digits of [p, p + n); returns their number.
    size_t take(const uint8_t* p, size_t n) {
        size_t count = 0;
        for (; count < n && is_digit(p[count]); ++count) {
            if (held_ == 19) flush();
            part_ = part_ * 10 + (p[count] - '0');
            ++held_;
        }
        return count;
    }
    Words& words() {
        flush();
        return words_;
    }

private:
    void flush() {
        if (part_ || !words_.empty()) multiply_add(words_, power_of_ten(held_), part_);
        part_ = 0;
        held_ = 0;
    }

    Words words_;
    uint64_t part_ = 0;
    size_t held_ = 0;
};

bool take_sign(const uint8_t*& p, size_t& n) {
    if (n == 0 || (*p != '-' && *p != '+')) return false;
    --n;
    return *p++ == '-';
}

// Reads [p, p + n), the text behind the E; false if it is not a number in the range of a scale.
bool read_exponent(const uint8_t* p, size_t n, int64_t& out) {
    const bool negative = take_sign(p, n);
    if (n == 0) return false;
    out = 0;
    for (size_t i = 0; i < n; ++i) {
        if (!is_digit(p[i]) || out > INT32_MAX) return false;
        out = out * 10 + (p[i] - '0');
    }
    if (negative) out = -out;
    return true;
}

}  // namespace

void put_words(ByteBuffer& out, const uint64_t* words, size_t count) {
    const uint64_t filler = words[count - 1] >> 63 ? ~uint64_t{0} : 0;
    while (count > 1 && words[count - 1] == filler && words[count - 2] >> 63 == filler >> 63) --count;
    uint8_t first[8];
    store64(first, words[count - 1]);
    size_t skip = 0;
    const auto byte = static_cast<uint8_t>(filler);
    while (skip < 7 && first[skip] == byte && (first[skip + 1] & 0x80) == (byte & 0x80)) ++skip;
    uint8_t* p = out.extend(count * 8 - skip);
    if (!p) return;
    std::memcpy(p, first + skip, 8 - skip);
    p += 8 - skip;
    for (size_t i = count - 1; i-- > 0; p += 8) store64(p, words[i]);
}

bool put_scaled_words(ByteBuffer& out, const uint64_t* words, size_t count, int32_t scale) {
    Words magnitude(words, words + count);
    const bool negative = magnitude.back() >> 63;
    if (negative) negate(magnitude);
    for (auto left = static_cast<size_t>(std::max(scale, 0)); left > 0;) {
        const size_t part = std::min<size_t>(left, 19);
        if (divide(magnitude, power_of_ten(part))) return false;
        left -= part;
    }
    for (auto left = static_cast<size_t>(std::max(-scale, 0)); left > 0;) {
        const size_t part = std::min<size_t>(left, 19);
        multiply_add(magnitude, power_of_ten(part), 0);
        left -= part;
    }
    put_magnitude(out, magnitude, negative);
    return true;
}

void put_whole(ByteBuffer& out, double v) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(v), &exponent);
    if (exponent <= 63) {
        put_varint(out, static_cast<int64_t>(v));
        return;
    }
    const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
    const auto shift = static_cast<size_t>(exponent - 53);
    Words words(shift / 64 + 2);
    words[shift / 64] = mantissa << (shift % 64);
    if (shift % 64) words[shift / 64 + 1] = mantissa >> (64 - shift % 64);
    put_magnitude(out, words, v < 0);
}

bool put_varint_text(ByteBuffer& out, const uint8_t* p, size_t n) {
    const bool negative = take_sign(p, n);
    if (n == 0 || n > kMaxDigits) return false;
    Digits digits;
    if (digits.take(p, n) != n) return false;
    put_magnitude(out, digits.words(), negative);
    return true;
}

bool put_decimal_text(ByteBuffer& out, const uint8_t* p, size_t n) {
    const bool negative = take_sign(p, n);
    if (n > kMaxDigits) return false;
    Digits digits;
    const size_t whole = digits.take(p, n);
    p += whole;
    n -= whole;
    size_t fraction = 0;
    if (n > 0 && *p == '.') {
        fraction = digits.take(p + 1, n - 1);
        p += fraction + 1;
        n -= fraction + 1;
    }
    if (whole + fraction == 0) return false;
    int64_t exponent = 0;
    if (n > 0) {
        if ((*p | 0x20) != 'e' || !read_exponent(p + 1, n - 1, exponent)) return false;
    }
    const int64_t scale = static_cast<int64_t>(fraction) - exponent;
    if (scale < INT32_MIN || scale > INT32_MAX) return false;
    out.put32(static_cast<uint32_t>(static_cast<int32_t>(scale)));
    put_magnitude(out, digits.words(), negative);
    return true;
}

}  // namespace fastcql::ingest
