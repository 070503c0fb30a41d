// Limits on requests in flight that several channels share, and the line of those who wait where one is
// reached.
//
// A request takes one place in its channel's limit and in those above it (a node's, then the session's), or
// none at all. It keeps them as long as its stream: a request that was given up still counts, because the
// server may be busy with it, until its late answer comes or the channel closes. Without limits a channel has
// a null pointer.
//
// Locks: the channel's mutex, then the limit's, then those of the limits above it. A sum that is read without
// them is for people.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "transport/operation.h"
#include "transport/refs.h"
#include "transport/sys.h"

namespace fastcql {

// Where requests wait for room: at a channel, or at a limit. The runtime keeps the line itself; here is who is
// told that there may be room, and that newcomers have to go to the end of the line, or they would take every
// place before the first in line wakes up.
struct Line {
    Operation* waiter = nullptr;  // told once; holds a reference of its runtime object
    bool formed = false;
};

enum class Wait : uint8_t {
    Room,   // there is some, and it is for those in line: do not wait
    Known,  // somebody was to be told before; no reference was taken
    Armed,  // the waiter will be told; its reference was taken
};

class Limit final : public RefCounted<Limit> {
public:
    Limit(int maximum, Ref<Limit> parent) : maximum_(maximum), parent_(std::move(parent)) {}

    int maximum() const noexcept { return maximum_; }
    int in_flight() const noexcept { return taken_.load(std::memory_order_relaxed); }

    bool take(Right right);
    // True if somebody waits here or above: tell() is to follow.
    bool give();
    bool has_waiter();
    // Whoever waits here or above, with their references.
    void tell(std::vector<Operation*>& waiters);

    // For those in line, who have a line from here on: tell *waiter* when something changed, unless there is room
    // here. The limits above are asked separately.
    Wait wait(Operation* waiter) noexcept;
    // Nobody is in line any more, as far as the runtime knows.
    void end_line() noexcept;

private:
    const int maximum_;
    const Ref<Limit> parent_;
    SmallLock lock_;
    std::atomic<int> taken_{0};  // written with the lock
    Line line_;
};

}  // namespace fastcql
