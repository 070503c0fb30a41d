#include "columns/gather.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "columns/words.h"

namespace fastcql::columns {

namespace {

constexpr int64_t kMost = INT32_MAX;
constexpr int32_t kInView = 12;  // bytes of text that are stored in its view

int64_t rows_of(const std::vector<Run>& runs) {
    int64_t rows = 0;
    for (const Run& run : runs) rows += run.count;
    return rows;
}

// Copies the values of all runs type by type, level by level.
class Gatherer {
public:
    Gatherer(Batch& out, const Batch* const* batches, size_t count, Failure& failure)
        : out_(out), batches_(batches), failure_(failure), columns_(count), texts_(count) {}

    bool columns(const std::vector<Run>& runs, int64_t rows) {
        for (int32_t i = 0; i < out_.plan().columns; ++i) {
            if (!column(i, runs, rows)) return false;
        }
        if (page_.size() && !out_.keep_copy(page_)) return failure_.memory();
        return true;
    }

private:
    bool column(int32_t index, const std::vector<Run>& runs, int64_t rows) {
        Column& out = out_.column(index);
        const Type& type = *out.type;
        if (rows > kMost) return too_large();
        for (size_t i = 0; i < columns_.size(); ++i) columns_[i] = &batches_[i]->column(index);
        out.length = rows;
        if (!rows) return true;
        if (!validity(out, runs, rows)) return false;
        switch (type.kind) {
            case Kind::Boolean: return booleans(out, runs, rows);
            case Kind::View: return views(out, runs, rows);
            case Kind::Dictionary: return words(out, runs, rows);
            case Kind::Struct: return children(type, runs, rows);
            case Kind::Vector: return elements(type, runs, rows);
            case Kind::List:
            case Kind::Map: return items(out, runs, rows);
            default: break;
        }
        if (type.is_variable()) return texts(out, runs, rows);
        switch (type.width()) {
            case 1: return numbers<1>(out, runs, rows);
            case 2: return numbers<2>(out, runs, rows);
            case 4: return numbers<4>(out, runs, rows);
            case 8: return numbers<8>(out, runs, rows);
            case 16: return numbers<16>(out, runs, rows);
            default: return numbers<32>(out, runs, rows);
        }
    }

    bool validity(Column& out, const std::vector<Run>& runs, int64_t rows) {
        const bool whole = std::none_of(columns_.begin(), columns_.end(), [](const Column* column) { return column->nulls; });
        if (whole) return true;
        const auto bytes = static_cast<size_t>((rows + 7) / 8);
        if (!out.validity.ensure(bytes, out_.memory())) return failure_.memory();
        uint8_t* bits = out.validity.data();
        std::memset(bits, 0, bytes);
        int64_t at = 0;
        for (const Run& run : runs) {
            const Column& column = *columns_[static_cast<size_t>(run.from)];
            if (column.nulls) {
                copy_bits(bits, at, column.validity.data(), run.first, run.count);
            } else {
                set_bits(bits, at, run.count);
            }
            at += run.count;
        }
        out.nulls = rows - count_bits(bits, 0, rows);
        return true;
    }

    template <size_t kWidth>
    bool numbers(Column& out, const std::vector<Run>& runs, int64_t rows) {
        if (!out.values.ensure(times(static_cast<size_t>(rows), kWidth), out_.memory())) return failure_.memory();
        uint8_t* p = out.values.data();
        for (const Run& run : runs) {
            const uint8_t* from = columns_[static_cast<size_t>(run.from)]->values.data() + static_cast<size_t>(run.first) * kWidth;
            if (run.count == 1) {
                std::memcpy(p, from, kWidth);
                p += kWidth;
            } else {
                std::memcpy(p, from, static_cast<size_t>(run.count) * kWidth);
                p += static_cast<size_t>(run.count) * kWidth;
            }
        }
        return true;
    }

    bool booleans(Column& out, const std::vector<Run>& runs, int64_t rows) {
        const auto bytes = static_cast<size_t>((rows + 7) / 8);
        if (!out.values.ensure(bytes, out_.memory())) return failure_.memory();
        std::memset(out.values.data(), 0, bytes);
        int64_t at = 0;
        for (const Run& run : runs) {
            copy_bits(out.values.data(), at, columns_[static_cast<size_t>(run.from)]->values.data(), run.first, run.count);
            at += run.count;
        }
        return true;
    }

    // Writes the ends of variable-length values, shifted per run; *total* is their number of bytes or items.
    bool offsets(Column& out, const std::vector<Run>& runs, int64_t rows, int64_t* total) {
        if (!out.values.ensure(times(static_cast<size_t>(rows) + 1, 4), out_.memory())) return failure_.memory();
        int32_t* ends = offsets_of(out);
        *ends = 0;
        int64_t end = 0;
        for (const Run& run : runs) {
            const int32_t* from = offsets_of(*columns_[static_cast<size_t>(run.from)]) + run.first;
            const int64_t shift = end - *from;
            end = shift + from[run.count];
            if (end > kMost) return too_large();
            for (int32_t i = 1; i <= run.count; ++i) *++ends = static_cast<int32_t>(from[i] + shift);
        }
        *total = end;
        return true;
    }

    bool texts(Column& out, const std::vector<Run>& runs, int64_t rows) {
        int64_t total = 0;
        if (!offsets(out, runs, rows, &total)) return false;
        if (!total) return true;
        if (!out.data.ensure(static_cast<size_t>(total), out_.memory())) return failure_.memory();
        uint8_t* p = out.data.data();
        const uint8_t* limit = p + out.data.capacity();
        for (const Run& run : runs) {
            const Column& column = *columns_[static_cast<size_t>(run.from)];
            const int32_t* from = offsets_of(column) + run.first;
            const auto size = static_cast<size_t>(from[run.count] - *from);
            const auto readable = static_cast<ptrdiff_t>(column.data.size()) - *from;
            copy_short(p, column.data.data() + *from, size, readable, static_cast<size_t>(limit - p));
            p += size;
        }
        out.data.set_size(static_cast<size_t>(total));
        return true;
    }

    bool items(Column& out, const std::vector<Run>& runs, int64_t rows) {
        int64_t total = 0;
        if (!offsets(out, runs, rows, &total)) return false;
        std::vector<Run> below;
        below.reserve(runs.size());
        for (const Run& run : runs) {
            const int32_t* from = offsets_of(*columns_[static_cast<size_t>(run.from)]) + run.first;
            if (from[run.count] > *from) below.push_back({run.from, *from, from[run.count] - *from});
        }
        return children(*out.type, below, total);
    }

    bool elements(const Type& type, const std::vector<Run>& runs, int64_t rows) {
        const int32_t n = type.dimensions;
        if (rows * n > kMost) return too_large();
        std::vector<Run> below(runs);
        for (Run& run : below) run = {run.from, run.first * n, run.count * n};
        return children(type, below, rows * n);
    }

    bool children(const Type& type, const std::vector<Run>& runs, int64_t rows) {
        for (int32_t i = 0; i < type.children; ++i) {
            if (!column(type.first_child + i, runs, rows)) return false;
        }
        return true;
    }

    // Texts too long for a view are collected in one new page, so that the pages of the sources can be freed.
    bool views(Column& out, const std::vector<Run>& runs, int64_t rows) {
        if (!numbers<16>(out, runs, rows)) return false;
        uint8_t* view = out.values.data();
        for (const Run& run : runs) {
            const Batch& batch = *batches_[run.from];
            for (int32_t i = 0; i < run.count; ++i, view += 16) {
                int32_t size, page, at;
                std::memcpy(&size, view, 4);
                if (size <= kInView) continue;
                std::memcpy(&page, view + 8, 4);
                std::memcpy(&at, view + 12, 4);
                const auto bytes = static_cast<size_t>(size);
                const size_t end = page_.size();
                if (end + bytes > static_cast<size_t>(kMost)) return too_large();
                if (!page_.ensure(end + bytes, out_.memory())) return failure_.memory();
                std::memcpy(page_.data() + end, batch.page(page).data + at, bytes);
                page_.add(bytes);
                const auto place = static_cast<int32_t>(end);
                std::memset(view + 8, 0, 4);
                std::memcpy(view + 12, &place, 4);
            }
        }
        return true;
    }

    // Each word is looked up once per source.
    bool words(Column& out, const std::vector<Run>& runs, int64_t rows) {
        if (!numbers<4>(out, runs, rows)) return false;
        out.words = new (std::nothrow) Words;
        if (!out.words) return failure_.memory();
        for (size_t i = 0; i < columns_.size(); ++i) {
            texts_[i].assign(columns_[i]->words ? static_cast<size_t>(columns_[i]->words->count) : 0, -1);
        }
        auto* index = reinterpret_cast<int32_t*>(out.values.data());
        int64_t row = 0;
        for (const Run& run : runs) {
            const Column& column = *columns_[static_cast<size_t>(run.from)];
            std::vector<int32_t>& known = texts_[static_cast<size_t>(run.from)];
            for (int32_t i = 0; i < run.count; ++i, ++index, ++row) {
                if (out.nulls && !(out.validity.data()[row / 8] >> row % 8 & 1)) continue;  // the index of null is zero
                int32_t& found = known[static_cast<size_t>(*index)];
                if (found < 0) {
                    const auto* ends = reinterpret_cast<const int32_t*>(column.words->offsets.data()) + *index;
                    const uint8_t* text = column.words->data.data() + ends[0];
                    found = out.words->index(text, static_cast<size_t>(ends[1] - ends[0]), out_.memory());
                    if (found < 0) return failure_.memory();
                }
                *index = found;
            }
        }
        return true;
    }

    bool too_large() { return failure_.value("the values of these rows exceed the size of one batch"); }

    Batch& out_;
    const Batch* const* batches_;
    Failure& failure_;
    std::vector<const Column*> columns_;       // of the current type, by source
    std::vector<std::vector<int32_t>> texts_;  // by source: new index of each word
    Buffer page_;                              // of views
};

}  // namespace

Batch* gather(const Plan& plan, memory::BlockPool& pool, const Batch* const* batches, size_t batch_count, const Run* runs,
              size_t run_count, Failure& failure) noexcept {
    Batch* out = Batch::make(plan, pool);
    if (!out) {
        failure.memory();
        return nullptr;
    }
    bool done = false;
    try {
        std::vector<Run> all;
        all.reserve(run_count);
        for (const Run* run = runs; run != runs + run_count; ++run) {
            if (run->count) all.push_back(*run);  // a batch without rows has no buffers
        }
        const int64_t rows = rows_of(all);
        out->set_rows(rows);
        done = Gatherer(*out, batches, batch_count, failure).columns(all, rows) && out->finish(failure);
    } catch (const std::bad_alloc&) {
        failure.memory();
    }
    if (done) return out;
    out->release();
    return nullptr;
}

void set_bits(uint8_t* out, int64_t to, int64_t n) {
    const int64_t end = to + n;
    for (; to < end && to % 8; ++to) out[to / 8] |= static_cast<uint8_t>(1 << to % 8);
    if (end - to >= 8) std::memset(out + to / 8, 0xff, static_cast<size_t>((end - to) / 8));
    for (to = std::max(to, end - end % 8); to < end; ++to) out[to / 8] |= static_cast<uint8_t>(1 << to % 8);
}

void copy_bits(uint8_t* out, int64_t to, const uint8_t* in, int64_t from, int64_t n) {
    const auto one = [&] {
        out[to / 8] |= static_cast<uint8_t>((in[from / 8] >> from % 8 & 1) << to % 8);
        ++to, ++from, --n;
    };
    while (n > 0 && to % 8) one();
    const auto shift = static_cast<int>(from % 8);
    for (; n >= 8; n -= 8, to += 8, from += 8) {
        const uint8_t* p = in + from / 8;
        out[to / 8] = static_cast<uint8_t>(shift ? p[0] >> shift | p[1] << (8 - shift) : p[0]);
    }
    while (n > 0) one();
}

int64_t count_bits(const uint8_t* bits, int64_t from, int64_t n) {
    int64_t count = 0;
    const int64_t end = from + n;
    for (; from < end && from % 8; ++from) count += bits[from / 8] >> from % 8 & 1;
    for (; end - from >= 64; from += 64) {
        uint64_t word;
        std::memcpy(&word, bits + from / 8, 8);
        count += __builtin_popcountll(word);
    }
    for (; from < end; ++from) count += bits[from / 8] >> from % 8 & 1;
    return count;
}

}  // namespace fastcql::columns
