// Blocks that other extensions write columns into, as they see the pool: an interface, as frames.h is.
//
// A block belongs to whoever took it, who may be another thread when it is given back; no call needs the GIL. The pool's
// limit is not theirs to wait for: beyond it blocks are plain memory, counted as overflow.
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
    // At least *size* (more than 0) undefined bytes. False when the machine has no more.
    virtual bool take_block(size_t size, ColumnBlock& block) = 0;
    // At least *size* bytes, of which the first *used* are as they were; in place where that is possible. False: it is as
    // it was.
    virtual bool grow_block(ColumnBlock& block, size_t size, size_t used) = 0;
    virtual void give_block(const ColumnBlock& block) = 0;
    // The pool lives as long as somebody holds it.
    virtual void hold() noexcept = 0;
    virtual void let_go() noexcept = 0;

protected:
    ~BlockPool() = default;
};

}  // namespace fastcql::memory
