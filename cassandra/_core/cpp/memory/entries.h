// Small parts of a pool: its counters, its handle table, its lock, poisoned memory, size classes.
//
// The counters are of held and permitted bytes, shared by all allocators of a pool. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/bytes.h"

namespace fastcql::memory {

class Budget {
public:
    Budget(size_t max_bytes, size_t retain_bytes)
        : max_(static_cast<int64_t>(max_bytes)), retain_(static_cast<int64_t>(retain_bytes)) {}

    int64_t max_bytes() const { return max_; }
    int64_t in_use() const noexcept { return in_use_.load(std::memory_order_seq_cst); }
    int64_t held() const { return held_.load(std::memory_order_relaxed); }
    int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
    int64_t slabs() const { return slabs_.load(std::memory_order_relaxed); }

    // False if *bytes* more in use would exceed the limit.
    bool charge(size_t bytes) {
        const auto wanted = static_cast<int64_t>(bytes);
        const int64_t now = in_use_.fetch_add(wanted, std::memory_order_seq_cst) + wanted;
        if (now > max_) {
            discharge(bytes);
            return false;
        }
        note_peak(now);
        return true;
    }
    // Regardless of the limit.
    void charge_beyond(size_t bytes) {
        const auto wanted = static_cast<int64_t>(bytes);
        note_peak(in_use_.fetch_add(wanted, std::memory_order_seq_cst) + wanted);
    }
    // Sequentially consistent with the flag that marks waiting arenas.
    void discharge(size_t bytes) { in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_seq_cst); }

    // In the child of a fork, where no other thread charges.
    void set_in_use(int64_t bytes) { in_use_.store(bytes, std::memory_order_relaxed); }

    // Count memory taken from the system, or returned to it.
    void count_mapped(size_t bytes) { held_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed); }
    void count_unmapped(size_t bytes) { held_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed); }
    void count_slab(int change) { slabs_.fetch_add(change, std::memory_order_relaxed); }
    // Bytes that may still be charged; other threads may charge at the same time.
    size_t room() const {
        const int64_t left = max_ - in_use();
        return left > 0 ? static_cast<size_t>(left) : 0;
    }
    bool would_exceed(size_t bytes) const { return held() + static_cast<int64_t>(bytes) > max_; }

    // True if *bytes* of unused memory may be kept for later.
    bool keep_idle(size_t bytes) {
        const auto wanted = static_cast<int64_t>(bytes);
        if (idle_.fetch_add(wanted, std::memory_order_relaxed) + wanted <= retain_) return true;
        idle_.fetch_sub(wanted, std::memory_order_relaxed);
        return false;
    }
    void use_idle(size_t bytes) { idle_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed); }

private:
    void note_peak(int64_t now) {
        int64_t peak = peak_.load(std::memory_order_relaxed);
        while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
        }
    }

    const int64_t max_;
    const int64_t retain_;
    std::atomic<int64_t> in_use_{0};
    std::atomic<int64_t> held_{0};
    std::atomic<int64_t> idle_{0};
    std::atomic<int64_t> peak_{0};
    std::atomic<int64_t> slabs_{0};
};

// ---- the handle table
//
// A reference is (generation << 32 | index), so that a stale one is recognised and never reaches the bytes of another
// block. Look-up is O(1) for any number of entries; entries never move. Guarded by the pool's lock.

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

// ---- a lock for sections of a few dozen instructions: no system call without contention, and usable across fork

class SpinLock {
public:
    void lock() {
        while (taken_.exchange(true, std::memory_order_acquire)) wait();
    }
    void unlock() { taken_.store(false, std::memory_order_release); }

private:
    void wait() {
        for (int spins = 0; taken_.load(std::memory_order_relaxed); ++spins) {
            if (spins > 64) std::this_thread::yield();  // the holder may share our core
        }
    }

    std::atomic<bool> taken_{false};
};

}  // namespace fastcql::memory

// ---- unowned pooled memory, inaccessible for AddressSanitizer; no effect in other builds

#if defined(__SANITIZE_ADDRESS__)
#define FASTCQL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FASTCQL_ASAN 1
#endif
#endif

#ifdef FASTCQL_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace fastcql::memory {

inline void poison([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef FASTCQL_ASAN
    ASAN_POISON_MEMORY_REGION(memory, bytes);
#endif
}

inline void unpoison([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef FASTCQL_ASAN
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#endif
}

// ---- size classes
//
// Powers of two with four steps each from 64 bytes to 1 MiB, so that a block wastes at most a quarter (below 256 bytes,
// where a step would be less than the alignment, up to 63 bytes).

inline constexpr size_t kAlignment = 64;
inline constexpr size_t kMaxPooled = size_t{1} << 20;
inline constexpr uint32_t kClasses = 57;

struct SizeClass {
    uint32_t index;
    size_t capacity;
};

// Requires 1 <= size <= kMaxPooled.
inline SizeClass class_of(size_t size) {
    if (size <= kAlignment) return {0, kAlignment};
    const unsigned top = 63 - static_cast<unsigned>(__builtin_clzll(size - 1));
    const size_t step = ((size - 1) >> (top - 2)) & 3;
    return {static_cast<uint32_t>(1 + (top - 6) * 4 + step), (5 + step) << (top - 2)};
}

}  // namespace fastcql::memory
