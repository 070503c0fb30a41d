// Stamps of the writes to one table, by which cached pages of it become invalid.
//
// Time is a counter per table. A read notes it before its request is sent; the end of a write increments it, before the
// program learns of the end, and stamps the partition with the new time. A page is valid while no stamp that concerns it
// is later than its read. So:
//
// * A read that was sent before a write ended has an earlier time than the stamp of the write. Its page is invalid from
//   then on, whether it was stored before (the stamp is compared at each hit) or is stored later (and before storing).
//   It does not matter when the server executed the read.
// * A read that was sent after the program has learned of the write has the time of the stamp, or a later one, and its
//   page is valid. The write had ended at the server by then.
// * Nothing has to be noted when a write begins. While it is in flight, its program does not know its outcome, and both
//   the page of before and that of after it are correct.
//
// Stamps only grow, also if writes end at the same time on several threads. All accesses are sequentially consistent:
// a thread that knows of the end of a write finds its stamp.
//
// Partitions are stamped by their token, in a table of fixed size: a write to one of two partitions with the same place
// invalidates the pages of both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fastcql::cache {

class TableWrites {
public:
    static constexpr size_t kPlaces = size_t{1} << 14;

    // For a read that is about to be sent.
    uint64_t now() const noexcept { return clock_.load(); }

    // A write to the partition of *token* has ended.
    void note(int64_t token) noexcept {
        const uint64_t time = tick();
        advance(places_[place_of(token)], time);
        advance(any_, time);
    }
    // A write whose partitions are not known has ended.
    void note_all() noexcept {
        const uint64_t time = tick();
        advance(all_, time);
        advance(any_, time);
    }
    uint64_t tick() noexcept { return clock_.fetch_add(1) + 1; }

    // True if a page that was read at *time* is valid: of one partition, if *routed*, or of any.
    bool is_valid(uint64_t time, bool routed, int64_t token) const noexcept {
        if (!routed) return any_.load() <= time;
        return places_[place_of(token)].load() <= time && all_.load() <= time;
    }

private:
    static size_t place_of(int64_t token) noexcept {
        return static_cast<size_t>((static_cast<uint64_t>(token) * 0x9E3779B97F4A7C15u) >> 50);
    }
    static void advance(std::atomic<uint64_t>& stamp, uint64_t time) noexcept {
        uint64_t before = stamp.load();
        while (before < time && !stamp.compare_exchange_weak(before, time)) {
        }
    }

    std::atomic<uint64_t> clock_{1};
    std::atomic<uint64_t> any_{0};
    std::atomic<uint64_t> all_{0};
    std::atomic<uint64_t> places_[kPlaces] = {};
};
static_assert(TableWrites::kPlaces == size_t{1} << (64 - 50), "place_of() returns a place");

}  // namespace fastcql::cache
