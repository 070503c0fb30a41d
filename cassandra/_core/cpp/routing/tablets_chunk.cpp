#include "routing/tablets_chunk.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

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

}  // namespace fastcql
