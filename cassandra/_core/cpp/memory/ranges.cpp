#include "memory/ranges.h"

#include <algorithm>
#include <new>

#include "base/system.h"
#include "memory/entries.h"

namespace fastcql::memory {

namespace {

constexpr size_t kCommitStep = size_t{64} << 10;          // ranges are committed in these steps
constexpr size_t kHuge = size_t{2} << 20;
constexpr size_t kHugeWorth = size_t{4} << 20;       // cold growth from this size on uses huge pages
constexpr size_t kRoom = 8;                          // reserved for growth, times the first size
constexpr size_t kMaxReserve = size_t{16} << 30;     // above it only the requested size

size_t room_for(size_t bytes) { return bytes <= kMaxReserve / kRoom ? rounded_up(bytes * kRoom, kHuge) : bytes; }

void advise_huge(uint8_t* memory, size_t bytes) {
    if (bytes >= kHugeWorth) system::advise_huge_pages(memory, bytes);
}

}  // namespace

size_t Ranges::capacity(size_t size) { return rounded_up(size, kCommitStep); }

Range* Ranges::take(size_t size, size_t extra) {
    const size_t bytes = capacity(size);
    if (Range* range = idle_fit(bytes, bytes + std::min(bytes / 4, extra))) return range;
    if (budget_.would_exceed(bytes)) trim();
    return create(bytes);
}

Range* Ranges::take_idle(size_t size) {
    const size_t bytes = capacity(size);
    return idle_ ? idle_fit(bytes, plus(bytes, bytes / 4)) : nullptr;
}

Range* Ranges::begin(size_t size, size_t first) {
    const size_t bytes = capacity(first);
    if (budget_.would_exceed(bytes)) trim();
    Range* range = new (std::nothrow) Range{};
    if (!range) return nullptr;
    range->reserved = rounded_up(size, kHuge);
    range->data = system::reserve_pages(range->reserved);
    if (range->data) {
        if (commit(range, bytes)) return range;
        system::unmap_pages(range->data, range->reserved);
    }
    delete range;
    return nullptr;
}

Range* Ranges::take_committed(size_t size, size_t extra) {
    const size_t bytes = capacity(size);
    return idle_ ? idle_fit(bytes, bytes + std::min(bytes * (kRoom - 1), extra)) : nullptr;
}

// Return the smallest idle range that has the pages already.
Range* Ranges::idle_fit(size_t bytes, size_t most) {
    Range** best = nullptr;
    for (Range** at = &idle_; *at; at = &(*at)->next) {
        const size_t committed = (*at)->committed;
        if (committed >= bytes && committed <= most && (!best || committed < (*best)->committed)) best = at;
    }
    if (!best) return nullptr;
    Range* range = *best;
    *best = range->next;
    budget_.use_idle(range->committed);
    return range;
}

Range* Ranges::create(size_t bytes) {
    Range* range = new (std::nothrow) Range{};
    if (!range) return nullptr;
    const size_t reservation = room_for(bytes);
    range->data = system::reserve_pages(reservation);
    if (range->data) {
        range->reserved = reservation;
        if (commit(range, bytes)) return range;
        system::unmap_pages(range->data, reservation);
    }
    // Address space is limited here: map only the requested size.
    range->data = system::map_pages(bytes);
    if (!range->data) {
        delete range;
        return nullptr;
    }
    range->reserved = range->committed = bytes;
    budget_.count_mapped(bytes);
    return range;
}

bool Ranges::commit(Range* range, size_t bytes) {
    uint8_t* cold = range->data + range->committed;
    const size_t more = bytes - range->committed;
    if (!system::commit_pages(cold, more)) return false;
    advise_huge(more >= kHugeWorth ? range->data : cold, more >= kHugeWorth ? bytes : more);
    range->committed = bytes;
    budget_.count_mapped(more);
    return true;
}

bool Ranges::grow(Range* range, size_t size, bool may_move) {
    const size_t bytes = capacity(size);
    if (bytes <= range->committed) return true;
    if (bytes <= range->reserved && commit(range, bytes)) return true;
    if (!may_move || !system::kMovesPages) return false;
    if (move(range, bytes)) return true;
    if (range->reserved != range->committed) return false;
    uint8_t* moved = system::move_pages(range->data, range->reserved, bytes, nullptr);
    if (!moved) return false;
    budget_.count_mapped(bytes - range->committed);
    range->data = moved;
    range->reserved = range->committed = bytes;
    return true;
}

// Move to more address space: the system moves the pages, which costs much less than new pages and a copy. Both
// addresses have the same offset in a huge page, so that huge pages stay whole.
bool Ranges::move(Range* range, size_t bytes) {
    if (bytes > kMaxReserve / kRoom) return false;
    const size_t reservation = room_for(bytes);
    uint8_t* space = system::reserve_pages(reservation + kHuge);
    if (!space) return false;
    const auto head = (reinterpret_cast<uintptr_t>(range->data) - reinterpret_cast<uintptr_t>(space)) % kHuge;
    uint8_t* to = space + head;
    if (head) system::unmap_pages(space, head);
    system::unmap_pages(to + reservation, kHuge - head);
    const size_t kept = range->committed;
    if (!system::commit_pages(to + kept, bytes - kept) || !system::move_pages(range->data, kept, kept, to)) {
        system::unmap_pages(to, reservation);
        return false;
    }
    if (range->reserved > kept) system::unmap_pages(range->data + kept, range->reserved - kept);
    range->data = to;
    range->reserved = reservation;
    range->committed = bytes;
    advise_huge(to, bytes);
    budget_.count_mapped(bytes - kept);
    return true;
}

void Ranges::give(Range* range) {
    if (budget_.keep_idle(range->committed)) {
        range->next = idle_;
        idle_ = range;
    } else {
        destroy(range);
    }
}

size_t Ranges::trim() {
    size_t bytes = 0;
    while (Range* range = idle_) {
        idle_ = range->next;
        bytes += range->committed;
        budget_.use_idle(range->committed);
        destroy(range);
    }
    return bytes;
}

void Ranges::destroy(Range* range) {
    budget_.count_unmapped(range->committed);
    system::unmap_pages(range->data, range->reserved);
    delete range;
}

}  // namespace fastcql::memory
