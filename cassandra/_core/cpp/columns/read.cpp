// The loop over the cells of a page. Numbers and texts of columns, which is nearly all there is, are handled in it; what is
// left, nulls included, goes through Appender::append.
#include "base/bytes.h"
#include "columns/batch.h"

namespace fastcql::columns {

namespace {

enum class Way : uint8_t { Four, Eight, Variable, Place, Fields, Other };

// Where the values of a column go. Those of a field are in the row of the value they belong to, as those of a column are.
struct Lane {
    Way way;
    uint32_t flip;    // of numbers of four bytes
    uint8_t* values;  // at the page's first row
    uint8_t* data;    // of a variable column: where the next value goes
    uint8_t* limit;   // and where its room ends
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

// Once the column has grown.
void open(Lane& lane) {
    Column& column = *lane.column;
    const Type& type = *column.type;
    lane.values = column.values.data();
    if (lane.values && column.length_before) lane.values += static_cast<size_t>(column.length_before) * type.width();
    if (lane.way == Way::Variable) {
        lane.data = column.data.data() + column.data.size();
        lane.limit = column.data.data() + std::min(column.data.capacity(), size_t{INT32_MAX});
    }
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) open(*field);
}

// The column knows what the loop has written.
void close(Lane& lane, int64_t row) {
    if (lane.way == Way::Other) return;
    lane.column->length = lane.column->length_before + row;
    if (lane.way == Way::Variable) {
        lane.column->data.set_size(lane.data ? static_cast<size_t>(lane.data - lane.column->data.data()) : 0);
    }
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) close(*field, row);
}

// What the fast ways do not take: checked, appended, and the lane goes on behind it. What is behind it, or null.
const uint8_t* slowly(Lane& lane, int64_t row, const uint8_t* p, const uint8_t* end, int32_t n, Appender& appender) {
    if (n > end - p) {
        const Type& type = *lane.column->type;
        if (type.parent < 0) {
            appender.failure.value("a value of %d bytes where the answer has %td left", n, end - p);
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

// For all rows of a page, in the fields of a column; columns themselves have theirs already.
bool make_room_for(Lane& lane, int64_t rows, Appender& appender) {
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) {
        if (!appender.reserve(*field->column, rows) || !make_room_for(*field, rows, appender)) return false;
    }
    return true;
}

const uint8_t* read_fields(Lane& lane, int64_t row, const uint8_t* p, const uint8_t* end, Appender& appender);

// One [bytes] at p, whose length is there; what is behind it, or null.
inline const uint8_t* read_cell(Lane& lane, int64_t row, const uint8_t* p, const uint8_t* end, Appender& appender) {
    const int32_t n = load_i32(p);
    p += 4;
    switch (lane.way) {
        case Way::Four:
            if (n == 4 && end - p >= 4) {
                const uint32_t v = load32(p) ^ lane.flip;
                std::memcpy(lane.values + row * 4, &v, 4);
                return p + 4;
            }
            break;
        case Way::Eight:
            if (n == 8 && end - p >= 8) {
                const uint64_t v = load64(p);
                std::memcpy(lane.values + row * 8, &v, 8);
                return p + 8;
            }
            break;
        case Way::Variable:
            if (n >= 0 && n <= end - p && n <= lane.limit - lane.data) {
                copy_short(lane.data, p, static_cast<size_t>(n), end - p, static_cast<size_t>(lane.limit - lane.data));
                lane.data += n;
                const auto to = static_cast<int32_t>(lane.data - lane.column->data.data());
                std::memcpy(lane.values + row * 4 + 4, &to, 4);
                return p + n;
            }
            break;
        case Way::Place:
            if (n <= end - p) {
                const auto at = static_cast<int32_t>(p - 4 - appender.page);
                std::memcpy(lane.values + row * 4, &at, 4);
                return n > 0 ? p + n : p;
            }
            break;
        case Way::Fields:
            if (n > 0 && n <= end - p) return read_fields(lane, row, p, p + n, appender) ? p + n : nullptr;
            break;
        case Way::Other: break;
    }
    return slowly(lane, row, p, end, n, appender);
}

// As Appender::fields.
const uint8_t* read_fields(Lane& lane, int64_t row, const uint8_t* p, const uint8_t* end, Appender& appender) {
    for (Lane* field = lane.fields; field != lane.fields_end; ++field) {
        if (p == end) {
            p = slowly(*field, row, p, end, -1, appender);
        } else if (end - p >= 4) {
            p = read_cell(*field, row, p, end, appender);
        } else {
            appender.failure.value("%s item: its length is cut off", field->column->type->cql.c_str());
            return nullptr;
        }
        if (!p) return nullptr;
    }
    return p;
}

bool read_cells(const Page& page, Lane* lanes, size_t count, Appender& appender) {
    const uint8_t* p = page.data;
    const uint8_t* end = p + page.size;
    Failure& failure = appender.failure;
    for (int64_t row = 0; row < page.rows; ++row) {
        for (size_t i = 0; i < count; ++i) {
            if (end - p >= 4) {
                p = read_cell(lanes[i], row, p, end, appender);
                if (p) continue;
            } else {
                failure.value("the answer ends before the length of this value");
            }
            failure.column = static_cast<int32_t>(i);
            failure.row = row;
            return false;
        }
    }
    return true;
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
        lane.flip = type.kind == Kind::Date ? 0x80000000u : 0;
        if (lane.way != Way::Fields) continue;
        lane.fields = lanes + type.first_child;
        lane.fields_end = lane.fields + type.children;
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
