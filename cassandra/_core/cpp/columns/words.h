// The distinct texts of a dictionary column, in the order of their first appearance.
#pragma once

#include <cstdint>

#include "columns/buffer.h"

namespace fastcql::columns {

class Words {
public:
    Words() = default;
    Words(const Words&) = delete;
    Words& operator=(const Words&) = delete;
    ~Words() { std::free(slots_); }

    // Returns the index of n bytes, which it adds if they are new; -1 without memory or above the limit of bytes.
    int32_t index(const uint8_t* p, size_t n, Memory& memory);
    // Called after the last word.
    void close() { offsets.set_size(count ? (static_cast<size_t>(count) + 1) * 4 : 0); }

    Buffer offsets, data;
    int32_t count = 0;

private:
    bool grow();
    static uint64_t hash(const uint8_t* p, size_t n);

    struct Slot {
        uint64_t hash;
        int32_t index;  // -1: free
    };
    Slot* slots_ = nullptr;
    size_t mask_ = 0;
};

}  // namespace fastcql::columns
