// The loop over the cells of a page. Numbers and texts of columns, which are nearly all cells, are handled in it; the
// others, nulls included, go through Appender::append.
#include "base/bytes.h"
#include "columns/batch.h"

namespace fastcql::columns {

namespace {

constexpr ptrdiff_t kShortText = 16;  // texts up to this size are copied as one block

enum class Way : uint8_t { Four, Eight, Variable, Place, Fields, Other };

// Destination of the values of a column. Values of a field are in the row of their parent value.
struct Lane {
    Way way;
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

Way way_of(const Type& type) {
    switch (type.kind) {
        case Kind::Four:
        case Kind::Date: return Way::Four;
        case Kind::Eight:
        case Kind::Time: return Way::Eight;
        case Kind::Text:
        case Kind::Ascii:
        case Kind::Binary: return Way::Variable;
        case Kind::Place: return Way::Place;
        case Kind::Struct: return Way::Fields;
        default: return Way::Other;
    }
}

// Called after the column has grown.
void open(Lane& lane) {
    Column& column = *lane.column;
    const Type& type = *column.type;
    lane.values = column.values.data();
    if (lane.values && column.length_before) lane.values += static_cast<size_t>(column.length_before) * type.width();
    if (lane.way == Way::Variable) {
        lane.begin = column.data.data();
        lane.data = lane.begin + column.data.size();
        lane.limit = lane.begin + std::min(column.data.capacity(), size_t{INT32_MAX});
    }
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) open(*field);
}

// Store the loop's progress in the column.
void close(Lane& lane, int64_t row) {
    if (lane.way == Way::Other) return;
    lane.column->length = lane.column->length_before + row;
    if (lane.way == Way::Variable) {
        lane.column->data.set_size(static_cast<size_t>(lane.data - lane.begin));
    }
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) close(*field, row);
}

// Append a value that the fast paths do not handle: check it, append it, and reopen the lane. Return its end, or null.
const uint8_t* slowly(Lane& lane, int64_t row, const uint8_t* p, const uint8_t* end, int32_t n, Appender& appender) {
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
    if (lane.way != Way::Other) open(lane);
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
        if (lane->way == Way::Four) {
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
    if (lane.way == Way::Variable) {
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
    if (lane.way != Way::Place) return nullptr;
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
            return slowly(lane, row, p, end, -1, appender);  // fields at the end may be missing
        } else {
            appender.failure.value("%s item: its length is cut off", type.cql.c_str());
        }
        return nullptr;
    }
    const int32_t n = load_i32(p);
    if (lane.way != Way::Place || n >= 0) return slowly(lane, row, p + 4, end, n, appender);
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
        } else if (lane.way == Way::Fields) {
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
        if (lane.way != Way::Four && lane.way != Way::Eight) continue;
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
        lane.way = way_of(type);
        const uint32_t width = lane.way == Way::Four ? 4 : lane.way == Way::Eight ? 8 : 0;
        lane.least = 4 + width;
        lane.length = big32(width);
        lane.flip = type.kind == Kind::Date ? 0x80000000u : 0;
        if (lane.way != Way::Fields) continue;
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

}  // namespace fastcql::columns
