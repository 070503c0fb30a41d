#include "memory/slabs.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

#include "base/bytes.h"
#include "base/system.h"
#include "memory/entries.h"

namespace fastcql::memory {

namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kBlocksPerSlab = 16;  // at least, up to the largest slab
constexpr size_t kUnmapBatch = 64;     // slabs whose adjacent mappings are unmapped together

uint32_t load_index(const uint8_t* block) {
    uint32_t index;
    std::memcpy(&index, block, sizeof index);
    return index;
}

void unmap(uint8_t* memory, size_t bytes) {
    unpoison(memory, bytes);
    system::unmap_pages(memory, bytes);
}

}  // namespace

void SlabList::push(Slab* slab) {
    slab->previous = nullptr;
    slab->next = first_;
    if (first_) first_->previous = slab;
    first_ = slab;
}

void SlabList::remove(Slab* slab) {
    (slab->previous ? slab->previous->next : first_) = slab->next;
    if (slab->next) slab->next->previous = slab->previous;
}

SlabHeap::~SlabHeap() {
    trim();
    for (uint32_t index = 0; index < kClasses; ++index) {
        for (SlabList* list : {&partial_[index], &full_[index]}) {
            while (Slab* slab = list->first()) {
                list->remove(slab);
                budget_.discharge(slab->used * slab->block_bytes);
                destroy(&slab, 1);
            }
        }
    }
}

int SlabHeap::slab_shift(size_t block_bytes) {
    const size_t wanted = block_bytes * kBlocksPerSlab;
    const int shift = 64 - __builtin_clzll(wanted - 1);
    return shift < kSmallest ? kSmallest : shift > kLargest ? kLargest : shift;
}

SlabBlock SlabHeap::allocate(size_t size) {
    const SizeClass wanted = class_for(size);
    Slab* slab = partial_[wanted.index].first();
    if (!slab) slab = fresh_slab(wanted.index, wanted.capacity);
    return slab ? take(slab) : SlabBlock{};
}

SlabBlock SlabHeap::take(Slab* slab) {
    uint32_t block = slab->free_head;
    if (block != kNone) {
        unpoison(slab->block(block), slab->block_bytes);
        slab->free_head = load_index(slab->block(block));
    } else {
        block = slab->fresh++;
        unpoison(slab->block(block), slab->block_bytes);
    }
    if (++slab->used == slab->blocks) {
        partial_[slab->size_class].remove(slab);
        full_[slab->size_class].push(slab);
    }
    return {slab->block(block), slab, block};
}

void SlabHeap::free(Slab* slab, uint32_t block) {
    uint8_t* data = slab->block(block);
    std::memcpy(data, &slab->free_head, sizeof slab->free_head);
    poison(data + sizeof slab->free_head, slab->block_bytes - sizeof slab->free_head);
    slab->free_head = block;
    if (slab->used-- == slab->blocks) {
        full_[slab->size_class].remove(slab);
        partial_[slab->size_class].push(slab);
    }
    if (slab->used == 0) {
        partial_[slab->size_class].remove(slab);
        if (budget_.keep_idle(slab->bytes)) {
            idle_ += slab->bytes;
            empty_[__builtin_ctzll(slab->bytes) - kSmallest].push(slab);
        } else {
            destroy(&slab, 1);
        }
    }
}

size_t SlabHeap::trim() {
    const size_t bytes = idle_;
    Slab* batch[kUnmapBatch];
    size_t count = 0;
    for (SlabList& list : empty_) {
        while (Slab* slab = list.first()) {
            list.remove(slab);
            batch[count++] = slab;
            if (count == kUnmapBatch) {
                destroy(batch, count);
                count = 0;
            }
        }
    }
    destroy(batch, count);
    budget_.use_idle(bytes);
    idle_ = 0;
    return bytes;
}

void SlabHeap::disown() {
    budget_.use_idle(idle_);
    budget_.count_unmapped(held_);
    budget_.count_slab(-slabs_);
}

Slab* SlabHeap::fresh_slab(uint32_t size_class, size_t block_bytes) {
    Slab* slab = acquire(slab_shift(block_bytes));
    if (!slab) return nullptr;
    format(slab, size_class, block_bytes);
    if (owned_) {
        slab->owners = static_cast<uint32_t*>(std::malloc(times(slab->blocks, sizeof(uint32_t))));
        if (!slab->owners) {
            destroy(&slab, 1);
            return nullptr;
        }
    }
    partial_[size_class].push(slab);
    return slab;
}

Slab* SlabHeap::acquire(int shift) {
    SlabList& idle = empty_[shift - kSmallest];
    if (Slab* slab = idle.first()) {
        idle.remove(slab);
        budget_.use_idle(slab->bytes);
        idle_ -= slab->bytes;
        std::free(slab->owners);
        slab->owners = nullptr;
        return slab;
    }
    const size_t bytes = size_t{1} << shift;
    if (budget_.would_exceed(bytes)) trim();
    uint8_t* memory = system::map_pages(bytes);
    if (!memory) return nullptr;
    Slab* slab = new (std::nothrow) Slab{};
    if (!slab) {
        system::unmap_pages(memory, bytes);
        return nullptr;
    }
    slab->memory = memory;
    slab->bytes = bytes;
    budget_.count_mapped(bytes);
    budget_.count_slab(1);
    held_ += bytes;
    ++slabs_;
    return slab;
}

void SlabHeap::format(Slab* slab, uint32_t size_class, size_t block_bytes) {
    slab->block_bytes = block_bytes;
    slab->size_class = size_class;
    slab->blocks = static_cast<uint32_t>(slab->bytes / block_bytes);
    slab->used = slab->fresh = 0;
    slab->free_head = kNone;
    poison(slab->memory, slab->bytes);
}

// The kernel places most mappings next to each other, and each unmapping interrupts the other threads' processors: a
// run of adjacent slabs is unmapped at once.
void SlabHeap::destroy(Slab** slabs, size_t count) {
    std::sort(slabs, slabs + count, [](const Slab* a, const Slab* b) { return a->memory < b->memory; });
    for (size_t index = 0; index < count;) {
        uint8_t* const memory = slabs[index]->memory;
        size_t bytes = 0;
        for (; index < count && slabs[index]->memory == memory + bytes; ++index) {
            Slab* slab = slabs[index];
            bytes += slab->bytes;
            std::free(slab->owners);
            delete slab;
            --slabs_;
            budget_.count_slab(-1);
        }
        held_ -= bytes;
        budget_.count_unmapped(bytes);
        unmap(memory, bytes);
    }
}

Slab* SlabHeap::sparsest(uint32_t size_class) const {
    Slab* found = nullptr;
    size_t room = 0;
    for (Slab* slab = partial_[size_class].first(); slab; slab = slab->next) {
        room += slab->blocks - slab->used;
        if (!found || slab->used < found->used) found = slab;
    }
    if (!found) return nullptr;
    return room - (found->blocks - found->used) >= found->used ? found : nullptr;
}

SlabBlock SlabHeap::allocate_beside(Slab* source) {
    Slab* target = nullptr;
    for (Slab* slab = partial_[source->size_class].first(); slab; slab = slab->next) {
        if (slab != source && (!target || slab->used > target->used)) target = slab;
    }
    return target ? take(target) : SlabBlock{};
}

}  // namespace fastcql::memory
