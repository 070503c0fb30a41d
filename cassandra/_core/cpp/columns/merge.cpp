#include "columns/merge.h"

#include <algorithm>
#include <new>
#include <utility>

namespace fastcql::columns {

namespace {

constexpr int64_t kStreak = 8;                // consecutive rows of a source after which its whole streak is searched
constexpr size_t kMostRuns = size_t{1} << 16;  // in one piece
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
        Rank risen = rank(place);
        for (size_t node = (size_ + place) / 2; node; node /= 2) {
            const Rank there = nodes_[node];
            const bool loses = less(there, risen);
            nodes_[node] = loses ? risen : there;
            risen = loses ? there : risen;
        }
        winner_ = risen;
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
        auto lot = std::make_unique<Lot>(source, batch, first, count);
        Keys& keys = lot->keys;
        keys.fill(batch, order_, first, count);
        int64_t wrong = keys.first_unordered();
        if (fed.last.count() && Keys::compare(fed.last, 0, keys, 0) > 0) wrong = 0;
        if (wrong >= 0) {
            failure.row = first + wrong;
            return failure.value("the row is out of order");
        }
        Keys last = keys.last();
        if (free_.empty()) {
            free_.reserve(lots_.size() + 1);  // freeing the index must not fail
            lots_.emplace_back();
            free_.push_back(static_cast<int32_t>(lots_.size() - 1));
        }
        const int32_t place = free_.back();
        free_.pop_back();
        lots_[static_cast<size_t>(place)] = std::move(lot);
        fed.lot = place;
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
        size_t horizon_source = 0;
        const Keys* horizon = nullptr;
        for (size_t i = 0; i < sources_.size(); ++i) {
            const Source& source = sources_[i];
            if (!source.open) continue;
            if (source.lot < 0) return pending_;
            const Keys& keys = lots_[static_cast<size_t>(source.lot)]->keys;
            if (!horizon || Keys::compare(keys, keys.count() - 1, *horizon, horizon->count() - 1) < 0) {
                horizon = &keys;
                horizon_source = i;
            }
        }
        runners_.clear();
        for (size_t i = 0; i < sources_.size(); ++i) enter(i, horizon != nullptr, horizon_source, horizon);
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
void Merge::enter(size_t index, bool bounded, size_t horizon_source, const Keys* horizon) {
    const Source& source = sources_[index];
    if (source.lot < 0) return;
    const Lot& lot = *lots_[static_cast<size_t>(source.lot)];
    const Keys& keys = lot.keys;
    int64_t limit = keys.count();
    if (bounded && index != horizon_source) {
        const int64_t last = horizon->count() - 1;
        int64_t low = source.at;
        while (low < limit) {  // rows equal to the horizon are final if their source is before its
            const int64_t middle = low + (limit - low) / 2;
            const int found = Keys::compare(keys, middle, *horizon, last);
            if (found < 0 || (found == 0 && index < horizon_source)) {
                low = middle + 1;
            } else {
                limit = middle;
            }
        }
    }
    if (source.at < limit) {
        runners_.push_back({keys.heads(), &keys, source.at, limit, source.lot, static_cast<int32_t>(lot.first), index});
    }
}

template <bool kRest>
void Merge::pass(int64_t most) {
    Tree<kRest> tree(runners_);
    size_t before = runners_.size();
    int64_t in_a_row = 0;
    while (most > 0 && !tree.over()) {
        const size_t place = tree.winner();
        Runner& runner = runners_[place];
        int64_t count = 1;
        in_a_row = place == before ? in_a_row + 1 : 0;
        if (in_a_row >= kStreak) {
            count = std::min(most, tree.streak());
            in_a_row = 0;
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
    if (runs_.size() > taken_ && runs_.back().from == runner.lot) {  // its rows are consecutive
        runs_.back().count += rows;
    } else {
        runs_.push_back({runner.lot, static_cast<int32_t>(runner.offset + runner.at), rows});
    }
    pending_ += count;
}

// Store the positions of the runners.
void Merge::leave() {
    for (const Runner& runner : runners_) {
        Source& source = sources_[runner.source];
        source.at = runner.at;
        Lot& lot = *lots_[static_cast<size_t>(source.lot)];
        if (source.at < lot.keys.count()) continue;
        lot.keys = Keys();
        source.lot = -1;
    }
    runners_.clear();
}

bool Merge::take(Piece& piece, Failure& failure) noexcept {
    piece = {};
    origins_.clear();
    if (!pending_) return true;
    try {  // no failure after the first change
        origins_.reserve(std::min(kMostRuns, runs_.size() - taken_));
    } catch (const std::bad_alloc&) {
        return failure.memory();
    }
    const Run& front = runs_[taken_];
    if (front.count >= slice_rows_) {
        Batch* batch = lots_[static_cast<size_t>(front.from)]->batch;
        batch->retain();
        piece = {batch, front.first, front.count};
        let_go(1);
        return true;
    }
    size_t runs = 0;
    while (taken_ + runs < runs_.size() && runs < kMostRuns && runs_[taken_ + runs].count < slice_rows_) ++runs;
    Batch* batch = gathered(&runs, failure);
    if (!batch) return false;
    piece = {batch, 0, batch->rows()};
    let_go(runs);
    return true;
}

// Return the next runs as one batch; fewer than requested if they do not fit.
Batch* Merge::gathered(size_t* runs, Failure& failure) {
    try {
        std::vector<const Batch*> batches(lots_.size());
        std::vector<int32_t> places(lots_.size(), -1);
        std::vector<Run> wanted(runs_.begin() + static_cast<ptrdiff_t>(taken_),
                                runs_.begin() + static_cast<ptrdiff_t>(taken_ + *runs));
        size_t count = 0;
        for (Run& run : wanted) {  // unused batches are not read
            int32_t& place = places[static_cast<size_t>(run.from)];
            if (place < 0) {
                place = static_cast<int32_t>(count);
                batches[count++] = lots_[static_cast<size_t>(run.from)]->batch;
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
        std::unique_ptr<Lot>& lot = lots_[static_cast<size_t>(run->from)];
        origins_.push_back({lot->source, 0, run->count});
        pending_ -= run->count;
        lot->untaken -= run->count;
        if (lot->untaken) continue;
        lot.reset();
        free_.push_back(run->from);
    }
    taken_ += count;
    if (taken_ == runs_.size()) {
        runs_.clear();
        taken_ = 0;
    }
}

}  // namespace fastcql::columns
