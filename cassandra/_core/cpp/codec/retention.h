// Keeps memory of freed rows in the process for a while: the next page needs as much again, and to fault pages in again
// costs more than decoding the rows in them.
//
// Values of up to 512 bytes are in arenas of Python's allocator, larger ones in memory of malloc. Both give memory back
// at once when a page of rows is freed. This module keeps freed arenas in a stack, and raises glibc's thresholds, by as
// much as the pages of the last seconds took: between kLeast and kMost bytes.
//
// A thread that exists only meanwhile adjusts that every quarter of the period (kPeriod seconds, or
// FASTCQL_KEEP_FREED). When less than kIdle bytes were decoded in a whole period it gives all memory back, sets the
// thresholds to the maximum of glibc's own, and ends. glibc trims the top of an arena of a thread only when a large
// chunk of it is freed, so each thread that decodes has one such chunk (an anchor) in its arena, which is freed then.
//
// Threads: note() is called with the GIL, the arena functions by Python's allocator; the rest is guarded by one mutex,
// under which no Python code is called. It is held over a fork; the child has no thread, and starts one when it
// decodes.
//
// malloc stays unchanged where it is not glibc's, where the environment sets its thresholds, and with
// FASTCQL_KEEP_FREED=0.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fastcql::retention {

constexpr size_t kNoted = 4096;  // bytes; smaller pages are not counted
constexpr size_t kBegin = 256 << 10, kIdle = 128 << 10;  // bytes of a period
constexpr size_t kLeast = size_t{64} << 20, kMost = size_t{512} << 20;
constexpr double kPeriod = 20;  // seconds

using Allocate = void* (*)(void*, size_t);
using Free = void (*)(void*, void*, size_t);

// Python's arena allocator. Ours calls it when no freed arena is kept.
struct Arenas {
    void* context;
    Allocate allocate;
    Free free;
};

extern std::atomic<uint64_t> decoded;  // bytes in this tick; while no memory is kept, since the period began
extern std::atomic<uint64_t> mark;     // value of decoded above which begin() has work to do
extern std::atomic<uint32_t> epoch;    // of anchors; 0 while no memory is kept
extern __thread uint32_t anchored;      // the epoch in which this thread made its anchor

// True the first time that memory is kept: the caller then passes Python's arenas to wrap().
bool begin(size_t bytes) noexcept;
Arenas wrap(const Arenas& python) noexcept;

// Count *bytes* of memory taken by decoded rows.
inline bool note(size_t bytes) noexcept {
    if (bytes < kNoted) return false;
    const uint64_t sum = decoded.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const uint32_t now = epoch.load(std::memory_order_relaxed);
    return (sum > mark.load(std::memory_order_relaxed) || (now && now != anchored)) && begin(bytes);
}

}  // namespace fastcql::retention
