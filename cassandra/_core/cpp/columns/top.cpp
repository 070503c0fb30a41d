#include "columns/top.h"

#include <algorithm>

namespace fastcql::columns {

namespace {

template <class V>
struct Entry {
    V value;
    Pick pick;
    bool there;
};

template <class V>
class Best {
public:
    Best(size_t count, bool descending) : count_(count), descending_(descending) {}

    void offer(const V& value, bool there, Pick pick) {
        const Entry<V> entry{value, pick, there};
        if (heap_.size() < count_) {
            heap_.push_back(entry);
            std::push_heap(heap_.begin(), heap_.end(), order());
        } else if (count_ && comes_first(entry, heap_.front())) {
            std::pop_heap(heap_.begin(), heap_.end(), order());
            heap_.back() = entry;
            std::push_heap(heap_.begin(), heap_.end(), order());
        }
    }
    std::vector<Pick> picks() {
        std::sort(heap_.begin(), heap_.end(), order());
        std::vector<Pick> found;
        found.reserve(heap_.size());
        for (const Entry<V>& entry : heap_) found.push_back(entry.pick);
        return found;
    }

private:
    bool comes_first(const Entry<V>& a, const Entry<V>& b) const {
        if (a.there != b.there) return a.there;
        if (a.there) {
            if (comes_before(a.value, b.value)) return !descending_;
            if (comes_before(b.value, a.value)) return descending_;
        }
        return a.pick.source != b.pick.source ? a.pick.source < b.pick.source : a.pick.row < b.pick.row;
    }
    auto order() const {
        return [this](const Entry<V>& a, const Entry<V>& b) { return comes_first(a, b); };
    }

    size_t count_;
    bool descending_;
    std::vector<Entry<V>> heap_;  // a heap: the last in the order is in front
};

template <class V>
std::vector<Pick> best_of(const std::vector<Candidates>& sources, int32_t column, Form form, size_t count, bool descending) {
    Best<V> best(count, descending);
    for (size_t i = 0; i < sources.size(); ++i) {
        const Slice& slice = sources[i].slice;
        const Column& values = slice.batch->column(column);
        const uint8_t* validity = values.nulls ? values.validity.data() : nullptr;
        with_cells(*slice.batch, column, form, [&](const auto& cells) {
            if constexpr (std::is_same_v<decltype(cells.get(0)), V>) {
                const auto rows = [&](int64_t first, int64_t n) {
                    for (int64_t row = slice.first + first; row < slice.first + first + n; ++row) {
                        const bool there = !validity || (validity[row / 8] >> row % 8 & 1);
                        best.offer(there ? cells.get(row) : V{}, there, {static_cast<int32_t>(i), row});
                    }
                };
                if (sources[i].mask) {
                    sources[i].mask->each_run(rows);
                } else {
                    rows(0, slice.rows);
                }
            }
        });
    }
    return best.picks();
}

}  // namespace

std::vector<Pick> first_rows(const std::vector<Candidates>& sources, int32_t column, Form form, size_t count, bool descending) {
    switch (form) {
        case Form::Bits:
        case Form::Int8:
        case Form::Int16:
        case Form::Int32:
        case Form::Int64: return best_of<int64_t>(sources, column, form, count, descending);
        case Form::Float:
        case Form::Double: return best_of<double>(sources, column, form, count, descending);
        case Form::Bytes:
        case Form::Words:
        case Form::Views: return best_of<std::string_view>(sources, column, form, count, descending);
        case Form::Uuid:
        case Form::TimeUuid: return best_of<Id>(sources, column, form, count, descending);
        case Form::Wide16:
        case Form::Wide32: return best_of<Wide>(sources, column, form, count, descending);
        case Form::Other: break;
    }
    return {};
}

}  // namespace fastcql::columns
