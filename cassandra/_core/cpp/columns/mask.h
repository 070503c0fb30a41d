// Masks of rows, and the tests of columns that set them.
//
// A mask has the rows of a batch for which a predicate is true, and those for which it is false; for the others a value
// was null. Both are bits, 64 rows to a word; bits behind the last row are zero. Without nulls the second is the
// complement of the first, and is not stored. A finished mask does not change.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "columns/cells.h"

namespace fastcql::columns {

// Bits of a mask of *rows* bits that are in the word that begins at bit *at*.
inline uint64_t bits_before(int64_t rows, int64_t at) {
    return rows - at >= 64 ? ~uint64_t{0} : (uint64_t{1} << (rows - at)) - 1;
}

// Returns n bits (1 to 64) from bit *at* on, which need not be aligned to a byte; bytes behind them are not read.
inline uint64_t bits_at(const uint8_t* bits, int64_t at, int64_t n) {
    const uint8_t* p = bits + at / 8;
    const int shift = static_cast<int>(at % 8);
    const auto bytes = static_cast<size_t>((shift + n + 7) / 8);
    uint64_t word = 0;
    std::memcpy(&word, p, bytes < 8 ? bytes : 8);
    word >>= shift;
    if (bytes > 8) word |= static_cast<uint64_t>(p[8]) << (64 - shift);
    return n < 64 ? word & ((uint64_t{1} << n) - 1) : word;
}

class Mask {
public:
    int64_t rows = 0;
    int64_t selected = 0;  // rows for which it is true
    std::vector<uint64_t> yes;
    std::vector<uint64_t> no;  // empty: the complement of yes

    static size_t words_of(int64_t rows) { return static_cast<size_t>((rows + 63) / 64); }
    uint64_t no_at(size_t word) const noexcept {
        if (!no.empty()) return no[word];
        return ~yes[word] & bits_before(rows, static_cast<int64_t>(word) * 64);
    }
    void count() noexcept;

    void set_and(const Mask& a, const Mask& b);
    void set_or(const Mask& a, const Mask& b);
    void set_not(const Mask& a);
    // A byte per row, or a bit; *known* may be null, or has a bit per row: 0 for null.
    void set_bytes(const uint8_t* bytes, int64_t n);
    void set_bits(const uint8_t* bits, const uint8_t* known, int64_t offset, int64_t n);
    void set_unknown(int64_t n);
    // *a* where *known* is true; null elsewhere.
    void set_known(const Mask& a, const Mask& known);
    // Appends the rows of *other*.
    void append(const Mask& other);

    // Calls run(first, count) for all selected rows, in their order, as few times as possible.
    template <class Run>
    void each_run(Run&& run) const {
        int64_t begin = -1;
        for (size_t w = 0; w < yes.size(); ++w) {
            uint64_t word = yes[w];
            const int64_t base = static_cast<int64_t>(w) * 64;
            if (begin >= 0 && word == ~uint64_t{0}) continue;
            int at = 0;
            while (at < 64) {
                const uint64_t rest = (begin >= 0 ? ~word : word) >> at;
                if (!rest) break;
                at += __builtin_ctzll(rest);
                if (begin < 0) {
                    begin = base + at;
                } else {
                    run(begin, base + at - begin);
                    begin = -1;
                }
            }
        }
        if (begin >= 0) run(begin, rows - begin);
    }
    int64_t run_count() const noexcept;
};

// ---- a test of one column
//
// Its values lie within bounds, are in a set, or are null. All comparisons are compiled to one of these; the compiler
// has already resolved cases such as "more than 2.5" for an integer.

// Both ends are included, except for text, where an end may be exclusive or missing.
template <class V>
struct Bounds {
    V low{}, high{};
};

struct TextBounds {
    std::string low, high;
    bool has_low = false, has_high = false, without_low = false, without_high = false;
    bool hold(std::string_view text) const {
        if (has_low) {
            const int order = text.compare(low);
            if (order < 0 || (order == 0 && without_low)) return false;
        }
        if (has_high) {
            const int order = text.compare(high);
            if (order > 0 || (order == 0 && without_high)) return false;
        }
        return true;
    }
    bool is_one() const { return has_low && has_high && low == high && !without_low && !without_high; }
};

class Test {
public:
    enum class What : uint8_t { Null, Within, Among };

    int32_t column = 0;
    Form form = Form::Other;
    What what = What::Null;

    // Only those of the form's type are used; the lists are sorted by finish().
    Bounds<int64_t> integers;
    Bounds<double> floats;
    Bounds<Id> ids;
    Bounds<Wide> wides;
    TextBounds texts;
    std::vector<int64_t> some_integers;
    std::vector<double> some_floats;
    std::vector<Id> some_ids;
    std::vector<Wide> some_wides;
    std::vector<std::string> some_texts;

    void finish();
    void run(const Slice& slice, Mask& out) const;

private:
    template <class Cells>
    void within(const Cells& cells, const Slice& slice, uint64_t* out) const;
    template <class Cells>
    void among(const Cells& cells, const Slice& slice, uint64_t* out) const;
    bool has(std::string_view text) const;
};

}  // namespace fastcql::columns
