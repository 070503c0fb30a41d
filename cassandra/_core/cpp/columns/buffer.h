// Memory and small parts of columns: counters, buffers, the error of a page, bits, blocks outside of pools.
//
// Counters are of this extension's objects in the process, for tests: columns outlive sessions, so no other counter has
// them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "base/bytes.h"
#include "base/portable.h"
#include "memory/frames.h"

namespace fastcql::columns {

struct Counters {
    std::atomic<int64_t> plans{0}, batches{0}, blocks{0}, arrays{0}, schemas{0}, streams{0};
    std::atomic<int64_t> rows{0}, loans{0};  // input arrays being read; arrays over foreign memory
};

inline Counters& counters() noexcept {
    static Counters all;
    return all;
}

// ---- growable buffers over blocks of the pool
//
// They are 64-byte aligned, their blocks reference-counted, so that several buffers of a page share one block and each
// exported array keeps the blocks that it needs.
//
// While it is written a buffer has one owner. A finished buffer is immutable; the last reference to its block may be
// dropped by any thread.

inline constexpr size_t kPadding = 64;
inline constexpr size_t padded(size_t size) { return rounded_up(size, kPadding); }

// The memory limit of a batch, so that a hostile page cannot expand without bound: nulls of vectors and structs take
// room.
struct Memory {
    memory::BlockPool* pool = nullptr;
    size_t held = 0;
    size_t limit = SIZE_MAX;

    bool may_have(size_t bytes) const { return bytes <= limit && held <= limit - bytes; }
};

// A block with references. The pool lives as long as its blocks.
class Shared {
public:
    // With one reference; null without memory.
    static Shared* make(Memory& memory, size_t size) {
        if (!memory.may_have(size)) return nullptr;
        auto* shared = new (std::nothrow) Shared(*memory.pool);
        if (!shared) return nullptr;
        if (!memory.pool->take_block(size, shared->block_)) {
            delete shared;
            return nullptr;
        }
        memory.held += shared->block_.capacity;
        memory.pool->hold();
        counters().blocks.fetch_add(1, std::memory_order_relaxed);
        return shared;
    }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

    void retain() { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        memory::BlockPool& pool = pool_;
        pool.give_block(block_);
        delete this;
        pool.let_go();
        counters().blocks.fetch_sub(1, std::memory_order_relaxed);
    }
    bool alone() const { return refs_.load(std::memory_order_acquire) == 1; }
    bool grow(Memory& memory, size_t size, size_t used) {
        const size_t before = block_.capacity;
        if (!memory.may_have(size > before ? size - before : 0)) return false;
        if (!memory.pool->grow_block(block_, size, used)) return false;
        memory.held += block_.capacity - before;
        return true;
    }
    uint8_t* data() const { return block_.data; }
    size_t capacity() const { return block_.capacity; }

private:
    explicit Shared(memory::BlockPool& pool) : pool_(pool) {}
    ~Shared() = default;

    std::atomic<uint32_t> refs_{1};
    memory::BlockPool& pool_;
    memory::ColumnBlock block_;
};

class Buffer {
public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { drop(); }

    void swap(Buffer& other) {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        std::swap(shared_, other.shared_);
        std::swap(carved_, other.carved_);
    }
    uint8_t* data() const noexcept { return data_; }
    size_t size() const noexcept { return size_; }
    size_t capacity() const { return capacity_; }
    void set_size(size_t size) { size_ = size; }
    // Another reference to its block; null for an empty buffer.
    Shared* share() const noexcept {
        if (shared_) shared_->retain();
        return shared_;
    }
    // Counts *bytes* as written; the caller has reserved them.
    void add(size_t bytes) { size_ += bytes; }

    // Becomes a part of a block shared with other buffers.
    void carve(Shared& shared, size_t at, size_t capacity) {
        drop();
        shared.retain();
        shared_ = &shared;
        data_ = shared.data() + at;
        capacity_ = capacity;
        carved_ = true;
    }
    // Room for *size* bytes in total. False without memory; the written bytes stay.
    bool ensure(size_t size, Memory& memory) { return size <= capacity_ || grow(size, memory); }

    // Zeros the bytes behind the written ones, to the next multiple of 64. A buffer that is much too large is shrunk.
    bool finish(Memory& memory) {
        if (size_ == 0) {
            drop();
            return true;
        }
        if (!ensure(padded(size_), memory)) return false;
        if (!carved_ && capacity_ > kSmall && capacity_ - capacity_ / 4 > padded(size_) && !trim(memory)) return false;
        std::memset(data_ + size_, 0, padded(size_) - size_);
        return true;
    }

private:
    static constexpr size_t kSmall = 4096;
    static constexpr size_t kFirst = 256;

    bool grow(size_t size, Memory& memory) {
        if (size > SIZE_MAX / 4) return false;
        const size_t wanted = padded(std::max({size, capacity_ * 2, kFirst}));
        if (shared_ && !carved_ && shared_->alone()) {
            if (!shared_->grow(memory, wanted, size_)) return false;
            take_all();
            return true;
        }
        return move_to(wanted, memory);
    }
    bool move_to(size_t size, Memory& memory) {
        Shared* other = Shared::make(memory, size);
        if (!other) return false;
        if (size_) std::memcpy(other->data(), data_, size_);
        const size_t written = size_;
        drop();
        shared_ = other;
        size_ = written;
        take_all();
        return true;
    }
    bool trim(Memory& memory) {
        memory.held -= std::min(memory.held, capacity_);
        return move_to(padded(size_), memory);
    }
    void take_all() {
        data_ = shared_->data();
        capacity_ = shared_->capacity();
        carved_ = false;
    }
    void drop() {
        if (shared_) shared_->release();
        shared_ = nullptr;
        data_ = nullptr;
        size_ = capacity_ = 0;
        carved_ = false;
    }

    uint8_t* data_ = nullptr;
    size_t size_ = 0;
    size_t capacity_ = 0;
    Shared* shared_ = nullptr;
    bool carved_ = false;
};

// ---- the error of a page that was not decoded
//
// It has the position and the text. The caller makes an exception of it.

struct Failure {
    enum class Kind : uint8_t { None, Value, Memory };

    Kind kind = Kind::None;
    int32_t column = 0;  // of the page's columns
    int64_t row = 0;     // of the page
    char text[240] = {};

    bool happened() const { return kind != Kind::None; }

    // Always returns false, for callers that return it themselves.
    __attribute__((format(printf, 2, 3))) bool value(const char* format, ...) {
        kind = Kind::Value;
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        return false;
    }
    bool memory() {
        kind = Kind::Memory;
        return false;
    }
};

// ---- results of a test, row by row, packed into bits
//
// Eight at a time by one multiplication, so that the test is a loop without branches.

inline uint64_t pack64(const uint8_t* bytes) {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word |= (load_little64(bytes + i * 8) * 0x0102040810204080ULL >> 56) << (i * 8);
    return word;
}

template <class Hit>
void pack_rows(int64_t rows, uint64_t* out, Hit&& hit) {
    alignas(64) uint8_t bytes[64];
    int64_t at = 0;
    for (; at + 64 <= rows; at += 64) {
        for (int i = 0; i < 64; ++i) bytes[i] = static_cast<uint8_t>(hit(at + i));
        *out++ = pack64(bytes);
    }
    if (at < rows) {
        uint64_t word = 0;
        for (int64_t i = at; i < rows; ++i) word |= uint64_t{hit(i) != 0} << (i - at);
        *out = word;
    }
}

// ---- blocks outside of any pool, for arrays that the application owns

class PlainBlocks final : public memory::BlockPool {
public:
    static PlainBlocks& instance() noexcept {
        static auto* const blocks = new PlainBlocks;  // lives as long as the process
        return *blocks;
    }
    bool take_block(size_t size, memory::ColumnBlock& block) override {
        constexpr size_t kAligned = 64;
        if (size > SIZE_MAX / 2) return false;
        const size_t rounded = rounded_up(size, kAligned);
        void* memory = allocate_aligned(kAligned, rounded);
        if (!memory) return false;
        block = {static_cast<uint8_t*>(memory), rounded, nullptr};
        return true;
    }
    bool grow_block(memory::ColumnBlock& block, size_t size, size_t used) override {
        memory::ColumnBlock larger;
        if (size <= block.capacity) return true;
        if (!take_block(size, larger)) return false;
        if (used) std::memcpy(larger.data, block.data, used);
        free_aligned(block.data);
        block = larger;
        return true;
    }
    void give_block(const memory::ColumnBlock& block) override { free_aligned(block.data); }
    void hold() noexcept override {}
    void let_go() noexcept override {}

private:
    PlainBlocks() = default;
    ~PlainBlocks() = default;
};

}  // namespace fastcql::columns
