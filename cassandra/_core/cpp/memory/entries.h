// The handle table: a reference is (generation << 32 | index), so that a stale one is recognised and never reaches the
// bytes of another block. Look-up is O(1) for any number of entries; entries never move. Guarded by the pool's lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace fastcql::memory {

struct Slab;
struct Range;

enum class State : uint8_t {
    Free,
    Writing,   // its owner writes; the reference is not published yet
    Live,      // may be read
    Released,  // the reference is gone, the bytes stay until the last unpin
};

struct Entry {
    uint8_t* data;
    size_t length;
    Slab* slab;    // one of these two,
    Range* range;  // none for zero bytes
    int64_t pinned_since;  // ns, of the first of the pins
    uint32_t block;
    uint32_t index;
    uint32_t generation;
    uint32_t pins;     // views in existence
    uint32_t latches;  // explicit latches of users; removed with the reference
    State state;

    int64_t ref() const { return static_cast<int64_t>(uint64_t{generation} << 32 | index); }
    bool held() const { return pins || latches; }
};

class EntryTable {
public:
    // Null when memory is exhausted.
    Entry* take();
    void give(Entry* entry);
    // The entry of a live reference, null for any other.
    Entry* find(int64_t ref) {
        const auto index = static_cast<uint32_t>(ref);
        if (ref < 0 || index >= size_) return nullptr;
        Entry& entry = at(index);
        return entry.state == State::Live && entry.generation == static_cast<uint64_t>(ref) >> 32 ? &entry : nullptr;
    }
    Entry& at(uint32_t index) { return chunks_[index / kChunk][index % kChunk]; }
    uint32_t size() const { return size_; }

private:
    static constexpr uint32_t kChunk = 1024;
    static constexpr uint32_t kNone = UINT32_MAX;
    // An index with exhausted generations is never given again.
    static constexpr uint32_t kLastGeneration = INT32_MAX;

    std::vector<std::unique_ptr<Entry[]>> chunks_;
    uint32_t size_ = 0;
    uint32_t free_ = kNone;  // linked through `block`
};

}  // namespace fastcql::memory
