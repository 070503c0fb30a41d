// Batches: pages become columns, columns become arrays of the C data interface, and bytes for other processes.
#include <cstdlib>
#include <new>

#include "columns/batch.h"
#include "base/bytes.h"
#include "columns/column.h"
#include "columns/merge.h"

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
        column->children = columns + type.first_child;
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
    bool skipped = false;
    int64_t fixed = 4 * page.rows * plan_.columns;
    for (int32_t i = 0; i < plan_.columns; ++i) {
        const Type& type = *columns_[i].type;
        if (type.has_offsets() || type.kind == Kind::Struct || type.kind == Kind::Vector) {
            ++variable;
            last = i;
        } else if (type.kind == Kind::Place) {
            skipped = true;
        } else {
            fixed += static_cast<int64_t>(type.kind == Kind::Boolean ? 1 : type.width()) * page.rows;
        }
    }
    if (variable == 1 && !skipped) {  // the rest of the page; more if the others have nulls
        bytes[last] = std::max(int64_t{0}, static_cast<int64_t>(page.size) - fixed);
    } else if (variable) {
        measure(page, bytes);
    }
    const int64_t rows = rows_ + page.rows;
    const int64_t remaining = remaining_rows(page, std::max(fixed, static_cast<int64_t>(page.size)), in_all);
    bool done = rows_ > 0 || remaining > page.rows || make_first_room(page, bytes, failure);
    Appender appender{memory_, failure};
    for (int32_t i = 0; done && i < plan_.columns; ++i) {
        Column& column = columns_[i];
        const size_t room = column.values.capacity() / std::max(size_t{1}, column.type->width());
        const bool fits = room > static_cast<size_t>(rows);
        done = appender.reserve(column, fits ? page.rows : remaining);
        if (!done && !fits && remaining > page.rows) {  // a hint must not fail
            failure.kind = Failure::Kind::None;
            done = appender.reserve(column, page.rows);
        }
        if (done) expect(column, static_cast<size_t>(bytes[i]), page.rows, remaining, appender);
    }
    std::free(many);
    return done;
}

// Number of rows to reserve with a page of *page_bytes*: its own, and those that are likely to follow. A target is
// often far away: the reservation is limited to a few times the present rows.
int64_t Batch::remaining_rows(const Page& page, int64_t page_bytes, const RowCount& in_all) const {
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
void Batch::expect(Column& column, size_t bytes, int64_t rows, int64_t remaining, Appender& appender) {
    const Type& type = *column.type;
    if (!bytes || !rows || type.kind == Kind::VarintText || type.kind == Kind::DecimalText) return;
    const double factor = static_cast<double>(remaining) / static_cast<double>(rows) * (remaining > rows ? 1.06 : 1.0);
    if (static_cast<double>(bytes) * factor > INT32_MAX) return;
    const auto scaled = static_cast<size_t>(static_cast<double>(bytes) * factor);
    if (type.is_variable()) {
        const size_t size = column.data.size();
        if (size + scaled > INT32_MAX || size + bytes <= column.data.capacity()) return;
        (void)column.data.ensure(size + scaled + 16, memory_);
    } else if (type.kind == Kind::List || type.kind == Kind::Vector) {
        Column& items = column.children[0];
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
        for (int32_t i = 0; i < type.children; ++i) texts += column.children[i].type->is_variable();
        const size_t each = scaled / std::max(size_t{2}, texts);
        for (int32_t i = 0; i < type.children; ++i) {
            Column& field = column.children[i];
            if (!appender.reserve(field, remaining)) appender.failure.kind = Failure::Kind::None;
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

// ---- arrays of the C data interface over a finished batch

namespace {

// In place of an empty buffer: some consumers take a null pointer as an error.
alignas(64) const uint8_t kNothing[64] = {};

// All structures of one export. Each of them may be moved and released separately; the last one frees it.
struct ArrayExport {
    std::atomic<int64_t> refs;
    Batch* batch;
};

void drop_array(ArrayExport* exported) {
    if (exported->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    exported->batch->release();
    std::free(exported);
    counters().arrays.fetch_sub(1, std::memory_order_relaxed);
}

void release_array(ArrowArray* array) {
    for (int64_t i = 0; i < array->n_children; ++i) {
        if (array->children[i]->release) array->children[i]->release(array->children[i]);
    }
    if (array->dictionary && array->dictionary->release) array->dictionary->release(array->dictionary);
    auto* exported = static_cast<ArrayExport*>(array->private_data);
    array->release = nullptr;
    drop_array(exported);
}

const void* data_or_placeholder(const Buffer& buffer) { return buffer.size() ? buffer.data() : kNothing; }

int64_t buffers_of(const Type& type, int32_t pages) {
    if (type.is_variable()) return 3;
    if (type.kind == Kind::View) return 3 + pages;
    return type.kind == Kind::Struct || type.kind == Kind::Vector ? 1 : 2;
}

}  // namespace

int64_t Batch::nulls_within(int32_t index, int64_t first, int64_t rows) const noexcept {
    const Column& column = columns_[index];
    if (!column.nulls || rows == column.length) return column.nulls;
    return rows - count_bits(column.validity.data(), first, rows);
}

// Columns begin with an offset, which consumers support; their children are exported whole.
bool Batch::export_array(ArrowArray* out, int64_t first, int64_t rows) noexcept {
    const size_t n = plan_.types.size();
    size_t pointers = 1, dictionaries = 0;
    for (const Type& type : plan_.types) {
        pointers += static_cast<size_t>(buffers_of(type, page_count_));
        dictionaries += type.kind == Kind::Dictionary;
    }
    pointers += 3 * dictionaries;
    size_t bytes = sizeof(ArrayExport);
    bytes = plus(bytes, times(n + dictionaries, sizeof(ArrowArray)));
    bytes = plus(bytes, times(n, sizeof(ArrowArray*)));
    bytes = plus(bytes, times(pointers, sizeof(void*)));
    bytes = plus(bytes, times(static_cast<size_t>(page_count_), sizeof(int64_t)));
    auto* exported = static_cast<ArrayExport*>(std::calloc(1, bytes));
    if (!exported) return false;
    auto* arrays = reinterpret_cast<ArrowArray*>(exported + 1);
    auto* extra = arrays + n;  // values of dictionaries
    auto** children = reinterpret_cast<ArrowArray**>(extra + dictionaries);
    auto** buffers = const_cast<const void**>(reinterpret_cast<void**>(children + n));
    auto* sizes = reinterpret_cast<int64_t*>(buffers + pointers);  // of pages
    for (int32_t i = 0; i < page_count_; ++i) sizes[i] = static_cast<int64_t>(pages_[i].size);
    retain();
    counters().arrays.fetch_add(1, std::memory_order_relaxed);
    exported->batch = this;
    new (&exported->refs) std::atomic<int64_t>(static_cast<int64_t>(1 + n + dictionaries));
    const auto set = [&](ArrowArray& array, int64_t length, int64_t nulls, int64_t count) {
        array.length = length;
        array.null_count = nulls;
        array.n_buffers = count;
        array.buffers = buffers;
        array.release = release_array;
        array.private_data = exported;
        buffers += count;
    };
    *out = ArrowArray{};
    set(*out, rows, 0, 1);
    out->n_children = plan_.columns;
    out->children = plan_.columns ? children : nullptr;
    for (size_t i = 0; i < n; ++i) {
        const Column& column = columns_[i];
        const Type& type = *column.type;
        ArrowArray& array = arrays[i];
        set(array, column.length, column.nulls, buffers_of(type, page_count_));
        if (type.parent < 0) {
            array.offset = rows ? first : 0;  // consumers check empty views against empty buffers
            array.length = rows;
            array.null_count = nulls_within(static_cast<int32_t>(i), first, rows);
        }
        children[i] = &array;
        array.n_children = type.children;
        array.children = type.children ? children + type.first_child : nullptr;
        array.buffers[0] = column.nulls ? column.validity.data() : nullptr;
        if (array.n_buffers > 1) array.buffers[1] = data_or_placeholder(column.values);
        if (type.is_variable()) array.buffers[2] = data_or_placeholder(column.data);
        if (type.kind == Kind::View) {
            for (int32_t k = 0; k < page_count_; ++k) array.buffers[2 + k] = pages_[k].data;
            array.buffers[2 + page_count_] = page_count_ ? static_cast<const void*>(sizes) : kNothing;
        }
        if (type.kind == Kind::Dictionary) {
            ArrowArray& values = *extra++;
            set(values, column.words ? column.words->count : 0, 0, 3);
            values.buffers[1] = column.words ? data_or_placeholder(column.words->offsets) : kNothing;
            values.buffers[2] = column.words ? data_or_placeholder(column.words->data) : kNothing;
            array.dictionary = &values;
        }
    }
    return true;
}

// ---- a batch as bytes, and back

namespace {

void put_number(std::string& out, int64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }

void put_bytes(std::string& out, const uint8_t* data, size_t size) {
    put_number(out, static_cast<int64_t>(size));
    if (size) out.append(reinterpret_cast<const char*>(data), size);
}

void put_buffer(std::string& out, const Buffer& buffer) { put_bytes(out, buffer.data(), buffer.size()); }

struct Reader {
    const uint8_t* p;
    const uint8_t* end;
    Memory& memory;
    Failure& failure;

    bool number(int64_t& out) {
        if (end - p < 8) return false;
        std::memcpy(&out, p, 8);
        p += 8;
        return out >= 0;
    }
    bool buffer(Buffer& out) {
        int64_t size;
        if (!number(size) || size > end - p) return false;
        if (size && !out.ensure(static_cast<size_t>(size), memory)) return failure.memory();
        if (size) std::memcpy(out.data(), p, static_cast<size_t>(size));
        out.set_size(static_cast<size_t>(size));
        p += size;
        return true;
    }
};

bool are_offsets(const Buffer& offsets, int64_t count, int64_t limit) {
    if (count == 0) return true;
    if (offsets.size() < static_cast<size_t>(count + 1) * 4) return false;
    const auto* at = reinterpret_cast<const int32_t*>(offsets.data());
    if (at[0] != 0) return false;
    for (int64_t i = 0; i < count; ++i) {
        if (at[i + 1] < at[i]) return false;
    }
    return at[count] <= limit;
}

bool are_views(const Column& column, int64_t text) {
    for (int64_t i = 0; i < column.length; ++i) {
        int32_t size, page, at;
        const uint8_t* view = column.values.data() + i * 16;
        std::memcpy(&size, view, 4);
        std::memcpy(&page, view + 8, 4);
        std::memcpy(&at, view + 12, 4);
        if (size < 0 || (size > 12 && (page != 0 || at < 0 || int64_t{at} + size > text))) return false;
    }
    return true;
}

// True if the column read is valid for its type: kernels rely on that.
bool is_whole(const Column& column, int64_t text) {
    const Type& type = *column.type;
    const auto length = static_cast<size_t>(column.length);
    if (column.nulls > column.length || (column.nulls && column.validity.size() < (length + 7) / 8)) return false;
    if (type.kind == Kind::Boolean && column.values.size() < (length + 7) / 8) return false;
    if (type.is_variable()) return are_offsets(column.values, column.length, static_cast<int64_t>(column.data.size()));
    if (type.kind == Kind::List || type.kind == Kind::Map) {
        return are_offsets(column.values, column.length, column.children[0].length);
    }
    for (int32_t i = 0; i < type.children; ++i) {
        const int64_t each = type.kind == Kind::Vector ? type.dimensions : 1;
        if (column.children[i].length != column.length * each) return false;
    }
    if (column.values.size() < length * type.width()) return false;
    if (type.kind == Kind::View) return are_views(column, text);
    if (type.kind != Kind::Dictionary) return true;
    const int32_t words = column.words ? column.words->count : 0;
    const auto* indexes = reinterpret_cast<const int32_t*>(column.values.data());
    for (size_t i = 0; i < length; ++i) {
        const bool there = !column.nulls || (column.validity.data()[i / 8] >> i % 8 & 1);
        if (indexes[i] < 0 || (there ? indexes[i] >= words : indexes[i] > words)) return false;
    }
    return true;
}

}  // namespace

void save_batch(const Batch& batch, std::string& out) {
    put_number(out, batch.rows());
    put_bytes(out, batch.page_count() ? batch.page(0).data : nullptr, batch.page_count() ? batch.page(0).size : 0);
    for (size_t i = 0; i < batch.plan().types.size(); ++i) {
        const Column& column = batch.column(static_cast<int32_t>(i));
        put_number(out, column.length);
        put_number(out, column.nulls);
        put_buffer(out, column.validity);
        put_buffer(out, column.values);
        put_buffer(out, column.data);
        if (column.type->kind != Kind::Dictionary) continue;
        put_number(out, column.words ? column.words->count : 0);
        const Buffer none;
        put_buffer(out, column.words ? column.words->offsets : none);
        put_buffer(out, column.words ? column.words->data : none);
    }
}

bool Batch::load(const uint8_t* p, size_t size, Failure& failure) noexcept {
    Reader reader{p, p + size, memory_, failure};
    if (!reader.number(rows_) || rows_ > INT32_MAX) return false;
    pages_ = new (std::nothrow) Viewed[1];
    if (!pages_) return failure.memory();
    page_count_ = 1;
    if (!reader.buffer(pages_[0].copy)) return false;
    pages_[0].size = pages_[0].copy.size();
    pages_[0].data = pages_[0].copy.data();
    for (size_t i = 0; i < plan_.types.size(); ++i) {
        Column& column = columns_[i];
        if (!reader.number(column.length) || column.length > INT32_MAX || !reader.number(column.nulls)) return false;
        if (!reader.buffer(column.validity) || !reader.buffer(column.values) || !reader.buffer(column.data)) return false;
        if (column.type->kind != Kind::Dictionary) continue;
        Buffer offsets, words;
        int64_t count;
        if (!reader.number(count) || count > INT32_MAX || !reader.buffer(offsets) || !reader.buffer(words)) return false;
        if (!are_offsets(offsets, count, static_cast<int64_t>(words.size()))) return false;
        column.words = new (std::nothrow) Words;
        if (!column.words) return failure.memory();
        const auto* at = reinterpret_cast<const int32_t*>(offsets.data());
        for (int64_t k = 0; k < count; ++k) {
            const auto length = static_cast<size_t>(at[k + 1] - at[k]);
            const int32_t index = column.words->index(words.data() + at[k], length, memory_);
            if (index < 0) return failure.memory();
            if (index != k) return false;
        }
    }
    for (size_t i = 0; i < plan_.types.size(); ++i) {
        const bool is_column = plan_.types[i].parent < 0;
        if ((is_column && columns_[i].length != rows_) || !is_whole(columns_[i], static_cast<int64_t>(pages_[0].size))) return false;
    }
    return reader.p == reader.end && finish(failure);
}

}  // namespace fastcql::columns
