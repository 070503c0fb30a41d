// What is queued is sent: the channels with requests that wait for company, and who sees to it that they do not wait long.
//
// A request that is submitted *later* only joins its channel's queue, so that what is submitted together goes out in one
// system call. The invariant: such a request is handed to the socket within kPatience and the granularity of the poller
// (a millisecond together), whatever the thread that queued it does next; or it fails as not sent. It holds because
//
//   1. a channel with such a request is in this list (Channel::promised_ says so), or a thread has taken it from the list
//      and calls send_queued() on it right away. No other state exists: a channel comes in by the first request that is
//      queued, and leaves by nothing but its queue being sent, handed to the thread that is sending just now, or to the
//      poller that waits for room in the socket; or by being closed, which fails the requests as not sent.
//   2. whoever queued takes the list when he is through (a turn of an event loop, a wave of concurrent requests). That is
//      for speed only: he need not.
//   3. while the list is *watched*, the holder of the reactor's role never sleeps for longer than kTick, and takes what
//      has been there for kPatience. add() makes the list non-empty and then sets `watched_`; the holder clears it and
//      then looks at the list (all sequentially consistent), so one of the two sees the other. Who finds that it was not
//      watched wakes the holder, if that sleeps. A caller that leaves the role while something is in the list leaves it
//      to the I/O thread; while nobody has the role that naps for no longer than a tick, nor longer than until something
//      was there for kPatience, and then has it again; unless somebody led meanwhile and nothing was there that long.
//
// It is watched until nothing was added for some ticks: while many requests are queued nobody is woken for them.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include "transport/sys.h"

namespace fastcql {

class Channel;

class Unsent {
public:
    static constexpr Nanos kPatience = kMillisecond / 2;
    static constexpr Nanos kTick = kMillisecond;

    // Any thread; takes over a reference. True: tell the holder of the role.
    bool add(Channel* channel, Nanos now);
    // Any thread: the whole list, linked by next_unsent, with its references. Read the link before sending.
    Channel* take();
    // Any thread: one that needs the runtime to send, with its reference; null if there is none.
    Channel* take_for_runtime();
    // Any thread: how many there are.
    size_t size();
    bool empty() const { return since_.load(std::memory_order_seq_cst) == kNever; }
    bool watched() const { return watched_.load(std::memory_order_seq_cst); }

    // Any thread: the moment of the next tick; kNever while it is not watched.
    Nanos due() const;
    // Role holder, once a turn: what is to be sent now, or null.
    Channel* tick();

private:
    static constexpr int kIdleTicks = 3;

    SmallLock lock_;
    Channel* head_ = nullptr;
    std::atomic<Nanos> since_{kNever};  // when the first one came
    std::atomic<uint32_t> added_{0};
    std::atomic<bool> watched_{false};
    // The role holder's.
    uint32_t seen_ = 0;
    int idle_ticks_ = 0;
    Nanos tick_at_ = 0;
};

}  // namespace fastcql
