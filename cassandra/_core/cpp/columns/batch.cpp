#include "columns/batch.h"

#include <cstdlib>
#include <new>

#include "base/bytes.h"
#include "columns/words.h"

namespace fastcql::columns {

Batch* Batch::make(const Plan& plan, memory::BlockPool& pool) noexcept {
    static_assert(sizeof(Batch) % alignof(Column) == 0);
    const size_t n = plan.types.size();
    void* memory = std::malloc(plus(sizeof(Batch), times(n, sizeof(Column))));
    if (!memory) return nullptr;
    auto* columns = reinterpret_cast<Column*>(static_cast<uint8_t*>(memory) + sizeof(Batch));
    for (size_t i = 0; i < n; ++i) {
        const Type& type = plan.types[i];
        auto* column = new (columns + i) Column;
        column->type = &type;
        column->kids = columns + type.first_child;
    }
    plan.retain();
    pool.hold();
    counters().batches.fetch_add(1, std::memory_order_relaxed);
    return new (memory) Batch(plan, pool, columns);
}

void Batch::destroy() {
    for (size_t i = 0; i < plan_.types.size(); ++i) columns_[i].~Column();
    delete[] pages_;
    memory::BlockPool& pool = *memory_.pool;
    plan_.release();
    this->~Batch();
    std::free(static_cast<void*>(this));
    pool.let_go();
    counters().batches.fetch_sub(1, std::memory_order_relaxed);
}

bool Batch::has_room_for(const Page& page) const noexcept {
    constexpr auto kMost = size_t{INT32_MAX};
    if (rows_ + page.rows > INT32_MAX || page.size > kMost) return false;
    for (size_t i = 0; i < plan_.types.size(); ++i) {
        const Column& column = columns_[i];
        // Numbers written as text take more than twice their binary size.
        const bool written = column.type->kind == Kind::VarintText || column.type->kind == Kind::DecimalText;
        if (plus(column.data.size(), times(page.size, written ? 3 : 1)) > kMost) return false;
        if (column.length + static_cast<int64_t>(page.size) > INT32_MAX) return false;
    }
    return true;
}

bool Batch::append(const Page& page, const RowCount& in_all, Failure& failure) {
    // A page may expand greatly, by nulls of wide types, but only up to this limit.
    constexpr size_t kLeast = size_t{1} << 30;
    memory_.limit = plus(memory_.held + kLeast, times(page.size, 64));
    for (size_t i = 0; i < plan_.types.size(); ++i) {
        Column& column = columns_[i];
        column.length_before = column.length;
        column.nulls_before = column.nulls;
        column.data_before = column.data.size();
    }
    Appender appender{memory_, failure};
    appender.page = page.data;
    appender.page_buffer = page_count_;
    const bool done = make_room(page, in_all, failure) && read(page, appender) && check(failure) &&
                      (!appender.page_is_needed || keep_page(page) || failure.memory());
    if (!done) {
        for (size_t i = 0; i < plan_.types.size(); ++i) take_back(columns_[i]);
        return false;
    }
    rows_ += page.rows;
    return true;
}

// Sum the bytes of each column's values on the wire, up to the first error of the page; reading reports the error.
void Batch::measure(const Page& page, int64_t* bytes) const {
    const uint8_t* p = page.data;
    const uint8_t* end = p + page.size;
    for (int64_t row = 0; row < page.rows; ++row) {
        for (int32_t i = 0; i < plan_.columns; ++i) {
            if (end - p < 4) return;
            const int32_t n = load_i32(p);
            p += 4;
            if (n > end - p) return;
            if (n <= 0) continue;
            bytes[i] += n;
            p += n;
        }
    }
}

bool Batch::make_room(const Page& page, const RowCount& in_all, Failure& failure) {
    constexpr int32_t kFew = 64;
    int64_t few[kFew] = {};
    int64_t* bytes = few;
    int64_t* many = nullptr;
    if (plan_.columns > kFew) {
        many = static_cast<int64_t*>(std::calloc(static_cast<size_t>(plan_.columns), sizeof(int64_t)));
        if (!many) return failure.memory();
        bytes = many;
    }
    int32_t variable = 0, last = 0;
    bool passed_over = false;
    int64_t fixed = 4 * page.rows * plan_.columns;
    for (int32_t i = 0; i < plan_.columns; ++i) {
        const Type& type = *columns_[i].type;
        if (type.has_offsets() || type.kind == Kind::Struct || type.kind == Kind::Vector) {
            ++variable;
            last = i;
        } else if (type.kind == Kind::Place) {
            passed_over = true;
        } else {
            fixed += static_cast<int64_t>(type.kind == Kind::Boolean ? 1 : type.width()) * page.rows;
        }
    }
    if (variable == 1 && !passed_over) {  // the rest of the page; more if the others have nulls
        bytes[last] = std::max(int64_t{0}, static_cast<int64_t>(page.size) - fixed);
    } else if (variable) {
        measure(page, bytes);
    }
    const int64_t rows = rows_ + page.rows;
    const int64_t to_come = rows_to_come(page, std::max(fixed, static_cast<int64_t>(page.size)), in_all);
    bool done = rows_ > 0 || to_come > page.rows || make_first_room(page, bytes, failure);
    Appender appender{memory_, failure};
    for (int32_t i = 0; done && i < plan_.columns; ++i) {
        Column& column = columns_[i];
        const size_t room = column.values.capacity() / std::max(size_t{1}, column.type->width());
        const bool fits = room > static_cast<size_t>(rows);
        done = appender.reserve(column, fits ? page.rows : to_come);
        if (!done && !fits && to_come > page.rows) {  // a hint must not fail
            failure.kind = Failure::Kind::None;
            done = appender.reserve(column, page.rows);
        }
        if (done) expect(column, static_cast<size_t>(bytes[i]), page.rows, to_come, appender);
    }
    std::free(many);
    return done;
}

// Number of rows to reserve with a page of *page_bytes*: its own, and those that are likely to follow. A target is
// often far away: the reservation is limited to a few times the present rows.
int64_t Batch::rows_to_come(const Page& page, int64_t page_bytes, const RowCount& in_all) const {
    constexpr int64_t kTimes = 6;
    constexpr int64_t kBytes = int64_t{32} << 20;
    const int64_t rows = rows_ + page.rows;
    if (!page.rows) return 0;
    int64_t more = 0;
    if (in_all.expected > rows) {
        more = in_all.expected - rows;
    } else if (rows_ && in_all.target > rows) {
        more = std::min(in_all.target - rows, rows * kTimes);
    }
    return page.rows + std::min(more, kBytes / std::max(int64_t{1}, page_bytes / page.rows));
}

// Reserve memory for the values in *bytes* of the wire, of *rows* rows; if it is not there yet, for all rows to come,
// in proportion. This only avoids repeated growth: a failed reservation is repeated when the memory is needed.
void Batch::expect(Column& column, size_t bytes, int64_t rows, int64_t to_come, Appender& appender) {
    const Type& type = *column.type;
    if (!bytes || !rows || type.kind == Kind::VarintText || type.kind == Kind::DecimalText) return;
    const double factor = static_cast<double>(to_come) / static_cast<double>(rows) * (to_come > rows ? 1.06 : 1.0);
    if (static_cast<double>(bytes) * factor > INT32_MAX) return;
    const auto scaled = static_cast<size_t>(static_cast<double>(bytes) * factor);
    if (type.is_variable()) {
        const size_t size = column.data.size();
        if (size + scaled > INT32_MAX || size + bytes <= column.data.capacity()) return;
        (void)column.data.ensure(size + scaled + 16, memory_);
    } else if (type.kind == Kind::List || type.kind == Kind::Vector) {
        Column& items = column.kids[0];
        const size_t width = items.type->width();
        const size_t head = type.kind == Kind::List ? 4 : 0;
        if (!width || items.type->has_offsets() || bytes <= head * static_cast<size_t>(rows)) return;
        const auto count = static_cast<int64_t>((bytes - head * static_cast<size_t>(rows)) / (width + head));
        if (times(static_cast<size_t>(items.length + count), width) <= items.values.capacity()) return;
        const auto all = static_cast<int64_t>(static_cast<double>(count) * factor);
        if (!appender.reserve(items, all)) appender.failure.kind = Failure::Kind::None;
    } else if (type.kind == Kind::Map) {
        column.expected = scaled;
    } else if (type.kind == Kind::Struct) {
        size_t texts = 0;
        for (int32_t i = 0; i < type.children; ++i) texts += column.kids[i].type->is_variable();
        const size_t each = scaled / std::max(size_t{2}, texts);
        for (int32_t i = 0; i < type.children; ++i) {
            Column& field = column.kids[i];
            if (!appender.reserve(field, to_come)) appender.failure.kind = Failure::Kind::None;
            if (field.type->is_variable() && field.data.size() == 0) (void)field.data.ensure(each, memory_);
        }
    }
}

// One block for all columns of the first page: most batches have only this page.
bool Batch::make_first_room(const Page& page, const int64_t* bytes, Failure& failure) {
    const auto rows = static_cast<size_t>(page.rows);
    const auto first = [rows](const Type& type) -> size_t {
        if (type.kind == Kind::Boolean) return padded((rows + 7) / 8);
        return padded(times(plus(rows, type.has_offsets() ? 1 : 0), type.width()));
    };
    const auto second = [bytes](const Type& type, int32_t i) -> size_t {
        if (!type.is_variable() || type.kind == Kind::VarintText || type.kind == Kind::DecimalText) return 0;
        return padded(static_cast<size_t>(bytes[i] > 0 ? bytes[i] : 0) + 16);
    };
    size_t total = 0;
    for (int32_t i = 0; i < plan_.columns; ++i) {
        const Type& type = *columns_[i].type;
        total = plus(total, plus(first(type), second(type, i)));
    }
    if (!total || plan_.separate || columns_[0].values.capacity()) return true;
    Shared* shared = Shared::make(memory_, total);
    if (!shared) return failure.memory();
    size_t at = 0;
    for (int32_t i = 0; i < plan_.columns; ++i) {
        Column& column = columns_[i];
        const Type& type = *column.type;
        if (const size_t size = first(type)) {
            column.values.carve(*shared, at, size);
            if (type.kind == Kind::Boolean) std::memset(column.values.data(), 0, size);
            if (type.has_offsets()) offsets_of(column)[0] = 0;
            at += size;
        }
        if (const size_t size = second(type, i)) {
            column.data.carve(*shared, at, size);
            at += size;
        }
    }
    shared->release();
    return true;
}

// Check the appended values column by column. The row of an error is found through the parent columns.
bool Batch::check(Failure& failure) const {
    for (size_t i = 0; i < plan_.types.size(); ++i) {
        int64_t at = first_bad(columns_[i]);
        if (at < 0) continue;
        auto index = static_cast<int32_t>(i);
        const Type& type = plan_.types[i];
        while (plan_.types[static_cast<size_t>(index)].parent >= 0) {
            index = plan_.types[static_cast<size_t>(index)].parent;
            const Column& above = columns_[index];
            if (above.type->has_offsets()) {
                const int32_t* offsets = offsets_of(above);
                at = std::upper_bound(offsets, offsets + above.length + 1, at) - offsets - 1;
            } else if (above.type->kind == Kind::Vector) {
                at /= above.type->dimensions;
            }
        }
        failure.column = index;
        failure.row = at - columns_[index].length_before;
        if (type.kind == Kind::Time) return failure.value("the time is not within a day");
        return failure.value(type.kind == Kind::Ascii ? "the text is not ASCII" : "the text is not UTF-8");
    }
    return true;
}

// Views point into the frame of the page: its block is the pool's, and any thread may drop its last reference, without
// Python. In a strict pool connections wait for memory, which views might keep without limit: there, and for bytes
// outside of frames, views point into a copy.
bool Batch::keep_page(const Page& page) {
    auto* pages = new (std::nothrow) Viewed[static_cast<size_t>(page_count_) + 1];
    if (!pages) return false;
    for (int32_t i = 0; i < page_count_; ++i) pages[i].swap(pages_[i]);
    delete[] pages_;
    pages_ = pages;
    Viewed& kept = pages_[page_count_];
    if (page.frame && !(page.frame->arena && page.frame->arena->strict)) {
        page.frame->retain();
        kept.frame = page.frame;
        kept.data = page.data;
        pinned_ += page.size;
    } else {
        if (!kept.copy.ensure(page.size, memory_)) return false;
        std::memcpy(kept.copy.data(), page.data, page.size);
        kept.copy.set_size(page.size);
        kept.data = kept.copy.data();
    }
    kept.size = page.size;
    ++page_count_;
    return true;
}

// Take the target of all views, as the only page.
bool Batch::keep_copy(Buffer& page) {
    pages_ = new (std::nothrow) Viewed[1];
    if (!pages_) return false;
    pages_->size = page.size();
    pages_->copy.swap(page);
    page_count_ = 1;
    return true;
}

bool Batch::finish(Failure& failure) noexcept {
    memory_.limit = SIZE_MAX;
    for (size_t i = 0; i < plan_.types.size(); ++i) {
        Column& column = columns_[i];
        const Type& type = *column.type;
        const auto length = static_cast<size_t>(column.length);
        const size_t width = type.width();
        if (type.kind == Kind::Boolean) {
            column.values.set_size((length + 7) / 8);
        } else if (width) {
            column.values.set_size(length ? times(length + (type.has_offsets() ? 1 : 0), width) : 0);
        }
        if (column.nulls == 0) {
            column.validity.set_size(0);
        } else {
            const size_t known = column.validity.capacity();
            const size_t size = (length + 7) / 8;
            if (size > known) {
                column.validity.set_size(known);
                if (!column.validity.ensure(size, memory_)) return failure.memory();
                std::memset(column.validity.data() + known, 0xff, column.validity.capacity() - known);
            }
            column.validity.set_size(size);
            if (length % 8) column.validity.data()[size - 1] &= static_cast<uint8_t>((1 << length % 8) - 1);
        }
        if (!end(column.values) || !end(column.data) || !end(column.validity)) return failure.memory();
        if (Words* words = column.words) {
            words->close();
            if (!end(words->offsets) || !end(words->data)) return failure.memory();
        }
    }
    for (int32_t i = 0; i < page_count_; ++i) {
        if (pages_[i].frame) continue;
        if (!end(pages_[i].copy)) return failure.memory();
        pages_[i].data = pages_[i].copy.data();
    }
    finished_ = true;
    return true;
}

bool Batch::end(Buffer& buffer) {
    if (!buffer.finish(memory_)) return false;
    bytes_ += buffer.capacity();
    return true;
}

}  // namespace fastcql::columns
