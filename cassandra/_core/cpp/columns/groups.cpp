#include "columns/groups.h"

#include <cmath>
#include <limits>

namespace fastcql::columns {

namespace {

void put(std::string& out, const void* data, size_t size) { out.append(static_cast<const char*>(data), size); }

// Equal values have equal bytes: a mark for null or not, then the value, behind its length if it is variable.
struct KeyWriter {
    std::string& out;
    void operator()(int64_t value) { put(out, &value, sizeof value); }
    void operator()(double value) {
        if (value == 0) value = 0;  // -0.0 is 0.0
        if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
        put(out, &value, sizeof value);
    }
    void operator()(const Id& value) { put(out, &value, sizeof value); }
    void operator()(const Wide& value) { put(out, &value, sizeof value); }
    void operator()(std::string_view value) {
        const auto size = static_cast<uint32_t>(value.size());
        put(out, &size, sizeof size);
        out.append(value);
    }
};

bool is_text(Form form) { return form == Form::Bytes || form == Form::Words || form == Form::Views; }

size_t size_of(Form form) {
    if (form == Form::Uuid || form == Form::TimeUuid) return sizeof(Id);
    return form == Form::Wide16 || form == Form::Wide32 ? sizeof(Wide) : 8;
}

}  // namespace

bool Groups::make(std::vector<Key> keys, const std::vector<Wanted>& wanted) {
    keys_ = std::move(keys);
    for (const Key& key : keys_) {
        if (key.form == Form::Other) return false;
    }
    for (const Wanted& one : wanted) {
        measures_.push_back(make_measure(one.aggregate, one.column, one.form));
        if (!measures_.back()) return false;
    }
    grow();
    return true;
}

void Groups::grow() {
    for (const auto& measure : measures_) measure->grow(size());
}

void Groups::write_key(const Batch& batch, int64_t row, std::string& out) const {
    for (const Key& key : keys_) {
        const Column& column = batch.column(key.column);
        const bool there = !column.nulls || (column.validity.data()[row / 8] >> row % 8 & 1);
        out.push_back(there ? 1 : 0);
        if (there) with_cells(batch, key.column, key.form, [&](const auto& cells) { KeyWriter{out}(cells.get(row)); });
    }
}

// Find the group of each row. In a scan rows of a partition are consecutive, so that the key often equals the one
// before.
bool Groups::find(const Slice& slice, const Mask* mask) {
    groups_.clear();
    groups_.reserve(static_cast<size_t>(mask ? mask->selected : slice.rows));
    std::string key, before;
    int32_t group = -1;
    const auto rows = [&](int64_t first, int64_t count) {
        for (int64_t row = slice.first + first; row < slice.first + first + count; ++row) {
            key.clear();
            write_key(*slice.batch, row, key);
            if (group < 0 || key != before) {
                group = table_.index(reinterpret_cast<const uint8_t*>(key.data()), key.size(), memory_);
                if (group < 0) return;
                key.swap(before);
            }
            groups_.push_back(static_cast<uint32_t>(group));
        }
    };
    if (mask) {
        mask->each_run(rows);
    } else {
        rows(0, slice.rows);
    }
    return groups_.size() == static_cast<size_t>(mask ? mask->selected : slice.rows);
}

bool Groups::add(const Slice& slice, const Mask* mask) {
    if (!keys_.empty()) {
        const bool found = find(slice, mask);
        grow();
        if (!found) return false;
        if (groups_.empty()) return true;
    }
    for (const auto& measure : measures_) measure->add({slice, mask, last_groups()});
    return true;
}

bool Groups::merge(const Groups& other) {
    std::vector<uint32_t> groups(other.size());
    const auto* offsets = reinterpret_cast<const int32_t*>(other.table_.offsets.data());
    for (size_t i = 0; !keys_.empty() && i < groups.size(); ++i) {
        const auto size = static_cast<size_t>(offsets[i + 1] - offsets[i]);
        const int32_t group = table_.index(other.table_.data.data() + offsets[i], size, memory_);
        if (group < 0) {
            grow();
            return false;
        }
        groups[i] = static_cast<uint32_t>(group);
    }
    grow();
    for (size_t i = 0; i < measures_.size(); ++i) measures_[i]->merge(*other.measures_[i], groups.data(), groups.size());
    groups_ = std::move(groups);
    return true;
}

Result Groups::key(size_t group, size_t which) const {
    const uint8_t* p = table_.data.data() + reinterpret_cast<const int32_t*>(table_.offsets.data())[group];
    for (size_t i = 0;; ++i) {
        const Form form = keys_[i].form;
        const bool there = *p++;
        uint32_t size = static_cast<uint32_t>(size_of(form));
        if (there && is_text(form)) {
            std::memcpy(&size, p, sizeof size);
            p += sizeof size;
        }
        if (i < which) {
            p += there ? size : 0;
            continue;
        }
        if (!there) return {};
        if (form == Form::Float || form == Form::Double) {
            double number;
            std::memcpy(&number, p, sizeof number);
            return {Result::What::Float, number, {}};
        }
        if (form == Form::Uuid || form == Form::TimeUuid) {
            Id id;
            std::memcpy(&id, p, sizeof id);
            uint8_t bytes[16];
            store_id(id, form == Form::TimeUuid, bytes);
            return {Result::What::Text, 0, std::string(reinterpret_cast<const char*>(bytes), sizeof bytes)};
        }
        const auto what = is_text(form) ? Result::What::Text : Result::What::Integer;
        return {what, 0, std::string(reinterpret_cast<const char*>(p), size)};
    }
}

void Groups::save(std::string& out) const {
    const auto count = static_cast<uint64_t>(size());
    const auto bytes = static_cast<uint64_t>(keys_.empty() ? 0 : table_.data.size());
    put(out, &count, sizeof count);
    put(out, &bytes, sizeof bytes);
    if (!keys_.empty() && count) {
        put(out, table_.offsets.data(), (count + 1) * sizeof(int32_t));
        if (bytes) put(out, table_.data.data(), bytes);
    }
    for (const auto& measure : measures_) measure->save(out);
}

bool Groups::load(const uint8_t* p, size_t size) {
    const uint8_t* end = p + size;
    uint64_t count, bytes;
    if (size < 16) return false;
    std::memcpy(&count, p, 8);
    std::memcpy(&bytes, p + 8, 8);
    p += 16;
    if (keys_.empty() && (count != 1 || bytes)) return false;
    if (!keys_.empty() && count) {
        if (count > INT32_MAX || bytes > INT32_MAX) return false;
        const size_t head = (static_cast<size_t>(count) + 1) * sizeof(int32_t);
        if (static_cast<size_t>(end - p) < head + bytes) return false;
        const uint8_t* keys = p + head;
        for (size_t i = 0; i < count; ++i) {
            int32_t from, to;
            std::memcpy(&from, p + i * 4, 4);
            std::memcpy(&to, p + i * 4 + 4, 4);
            if (from < 0 || to < from || static_cast<uint64_t>(to) > bytes || !is_key(keys + from, keys + to)) return false;
            const int32_t index = table_.index(keys + from, static_cast<size_t>(to - from), memory_);
            if (index < 0) throw std::bad_alloc();
            if (index != static_cast<int32_t>(i)) return false;
        }
        p = keys + bytes;
    }
    grow();
    for (const auto& measure : measures_) {
        if (!measure->load(p, end, size_t{count})) return false;
    }
    return p == end;
}

// True if the bytes are values of all keys, as key() reads them.
bool Groups::is_key(const uint8_t* p, const uint8_t* end) const {
    for (const Key& key : keys_) {
        if (p == end) return false;
        if (!*p++) continue;
        uint64_t size = size_of(key.form);
        if (is_text(key.form)) {
            uint32_t length;
            if (end - p < 4) return false;
            std::memcpy(&length, p, 4);
            p += 4;
            size = length;
        }
        if (static_cast<uint64_t>(end - p) < size) return false;
        p += size;
    }
    return p == end;
}

}  // namespace fastcql::columns
