// The loop over the cells of a page. Numbers and texts of columns, which is nearly all there is, are handled in it; what is
// left, nulls included, goes through Appender::append.
#include "base/bytes.h"
#include "columns/batch.h"

namespace fastcql::columns {

namespace {

enum class Way : uint8_t { Four, Eight, Variable, Place, Other };

struct Lane {
    Way way;
    uint32_t flip;    // of numbers of four bytes
    uint8_t* values;  // at the page's first row
    uint8_t* data;    // of a variable column: where the next value goes
    uint8_t* limit;   // and where its room ends
    Column* column;
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
        default: return Way::Other;
    }
}

void open(Lane& lane) {
    Column& column = *lane.column;
    const Type& type = *column.type;
    lane.values = column.values.data();
    if (lane.values && column.length_before) lane.values += static_cast<size_t>(column.length_before) * type.width();
    if (lane.way == Way::Variable) {
        lane.data = column.data.data() + column.data.size();
        lane.limit = column.data.data() + std::min(column.data.capacity(), size_t{INT32_MAX});
    }
}

// The column knows what the loop has written.
void close(Lane& lane, int64_t row) {
    if (lane.way == Way::Other) return;
    lane.column->length = lane.column->length_before + row;
    if (lane.way == Way::Variable) {
        lane.column->data.set_size(lane.data ? static_cast<size_t>(lane.data - lane.column->data.data()) : 0);
    }
}

// What the fast ways do not take: checked, appended, and the lane goes on behind it.
bool slowly(Lane& lane, int64_t row, const uint8_t*& p, const uint8_t* end, int32_t n, Appender& appender) {
    if (n > end - p) {
        return appender.failure.value("a value of %d bytes where the answer has %td left", n, end - p);
    }
    if (lane.way != Way::Other) close(lane, row);
    if (!appender.append(*lane.column, p, n)) return false;
    if (lane.way != Way::Other) open(lane);
    if (n > 0) p += n;
    return true;
}

bool read_cells(const Page& page, Lane* lanes, size_t count, Appender& appender) {
    const uint8_t* p = page.data;
    const uint8_t* end = p + page.size;
    Failure& failure = appender.failure;
    for (int64_t row = 0; row < page.rows; ++row) {
        for (size_t i = 0; i < count; ++i) {
            Lane& lane = lanes[i];
            if (end - p < 4) {
                failure.column = static_cast<int32_t>(i);
                failure.row = row;
                return failure.value("the answer ends before the length of this value");
            }
            const int32_t n = load_i32(p);
            p += 4;
            switch (lane.way) {
                case Way::Four:
                    if (n == 4 && end - p >= 4) {
                        const uint32_t v = load32(p) ^ lane.flip;
                        std::memcpy(lane.values + row * 4, &v, 4);
                        p += 4;
                        continue;
                    }
                    break;
                case Way::Eight:
                    if (n == 8 && end - p >= 8) {
                        const uint64_t v = load64(p);
                        std::memcpy(lane.values + row * 8, &v, 8);
                        p += 8;
                        continue;
                    }
                    break;
                case Way::Variable:
                    if (n >= 0 && n <= end - p && n <= lane.limit - lane.data) {
                        copy_short(lane.data, p, static_cast<size_t>(n), end - p, static_cast<size_t>(lane.limit - lane.data));
                        lane.data += n;
                        p += n;
                        const auto to = static_cast<int32_t>(lane.data - lane.column->data.data());
                        std::memcpy(lane.values + row * 4 + 4, &to, 4);
                        continue;
                    }
                    break;
                case Way::Place:
                    if (n <= end - p) {
                        const auto at = static_cast<int32_t>(p - 4 - page.data);
                        std::memcpy(lane.values + row * 4, &at, 4);
                        if (n > 0) p += n;
                        continue;
                    }
                    break;
                case Way::Other: break;
            }
            if (!slowly(lane, row, p, end, n, appender)) {
                failure.column = static_cast<int32_t>(i);
                failure.row = row;
                return false;
            }
        }
    }
    return true;
}

}  // namespace

bool Batch::read(const Page& page, Appender& appender) {
    constexpr size_t kFew = 16;
    Lane few[kFew];
    const auto count = static_cast<size_t>(plan_.columns);
    Lane* many = count > kFew ? new (std::nothrow) Lane[count] : nullptr;
    Lane* lanes = count > kFew ? many : few;
    if (!lanes) return appender.failure.memory();
    for (size_t i = 0; i < count; ++i) {
        lanes[i].column = &columns_[i];
        lanes[i].way = way_of(*columns_[i].type);
        lanes[i].flip = columns_[i].type->kind == Kind::Date ? 0x80000000u : 0;
        lanes[i].data = lanes[i].limit = nullptr;
        open(lanes[i]);
    }
    const bool done = read_cells(page, lanes, count, appender);
    if (done) {
        for (size_t i = 0; i < count; ++i) close(lanes[i], page.rows);
    }
    delete[] many;
    return done;
}

}  // namespace fastcql::columns
