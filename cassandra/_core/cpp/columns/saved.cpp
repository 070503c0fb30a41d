#include "columns/saved.h"

#include <new>

#include "columns/words.h"

namespace fastcql::columns {

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
        return are_offsets(column.values, column.length, column.kids[0].length);
    }
    for (int32_t i = 0; i < type.children; ++i) {
        const int64_t each = type.kind == Kind::Vector ? type.dimensions : 1;
        if (column.kids[i].length != column.length * each) return false;
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
