// Limits on requests in flight that several channels share, and the admission queue of a limit that is reached.
//
// A request takes one place in its channel's limit and in those above it (a node's, then the session's), or none at
// all. It keeps them as long as its stream: an orphaned request still counts, because the server may be busy with it,
// until its late response arrives or the channel closes. Without limits a channel has a null pointer.
//
// Locks: the channel's mutex, then the limit's, then those of the limits above it. A sum read without them is only
// informative.
#pragma once

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

}  // namespace fastcql
