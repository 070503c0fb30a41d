// Tablets of one table: sorted chunks, and snapshots of them. All immutable.
//
// A chunk is a run of tablets: parallel arrays in one block of memory.
//
// A tablet covers (first, last]. A tablet whose first token is not below its last one wraps around the end of the ring;
// a table has at most one of them, and it is the first by last token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace fastcql {

// A replica: index of the host in the upper, shard in the lower half.
using Replica = uint32_t;
inline Replica make_replica(uint16_t host, uint16_t shard) noexcept { return (Replica{host} << 16) | shard; }
inline uint16_t replica_host(Replica replica) noexcept { return static_cast<uint16_t>(replica >> 16); }
inline uint16_t replica_shard(Replica replica) noexcept { return static_cast<uint16_t>(replica); }

constexpr size_t kMaxReplicas = 255;
constexpr size_t kFewReplicas = 6;  // the maximum of nearly all tablets: copying this many is always safe, used or not

enum TabletFlags : uint8_t {
    kHasVersion = 1,
    kNoReplicas = 2,  // the Python object has None, not an empty tuple
    kUnsigned = 4,    // the version was given, and is returned, as an unsigned 64-bit number
};

// One tablet; the replicas are owned elsewhere.
struct TabletRow {
    int64_t first;
    int64_t last;
    int64_t version;
    const Replica* replicas;
    uint8_t count;
    uint8_t flags;

    bool wraps() const { return first >= last; }
};

// First position in the sorted *values* that is not below *key*.
inline size_t lower_bound(const int64_t* values, size_t size, int64_t key) {
    if (size == 0) return 0;
    const int64_t* base = values;
    while (size > 1) {
        const size_t half = size / 2;
        base += half & -static_cast<size_t>(base[half - 1] < key);  // branchless: half would be mispredicted
        size -= half;
    }
    return static_cast<size_t>(base - values) + (*base < key);
}

class Chunk {
public:
    static constexpr size_t kMax = 256;  // tablets; copies per added tablet against the size of the directory

    size_t size() const { return size_; }
    const int64_t* lasts() const { return reinterpret_cast<const int64_t*>(this + 1); }
    const int64_t* firsts() const { return lasts() + size_; }
    const int64_t* versions() const { return firsts() + size_; }  // only if versioned()
    const Replica* replicas() const {
        return reinterpret_cast<const Replica*>(lasts() + size_t{size_} * (versioned_ ? 3 : 2));
    }
    const uint8_t* counts() const { return reinterpret_cast<const uint8_t*>(replicas() + size_t{size_} * stride_); }
    const uint8_t* flags() const { return counts() + size_; }
    bool versioned() const { return versioned_; }
    size_t stride() const { return stride_; }

    TabletRow row(size_t i) const {
        return {firsts()[i],  lasts()[i], versioned_ ? versions()[i] : 0, replicas() + i * stride_,
                counts()[i], flags()[i]};
    }
    bool has_host(size_t i, uint16_t host) const;
    size_t bytes() const { return bytes(size_, stride_, versioned_); }

    struct Free {
        void operator()(const Chunk* chunk) const;
    };

private:
    friend class ChunkWriter;
    Chunk(size_t size, size_t stride, bool versioned)
        : size_(static_cast<uint32_t>(size)), stride_(static_cast<uint16_t>(stride)), versioned_(versioned) {}
    static size_t bytes(size_t size, size_t stride, bool versioned) {
        const size_t padding_bytes = kFewReplicas * sizeof(Replica);
        const size_t tablet = 8 * (versioned ? 3 : 2) + times(sizeof(Replica), stride) + 2;
        return plus(sizeof(Chunk) + padding_bytes, times(size, tablet));
    }

    uint32_t size_;
    uint16_t stride_;  // replicas of each tablet, unused ones included
    bool versioned_;
};
static_assert(sizeof(Chunk) == 8, "the arrays after it are aligned");

using OwnedChunk = std::unique_ptr<const Chunk, Chunk::Free>;

// A source of a chunk: tablets of an older chunk, or a single new one.
struct Piece {
    const Chunk* chunk;  // null: *row
    const TabletRow* row;
    size_t begin;
    size_t end;

    static Piece of(const Chunk* chunk, size_t begin, size_t end) { return {chunk, nullptr, begin, end}; }
    static Piece of(const Chunk* chunk) { return {chunk, nullptr, 0, chunk->size()}; }
    static Piece of(const TabletRow& row) { return {nullptr, &row, 0, 1}; }
    size_t size() const { return end - begin; }
};

// Return a chunk of *count* pieces in their order. Throws bad_alloc.
OwnedChunk make_chunk(const Piece* pieces, size_t count);

// ---- snapshot: all tablets of one table at one moment: chunks, and a directory of their last tokens
//
// A change makes a new snapshot that shares the untouched chunks with the old one, so that a failed change has changed
// nothing. The publisher owns the old directory and the chunks that the new one replaces.

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
