// Groups of rows, and their measures.
#include <algorithm>
#include <cmath>
#include <limits>

#include "columns/groups.h"

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

bool Groups::make(std::vector<Key> keys, const std::vector<MeasureSpec>& wanted) {
    keys_ = std::move(keys);
    for (const Key& key : keys_) {
        if (key.form == Form::Other) return false;
    }
    for (const MeasureSpec& one : wanted) {
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

// ---- measures

namespace {

const uint8_t* validity_of(const Slice& slice, int32_t column) {
    const Column& values = slice.batch->column(column);
    return values.nulls ? values.validity.data() : nullptr;
}

// Return the bits of the selected rows that are not null, of 64 rows from row *at* of the slice on.
uint64_t chosen(const Rows& rows, const uint8_t* validity, int64_t at) {
    uint64_t word = rows.mask ? rows.mask->yes[static_cast<size_t>(at / 64)] : bits_before(rows.slice.rows, at);
    if (validity && word) word &= bits_at(validity, rows.slice.first + at, std::min<int64_t>(64, rows.slice.rows - at));
    return word;
}

// Calls some(row) for each row with a value, or many(first, end) for 64 consecutive ones; rows of the batch.
template <class Some, class Many>
void each_value(const Rows& rows, const uint8_t* validity, Some&& some, Many&& many) {
    for (int64_t at = 0; at < rows.slice.rows; at += 64) {
        uint64_t word = chosen(rows, validity, at);
        const int64_t first = rows.slice.first + at;
        if (word == ~uint64_t{0}) {
            many(first, first + 64);
            continue;
        }
        for (; word; word &= word - 1) some(first + __builtin_ctzll(word));
    }
}

// Calls use(row, group) for each row with a value; groups are indexed by the rows of the mask alone.
template <class Use>
void each_in_group(const Rows& rows, const uint8_t* validity, Use&& use) {
    const uint32_t* group = rows.groups;
    for (int64_t at = 0; at < rows.slice.rows; at += 64) {
        uint64_t word = chosen(rows, nullptr, at);
        if (!word) continue;
        const int64_t first = rows.slice.first + at;
        const uint64_t valid = validity ? bits_at(validity, first, std::min<int64_t>(64, rows.slice.rows - at)) : word;
        for (; word; word &= word - 1, ++group) {
            const int bit = __builtin_ctzll(word);
            if (valid >> bit & 1) use(first + bit, *group);
        }
    }
}

template <class T>
void save_all(const std::vector<T>& all, std::string& out) {
    static_assert(std::is_trivially_copyable_v<T>);
    out.append(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T));
}

template <class T>
bool load_all(std::vector<T>& all, const uint8_t*& p, const uint8_t* end, size_t count) {
    if (static_cast<size_t>(end - p) / sizeof(T) < count) return false;
    all.resize(count);
    if (count) std::memcpy(static_cast<void*>(all.data()), p, count * sizeof(T));
    p += count * sizeof(T);
    return true;
}

std::string bytes_of(const void* data, size_t size) { return {static_cast<const char*>(data), size}; }

class CountMeasure final : public Measure {
public:
    explicit CountMeasure(int32_t column) : column_(column) {}
    void grow(size_t groups) override { counts_.resize(groups); }
    void add(const Rows& rows) override {
        const uint8_t* validity = column_ < 0 ? nullptr : validity_of(rows.slice, column_);
        if (rows.groups) {
            each_in_group(rows, validity, [this](int64_t, uint32_t group) { ++counts_[group]; });
            return;
        }
        if (!validity) {
            counts_[0] += rows.mask ? rows.mask->selected : rows.slice.rows;
            return;
        }
        for (int64_t at = 0; at < rows.slice.rows; at += 64) counts_[0] += __builtin_popcountll(chosen(rows, validity, at));
    }
    void merge(const Measure& other, const uint32_t* groups, size_t count) override {
        const auto& theirs = static_cast<const CountMeasure&>(other).counts_;
        for (size_t i = 0; i < count; ++i) counts_[groups[i]] += theirs[i];
    }
    Result result(size_t group) const override {
        return {Result::What::Integer, 0, bytes_of(&counts_[group], sizeof(int64_t))};
    }
    void save(std::string& out) const override { save_all(counts_, out); }
    bool load(const uint8_t*& p, const uint8_t* end, size_t groups) override { return load_all(counts_, p, end, groups); }

private:
    int32_t column_;
    std::vector<int64_t> counts_;
};

// Many numbers at once: integers are summed in an int64_t if it cannot overflow, doubles in several lanes.
template <class Cells>
void add_many(IntegerSum& sum, const Cells& cells, int64_t first, int64_t end) {
    if constexpr (sizeof(cells.get(0)) == 8 && std::is_same_v<Cells, Numbers<int64_t>>) {
        for (int64_t i = first; i < end; ++i) sum.add(cells.get(i));
    } else {
        int64_t part = 0;
        for (int64_t i = first; i < end; ++i) part += cells.get(i);
        sum.add(part);
    }
}

template <class Cells>
void add_many(FloatSum* lanes, const Cells& cells, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; i += 4) {
        for (int lane = 0; lane < 4; ++lane) lanes[lane].add(cells.get(i + lane));
    }
}

template <class V>
class SumMeasure final : public Measure {
public:
    using Sum = typename SumOf<V>::type;
    SumMeasure(int32_t column, Form form) : column_(column), form_(form) {}
    void grow(size_t groups) override { sums_.resize(groups); }
    void add(const Rows& rows) override {
        const uint8_t* validity = validity_of(rows.slice, column_);
        with_cells(*rows.slice.batch, column_, form_, [&](const auto& cells) {
            if constexpr (std::is_same_v<decltype(cells.get(0)), V>) {
                if (rows.groups) {
                    each_in_group(rows, validity, [&](int64_t row, uint32_t group) { sums_[group].add(cells.get(row)); });
                } else {
                    add_all(rows, validity, cells);
                }
            }
        });
    }
    void merge(const Measure& other, const uint32_t* groups, size_t count) override {
        const auto& theirs = static_cast<const SumMeasure&>(other).sums_;
        for (size_t i = 0; i < count; ++i) sums_[groups[i]].add(theirs[i]);
    }
    Result result(size_t group) const override {
        if constexpr (std::is_same_v<V, double>) {
            return {Result::What::Float, sums_[group].result(), {}};
        } else {
            return {Result::What::Integer, 0, bytes_of(&sums_[group], sizeof(Sum))};
        }
    }
    void save(std::string& out) const override { save_all(sums_, out); }
    bool load(const uint8_t*& p, const uint8_t* end, size_t groups) override { return load_all(sums_, p, end, groups); }

private:
    template <class Cells>
    void add_all(const Rows& rows, const uint8_t* validity, const Cells& cells) {
        Sum& sum = sums_[0];
        const auto one = [&](int64_t row) { sum.add(cells.get(row)); };
        if constexpr (std::is_same_v<V, int64_t>) {
            each_value(rows, validity, one, [&](int64_t first, int64_t end) { add_many(sum, cells, first, end); });
        } else if constexpr (std::is_same_v<V, double>) {
            FloatSum lanes[4];
            each_value(rows, validity, one, [&](int64_t first, int64_t end) { add_many(lanes, cells, first, end); });
            for (const FloatSum& lane : lanes) sum.add(lane);
        } else {
            each_value(rows, validity, one, [&](int64_t first, int64_t end) {
                for (int64_t row = first; row < end; ++row) one(row);
            });
        }
    }

    int32_t column_;
    Form form_;
    std::vector<Sum> sums_;
};

template <class V>
struct StoredAs {
    using type = V;
};
template <>
struct StoredAs<std::string_view> {
    using type = std::string;  // the batch is freed
};

// The first or last value in the order of comes_before().
template <class V, bool Greatest>
class ExtremeMeasure final : public Measure {
public:
    using Value = typename StoredAs<V>::type;
    ExtremeMeasure(int32_t column, Form form) : column_(column), form_(form) {}
    void grow(size_t groups) override {
        found_.resize(groups);
        has_value_.resize(groups);
    }
    void add(const Rows& rows) override {
        const uint8_t* validity = validity_of(rows.slice, column_);
        with_cells(*rows.slice.batch, column_, form_, [&](const auto& cells) {
            if constexpr (std::is_same_v<decltype(cells.get(0)), V>) {
                if (rows.groups) {
                    each_in_group(rows, validity, [&](int64_t row, uint32_t group) { take(group, cells.get(row)); });
                } else {
                    add_all(rows, validity, cells);
                }
            }
        });
    }
    void merge(const Measure& other, const uint32_t* groups, size_t count) override {
        const auto& theirs = static_cast<const ExtremeMeasure&>(other);
        for (size_t i = 0; i < count; ++i) {
            if (theirs.has_value_[i]) take(groups[i], V(theirs.found_[i]));
        }
    }
    Result result(size_t group) const override {
        if (!has_value_[group]) return {};
        const Value& value = found_[group];
        if constexpr (std::is_same_v<V, int64_t>) {
            return {Result::What::Integer, 0, bytes_of(&value, sizeof value)};
        } else if constexpr (std::is_same_v<V, double>) {
            return {Result::What::Float, value, {}};
        } else if constexpr (std::is_same_v<V, Wide>) {
            return {Result::What::Integer, 0, bytes_of(&value, sizeof value)};
        } else if constexpr (std::is_same_v<V, Id>) {
            uint8_t bytes[16];
            store_id(value, form_ == Form::TimeUuid, bytes);
            return {Result::What::Text, 0, bytes_of(bytes, sizeof bytes)};
        } else {
            return {Result::What::Text, 0, value};
        }
    }
    void save(std::string& out) const override {
        save_all(has_value_, out);
        if constexpr (std::is_same_v<Value, std::string>) {
            for (const std::string& text : found_) {
                const auto size = static_cast<uint32_t>(text.size());
                out.append(reinterpret_cast<const char*>(&size), sizeof size);
                out.append(text);
            }
        } else {
            save_all(found_, out);
        }
    }
    bool load(const uint8_t*& p, const uint8_t* end, size_t groups) override {
        if (!load_all(has_value_, p, end, groups)) return false;
        if constexpr (std::is_same_v<Value, std::string>) {
            if (static_cast<size_t>(end - p) / 4 < groups) return false;
            found_.resize(groups);
            for (std::string& text : found_) {
                uint32_t size;
                if (end - p < 4) return false;
                std::memcpy(&size, p, 4);
                p += 4;
                if (static_cast<size_t>(end - p) < size) return false;
                text.assign(reinterpret_cast<const char*>(p), size);
                p += size;
            }
            return true;
        } else {
            return load_all(found_, p, end, groups);
        }
    }

private:
    static bool is_better(const V& value, const V& than) {
        return Greatest ? comes_before(than, value) : comes_before(value, than);
    }
    void take(size_t group, const V& value) {
        if (has_value_[group] && !is_better(value, V(found_[group]))) return;
        found_[group] = Value(value);
        has_value_[group] = 1;
    }
    // Compares values in place, and stores the best one at the end.
    template <class Cells>
    void add_all(const Rows& rows, const uint8_t* validity, const Cells& cells) {
        bool any = has_value_[0];
        V best = any ? V(found_[0]) : V{};
        const auto one = [&](int64_t row) {
            const V value = cells.get(row);
            if (!any || is_better(value, best)) best = value;
            any = true;
        };
        each_value(rows, validity, one, [&](int64_t first, int64_t end) {
            if constexpr (std::is_same_v<V, int64_t>) {
                int64_t found = cells.get(first);
                for (int64_t row = first; row < end; ++row) {
                    const int64_t value = cells.get(row);
                    found = Greatest ? std::max(found, value) : std::min(found, value);
                }
                if (!any || is_better(found, best)) best = found;
                any = true;
            } else {
                for (int64_t row = first; row < end; ++row) one(row);
            }
        });
        if (!any) return;
        Value kept(best);  // best may be a view of found_[0]
        found_[0] = std::move(kept);
        has_value_[0] = 1;
    }

    int32_t column_;
    Form form_;
    std::vector<Value> found_;
    std::vector<uint8_t> has_value_;
};

template <class V>
std::unique_ptr<Measure> measure_of(Aggregate aggregate, int32_t column, Form form) {
    if (aggregate == Aggregate::Min) return std::make_unique<ExtremeMeasure<V, false>>(column, form);
    if (aggregate == Aggregate::Max) return std::make_unique<ExtremeMeasure<V, true>>(column, form);
    if constexpr (std::is_same_v<V, int64_t> || std::is_same_v<V, double> || std::is_same_v<V, Wide>) {
        return std::make_unique<SumMeasure<V>>(column, form);
    }
    return nullptr;
}

}  // namespace

std::unique_ptr<Measure> make_measure(Aggregate aggregate, int32_t column, Form form) {
    if (aggregate == Aggregate::Count) return std::make_unique<CountMeasure>(column);
    switch (form) {
        case Form::Bits:
        case Form::Int8:
        case Form::Int16:
        case Form::Int32:
        case Form::Int64: return measure_of<int64_t>(aggregate, column, form);
        case Form::Float:
        case Form::Double: return measure_of<double>(aggregate, column, form);
        case Form::Bytes:
        case Form::Words:
        case Form::Views: return measure_of<std::string_view>(aggregate, column, form);
        case Form::Uuid:
        case Form::TimeUuid: return measure_of<Id>(aggregate, column, form);
        case Form::Wide16:
        case Form::Wide32: return measure_of<Wide>(aggregate, column, form);
        case Form::Other: break;
    }
    return nullptr;
}

}  // namespace fastcql::columns
