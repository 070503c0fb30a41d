// Blocks for columns: entries that stay WRITING until they are given back.
#include <cstdlib>
#include <cstring>

#include "memory/pool.h"
#include "memory/size_class.h"

namespace fastcql::memory {

bool Pool::take_block(size_t size, ColumnBlock& block) {
    if (Entry* entry = begin(size)) {
        block.data = entry->data;
        block.capacity = capacity(entry);
        block.handle = entry;
        return true;
    }
    if (size > SIZE_MAX / 2) return false;
    const size_t rounded = rounded_up(size, kAlignment);
    void* memory = nullptr;
    if (posix_memalign(&memory, kAlignment, rounded) != 0) return false;
    count_overflow(static_cast<int64_t>(rounded));
    block.data = static_cast<uint8_t*>(memory);
    block.capacity = rounded;
    block.handle = nullptr;
    return true;
}

bool Pool::grow_block(ColumnBlock& block, size_t size, size_t used) {
    if (size <= block.capacity) return true;
    if (auto* entry = static_cast<Entry*>(block.handle); entry && resize(entry, size, used, true)) {
        block.data = entry->data;
        block.capacity = capacity(entry);
        return true;
    }
    ColumnBlock larger;
    if (!take_block(size, larger)) return false;
    if (used) std::memcpy(larger.data, block.data, used);
    give_block(block);
    block = larger;
    return true;
}

void Pool::give_block(const ColumnBlock& block) {
    if (block.handle) {
        abandon(static_cast<Entry*>(block.handle));
    } else {
        count_overflow(-static_cast<int64_t>(block.capacity));
        std::free(block.data);
    }
}

}  // namespace fastcql::memory
