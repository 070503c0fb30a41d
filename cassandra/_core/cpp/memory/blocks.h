// Blocks into which other extensions write columns: their interface to the pool, as frames.h is.
//
// A block belongs to its taker; another thread may give it back. No call needs the GIL. These callers do not wait at
// the pool's limit: blocks beyond it are plain memory, counted as overflow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastcql::memory {

struct ColumnBlock {
    uint8_t* data = nullptr;  // aligned to 64 bytes
    size_t capacity = 0;      // a multiple of 64
    void* handle = nullptr;   // none: plain memory
};

class BlockPool {
public:
    // At least *size* (more than 0) undefined bytes. False if the machine has no more memory.
    virtual bool take_block(size_t size, ColumnBlock& block) = 0;
    // At least *size* bytes, of which the first *used* are unchanged; in place where possible. False: *block* is
    // unchanged.
    virtual bool grow_block(ColumnBlock& block, size_t size, size_t used) = 0;
    virtual void give_block(const ColumnBlock& block) = 0;
    // The pool lives while a holder remains.
    virtual void hold() noexcept = 0;
    virtual void let_go() noexcept = 0;

protected:
    ~BlockPool() = default;
};

}  // namespace fastcql::memory
