// Bytes of one channel on their way to the socket, and the check whether any byte of a request was sent.
//
// Frames are appended to a queue. A sender takes the whole queue, encodes it for the wire (unchanged, as segments,
// encrypted) and sends the result. A position counts the bytes ever appended; a request is identified by the position
// of its first byte. Requests that are abandoned while they are still queued are left out when the queue is taken, so
// that a request reported as unsent is never sent later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "transport/segments.h"
#include "transport/streams.h"

namespace fastcql {

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
