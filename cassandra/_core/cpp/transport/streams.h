// Stream ids of one connection: the set of used ids, and the request of each.
#pragma once

#include <cstdint>
#include <vector>

#include "transport/sys.h"

namespace fastcql {

class Operation;
struct ShardLoad;

constexpr int kMaxStreams = 32768;

// A set of ids handed out lowest first, so that the table of entries stays short and in cache. Two levels of
// bitmaps; a set bit is a free id, or a word with one. The lower level is as long as the highest id used so far needs:
// all of it would be 4 KiB for each connection.
class StreamIds {
public:
    StreamIds() {
        for (uint64_t& word : words_) word = ~uint64_t{0};
    }
    // Has memory for the lowest free id, which it returns. Throws std::bad_alloc.
    int reserve() {
        const int id = lowest();
        if (id < kMaxStreams && word_of(id) == free_.size()) free_.push_back(~uint64_t{0});
        return id;
    }
    // The lowest free id, kMaxStreams if there is none.
    int lowest() const {
        for (int group = 0; group < kGroups; ++group) {
            if (words_[group] == 0) continue;
            const int word = group * 64 + __builtin_ctzll(words_[group]);
            const bool is_new = static_cast<size_t>(word) == free_.size();
            return word * 64 + (is_new ? 0 : __builtin_ctzll(free_[static_cast<size_t>(word)]));
        }
        return kMaxStreams;
    }
    // The lowest free id below *limit*, or -1. After reserve().
    int acquire(int limit) {
        const int id = lowest();
        if (id >= limit) return -1;
        uint64_t& word = free_[word_of(id)];
        word &= word - 1;
        if (word == 0) words_[id / 4096] &= words_[id / 4096] - 1;
        return id;
    }
    void release(int id) {
        free_[word_of(id)] |= uint64_t{1} << (id % 64);
        words_[id / 4096] |= uint64_t{1} << (id / 64 % 64);
    }

private:
    static constexpr int kGroups = kMaxStreams / 4096;
    static size_t word_of(int id) { return static_cast<size_t>(id) / 64; }

    uint64_t words_[kGroups];
    std::vector<uint64_t> free_;
};

// State of a request's stream. Only Free ids are handed out.
enum class StreamState : uint8_t {
    Free,
    Waiting,    // holds an operation
    Orphaned,   // abandoned after it may have been sent: its late response frees it
    Withdrawn,  // abandoned before it was sent: freed when the write queue reaches it
    Heartbeat,  // its response is for no request
};

struct StreamEntry {
    Operation* operation = nullptr;
    Nanos started = 0;
    Nanos deadline = kNever;
    uint64_t position = 0;  // of its first byte in the channel's write queue
    uint32_t attempt = 0;
    StreamState state = StreamState::Free;
    bool uses = false;     // changes the keyspace of the connection
    bool limited = false;  // has a place in the channel's limit
    ShardLoad* load = nullptr;  // counts it
};

}  // namespace fastcql
