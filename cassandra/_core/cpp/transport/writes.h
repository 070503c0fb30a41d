// Bulk writes: rows of a source as requests, and the open requests.
//
// A *write* is one request: a row, or consecutive rows of one partition that are sent as one unlogged batch. Its
// states:
//
//   Free      unused
//   InFlight  submitted; its outcome will arrive, or it is orphaned
//   Held      not in flight: to be sent again, or being examined
//
// It keeps the data to send it again: the rows, their source, and the timestamp. Its number is the number of the
// attempt under which it is submitted. All of this is used by one thread at a time; no call needs the runtime lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/row_source.h"
#include "transport/sys.h"

namespace fastcql {

struct Write {
    enum class State : uint8_t { Free, InFlight, Held };

    int64_t row = 0;  // of all rows; the first one
    int64_t timestamp = 0;
    int64_t token = 0;
    Nanos began = 0;  // time of the first attempt
    Nanos sent = 0;
    uint32_t source = 0;  // number of the source
    uint32_t at = 0;      // the row in it
    int32_t stream = -1;
    uint32_t next = 0;  // number of the next free one
    uint32_t sender = 0;  // number of its connection
    uint16_t count = 0;
    uint16_t attempts = 0;
    State state = State::Free;
    bool in_doubt = false;  // an attempt may have been executed, although it did not end by a result
};

// The open writes, by number.
class WriteTable {
public:
    // Returns a number; its write is Held. Throws std::bad_alloc.
    uint32_t open();
    void close(uint32_t number) noexcept;
    size_t open_count() const noexcept { return open_; }
    size_t size() const noexcept { return writes_.size(); }
    // Null if no write of that number is open.
    Write* find(uint32_t number) noexcept {
        return number < writes_.size() && writes_[number].state != Write::State::Free ? &writes_[number] : nullptr;
    }

private:
    std::vector<Write> writes_;
    uint32_t free_ = 0;  // 1 + the index of the first free one; 0: none
    size_t open_ = 0;
};

// The sources with rows that are unread, or may be sent again. Sources are numbered in order of addition.
class Sources {
public:
    struct Entry {
        RowSource* source;
        int64_t first;  // number of its first row
        size_t left;    // rows that are not done
    };

    // Throws std::bad_alloc.
    uint32_t add(RowSource* source, int64_t first) {
        entries_.push_back({source, first, source->rows()});
        return base_ + static_cast<uint32_t>(entries_.size()) - 1;
    }
    Entry* find(uint32_t number) noexcept {
        const uint32_t index = number - base_;
        return index < entries_.size() ? &entries_[index] : nullptr;
    }
    void done(uint32_t number, size_t rows) noexcept {
        if (Entry* entry = find(number)) entry->left -= rows;
    }
    // Removes the oldest source if all of its rows are done.
    bool drop() noexcept {
        if (entries_.empty() || entries_.front().left > 0) return false;
        entries_.pop_front();
        ++base_;
        return true;
    }
    void clear() noexcept {
        base_ += static_cast<uint32_t>(entries_.size());
        entries_.clear();
    }

private:
    std::deque<Entry> entries_;
    uint32_t base_ = 0;
};

// The constant parts of requests around the values of rows.
struct WriteParts {
    std::string head;        // of EXECUTE, up to and with the number of values
    std::string values;      // of all rows, behind their own
    std::string tail;        // between the values and the timestamp
    std::string batch_head;  // of BATCH, up to the number of statements
    std::string entry;       // of a statement of it, up to and with the number of values
    std::string batch_tail;
    size_t max_rows = 1;    // of a batch
    size_t max_bytes = 0;   // of the values of a batch
    size_t overhead = 0;     // bytes counted per row in addition to its values
};

// Makes requests from the rows of a source, in their order.
class WriteFrames {
public:
    enum class FrameResult : uint8_t { Request, End, Failed };

    explicit WriteFrames(WriteParts parts) : parts_(std::move(parts)) {}

    // Continues with the rows of *source*; null: there are none for now.
    void begin(RowSource* source) noexcept {
        source_ = source;
        next_ = 0;
        has_prefetched_ = false;
    }
    bool at_end() const noexcept { return source_ == nullptr || next_ >= source_->rows(); }
    size_t next_row() const noexcept { return next_; }

    // Makes the request of the next row, or of the next rows of one partition. Failed: the row at() cannot be written,
    // and is skipped; the source has the reason, unless memory ran out: then no more requests can be made.
    FrameResult make();
    // Makes the request of rows again that make() has made before. Not between make() and close() of another one.
    FrameResult build_again(RowSource& source, size_t at, size_t count);

    // The request made last, until the next one is made.
    size_t at() const noexcept { return at_; }
    size_t count() const noexcept { return count_; }
    int64_t token() const noexcept { return token_; }
    bool is_batch() const noexcept { return count_ > 1; }
    bool out_of_memory() const noexcept { return frame_.failed() || values_.failed(); }
    // Completes it: data() and size() are valid then. *block*: the last byte; negative: there is none. False: no
    // memory, or longer than a frame can be.
    bool close(int64_t timestamp, int block) noexcept;
    const uint8_t* data() noexcept { return frame_.data(); }
    size_t size() const noexcept { return frame_.size(); }

private:
    struct Span {
        size_t begin, end;
    };

    bool open_one(RowSource& source, size_t row);
    FrameResult make_batch();
    void put_batch(const std::vector<Span>& spans);
    // Two rows of a partition with equal hashes may be the same row; a batch takes one of them. False: memory ran out.
    bool hash_of(Span span, uint64_t& hash) noexcept {
        return source_->clustering_hash(values_.data() + span.begin, span.end - span.begin, hash);
    }
    static void put(ByteBuffer& out, const std::string& text) { out.put(text.data(), text.size()); }

    const WriteParts parts_;
    RowSource* source_ = nullptr;
    size_t next_ = 0;
    size_t at_ = 0;
    size_t count_ = 0;
    int64_t token_ = 0;
    size_t open_size_ = 0;  // of frame_, before it was closed
    ByteBuffer frame_;
    ByteBuffer values_;
    // True if the values of next_ are already at the end of values_.
    bool has_prefetched_ = false;
    Span prefetched_span_{0, 0};
    int64_t prefetched_token_ = 0;
    std::vector<Span> spans_;
    std::vector<uint64_t> hashes_;
};

}  // namespace fastcql
