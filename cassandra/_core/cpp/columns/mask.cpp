// Masks of rows, and the tests of columns that set them.
#include <algorithm>

#include "columns/mask.h"
#include "columns/buffer.h"

namespace fastcql::columns {

void Mask::count() noexcept {
    selected = 0;
    for (const uint64_t word : yes) selected += __builtin_popcountll(word);
}

void Mask::set_and(const Mask& a, const Mask& b) {
    rows = a.rows;
    yes.resize(a.yes.size());
    for (size_t i = 0; i < yes.size(); ++i) yes[i] = a.yes[i] & b.yes[i];
    if (!a.no.empty() || !b.no.empty()) {
        no.resize(yes.size());
        for (size_t i = 0; i < yes.size(); ++i) no[i] = a.no_at(i) | b.no_at(i);
    }
    count();
}

void Mask::set_or(const Mask& a, const Mask& b) {
    rows = a.rows;
    yes.resize(a.yes.size());
    for (size_t i = 0; i < yes.size(); ++i) yes[i] = a.yes[i] | b.yes[i];
    if (!a.no.empty() || !b.no.empty()) {
        no.resize(yes.size());
        for (size_t i = 0; i < yes.size(); ++i) no[i] = a.no_at(i) & b.no_at(i);
    }
    count();
}

void Mask::set_not(const Mask& a) {
    rows = a.rows;
    yes.resize(a.yes.size());
    for (size_t i = 0; i < yes.size(); ++i) yes[i] = a.no_at(i);
    if (!a.no.empty()) no = a.yes;
    count();
}

void Mask::set_bytes(const uint8_t* bytes, int64_t n) {
    rows = n;
    yes.resize(words_of(n));
    pack_rows(n, yes.data(), [bytes](int64_t i) { return bytes[i] != 0; });
    count();
}

void Mask::set_bits(const uint8_t* bits, const uint8_t* known, int64_t offset, int64_t n) {
    rows = n;
    yes.resize(words_of(n));
    if (known) no.resize(yes.size());
    for (size_t w = 0; w < yes.size(); ++w) {
        const int64_t at = static_cast<int64_t>(w) * 64;
        const int64_t here = n - at < 64 ? n - at : 64;
        yes[w] = bits_at(bits, offset + at, here);
        if (known) {
            const uint64_t valid = bits_at(known, offset + at, here);
            no[w] = ~yes[w] & valid;
            yes[w] &= valid;
        }
    }
    count();
}

void Mask::set_unknown(int64_t n) {
    rows = n;
    selected = 0;
    yes.assign(words_of(n), 0);
    no = yes;
}

void Mask::set_known(const Mask& a, const Mask& known) {
    rows = a.rows;
    yes.resize(a.yes.size());
    no.resize(a.yes.size());
    for (size_t i = 0; i < yes.size(); ++i) {
        yes[i] = a.yes[i] & known.yes[i];
        no[i] = a.no_at(i) & known.yes[i];
    }
    count();
}

void Mask::append(const Mask& other) {
    const auto at = static_cast<size_t>(rows / 64);
    const auto shift = static_cast<int>(rows % 64);
    const size_t size = words_of(rows + other.rows);
    if (no.empty() && !other.no.empty()) {
        no.resize(yes.size());
        for (size_t i = 0; i < yes.size(); ++i) no[i] = ~yes[i] & bits_before(rows, static_cast<int64_t>(i) * 64);
    }
    const bool with_no = !no.empty() || !other.no.empty();
    yes.resize(size);
    if (with_no) no.resize(size);
    const auto put = [at, shift](std::vector<uint64_t>& words, size_t i, uint64_t word) {
        words[at + i] |= word << shift;
        if (shift && at + i + 1 < words.size()) words[at + i + 1] |= word >> (64 - shift);
    };
    for (size_t i = 0; i < other.yes.size(); ++i) {
        put(yes, i, other.yes[i]);
        if (with_no) put(no, i, other.no_at(i));
    }
    rows += other.rows;
    count();
}

int64_t Mask::run_count() const noexcept {
    int64_t runs = 0;
    uint64_t before = 0;  // the last bit of the word before
    for (const uint64_t word : yes) {
        runs += __builtin_popcountll(word & ~(word << 1 | before));
        before = word >> 63;
    }
    return runs;
}

// ---- tests of a column

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
