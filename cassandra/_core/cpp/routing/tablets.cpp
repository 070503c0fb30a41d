// Tablets of one table: chunks, and changes of snapshots.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <new>

#include "routing/tablets.h"
#include "base/bytes.h"

namespace fastcql {

bool Chunk::has_host(size_t i, uint16_t host) const {
    const Replica* replica = replicas() + i * stride_;
    for (const Replica* end = replica + counts()[i]; replica != end; ++replica)
        if (replica_host(*replica) == host) return true;
    return false;
}

void Chunk::Free::operator()(const Chunk* chunk) const { std::free(const_cast<Chunk*>(chunk)); }

// Fills a new chunk from front to back.
class ChunkWriter {
public:
    ChunkWriter(size_t size, size_t stride, bool versioned) {
        void* memory = std::malloc(Chunk::bytes(size, stride, versioned));
        if (!memory) throw std::bad_alloc();
        chunk_ = new (memory) Chunk(size, stride, versioned);
    }

    void put(const Chunk& from, size_t begin, size_t end) {
        const size_t count = end - begin;
        copy(lasts(), from.lasts() + begin, count);
        copy(firsts(), from.firsts() + begin, count);
        if (chunk_->versioned()) {
            if (from.versioned())
                copy(versions(), from.versions() + begin, count);
            else
                std::memset(versions() + at_, 0, count * sizeof(int64_t));
        }
        copy(counts(), from.counts() + begin, count);
        copy(flags(), from.flags() + begin, count);
        if (from.stride() == chunk_->stride()) {
            std::memcpy(replicas(), from.replicas() + begin * from.stride(), count * from.stride() * sizeof(Replica));
            at_ += count;
        } else {
            for (size_t i = begin; i < end; ++i, ++at_) put_replicas(from.replicas() + i * from.stride(), from.counts()[i]);
        }
    }

    void put(const TabletRow& row) {
        lasts()[at_] = row.last;
        firsts()[at_] = row.first;
        if (chunk_->versioned()) versions()[at_] = row.version;
        counts()[at_] = row.count;
        flags()[at_] = row.flags;
        put_replicas(row.replicas, row.count);
        ++at_;
    }

    OwnedChunk done() { return OwnedChunk(chunk_); }

private:
    template <class T>
    void copy(T* to, const T* from, size_t count) {
        std::memcpy(to + at_, from, count * sizeof(T));
    }
    void put_replicas(const Replica* from, size_t count) {
        Replica* to = replicas();
        if (count) std::memcpy(to, from, count * sizeof(Replica));
        std::fill(to + count, to + chunk_->stride(), Replica{0});
    }
    int64_t* lasts() { return const_cast<int64_t*>(chunk_->lasts()); }
    int64_t* firsts() { return const_cast<int64_t*>(chunk_->firsts()); }
    int64_t* versions() { return const_cast<int64_t*>(chunk_->versions()); }
    Replica* replicas() { return const_cast<Replica*>(chunk_->replicas()) + at_ * chunk_->stride(); }
    uint8_t* counts() { return const_cast<uint8_t*>(chunk_->counts()); }
    uint8_t* flags() { return const_cast<uint8_t*>(chunk_->flags()); }

    Chunk* chunk_;
    size_t at_ = 0;
};

OwnedChunk make_chunk(const Piece* pieces, size_t count) {
    size_t size = 0;
    uint8_t stride = 0, flags = 0;
    for (const Piece* piece = pieces; piece != pieces + count; ++piece) {
        size += piece->size();
        if (piece->row) {
            stride = std::max(stride, piece->row->count);
            flags |= piece->row->flags;
            continue;
        }
        const uint8_t *counts = piece->chunk->counts(), *marks = piece->chunk->flags();
        for (size_t i = piece->begin; i < piece->end; ++i) {
            stride = std::max(stride, counts[i]);
            flags |= marks[i];
        }
    }
    ChunkWriter writer(size, stride, flags & kHasVersion);
    for (const Piece* piece = pieces; piece != pieces + count; ++piece) {
        if (piece->row)
            writer.put(*piece->row);
        else
            writer.put(*piece->chunk, piece->begin, piece->end);
    }
    return writer.done();
}

// ---- changes of a snapshot

namespace {

bool overlap(const TabletRow& a, const TabletRow& b) {
    if (a.wraps()) return b.wraps() || b.last > a.first || b.first < a.last;
    if (b.wraps()) return a.last > b.first || a.first < b.last;
    return a.first < b.last && b.first < a.last;
}

// True if no two of *rows*, sorted by last token, overlap.
bool disjoint(const std::vector<TabletRow>& rows) {
    for (size_t i = 1; i < rows.size(); ++i)
        if (rows[i].wraps() || rows[i].first < rows[i - 1].last) return false;
    return rows.empty() || !rows[0].wraps() || rows.size() == 1 || rows.back().last <= rows[0].first;
}

// The set of tokens covered by the added tablets.
class CoveredRanges {
public:
    // Cover the tokens of *row*; true if none of them was covered before.
    bool put(const TabletRow& row) {
        if (!row.wraps()) return put(row.first + 1, row.last);
        const bool low = put(INT64_MIN, row.last);
        return (row.first == INT64_MAX || put(row.first + 1, INT64_MAX)) && low;
    }

private:
    // From one token to another, both included.
    bool put(int64_t begin, int64_t end) {
        auto next = ranges_.upper_bound(begin);
        if (next != ranges_.begin() && std::prev(next)->second >= begin) --next;
        const auto first = next;
        for (; next != ranges_.end() && next->first <= end; ++next) {
            begin = std::min(begin, next->first);
            end = std::max(end, next->second);
        }
        const bool is_uncovered = first == next;
        ranges_.erase(first, next);
        ranges_.emplace(begin, end);
        return is_uncovered;
    }

    std::map<int64_t, int64_t> ranges_;  // disjoint: each is merged into another one at most once
};

// First position in the sorted *values* that is above *key*.
size_t upper_bound(const int64_t* values, size_t size, int64_t key) {
    return static_cast<size_t>(std::upper_bound(values, values + size, key) - values);
}

}  // namespace

size_t Snapshot::bytes() const {
    size_t bytes = sizeof(Snapshot) + chunks_ * (sizeof(int64_t) + sizeof(Chunk*));
    for (size_t i = 0; i < chunks_; ++i) bytes += chunk(i)->bytes();
    return bytes;
}

void free_snapshot(const Snapshot* snapshot) { std::free(const_cast<Snapshot*>(snapshot)); }

void free_snapshot_with_chunks(const Snapshot* snapshot) {
    if (!snapshot) return;
    for (size_t i = 0; i < snapshot->chunks(); ++i) Chunk::Free()(snapshot->chunk(i));
    free_snapshot(snapshot);
}

Change::~Change() {
    if (next) free_snapshot(next);
}

Change& Change::operator=(Change&& other) noexcept {
    std::swap(next, other.next);
    fresh.swap(other.fresh);
    gone.swap(other.gone);
    return *this;
}

const Snapshot* Change::commit() {
    for (OwnedChunk& chunk : fresh) chunk.release();
    fresh.clear();
    return std::exchange(next, nullptr);
}

// Build fresh from *pieces*: one chunk if they fit, else evenly filled ones with room to grow.
void Change::put_chunks(const Pieces& pieces) {
    size_t total = 0;
    for (const Piece& piece : pieces) total += piece.size();
    if (total == 0) return;
    const size_t target_size = Chunk::kMax * 3 / 4;
    const size_t count = total <= Chunk::kMax ? 1 : (total + target_size - 1) / target_size;
    fresh.reserve(count);
    Pieces some;
    size_t at = 0, taken = 0;  // of pieces, and of pieces[at]
    for (size_t i = 0; i < count; ++i) {
        some.clear();
        for (size_t wanted = total * (i + 1) / count - total * i / count; wanted > 0;) {
            const Piece& piece = pieces[at];
            const size_t part = std::min(wanted, piece.size() - taken);
            some.push_back(piece);
            if (piece.chunk) {
                some.back().begin = piece.begin + taken;
                some.back().end = some.back().begin + part;
            }
            wanted -= part;
            taken += part;
            if (taken == piece.size()) {
                ++at;
                taken = 0;
            }
        }
        fresh.push_back(make_chunk(some.data(), some.size()));
    }
}

// Build next: *before* with fresh in place of its chunks [begin, end).
void Change::link(const Snapshot* before, size_t begin, size_t end) {
    const size_t old = before ? before->chunks() : 0;
    const size_t count = old - (end - begin) + fresh.size();
    for (size_t i = begin; i < end; ++i) gone.push_back(before->chunk(i));
    if (count == 0) return;
    void* memory = std::malloc(plus(sizeof(Snapshot), times(count, sizeof(int64_t) + sizeof(Chunk*))));
    if (!memory) throw std::bad_alloc();
    Snapshot* made = new (memory) Snapshot;
    made->chunks_ = count;
    made->tablets_ = before ? before->tablets() : 0;
    int64_t* lasts = const_cast<int64_t*>(made->lasts());
    const Chunk** chunks = const_cast<const Chunk**>(made->all());
    if (before) {
        std::copy_n(before->lasts(), begin, lasts);
        std::copy_n(before->all(), begin, chunks);
        std::copy_n(before->lasts() + end, old - end, lasts + begin + fresh.size());
        std::copy_n(before->all() + end, old - end, chunks + begin + fresh.size());
    }
    for (size_t i = begin; i < end; ++i) made->tablets_ -= before->chunk(i)->size();
    for (size_t i = 0; i < fresh.size(); ++i) {
        const Chunk* chunk = fresh[i].get();
        lasts[begin + i] = chunk->lasts()[chunk->size() - 1];
        chunks[begin + i] = chunk;
        made->tablets_ += chunk->size();
    }
    next = made;
}

// Replace all of *before* by *pieces*.
Change Change::rebuild(const Snapshot* before, const Pieces& pieces) {
    Change change;
    change.put_chunks(pieces);
    change.link(before, 0, before ? before->chunks() : 0);
    return change;
}

Change Change::add(const Snapshot* before, const TabletRow& row) {
    if (!before) return rebuild(nullptr, {Piece::of(row)});
    if (row.wraps() || (before->wraps() && overlap(row, before->chunk(0)->row(0)))) {
        Pieces pieces;
        bool put = false;
        for (size_t i = 0; i < before->chunks(); ++i) {
            for (size_t j = 0; j < before->chunk(i)->size(); ++j) {
                const TabletRow other = before->chunk(i)->row(j);
                if (overlap(row, other)) continue;
                if (!put && other.last > row.last) {
                    pieces.push_back(Piece::of(row));
                    put = true;
                }
                pieces.push_back(Piece::of(before->chunk(i), j, j + 1));
            }
        }
        if (!put) pieces.push_back(Piece::of(row));
        return rebuild(before, pieces);
    }

    // The overlapped tablets are one run: from the first tablet that ends behind its first token to the last one that
    // begins before its last token.
    const size_t count = before->chunks();
    size_t begin = std::min(upper_bound(before->lasts(), count, row.first), count - 1);
    size_t end = std::min(lower_bound(before->lasts(), count, row.last), count - 1) + 1;
    const Chunk *left = before->chunk(begin), *right = before->chunk(end - 1);
    const size_t keep = upper_bound(left->lasts(), left->size(), row.first);
    size_t resume = lower_bound(right->lasts(), right->size(), row.last);
    if (resume < right->size() && right->firsts()[resume] < row.last) ++resume;

    Piece pieces[5];
    size_t used = 0, total = keep + 1 + right->size() - resume;
    const auto fits = [&](size_t other) {  // a small chunk is merged with a neighbour
        return total < Chunk::kMax / 4 && total + before->chunk(other)->size() <= Chunk::kMax / 2;
    };
    if (begin > 0 && fits(begin - 1)) {
        pieces[used++] = Piece::of(before->chunk(--begin));
        total += pieces[0].size();
    }
    pieces[used++] = Piece::of(left, 0, keep);
    pieces[used++] = Piece::of(row);
    pieces[used++] = Piece::of(right, resume, right->size());
    if (end < count && fits(end)) pieces[used++] = Piece::of(before->chunk(end++));

    Change change;
    if (total <= Chunk::kMax)
        change.fresh.push_back(make_chunk(pieces, used));
    else
        change.put_chunks(Pieces(pieces, pieces + used));
    change.link(before, begin, end);
    return change;
}

Change Change::without_host(const Snapshot& before, uint16_t host) {
    Pieces pieces;  // of the remaining tablets
    bool found = false;
    for (size_t i = 0; i < before.chunks(); ++i) {
        const Chunk* chunk = before.chunk(i);
        const size_t first = pieces.size();
        for (size_t j = 0; j < chunk->size(); ++j) {
            if (chunk->has_host(j, host)) {
                found = true;
                continue;
            }
            if (pieces.size() > first && pieces.back().end == j)
                ++pieces.back().end;
            else
                pieces.push_back(Piece::of(chunk, j, j + 1));
        }
    }
    return found ? rebuild(&before, pieces) : Change();
}

// Keep a row if no later one overlaps it, even one that is removed itself: the result equals adding one after the
// other.
Change Change::all_of(const std::vector<TabletRow>& rows) {
    std::vector<TabletRow> sorted(rows);
    const auto by_last = [](const TabletRow& a, const TabletRow& b) { return a.last < b.last; };
    std::sort(sorted.begin(), sorted.end(), by_last);
    if (!disjoint(sorted)) {
        sorted.clear();
        CoveredRanges covered;
        for (size_t i = rows.size(); i > 0; --i)
            if (covered.put(rows[i - 1])) sorted.push_back(rows[i - 1]);
        std::sort(sorted.begin(), sorted.end(), by_last);
    }
    Pieces pieces;
    pieces.reserve(sorted.size());
    for (const TabletRow& row : sorted) pieces.push_back(Piece::of(row));
    return rebuild(nullptr, pieces);
}

}  // namespace fastcql
