// A column while it is built: the present values of one type of a plan, and the texts of a dictionary.
//
// Values that are not null need no marks: bits of validity are one until a null clears them, and there are none before
// the first null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "columns/buffer.h"
#include "columns/plan.h"

namespace fastcql::columns {

class Words;

struct Column {
    const Type* type = nullptr;
    Column* children = nullptr;  // type->children of them
    int64_t length = 0;
    int64_t nulls = 0;
    Buffer validity;
    Buffer values;  // numbers, bits, views, indexes, or offsets into `data` or the child
    Buffer data;
    Words* words = nullptr;  // of a dictionary

    size_t expected = 0;  // wire bytes to come, of a map; 0 if unknown or used already

    // State at the beginning of the page being decoded, for rollback.
    int64_t length_before = 0;
    int64_t nulls_before = 0;
    size_t data_before = 0;

    ~Column();
};

// Appends a page's values. Every failure is described in `failure`.
struct Appender {
    Memory& memory;
    Failure& failure;
    const uint8_t* page = nullptr;  // views count from here
    int32_t page_buffer = 0;        // of views
    bool page_is_needed = false;    // a view refers to it
    int64_t nulls = 0;              // of all types and levels; a few bytes may claim many

    static constexpr int64_t kMaxNulls = int64_t{1} << 27;

    // Appends one value of n bytes, null if n is negative. The caller has checked that the bytes exist.
    bool append(Column& column, const uint8_t* p, int32_t n);
    bool append_null(Column& column);

    // Room in the first buffer for one more value, or *count*.
    bool reserve(Column& column, int64_t count = 1);

    bool list(Column& column, const uint8_t* p, int32_t n);
    bool map(Column& column, const uint8_t* p, int32_t n);
    bool fields(Column& column, const uint8_t* p, int32_t n);
    bool vector(Column& column, const uint8_t* p, int32_t n);
    bool variable(Column& column, const uint8_t* p, size_t n);
    bool view(Column& column, const uint8_t* p, size_t n);
    bool word(Column& column, const uint8_t* p, size_t n);
    bool number_text(Column& column, const uint8_t* p, int32_t n);
    bool decimal(Column& column, const uint8_t* p, int32_t n);
    bool duration(Column& column, const uint8_t* p, int32_t n);
    bool mark_null(Column& column);
    bool pad_vector(Column& column);
    int32_t texts_to_numbers(Column& keys, Column& values, const uint8_t*& p, const uint8_t* end, int32_t count);
    void expect_entries(Column& column, int32_t count, int32_t n);
    bool count_of(Column& column, const uint8_t*& p, const uint8_t* end, int cells, int32_t& count);
    const uint8_t* cell(Column& column, const uint8_t* p, const uint8_t* end);
    const uint8_t* any_cell(Column& column, const uint8_t* p, const uint8_t* end);
    bool wrong_size(const Column& column, int32_t n, const char* needs);
    bool no_room(const Column& column);
};

// Checks the values appended since the page began, of types that are checked as a whole: invalid text, times beyond the
// day. Returns the index of the first bad one, or -1.
int64_t first_bad(const Column& column);

// Roll back to the beginning of the page.
void take_back(Column& column);

// True if n bytes are UTF-8.
bool is_utf8(const uint8_t* p, size_t n);

// Copies n bytes: short ones as sixteen, if both sides have so many.
inline void copy_short(uint8_t* to, const uint8_t* from, size_t n, ptrdiff_t readable, size_t writable) {
    if (n <= 16 && readable >= 16 && writable >= 16) {
        std::memcpy(to, from, 16);
    } else if (n) {
        std::memcpy(to, from, n);
    }
}

// Offsets of a column that has offsets.
inline int32_t* offsets_of(const Column& column) { return reinterpret_cast<int32_t*>(column.values.data()); }

// ---- the distinct texts of a dictionary column, in the order of their first appearance

class Words {
public:
    Words() = default;
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    ~Words() { std::free(slots_); }

    // Returns the index of n bytes, which it adds if they are new; -1 without memory or above the limit of bytes.
    int32_t index(const uint8_t* p, size_t n, Memory& memory);
    // Called after the last word.
    void close() { offsets.set_size(count ? (static_cast<size_t>(count) + 1) * 4 : 0); }

    Buffer offsets, data;
    int32_t count = 0;

private:
    bool grow();
    static uint64_t hash(const uint8_t* p, size_t n);

    struct Slot {
        uint64_t hash;
        int32_t index;  // -1: free
    };
    Slot* slots_ = nullptr;
    size_t mask_ = 0;
};

}  // namespace fastcql::columns
