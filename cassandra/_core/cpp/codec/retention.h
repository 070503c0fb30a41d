// Memory of rows that were freed stays with the process for a while: the next page needs as much again, and pages that
// are faulted in again cost more than decoding the rows in them.
//
// Values of up to 512 bytes are in arenas of Python's allocator, larger ones in memory of malloc. Both give memory back at
// once when a page of rows is freed. Here freed arenas are kept in a stack, and glibc's thresholds are raised, by as much
// as the pages of the last seconds took: between kLeast and kMost bytes.
//
// A thread that exists only meanwhile adjusts that every quarter of the period (kPeriod seconds, or FASTCQL_KEEP_FREED).
// When less than kIdle bytes were decoded in a whole period it gives everything back, sets the thresholds to what glibc's
// own may reach, and ends. glibc trims the top of an arena of a thread only when a large chunk of it is freed, so each
// thread that decodes has one such chunk (an anchor) in its arena, which is freed then.
//
// Threads: note() is called with the GIL, the arena functions by Python's allocator; the rest is guarded by one mutex, under
// which nothing of Python is called. It is held over a fork; the child has no thread, and begins one when it decodes.
//
// malloc is left alone where it is not glibc's, where the environment sets its thresholds, and with FASTCQL_KEEP_FREED=0.
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

// What Python allocates arenas by. Ours calls that where it keeps none.
struct Arenas {
    void* context;
    Allocate allocate;
    Free free;
};

extern std::atomic<uint64_t> decoded;  // bytes in this tick; while nothing is kept, since the period began
extern std::atomic<uint64_t> mark;     // of decoded: from there on begin() has something to do
extern std::atomic<uint32_t> epoch;    // of anchors; 0 while nothing is kept
extern __thread uint32_t anchored;      // the epoch in which this thread made its anchor

// True the first time that memory is kept: then Python's arenas are to be handed to wrap().
bool begin(size_t bytes) noexcept;
Arenas wrap(const Arenas& python) noexcept;

// Rows were made of so many bytes.
inline bool note(size_t bytes) noexcept {
    if (bytes < kNoted) return false;
    const uint64_t sum = decoded.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const uint32_t now = epoch.load(std::memory_order_relaxed);
    return (sum > mark.load(std::memory_order_relaxed) || (now && now != anchored)) && begin(bytes);
}

}  // namespace fastcql::retention
