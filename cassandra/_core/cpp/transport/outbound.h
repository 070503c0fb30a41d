// Output of a channel: the flush list, and the queue of bytes on their way to the socket.
//
// The flush list has channels with requests that are coalesced, and the guarantee that they are sent soon.
//
// A request that is submitted *later* only joins its channel's queue, so that requests submitted together go out in one
// system call. The invariant: such a request is handed to the socket within kPatience and the granularity of the poller
// (a millisecond together), regardless of the next steps of the thread that queued it; or it fails as not sent. It
// holds because
//
//   1. a channel with such a request is in this list (Channel::scheduled_ is set), or a thread has taken it from the
//      list and calls send_queued() on it right away. No other state exists: a channel is added with the first request
//      that is queued, and is removed only when its queue is sent, handed to the thread that is sending at present, or
//      to the poller that waits for room in the socket; or when it is closed, which fails the requests as not sent.
//   2. the thread that queued requests takes the list when it has queued all of them (a turn of an event loop, a round
//      of concurrent requests). That is only for speed: it is not required.
//   3. while the list is *watched*, the owner of the reactor never sleeps for longer than kTick, and takes
//      entries that have been there for kPatience. add() makes the list non-empty and then sets `watched_`; the owner
//      clears it and then reads the list (all sequentially consistent), so at least one of both sees the other. A
//      thread that finds the list unwatched wakes the owner, if that sleeps. A caller that releases it while the
//      list is not empty leaves it to the I/O thread; while there is no owner the I/O thread sleeps for no longer than
//      a tick, nor longer than until an entry was there for kPatience, and then has it again; unless a caller led
//      meanwhile and no entry was there that long.
//
// The list is watched until no entry was added for some ticks: while many requests are queued no thread is woken for
// them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "transport/segments.h"
#include "transport/streams.h"
#include "transport/sys.h"

namespace fastcql {

class Channel;

class FlushList {
public:
    static constexpr Nanos kPatience = kMillisecond / 2;
    static constexpr Nanos kTick = kMillisecond;

    // Any thread; takes over a reference. True: notify the owner.
    bool add(Channel* channel, Nanos now);
    // Any thread: takes the whole list, linked by next_to_flush, with its references. Read the link before sending.
    Channel* take();
    // Any thread: one that needs the runtime to send, with its reference; null if there is none.
    Channel* take_for_runtime();
    // Any thread: how many there are.
    size_t size();
    bool empty() const { return since_.load(std::memory_order_seq_cst) == kNever; }
    bool watched() const { return watched_.load(std::memory_order_seq_cst); }

    // Any thread: the time of the next tick; kNever while it is not watched.
    Nanos due() const;
    // The owner of the reactor, once a turn: returns the entries to be sent now, or null.
    Channel* tick();

private:
    static constexpr int kIdleTicks = 3;

    SmallLock lock_;
    Channel* head_ = nullptr;
    std::atomic<Nanos> since_{kNever};  // time of the first entry
    std::atomic<uint32_t> added_{0};
    std::atomic<bool> watched_{false};
    // For the reactor's owner only.
    uint32_t seen_ = 0;
    int idle_ticks_ = 0;
    Nanos tick_at_ = 0;
};

// ---- bytes of one channel on their way to the socket, and the check whether any byte of a request was sent
//
// Frames are appended to a queue. A sender takes the whole queue, encodes it for the wire (unchanged, as segments,
// encrypted) and sends the result. A position counts the bytes ever appended; a request is identified by the position
// of its first byte. Requests that are abandoned while they are still queued are left out when the queue is taken, so
// that a request reported as unsent is never sent later.

class WriteQueue {
public:
    bool empty() const { return queue_.empty(); }
    uint64_t position() const { return queued_; }
    size_t queued_bytes() const { return queue_.size(); }

    // Reserves room for one more request, so that append() cannot fail. Throws std::bad_alloc.
    void reserve(size_t size) {
        if (queue_.capacity() - queue_.size() < size) queue_.reserve(std::max(2 * queue_.capacity(), queue_.size() + size));
        if (records_.capacity() == records_.size()) records_.reserve(std::max<size_t>(16, 2 * records_.size()));
    }
    // Appends one request. The stream id goes into its header.
    void append(const uint8_t* frame, size_t size, int stream) noexcept {
        queue_.insert(queue_.end(), frame, frame + size);
        store16(queue_.data() + queue_.size() - size + 2, static_cast<uint16_t>(stream));
        records_.push_back({static_cast<uint32_t>(size), static_cast<uint32_t>(stream)});
        queued_ += size;
    }

    void withdraw() { ++withdrawn_; }
    // Gives back the memory of an empty queue.
    void release() noexcept {
        Buffer().swap(queue_);
        std::vector<Record>().swap(records_);
    }

    // Moves the queue into *batch*; *released* gets the streams of withdrawn requests.
    template <class IsWithdrawn>
    void take(Buffer& batch, std::vector<int>& released, IsWithdrawn is_withdrawn) {
        batch_start_ = queued_ - queue_.size();
        batch_end_ = queued_;
        exact_ = withdrawn_ == 0;
        if (exact_) {
            batch.swap(queue_);
        } else {
            const uint8_t* from = queue_.data();
            for (const Record& record : records_) {
                if (is_withdrawn(static_cast<int>(record.stream))) {
                    released.push_back(static_cast<int>(record.stream));
                } else {
                    batch.insert(batch.end(), from, from + record.size);
                }
                from += record.size;
            }
            withdrawn_ = 0;
        }
        queue_.clear();
        records_.clear();
    }

    // Every byte of the last batch reached the socket.
    void batch_sent() { batch_start_ = batch_end_; }

    // True if it is certain that no byte of the request at *position* reached the socket. *sent*: bytes of the last
    // batch that did; *plain*: the batch was sent unchanged, byte by byte.
    bool unsent(uint64_t position, size_t sent, bool plain) const {
        if (position >= batch_end_) return true;
        return plain && exact_ ? position >= batch_start_ + sent : sent == 0 && position >= batch_start_;
    }
    bool still_queued(uint64_t position) const { return position >= batch_end_; }

private:
    struct Record {
        uint32_t size;
        uint32_t stream;
    };
    Buffer queue_;
    std::vector<Record> records_;
    uint64_t queued_ = 0;       // position after the last byte of queue_
    uint64_t batch_start_ = 0;  // the last batch taken
    uint64_t batch_end_ = 0;
    uint32_t withdrawn_ = 0;
    bool exact_ = true;
};

}  // namespace fastcql
