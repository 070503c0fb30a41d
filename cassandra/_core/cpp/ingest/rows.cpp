#include "ingest/rows.h"

#include <algorithm>
#include <new>

#include "base/murmur3.h"
#include "columns/counters.h"
#include "ingest/key_hash.h"

namespace fastcql::ingest {

namespace {

constexpr int32_t kMaxKeyPart = 0xffff;

}  // namespace

Rows::Rows(std::shared_ptr<const Reading> reading, ArrowArray& array, int64_t first)
    : reading_(std::move(reading)), plan_(reading_->plan()), array_(array), first_(first), starts_(plan_.columns.size()) {
    array.release = nullptr;
    columns::counters().rows.fetch_add(1, std::memory_order_relaxed);
}

Rows::~Rows() {
    if (array_.release) array_.release(&array_);
    columns::counters().rows.fetch_sub(1, std::memory_order_relaxed);
}

Rows* Rows::make(std::shared_ptr<const Reading> reading, ArrowArray& array, int64_t first, std::string& problem) {
    if (!array.release) {
        problem = "the array was released already";
        return nullptr;
    }
    std::unique_ptr<Rows> made(new Rows(std::move(reading), array, first));
    if (!read_array(made->reading_->row(), made->array_, 0, made->input_, problem)) return nullptr;
    return made.release();
}

bool Rows::no(size_t column, int64_t row) {
    const Target& target = plan_.columns[column].target;
    return trouble_.in("column '" + target.name + "' (" + target.text + "), row " + std::to_string(first_ + row));
}

// Null stays null.
bool Rows::put_sealed(size_t i, int64_t row, ByteBuffer& out) {
    ByteBuffer plain;
    if (!Encoder(plain, trouble_).cell(input_.children[i].children[0], row, kNull)) {
        if (!trouble_.text.empty()) trouble_.no("not a value of the type; encrypted values are not shown");
        return false;
    }
    const int32_t size = load_i32(plain.data());
    if (size < 0) {
        out.put32(plan_.nulls_are_unset ? kUnset : kNull);
        return !out.failed();
    }
    if (!sealer_.seal) return trouble_.no("the column is encrypted, but no cipher is set");
    const size_t at = out.size();
    out.put32(0);
    if (!sealer_.seal(sealer_.owner, i, plain.data() + 4, static_cast<size_t>(size), out, trouble_.text)) return false;
    if (out.failed()) return false;
    out.patch32(at, static_cast<uint32_t>(out.size() - at - 4));
    return true;
}

bool Rows::put_column(size_t i, int64_t row, ByteBuffer& out) {
    const Input& column = input_.children[i];
    if (column.how->from < 0) {
        out.put32(kUnset);
        return !out.failed();
    }
    if (column.way == Way::Sealed) return put_sealed(i, input_.offset + row, out);
    return Encoder(out, trouble_).cell(column, input_.offset + row, plan_.nulls_are_unset ? kUnset : kNull);
}

bool Rows::put(int64_t row, ByteBuffer& out, int64_t& token) {
    if (input_.is_null(row)) return trouble_.no("row " + std::to_string(first_ + row) + " is null");
    for (size_t i = 0; i < starts_.size(); ++i) {
        starts_[i] = out.size();
        if (!put_column(i, row, out)) return no(i, row);
        if (plan_.columns[i].is_required && load_i32(out.data() + starts_[i]) < 0) {
            trouble_.no("null in a column of the primary key");
            return no(i, row);
        }
    }
    token = 0;
    return !plan_.has_tokens || hash(row, out, token);
}

// Hash the key in place, or the composite of several parts.
bool Rows::hash(int64_t row, ByteBuffer& out, int64_t& token) {
    const bool is_composite = plan_.key.size() > 1;
    key_.truncate(0);
    for (const int32_t part : plan_.key) {
        const uint8_t* cell = out.data() + starts_[static_cast<size_t>(part)];
        const int32_t size = load_i32(cell);
        if (size > kMaxKeyPart) {
            trouble_.no("a part of the partition key has " + std::to_string(size) + " bytes, the limit is " + std::to_string(kMaxKeyPart));
            return no(static_cast<size_t>(part), row);
        }
        if (!is_composite) {
            token = murmur3_token(cell + 4, static_cast<size_t>(size));
            return true;
        }
        key_.put16(static_cast<uint16_t>(size));
        key_.put(cell + 4, static_cast<size_t>(size));
        key_.put8(0);
    }
    if (key_.failed()) return false;
    token = murmur3_token(key_.data(), key_.size());
    return true;
}

bool Rows::write(size_t row, ByteBuffer& out, int64_t& token) {
    const size_t before = out.size();
    try {
        trouble_.text.clear();
        if (put(static_cast<int64_t>(row), out, token)) return true;
    } catch (const std::bad_alloc&) {
        trouble_.text.clear();
    }
    out.truncate(before);
    return false;
}

bool Rows::put_key(int64_t row, ByteBuffer& out) {
    for (const int32_t part : plan_.key) {
        if (!put_column(static_cast<size_t>(part), row, out)) return false;
    }
    return !plan_.key.empty() && !input_.is_null(row);
}

bool Rows::same_partition(size_t left, size_t right) {
    try {
        ByteBuffer one, other;
        if (!put_key(static_cast<int64_t>(left), one) || !put_key(static_cast<int64_t>(right), other)) return false;
        return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

uint64_t Rows::clustering_hash(const uint8_t* values, size_t size) const {
    const uint8_t* const end = values + size;
    uint64_t hash = 0;
    int32_t at = 0;  // the column at *values*
    for (const Clustering& part : plan_.clustering) {
        for (; at < part.column && end - values >= 4; ++at) values += 4 + std::max(0, load_i32(values));
        if (end - values < 4) break;
        const auto length = static_cast<size_t>(std::max(0, load_i32(values)));
        const Target& target = plan_.columns[static_cast<size_t>(part.column)].target;
        const uint64_t found = part.by_bytes ? static_cast<uint64_t>(murmur3_token(values + 4, length)) : key_hash(target, values + 4, length);
        hash = hash * 0x9E3779B97F4A7C15u + found;
        values += 4 + length;
        ++at;
    }
    return hash;
}

}  // namespace fastcql::ingest
