// Arrays of the C data interface over a finished batch.
#include <cstdlib>

#include "columns/gather.h"
#include "columns/words.h"

namespace fastcql::columns {

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

const void* or_nothing(const Buffer& buffer) { return buffer.size() ? buffer.data() : kNothing; }

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
        if (array.n_buffers > 1) array.buffers[1] = or_nothing(column.values);
        if (type.is_variable()) array.buffers[2] = or_nothing(column.data);
        if (type.kind == Kind::View) {
            for (int32_t k = 0; k < page_count_; ++k) array.buffers[2 + k] = pages_[k].data;
            array.buffers[2 + page_count_] = page_count_ ? static_cast<const void*>(sizes) : kNothing;
        }
        if (type.kind == Kind::Dictionary) {
            ArrowArray& values = *extra++;
            set(values, column.words ? column.words->count : 0, 0, 3);
            values.buffers[1] = column.words ? or_nothing(column.words->offsets) : kNothing;
            values.buffers[2] = column.words ? or_nothing(column.words->data) : kNothing;
            array.dictionary = &values;
        }
    }
    return true;
}

}  // namespace fastcql::columns
