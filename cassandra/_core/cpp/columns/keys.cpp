#include "columns/keys.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "columns/column.h"

namespace fastcql::columns {

namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

bool is_real(const Type& type) { return type.format == "f" || type.format == "g"; }

// Bytes of a code of fixed size; 0 if it is variable.
size_t fixed_size(const Type& type) {
    switch (type.kind) {
        case Kind::One:
        case Kind::Two:
        case Kind::Four:
        case Kind::Eight:
        case Kind::Date:
        case Kind::Time:
        case Kind::VarintLong:
        case Kind::Uuid:
        case Kind::Varint:
        case Kind::Decimal: return type.width();
        case Kind::Boolean: return 1;
        default: return 0;
    }
}

bool is_number(const Type& type) {
    const size_t size = fixed_size(type);
    return size && size <= 8 && type.kind != Kind::Boolean;
}

// Floats in the order of servers, which is Java's: -0.0 is below 0.0, and every NaN above all.
template <typename Real, typename Bits>
Bits real_code(const uint8_t* p) {
    Real value;
    Bits bits;
    std::memcpy(&value, p, sizeof value);
    if (std::isnan(value)) return static_cast<Bits>(~Bits{0});
    std::memcpy(&bits, p, sizeof bits);
    constexpr Bits kTop = Bits{1} << (sizeof(Bits) * 8 - 1);
    return static_cast<Bits>(bits & kTop ? ~bits : bits | kTop);
}

template <typename Bits>
uint64_t whole_code(const uint8_t* p) {
    Bits bits;
    std::memcpy(&bits, p, sizeof bits);
    return bits ^ static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
}

// The code of a number of up to eight bytes, as a number.
uint64_t number_code(const Type& type, const uint8_t* p) {
    switch (type.width()) {
        case 1: return whole_code<uint8_t>(p);
        case 2: return whole_code<uint16_t>(p);
        case 4: return is_real(type) ? real_code<float, uint32_t>(p) : whole_code<uint32_t>(p);
        default: return is_real(type) ? real_code<double, uint64_t>(p) : whole_code<uint64_t>(p);
    }
}

uint64_t by_time(uint64_t high) noexcept { return high << 48 | (high << 16 & 0xffff00000000) | high >> 32; }

// uuid: the version first, those of version 1 by their time, others by their bytes. timeuuid: by time, and then by
// signed bytes, as the first servers compared them.
void uuid_code(const Type& type, const uint8_t* p, uint8_t* out) {
    uint64_t high = load64(p), low = load64(p + 8);
    const uint64_t version = high >> 12 & 15;
    if (type.cql == "timeuuid") {
        high = by_time(high);
        low ^= 0x8080808080808080;
    } else if (version == 1) {
        high = by_time(high);
    } else {
        high = version << 60 | high >> 16 << 12 | (high & 0xfff);
    }
    store64(out, high);
    store64(out + 8, low);
}

void fixed_code(const Type& type, const Column& column, int64_t row, uint8_t* out) {
    const uint8_t* values = column.values.data();
    const size_t width = fixed_size(type);
    if (type.kind == Kind::Boolean) {
        *out = values[row / 8] >> row % 8 & 1;
        return;
    }
    const uint8_t* p = values + static_cast<size_t>(row) * width;
    if (type.kind == Kind::Uuid) {
        uuid_code(type, p, out);
    } else if (width <= 8) {
        const uint64_t code = number_code(type, p);
        for (size_t i = 0; i < width; ++i) out[i] = static_cast<uint8_t>(code >> (width - 1 - i) * 8);
    } else {
        std::reverse_copy(p, p + width, out);
        *out ^= 0x80;
    }
}

// A zero byte becomes 00 ff, and 00 00 is the end. Most texts have no zero.
void bytes_code(const uint8_t* p, size_t n, std::vector<uint8_t>& out) {
    while (n) {
        const auto* zero = static_cast<const uint8_t*>(std::memchr(p, 0, n));
        const size_t plain = zero ? static_cast<size_t>(zero - p) : n;
        out.insert(out.end(), p, p + plain);
        if (!zero) break;
        out.insert(out.end(), {0, 0xff});
        p = zero + 1;
        n -= plain + 1;
    }
    out.insert(out.end(), {0, 0});
}

void turn_round(uint8_t* p, size_t n) {
    for (size_t i = 0; i < n; ++i) p[i] = static_cast<uint8_t>(~p[i]);
}

// Digits as text: sign, magnitude, and the digits without zeros at either end. *exponent* is of ten.
void digits_code(bool negative, const uint8_t* p, size_t n, int64_t exponent, std::vector<uint8_t>& out) {
    while (n && *p == '0') ++p, --n;
    const auto magnitude = static_cast<uint64_t>(exponent + static_cast<int64_t>(n)) ^ kSign;
    while (n && p[n - 1] == '0') --n;
    if (!n) {
        out.push_back(0x80);
        return;
    }
    const size_t begin = out.size();
    out.resize(begin + 9);
    out[begin] = 0xc0;
    store64(out.data() + begin + 1, magnitude);
    out.insert(out.end(), p, p + n);
    out.push_back(0);
    if (negative) turn_round(out.data() + begin, out.size() - begin);
}

// Code of a number as text, in the form of numbers.cpp: -123, 0.001, 1.5E-7, -2E+30.
void written_code(const uint8_t* p, size_t n, std::vector<uint8_t>& out) {
    const uint8_t* end = p + n;
    const bool negative = p != end && *p == '-';
    if (negative) ++p;
    std::vector<uint8_t> digits;
    digits.reserve(n);
    int64_t exponent = 0;
    bool behind_point = false;
    for (; p != end && *p != 'E'; ++p) {
        if (*p == '.') {
            behind_point = true;
        } else {
            digits.push_back(*p);
            exponent -= behind_point;
        }
    }
    if (p != end) {
        int64_t written = 0;
        const bool below = ++p != end && *p == '-';
        for (; p != end; ++p) {
            if (*p >= '0' && *p <= '9') written = written * 10 + (*p - '0');
        }
        exponent += below ? -written : written;
    }
    digits_code(negative, digits.data(), digits.size(), exponent, out);
}

bool is_null(const Column& column, int64_t row) {
    return column.nulls && !(column.validity.data()[row / 8] >> row % 8 & 1);
}

void variable_code(const Batch& batch, const Column& column, int64_t row, std::vector<uint8_t>& out) {
    const Kind kind = column.type->kind;
    if (is_null(column, row)) {
        out.insert(out.end(), {0, 0});
        return;
    }
    if (kind == Kind::View) {
        const uint8_t* view = column.values.data() + row * 16;
        int32_t size, page, at;
        std::memcpy(&size, view, 4);
        std::memcpy(&page, view + 8, 4);
        std::memcpy(&at, view + 12, 4);
        bytes_code(size <= 12 ? view + 4 : batch.page(page).data + at, static_cast<size_t>(size), out);
        return;
    }
    const int32_t* ends = offsets_of(column) + row;
    const uint8_t* data = column.data.data();
    if (kind == Kind::Dictionary) {
        ends = reinterpret_cast<const int32_t*>(column.words->offsets.data()) + *ends;
        data = column.words->data.data();
    }
    const auto size = static_cast<size_t>(ends[1] - ends[0]);
    if (kind == Kind::DecimalText || kind == Kind::VarintText) {
        written_code(data + ends[0], size, out);
    } else {
        bytes_code(data + ends[0], size, out);
    }
}

}  // namespace

bool has_order(const Type& type) noexcept {
    switch (type.kind) {
        case Kind::Ascii:
        case Kind::Text:
        case Kind::View:
        case Kind::Dictionary:
        case Kind::Inet:
        case Kind::VarintText:
        case Kind::DecimalText: return true;
        case Kind::Binary: return type.cql == "blob";  // only the server can order custom types
        default: return fixed_size(type) > 0;
    }
}

void Keys::fill(const Batch& batch, const std::vector<OrderColumn>& order, int64_t first, int64_t count) {
    const Type& type = *batch.column(order[0].column).type;
    if (order.size() == 1 && is_number(type)) return fill_numbers(batch, order[0], first, count);
    size_t width = 0;
    for (const OrderColumn& part : order) {
        const size_t size = fixed_size(*batch.column(part.column).type);
        if (!size) return fill_bytes(batch, order, first, count);
        width += size;
    }
    fill_fixed(batch, order, width, first, count);
}

void Keys::fill_numbers(const Batch& batch, const OrderColumn& order, int64_t first, int64_t count) {
    const Column& column = batch.column(order.column);
    const Type& type = *column.type;
    const size_t width = type.width();
    const uint64_t turned = order.descends ? ~uint64_t{0} : 0;
    const auto shift = static_cast<int>(64 - width * 8);
    heads_.resize(static_cast<size_t>(count));
    const uint8_t* p = column.values.data() + static_cast<size_t>(first) * width;
    if (width == 8 && !is_real(type)) {  // nearly always
        for (int64_t i = 0; i < count; ++i) heads_[i] = whole_code<uint64_t>(p + i * 8) ^ turned;
    } else {
        for (int64_t i = 0; i < count; ++i, p += width) heads_[i] = number_code(type, p) << shift ^ turned;
    }
    for (int64_t i = 0; column.nulls && i < count; ++i) {
        if (is_null(column, first + i)) heads_[i] = turned;
    }
}

void Keys::fill_fixed(const Batch& batch, const std::vector<OrderColumn>& order, size_t width, int64_t first, int64_t count) {
    const auto rows = static_cast<size_t>(count);
    bytes_.resize(times(rows, width));  // zeros
    ends_.resize(rows);
    for (size_t i = 0; i < rows; ++i) ends_[i] = (i + 1) * width;
    uint8_t* begin = bytes_.data();
    for (const OrderColumn& part : order) {
        const Column& column = batch.column(part.column);
        const Type& type = *column.type;
        const size_t size = fixed_size(type);
        uint8_t* out = begin;
        for (int64_t row = first; row < first + count; ++row, out += width) {
            if (!is_null(column, row)) fixed_code(type, column, row, out);
            if (part.descends) turn_round(out, size);
        }
        begin += size;
    }
    fill_heads();
    has_rest_ = width > 8;
    if (has_rest_) return;
    bytes_ = {};
    ends_ = {};
}

void Keys::fill_bytes(const Batch& batch, const std::vector<OrderColumn>& order, int64_t first, int64_t count) {
    ends_.reserve(static_cast<size_t>(count));
    for (int64_t row = first; row < first + count; ++row) {
        for (const OrderColumn& part : order) {
            const Column& column = batch.column(part.column);
            const size_t from = bytes_.size();
            if (const size_t size = fixed_size(*column.type)) {
                bytes_.resize(from + size);  // zeros
                if (!is_null(column, row)) fixed_code(*column.type, column, row, bytes_.data() + from);
            } else {
                variable_code(batch, column, row, bytes_);
            }
            if (part.descends) turn_round(bytes_.data() + from, bytes_.size() - from);
        }
        ends_.push_back(bytes_.size());
    }
    fill_heads();
    has_rest_ = true;  // keys of other batches may be longer
}

// Store the first eight bytes of each key, zero-padded if it has fewer.
void Keys::fill_heads() {
    heads_.resize(ends_.size());
    size_t begin = 0;
    for (size_t i = 0; i < ends_.size(); begin = ends_[i++]) {
        const uint8_t* key = bytes_.data() + begin;
        const size_t size = ends_[i] - begin;
        if (size >= 8) {
            heads_[i] = load64(key);
        } else {
            uint8_t head[8] = {};
            std::memcpy(head, key, size);
            heads_[i] = load64(head);
        }
    }
}

int Keys::compare_rest(const Keys& a, int64_t i, const Keys& b, int64_t j) {
    const size_t from_a = i ? a.ends_[i - 1] : 0, from_b = j ? b.ends_[j - 1] : 0;
    const size_t size_a = a.ends_[i] - from_a, size_b = b.ends_[j] - from_b;
    const size_t both = std::min(size_a, size_b);
    const int found = std::memcmp(a.bytes_.data() + from_a, b.bytes_.data() + from_b, both);
    return found ? found : (size_a > size_b) - (size_a < size_b);
}

int64_t Keys::first_unordered() const {
    const int64_t n = count();
    for (int64_t i = 1; i < n; ++i) {
        if (heads_[i] < heads_[i - 1] || (has_rest_ && compare(*this, i, *this, i - 1) < 0)) return i;
    }
    return -1;
}

Keys Keys::last() const {
    Keys last;
    if (heads_.empty()) return last;
    last.heads_.push_back(heads_.back());
    last.has_rest_ = has_rest_;
    if (!has_rest_) return last;
    const size_t from = ends_.size() > 1 ? ends_[ends_.size() - 2] : 0;
    last.bytes_.assign(bytes_.begin() + static_cast<ptrdiff_t>(from), bytes_.end());
    last.ends_.push_back(last.bytes_.size());
    return last;
}

}  // namespace fastcql::columns
