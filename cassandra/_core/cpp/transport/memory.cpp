#include "transport/memory.h"

#include <cstdlib>
#include <new>

namespace fastcql {

namespace {

struct SizeClass {
    uint32_t index;
    size_t capacity;
};

SizeClass class_of(size_t size) {
    if (size <= 64) return {0, 64};
    const unsigned top = 63 - static_cast<unsigned>(__builtin_clzll(size - 1));
    const size_t step = ((size - 1) >> (top - 2)) & 3;
    return {static_cast<uint32_t>(1 + (top - 6) * 4 + step), (5 + step) << (top - 2)};
}

}  // namespace

void Block::release() {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (arena) {
        arena->take_back(this);
    } else {
        Arena::destroy(this);
    }
}

Block* Arena::create(Arena* arena, uint32_t size_class, size_t capacity) {
    void* memory = nullptr;
    if (posix_memalign(&memory, alignof(Block), sizeof(Block) + capacity) != 0) return nullptr;
    counters.blocks.fetch_add(1, std::memory_order_relaxed);
    Block* block = new (memory) Block;
    block->refs.store(1, std::memory_order_relaxed);
    block->size_class = size_class;
    block->capacity = capacity;
    block->arena = arena;
    block->next = nullptr;
    return block;
}

void Arena::destroy(Block* block) {
    counters.blocks.fetch_sub(1, std::memory_order_relaxed);
    block->~Block();
    std::free(block);
}

BlockRef Arena::allocate_free(size_t size) { return BlockRef::adopt(create(nullptr, kExact, size)); }

BlockRef Arena::allocate(size_t size) {
    Block* block = nullptr;
    if (size > kMaxPooled) {
        block = create(this, kExact, size);
    } else {
        const SizeClass wanted = class_of(size);
        if (!free_[wanted.index] && returned_.load(std::memory_order_relaxed)) collect();
        block = free_[wanted.index];
        if (block) {
            free_[wanted.index] = block->next;
            retained_.fetch_sub(static_cast<int64_t>(block->capacity), std::memory_order_relaxed);
            block->refs.store(1, std::memory_order_relaxed);
        } else {
            block = create(this, wanted.index, wanted.capacity);
        }
    }
    if (block) live_.fetch_add(kOne + static_cast<int64_t>(block->capacity), std::memory_order_relaxed);
    return BlockRef::adopt(block);
}

// Takes the whole return list: with a single consumer that takes everything there is no ABA.
void Arena::collect() {
    Block* block = returned_.exchange(nullptr, std::memory_order_acquire);
    while (block) {
        Block* next = block->next;
        const auto capacity = static_cast<int64_t>(block->capacity);
        returned_bytes_.fetch_sub(capacity, std::memory_order_relaxed);
        retained_.fetch_add(capacity, std::memory_order_relaxed);
        block->next = free_[block->size_class];
        free_[block->size_class] = block;
        block = next;
    }
}

void Arena::take_back(Block* block) {
    const auto capacity = static_cast<int64_t>(block->capacity);
    const bool keep = block->size_class != kExact && !closed_.load(std::memory_order_relaxed) &&
                      retained_bytes() + capacity <= static_cast<int64_t>(retain_bytes_);
    if (keep) {
        returned_bytes_.fetch_add(capacity, std::memory_order_relaxed);
        Block* head = returned_.load(std::memory_order_relaxed);
        do {
            block->next = head;
        } while (!returned_.compare_exchange_weak(head, block, std::memory_order_release,
                                                  std::memory_order_relaxed));
    } else {
        destroy(block);
    }
    subtract(kOne + capacity);
}

void Arena::close() {
    closed_.store(true, std::memory_order_relaxed);
    subtract(kOne);
}

void Arena::subtract(int64_t amount) {
    if (live_.fetch_sub(amount, std::memory_order_acq_rel) == amount) delete this;
}

Arena::~Arena() {
    collect();
    for (Block* block : free_) {
        while (block) {
            Block* next = block->next;
            destroy(block);
            block = next;
        }
    }
}

}  // namespace fastcql
