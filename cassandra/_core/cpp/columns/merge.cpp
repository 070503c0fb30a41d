// Rows of several batches: copied into a new one, merged into one order, the first ones by a column.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "columns/merge.h"
#include "columns/column.h"

namespace fastcql::columns {

namespace {

constexpr int64_t kMaxRows = INT32_MAX;
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
        if (rows > kMaxRows) return too_large();
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
            if (end > kMaxRows) return too_large();
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
        if (rows * n > kMaxRows) return too_large();
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
                if (end + bytes > static_cast<size_t>(kMaxRows)) return too_large();
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

// ---- merging sources

namespace {

constexpr int64_t kStreak = 8;                // consecutive rows of a source after which its whole streak is searched
constexpr size_t kMaxRuns = size_t{1} << 16;  // in one piece
using Rank = unsigned __int128;               // of a row: its head, and the index of its source; the smallest one wins
constexpr Rank kNone = ~Rank{0};

Rank rank_of(uint64_t head, size_t place) { return static_cast<Rank>(head) << 64 | place; }

// Returns the first row from *from* to *to* for which *is_behind* is true (monotonic); galloping, so near ones are
// cheap.
template <typename Behind>
int64_t first_behind(int64_t from, int64_t to, Behind is_behind) {
    int64_t step = 1, low = from;
    while (low + step < to && !is_behind(low + step)) {
        low += step;
        step *= 2;
    }
    int64_t high = std::min(to, low + step);
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (is_behind(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

}  // namespace

// A tournament tree: the loser of each match stays at its node, so that the next winner meets only those on its way up.
template <bool kRest>
class Merge::Tree {
public:
    explicit Tree(std::vector<Runner>& runners) : runners_(runners) {
        while (size_ < runners.size()) size_ *= 2;
        nodes_.assign(size_, kNone);
        winner_ = size_ == 1 ? rank(0) : play(1);
    }
    bool over() const { return winner_ == kNone; }
    size_t winner() const { return static_cast<size_t>(winner_); }

    // Replaces the winner by its next row.
    void replay() {
        const size_t place = winner();
        Rank challenger = rank(place);
        for (size_t node = (size_ + place) / 2; node; node /= 2) {
            const Rank there = nodes_[node];
            const bool loses = less(there, challenger);
            nodes_[node] = loses ? challenger : there;
            challenger = loses ? there : challenger;
        }
        winner_ = challenger;
    }
    // Number of consecutive rows of the winner that come before those of all others, from the current one on.
    int64_t streak() const {
        const size_t place = winner();
        Rank second = kNone;
        for (size_t node = (size_ + place) / 2; node; node /= 2) {
            if (less(nodes_[node], second)) second = nodes_[node];
        }
        const Runner& runner = runners_[place];
        if (second == kNone) return runner.limit - runner.at;
        const int64_t end = first_behind(runner.at, runner.limit, [&](int64_t row) {
            return !less(rank_of(runner.heads[row], place), second, row);
        });
        return end - runner.at;
    }

private:
    Rank rank(size_t place) const {
        if (place >= runners_.size()) return kNone;
        const Runner& runner = runners_[place];
        return runner.at < runner.limit ? rank_of(runner.heads[runner.at], place) : kNone;
    }
    Rank play(size_t node) {
        if (node >= size_) return rank(node - size_);
        Rank left = play(node * 2), right = play(node * 2 + 1);
        if (less(right, left)) std::swap(left, right);
        nodes_[node] = right;
        return left;
    }
    // *row* is the row of rank *a*, if that is not the current one.
    bool less(Rank a, Rank b, int64_t row = -1) const {
        if constexpr (kRest) {
            if (static_cast<uint64_t>(a >> 64) == static_cast<uint64_t>(b >> 64) && a != kNone && b != kNone) {
                const Runner& left = runners_[static_cast<size_t>(a)];
                const Runner& right = runners_[static_cast<size_t>(b)];
                const int found = Keys::compare_rest(*left.keys, row < 0 ? left.at : row, *right.keys, right.at);
                if (found) return found < 0;
            }
        }
        return a < b;
    }

    std::vector<Runner>& runners_;
    size_t size_ = 1;
    std::vector<Rank> nodes_;
    Rank winner_ = kNone;
};

Merge::Merge(const Plan& plan, memory::BlockPool& pool, std::vector<OrderColumn> order, int32_t sources, int64_t slice_rows)
    : plan_(plan), pool_(pool), order_(std::move(order)), slice_rows_(slice_rows), sources_(static_cast<size_t>(sources)) {}

Merge::~Merge() = default;

bool Merge::feed(int32_t source, Batch& batch, int64_t first, int64_t count, Failure& failure) noexcept {
    if (count <= 0) return true;
    Source& fed = sources_[static_cast<size_t>(source)];
    try {
        auto fed_rows = std::make_unique<FedRows>(source, batch, first, count);
        Keys& keys = fed_rows->keys;
        keys.fill(batch, order_, first, count);
        int64_t wrong = keys.first_unordered();
        if (fed.last.count() && Keys::compare(fed.last, 0, keys, 0) > 0) wrong = 0;
        if (wrong >= 0) {
            failure.row = first + wrong;
            return failure.value("the row is out of order");
        }
        Keys last = keys.last();
        if (free_.empty()) {
            free_.reserve(fed_rows_.size() + 1);  // freeing the index must not fail
            fed_rows_.emplace_back();
            free_.push_back(static_cast<int32_t>(fed_rows_.size() - 1));
        }
        const int32_t place = free_.back();
        free_.pop_back();
        fed_rows_[static_cast<size_t>(place)] = std::move(fed_rows);
        fed.slot = place;
        fed.at = 0;
        fed.last = std::move(last);
        return true;
    } catch (const std::bad_alloc&) {
        return failure.memory();
    }
}

int64_t Merge::known(int32_t source, const Batch& batch, int64_t first, int64_t count) const noexcept {
    const Keys& last = sources_[static_cast<size_t>(source)].last;
    if (!last.count()) return 0;
    try {
        Keys keys;
        keys.fill(batch, order_, first, count);
        int64_t row = 0;
        while (row < count && Keys::compare(keys, row, last, 0) <= 0) ++row;
        return row;
    } catch (const std::bad_alloc&) {
        return -1;
    }
}

int64_t Merge::advance(int64_t most) noexcept {
    if (pending_ >= most) return pending_;
    try {
        size_t watermark_source = 0;
        const Keys* watermark = nullptr;
        for (size_t i = 0; i < sources_.size(); ++i) {
            const Source& source = sources_[i];
            if (!source.open) continue;
            if (source.slot < 0) return pending_;
            const Keys& keys = fed_rows_[static_cast<size_t>(source.slot)]->keys;
            if (!watermark || Keys::compare(keys, keys.count() - 1, *watermark, watermark->count() - 1) < 0) {
                watermark = &keys;
                watermark_source = i;
            }
        }
        runners_.clear();
        for (size_t i = 0; i < sources_.size(); ++i) enter(i, watermark != nullptr, watermark_source, watermark);
        if (runners_.empty()) return pending_;
        if (runners_[0].keys->has_rest()) {
            pass<true>(most - pending_);
        } else {
            pass<false>(most - pending_);
        }
        leave();
        return pending_;
    } catch (const std::bad_alloc&) {
        leave();
        return -1;
    }
}

// Enter a source with all its final rows.
void Merge::enter(size_t index, bool bounded, size_t watermark_source, const Keys* watermark) {
    const Source& source = sources_[index];
    if (source.slot < 0) return;
    const FedRows& fed = *fed_rows_[static_cast<size_t>(source.slot)];
    const Keys& keys = fed.keys;
    int64_t limit = keys.count();
    if (bounded && index != watermark_source) {
        const int64_t last = watermark->count() - 1;
        int64_t low = source.at;
        while (low < limit) {  // rows equal to the watermark are final if their source is before its
            const int64_t middle = low + (limit - low) / 2;
            const int found = Keys::compare(keys, middle, *watermark, last);
            if (found < 0 || (found == 0 && index < watermark_source)) {
                low = middle + 1;
            } else {
                limit = middle;
            }
        }
    }
    if (source.at < limit) {
        runners_.push_back({keys.heads(), &keys, source.at, limit, source.slot, static_cast<int32_t>(fed.first), index});
    }
}

template <bool kRest>
void Merge::pass(int64_t most) {
    Tree<kRest> tree(runners_);
    size_t before = runners_.size();
    int64_t streak_length = 0;
    while (most > 0 && !tree.over()) {
        const size_t place = tree.winner();
        Runner& runner = runners_[place];
        int64_t count = 1;
        streak_length = place == before ? streak_length + 1 : 0;
        if (streak_length >= kStreak) {
            count = std::min(most, tree.streak());
            streak_length = 0;
        }
        add_run(runner, count);
        before = place;
        runner.at += count;
        most -= count;
        tree.replay();
    }
}

inline void Merge::add_run(const Runner& runner, int64_t count) {
    const auto rows = static_cast<int32_t>(count);
    if (runs_.size() > taken_ && runs_.back().from == runner.slot) {  // its rows are consecutive
        runs_.back().count += rows;
    } else {
        runs_.push_back({runner.slot, static_cast<int32_t>(runner.offset + runner.at), rows});
    }
    pending_ += count;
}

// Store the positions of the runners.
void Merge::leave() {
    for (const Runner& runner : runners_) {
        Source& source = sources_[runner.source];
        source.at = runner.at;
        FedRows& fed = *fed_rows_[static_cast<size_t>(source.slot)];
        if (source.at < fed.keys.count()) continue;
        fed.keys = Keys();
        source.slot = -1;
    }
    runners_.clear();
}

bool Merge::take(MergedRows& piece, Failure& failure) noexcept {
    piece = {};
    origins_.clear();
    if (!pending_) return true;
    try {  // no failure after the first change
        origins_.reserve(std::min(kMaxRuns, runs_.size() - taken_));
    } catch (const std::bad_alloc&) {
        return failure.memory();
    }
    const Run& front = runs_[taken_];
    if (front.count >= slice_rows_) {
        Batch* batch = fed_rows_[static_cast<size_t>(front.from)]->batch;
        batch->retain();
        piece = {batch, front.first, front.count};
        let_go(1);
        return true;
    }
    size_t runs = 0;
    while (taken_ + runs < runs_.size() && runs < kMaxRuns && runs_[taken_ + runs].count < slice_rows_) ++runs;
    Batch* batch = gathered(&runs, failure);
    if (!batch) return false;
    piece = {batch, 0, batch->rows()};
    let_go(runs);
    return true;
}

// Return the next runs as one batch; fewer than requested if they do not fit.
Batch* Merge::gathered(size_t* runs, Failure& failure) {
    try {
        std::vector<const Batch*> batches(fed_rows_.size());
        std::vector<int32_t> places(fed_rows_.size(), -1);
        std::vector<Run> wanted(runs_.begin() + static_cast<ptrdiff_t>(taken_),
                                runs_.begin() + static_cast<ptrdiff_t>(taken_ + *runs));
        size_t count = 0;
        for (Run& run : wanted) {  // unused batches are not read
            int32_t& place = places[static_cast<size_t>(run.from)];
            if (place < 0) {
                place = static_cast<int32_t>(count);
                batches[count++] = fed_rows_[static_cast<size_t>(run.from)]->batch;
            }
            run.from = place;
        }
        for (;;) {
            failure.kind = Failure::Kind::None;
            Batch* batch = gather(plan_, pool_, batches.data(), count, wanted.data(), *runs, failure);
            if (batch || failure.kind != Failure::Kind::Value || *runs == 1) return batch;
            *runs /= 2;
        }
    } catch (const std::bad_alloc&) {
        failure.memory();
        return nullptr;
    }
}

// Remove *count* taken runs. Batches of which all rows were taken are released.
void Merge::let_go(size_t count) {
    for (const Run* run = runs_.data() + taken_; run != runs_.data() + taken_ + count; ++run) {
        std::unique_ptr<FedRows>& fed = fed_rows_[static_cast<size_t>(run->from)];
        origins_.push_back({fed->source, 0, run->count});
        pending_ -= run->count;
        fed->rows_left -= run->count;
        if (fed->rows_left) continue;
        fed.reset();
        free_.push_back(run->from);
    }
    taken_ += count;
    if (taken_ == runs_.size()) {
        runs_.clear();
        taken_ = 0;
    }
}

// ---- the first rows by a column

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
