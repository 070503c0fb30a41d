// Limits on requests in flight that several channels share, and the admission queue of a limit that is reached.
//
// A request takes one place in its channel's limit and in those above it (a node's, then the session's), or none at
// all. It keeps them as long as its stream: an orphaned request still counts, because the server may be busy with it,
// until its late response arrives or the channel closes. Without limits a channel has a null pointer.
//
// Locks: the channel's mutex, then the limit's, then those of the limits above it. A sum read without them is only
// informative.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "transport/operation.h"
#include "transport/refs.h"
#include "transport/sys.h"

namespace fastcql {

// An admission queue, at a channel or at a limit. The runtime keeps the queue itself; here is the waiter that is
// notified of room, and the flag that sends newcomers to the end of the queue: otherwise they would take every place
// before the first in the queue wakes up.
struct Admission {
    Operation* waiter = nullptr;  // notified once; holds a reference of its runtime object
    bool has_queue = false;
};

enum class Wait : uint8_t {
    Room,   // there is some, and it is for the queue: do not wait
    Known,  // a waiter was set before; no reference was taken
    Armed,  // the waiter will be notified; its reference was taken
};

class Limit final : public RefCounted<Limit> {
public:
    Limit(int maximum, Ref<Limit> parent) : maximum_(maximum), parent_(std::move(parent)) {}

    int maximum() const noexcept { return maximum_; }
    int in_flight() const noexcept { return taken_.load(std::memory_order_relaxed); }

    bool take(Priority priority);
    // True if there is a waiter here or above: collect_waiters() must follow.
    bool give();
    bool has_waiter();
    // Appends the waiters here and above, with their references.
    void collect_waiters(std::vector<Operation*>& waiters);

    // For queued requests; a queue exists from here on: notify *waiter* when the state changes, unless there is room
    // here. The limits above are checked separately.
    Wait wait(Operation* waiter) noexcept;
    // The runtime's queue is empty.
    void end_queue() noexcept;

private:
    const int maximum_;
    const Ref<Limit> parent_;
    SmallLock lock_;
    std::atomic<int> taken_{0};  // written with the lock
    Admission admission_;
};

// ---- the window of a host
//
// The number of requests that one client, an ingest or a scan, has in flight to one host.
//
// Additive increase, multiplicative decrease: after a round of results the window grows by one; it halves when the host
// reports overload. Until the first report it grows by one with each result.
//
// Owner: the thread that consumes the results of the client.

class HostWindow {
public:
    static constexpr uint32_t kMin = 1;

    HostWindow(uint32_t first, uint32_t max) : size_(std::min(first, max)), max_(max) {}

    uint32_t size() const noexcept { return size_; }
    uint32_t in_flight() const noexcept { return in_flight_; }
    bool has_room() const noexcept { return in_flight_ < size_; }

    void sent() noexcept { ++in_flight_; }
    // A request ended without a result.
    void gone() noexcept { --in_flight_; }
    // A request ended with a result. A window that is not used does not grow.
    void answered() noexcept {
        --in_flight_;
        if (size_ >= max_ || 2 * (in_flight_ + 1) < size_) return;
        if (slow_start_ || ++credit_ >= size_) {
            ++size_;
            credit_ = 0;
        }
    }
    // The host reported overload for a request sent at *sent*, which is gone. Requests that were in flight together
    // halve the window once.
    void congested(Nanos sent, Nanos now) noexcept {
        if (sent < cut_at_) return;
        size_ = std::max(kMin, size_ / 2);
        credit_ = 0;
        slow_start_ = false;
        cut_at_ = now;
    }

private:
    uint32_t size_;
    uint32_t in_flight_ = 0;
    uint32_t credit_ = 0;
    const uint32_t max_;
    bool slow_start_ = true;
    Nanos cut_at_ = 0;
};

}  // namespace fastcql
