// Memory that frames are received into: refcounted blocks in size classes, one arena per reactor.
//
// Allocation belongs to the thread that holds the reactor's role and takes no lock. The last reference may be
// dropped by any thread: the block goes to the arena's lock-free return list, or straight back to malloc when
// the arena keeps enough already or is closed. An arena outlives its reactor until its last block is back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transport/counters.h"
#include "transport/refs.h"

namespace fastcql {

class Arena;

struct alignas(64) Block {
    std::atomic<uint32_t> refs;
    uint32_t size_class;
    size_t capacity;
    Arena* arena;
    Block* next;

    uint8_t* data() { return reinterpret_cast<uint8_t*>(this + 1); }
    bool shared() const { return refs.load(std::memory_order_acquire) != 1; }
    void retain() { refs.fetch_add(1, std::memory_order_relaxed); }
    void release();
};
static_assert(sizeof(Block) == 64, "the payload is aligned like the header");

using BlockRef = Ref<Block>;

class Arena {
public:
    static constexpr size_t kMaxPooled = size_t{1} << 20;

    explicit Arena(size_t retain_bytes) : retain_bytes_(retain_bytes) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // Owner thread. Null when memory is exhausted.
    BlockRef allocate(size_t size);
    // Owner thread: the reactor is done; the arena deletes itself when the last block is back.
    void close();

    int64_t live_blocks() const { return (live_.load(std::memory_order_relaxed) >> kCountShift) - 1; }
    int64_t live_bytes() const { return live_.load(std::memory_order_relaxed) & (kOne - 1); }
    int64_t retained_bytes() const {
        return retained_.load(std::memory_order_relaxed) + returned_bytes_.load(std::memory_order_relaxed);
    }

    // A block that belongs to no arena (made by the host language).
    static BlockRef allocate_free(size_t size);

private:
    friend struct Block;
    // Powers of two with four steps each, from 64 bytes to 1 MiB: at most a quarter is wasted. Larger blocks
    // are exact and not kept.
    static constexpr uint32_t kClasses = 57;
    static constexpr uint32_t kExact = kClasses;
    // Blocks (plus one for the open arena) and bytes in use, in one word: one atomic operation per block.
    static constexpr int kCountShift = 40;
    static constexpr int64_t kOne = int64_t{1} << kCountShift;

    ~Arena();
    static Block* create(Arena* arena, uint32_t size_class, size_t capacity);
    static void destroy(Block* block);
    void collect();
    void take_back(Block* block);
    void subtract(int64_t amount);

    const size_t retain_bytes_;
    Block* free_[kClasses] = {};
    std::atomic<int64_t> retained_{0};
    std::atomic<int64_t> live_{kOne};
    std::atomic<Block*> returned_{nullptr};
    std::atomic<int64_t> returned_bytes_{0};
    std::atomic<bool> closed_{false};
    Counted<&Counters::arenas> counted_;
};

}  // namespace fastcql
