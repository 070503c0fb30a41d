// All tablets of one table at one moment: chunks, and a directory of their last tokens. Immutable.
//
// A change makes a new snapshot that shares the untouched chunks with the old one, so that a failed change has changed
// nothing. The publisher owns the old directory and the chunks that the new one replaces.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "routing/tablets_chunk.h"

namespace fastcql {

// A tablet copied out of a snapshot.
struct FoundTablet {
    int64_t first;
    int64_t last;
    int64_t version;
    uint8_t count;
    uint8_t flags;
    Replica replicas[kMaxReplicas];

    void copy(const TabletRow& row) noexcept {
        first = row.first;
        last = row.last;
        version = row.version;
        count = row.count;
        flags = row.flags;
        if (row.count) std::memcpy(replicas, row.replicas, row.count * sizeof(Replica));  // may be null without any
    }
    // Tablet *i* of *chunk*. A copy of fixed size is faster than one of the exact size.
    void copy(const Chunk& chunk, size_t i) noexcept {
        first = chunk.firsts()[i];
        last = chunk.lasts()[i];
        version = chunk.versioned() ? chunk.versions()[i] : 0;
        count = chunk.counts()[i];
        flags = chunk.flags()[i];
        const Replica* from = chunk.replicas() + i * chunk.stride();
        std::memcpy(replicas, from, kFewReplicas * sizeof(Replica));
        if (count > kFewReplicas) std::memcpy(replicas, from, count * sizeof(Replica));
    }
};

class Snapshot {
public:
    size_t tablets() const { return tablets_; }
    size_t chunks() const { return chunks_; }
    const int64_t* lasts() const { return reinterpret_cast<const int64_t*>(this + 1); }  // of each chunk
    const Chunk* const* all() const { return reinterpret_cast<const Chunk* const*>(lasts() + chunks_); }
    const Chunk* chunk(size_t i) const { return all()[i]; }
    // True if the first tablet wraps around.
    bool wraps() const { return chunk(0)->row(0).wraps(); }
    size_t bytes() const;

    bool find(int64_t token, FoundTablet& found) const {
        size_t at = lower_bound(lasts(), chunks_, token), i = 0;
        if (at < chunks_) {
            i = lower_bound(chunk(at)->lasts(), chunk(at)->size(), token);
        } else {  // behind the last tablet: only a wrapping one can cover the token
            at = 0;
            if (!wraps()) return false;
        }
        const int64_t first = chunk(at)->firsts()[i], last = chunk(at)->lasts()[i];
        if (first >= token && (first < last || token > last)) return false;
        found.copy(*chunk(at), i);
        return true;
    }

private:
    friend struct Change;
    Snapshot() = default;

    size_t tablets_ = 0;
    size_t chunks_ = 0;
};

// A snapshot that is not published yet. Until then it owns its parts that are not shared with *before*.
struct Change {
    const Snapshot* next = nullptr;   // null: no tablets remain
    std::vector<OwnedChunk> fresh;    // chunks of next that are not in the old snapshot
    std::vector<const Chunk*> gone;   // chunks of the old snapshot that are not in next

    Change() = default;
    Change(Change&& other) noexcept
        : next(std::exchange(other.next, nullptr)), fresh(std::move(other.fresh)), gone(std::move(other.gone)) {}
    Change& operator=(Change&& other) noexcept;
    ~Change();

    // *row* in place of every tablet of *before* (may be null) that it overlaps.
    static Change add(const Snapshot* before, const TabletRow& row);
    // *before* without the tablets on *host*; its gone is empty if there are none.
    static Change without_host(const Snapshot& before, uint16_t host);
    // *rows* in the given order, a later one in place of the earlier ones that it overlaps.
    static Change all_of(const std::vector<TabletRow>& rows);

    // Called when next is published: it owns its chunks now. Returns next.
    const Snapshot* commit();

private:
    using Pieces = std::vector<Piece>;
    void put_chunks(const Pieces& pieces);
    void link(const Snapshot* before, size_t begin, size_t end);
    static Change rebuild(const Snapshot* before, const Pieces& pieces);
};

void free_snapshot(const Snapshot* snapshot);             // the directory alone
void free_snapshot_with_chunks(const Snapshot* snapshot);  // null is allowed

}  // namespace fastcql
