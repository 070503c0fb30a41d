// Where a reactor's channels receive into: the arena of its thread in a memory pool, and the block for the next bytes.
// The role holder's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "transport/envelope.h"

namespace fastcql {

class Intake {
public:
    // Null *arena*: without memory.
    explicit Intake(Arena* arena) : arena_(arena) {}
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;
    ~Intake() {
        finish();
        if (arena_) arena_->close();
    }

    // At least kMinRoom bytes, or null without memory.
    struct Room {
        uint8_t* data;
        size_t size;
        Block* block;
    };
    Room room();
    void used(size_t size) { used_ += size; }

    Arena& arena() { return *arena_; }
    const Arena* attached() const { return arena_; }
    // Once per turn.
    void turn() { arena_->collect(); }
    // Drops what it holds of the arena; the arena's last user here closes it.
    void finish();
    Arena* detach() { return std::exchange(arena_, nullptr); }

    // One block of the pool, with its header.
    static constexpr size_t kSlabSize = (128 << 10) - sizeof(Block);
    static constexpr size_t kMinRoom = 16 << 10;

private:

    Arena* arena_;
    BlockRef slab_;
    size_t used_ = 0;
};

}  // namespace fastcql
