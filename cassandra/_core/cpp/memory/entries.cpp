#include "memory/entries.h"

#include <new>

namespace fastcql::memory {

Entry* EntryTable::take() {
    if (free_ != kNone) {
        Entry& entry = at(free_);
        free_ = entry.block;
        return &entry;
    }
    if (size_ == kNone) return nullptr;
    if (size_ % kChunk == 0) {
        try {
            chunks_.push_back(std::make_unique<Entry[]>(kChunk));
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }
    Entry& entry = at(size_);
    entry.index = size_++;
    entry.generation = 1;
    return &entry;
}

void EntryTable::give(Entry* entry) {
    entry->state = State::Free;
    entry->data = nullptr;
    entry->slab = nullptr;
    entry->range = nullptr;
    if (entry->generation == kLastGeneration) return;
    ++entry->generation;
    entry->block = free_;
    free_ = entry->index;
}

}  // namespace fastcql::memory
