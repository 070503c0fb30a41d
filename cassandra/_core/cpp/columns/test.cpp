#include "columns/test.h"

#include <algorithm>

#include "columns/packing.h"

namespace fastcql::columns {

Form form_of(const Type& type) noexcept {
    switch (type.kind) {
        case Kind::Boolean: return Form::Bits;
        case Kind::One: return Form::Int8;
        case Kind::Two: return Form::Int16;
        case Kind::Date: return Form::Int32;
        case Kind::Four: return type.format == "f" ? Form::Float : Form::Int32;
        case Kind::Time:
        case Kind::VarintLong: return Form::Int64;
        case Kind::Eight: return type.format == "g" ? Form::Double : Form::Int64;
        case Kind::Ascii:
        case Kind::Text:
        case Kind::Binary:
        case Kind::Inet:
        case Kind::VarintText:
        case Kind::DecimalText: return Form::Bytes;
        case Kind::View: return Form::Views;
        case Kind::Dictionary: return Form::Words;
        case Kind::Uuid: return type.cql == "timeuuid" ? Form::TimeUuid : Form::Uuid;
        case Kind::Varint:
        case Kind::Decimal: return type.is_decimal256 ? Form::Wide32 : Form::Wide16;
        default: return Form::Other;
    }
}

void Test::finish() {
    std::sort(some_integers.begin(), some_integers.end());
    std::sort(some_floats.begin(), some_floats.end());
    std::sort(some_ids.begin(), some_ids.end());
    std::sort(some_wides.begin(), some_wides.end());
    std::sort(some_texts.begin(), some_texts.end());
}

bool Test::has(std::string_view text) const { return std::binary_search(some_texts.begin(), some_texts.end(), text, std::less<>()); }

namespace {

// Run a test of text once per word instead of once per row.
template <class Hit>
void by_words(const WordCells& cells, const Slice& slice, uint64_t* out, Hit&& hit) {
    std::vector<uint8_t> hits(static_cast<size_t>(cells.count) + 1);  // an index of a null may be beyond the words
    for (int32_t i = 0; i < cells.count; ++i) hits[static_cast<size_t>(i)] = hit(cells.words.get(i));
    pack_rows(slice.rows, out, [&](int64_t i) {
        return hits[static_cast<size_t>(std::min(cells.index(slice.first + i), cells.count))] != 0;
    });
}

}  // namespace

template <class Cells>
void Test::within(const Cells& cells, const Slice& slice, uint64_t* out) const {
    using V = decltype(cells.get(0));
    const int64_t first = slice.first;
    if constexpr (std::is_same_v<V, int64_t>) {
        if (integers.high < integers.low) return;  // the bits are zero
        // One unsigned comparison for both ends.
        const auto low = static_cast<uint64_t>(integers.low), span = static_cast<uint64_t>(integers.high) - low;
        pack_rows(slice.rows, out, [&](int64_t i) { return static_cast<uint64_t>(cells.get(first + i)) - low <= span; });
    } else if constexpr (std::is_same_v<V, double>) {
        const double low = floats.low, high = floats.high;
        pack_rows(slice.rows, out, [&](int64_t i) {
            const double value = cells.get(first + i);
            return (value >= low) & (value <= high);
        });
    } else if constexpr (std::is_same_v<Cells, WordCells>) {
        by_words(cells, slice, out, [this](std::string_view text) { return texts.hold(text); });
    } else if constexpr (std::is_same_v<V, std::string_view>) {
        if (texts.is_one()) {
            const std::string_view one = texts.low;
            pack_rows(slice.rows, out, [&](int64_t i) { return cells.get(first + i) == one; });
        } else {
            pack_rows(slice.rows, out, [&](int64_t i) { return texts.hold(cells.get(first + i)); });
        }
    } else {
        const Bounds<V>* bounds;
        if constexpr (std::is_same_v<V, Id>) {
            bounds = &ids;
        } else {
            bounds = &wides;
        }
        pack_rows(slice.rows, out, [&](int64_t i) {
            const V value = cells.get(first + i);
            return !(value < bounds->low) && !(bounds->high < value);
        });
    }
}

template <class Cells>
void Test::among(const Cells& cells, const Slice& slice, uint64_t* out) const {
    using V = decltype(cells.get(0));
    const int64_t first = slice.first;
    if constexpr (std::is_same_v<Cells, WordCells>) {
        by_words(cells, slice, out, [this](std::string_view text) { return has(text); });
    } else if constexpr (std::is_same_v<V, std::string_view>) {
        pack_rows(slice.rows, out, [&](int64_t i) { return has(cells.get(first + i)); });
    } else {
        const std::vector<V>* some;
        if constexpr (std::is_same_v<V, int64_t>) {
            some = &some_integers;
        } else if constexpr (std::is_same_v<V, double>) {
            some = &some_floats;
        } else if constexpr (std::is_same_v<V, Id>) {
            some = &some_ids;
        } else {
            some = &some_wides;
        }
        pack_rows(slice.rows, out, [&](int64_t i) {
            const V value = cells.get(first + i);
            if constexpr (std::is_same_v<V, double>) {
                if (std::isnan(value)) return false;  // equal to nothing
            }
            return std::binary_search(some->begin(), some->end(), value);
        });
    }
}

void Test::run(const Slice& slice, Mask& out) const {
    const Column& values = slice.batch->column(column);
    const uint8_t* known = values.nulls ? values.validity.data() : nullptr;
    out.rows = slice.rows;
    out.yes.resize(Mask::words_of(slice.rows));
    if (what == What::Null) {
        for (size_t w = 0; known && w < out.yes.size(); ++w) {
            const int64_t at = static_cast<int64_t>(w) * 64;
            const int64_t here = std::min<int64_t>(64, slice.rows - at);
            out.yes[w] = ~bits_at(known, slice.first + at, here) & bits_before(slice.rows, at);
        }
    } else {
        with_cells(*slice.batch, column, form, [&](const auto& cells) {
            if (what == What::Within) {
                within(cells, slice, out.yes.data());
            } else {
                among(cells, slice, out.yes.data());
            }
        });
        if (known) out.no.resize(out.yes.size());
        for (size_t w = 0; known && w < out.yes.size(); ++w) {
            const int64_t at = static_cast<int64_t>(w) * 64;
            const uint64_t valid = bits_at(known, slice.first + at, std::min<int64_t>(64, slice.rows - at));
            out.no[w] = ~out.yes[w] & valid;
            out.yes[w] &= valid;
        }
    }
    out.count();
}

}  // namespace fastcql::columns
