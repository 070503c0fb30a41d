#include "columns/measure.h"

#include <algorithm>

#include "columns/sums.h"

namespace fastcql::columns {

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

class Counted final : public Measure {
public:
    explicit Counted(int32_t column) : column_(column) {}
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
        const auto& theirs = static_cast<const Counted&>(other).counts_;
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
class Summed final : public Measure {
public:
    using Sum = typename SumOf<V>::type;
    Summed(int32_t column, Form form) : column_(column), form_(form) {}
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
        const auto& theirs = static_cast<const Summed&>(other).sums_;
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
struct Kept {
    using type = V;
};
template <>
struct Kept<std::string_view> {
    using type = std::string;  // the batch is freed
};

// The first or last value in the order of comes_before().
template <class V, bool Greatest>
class Extreme final : public Measure {
public:
    using Value = typename Kept<V>::type;
    Extreme(int32_t column, Form form) : column_(column), form_(form) {}
    void grow(size_t groups) override {
        found_.resize(groups);
        there_.resize(groups);
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
        const auto& theirs = static_cast<const Extreme&>(other);
        for (size_t i = 0; i < count; ++i) {
            if (theirs.there_[i]) take(groups[i], V(theirs.found_[i]));
        }
    }
    Result result(size_t group) const override {
        if (!there_[group]) return {};
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
        save_all(there_, out);
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
        if (!load_all(there_, p, end, groups)) return false;
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
        if (there_[group] && !is_better(value, V(found_[group]))) return;
        found_[group] = Value(value);
        there_[group] = 1;
    }
    // Compares values in place, and stores the best one at the end.
    template <class Cells>
    void add_all(const Rows& rows, const uint8_t* validity, const Cells& cells) {
        bool any = there_[0];
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
        there_[0] = 1;
    }

    int32_t column_;
    Form form_;
    std::vector<Value> found_;
    std::vector<uint8_t> there_;
};

template <class V>
std::unique_ptr<Measure> measure_of(Aggregate aggregate, int32_t column, Form form) {
    if (aggregate == Aggregate::Min) return std::make_unique<Extreme<V, false>>(column, form);
    if (aggregate == Aggregate::Max) return std::make_unique<Extreme<V, true>>(column, form);
    if constexpr (std::is_same_v<V, int64_t> || std::is_same_v<V, double> || std::is_same_v<V, Wide>) {
        return std::make_unique<Summed<V>>(column, form);
    }
    return nullptr;
}

}  // namespace

std::unique_ptr<Measure> make_measure(Aggregate aggregate, int32_t column, Form form) {
    if (aggregate == Aggregate::Count) return std::make_unique<Counted>(column);
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
