// Collections, maps, tuples, user types and vectors.
#include "base/vint.h"
#include "ingest/encode.h"

namespace fastcql::ingest {

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
    return count <= INT32_MAX || trouble_.no("a collection of " + std::to_string(count) + " items is too large");
}

bool Encoder::list(const Input& input, int64_t i) {
    int64_t first = 0, count = 0;
    if (!items_of(input, i, first, count)) return false;
    out_.put32(static_cast<uint32_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        if (!cell(input.children[0], first + k, kNull)) return trouble_.in(item(k));
    }
    return done();
}

bool Encoder::map(const Input& input, int64_t i) {
    int64_t first = 0, count = 0;
    if (!items_of(input, i, first, count)) return false;
    const Input& pairs = input.children[0];
    out_.put32(static_cast<uint32_t>(count));
    for (int64_t k = 0; k < count; ++k) {
        if (pairs.is_null(first + k)) return trouble_.no("pair " + std::to_string(k) + " is null");
        const int64_t at = pairs.offset + first + k;
        if (!cell(pairs.children[0], at, kNull)) return trouble_.in("key " + std::to_string(k));
        if (!cell(pairs.children[1], at, kNull)) return trouble_.in("value " + std::to_string(k));
    }
    return done();
}

bool Encoder::fields(const Input& input, int64_t i) {
    for (size_t k = 0; k < input.children.size(); ++k) {
        const Input& field = input.children[k];
        if (!cell(field, input.offset + i, kNull)) {
            const std::string& name = field.how->target->name;
            return trouble_.in("field " + (name.empty() ? std::to_string(k) : "'" + name + "'"));
        }
    }
    return done();
}

// Append numbers unchanged, in one loop. False, with nothing written, if the element-wise conversion is needed.
bool Encoder::packed(const Input& items, int64_t first, int64_t count) {
    if (items.validity || (items.way != Way::Four && items.way != Way::Eight)) return false;
    const size_t width = items.way == Way::Four ? 4 : 8;
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
    const Target& target = *input.how->target;
    int64_t first = 0, count = 0;
    if (!items_of(input, i, first, count)) return false;
    if (count != target.dimensions) {
        return trouble_.no(std::to_string(count) + " elements, expected " + std::to_string(target.dimensions));
    }
    const Input& items = input.children[0];
    const bool with_length = target.children[0].element < 0;
    if (!with_length && packed(items, first, count)) return true;
    for (int64_t k = 0; k < count; ++k) {
        if (!element(items, first + k, with_length)) return trouble_.in(item(k));
    }
    return done();
}

// Append an element: without a prefix if its type has one size, else behind its length.
bool Encoder::element(const Input& input, int64_t i, bool with_length) {
    if (input.is_null(i)) return trouble_.no("the elements of a vector cannot be null");
    if (input.way == Way::Runs) return element(input.children[0], run_of(input, i), with_length);
    if (input.way == Way::Dictionary) {
        int64_t index = 0;
        return index_of(input, i, index) && element(input.children[0], index, with_length);
    }
    if (!with_length) return value(input, i);
    ByteBuffer bytes;
    if (!Encoder(bytes, trouble_).value(input, i)) return false;
    put_unsigned_vint(out_, bytes.size());
    out_.put(bytes.data(), bytes.size());
    return done();
}

}  // namespace fastcql::ingest
