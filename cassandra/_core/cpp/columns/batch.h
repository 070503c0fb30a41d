// A batch: columns of the same number of rows, built page by page, then exported any number of times.
//
// While it is built it has one owner, who appends pages. finish() makes it immutable; from then on it is counted by
// reference, each exported array holds one, and the last to go, on any thread and without the GIL, frees it.
#pragma once

#include <atomic>
#include <cstdint>

#include "columns/abi.h"
#include "columns/column.h"
#include "memory/frames.h"

namespace fastcql::columns {

struct Page {
    const uint8_t* data;
    size_t size;
    int64_t rows;
    memory::FrameBlock* frame = nullptr;  // what they lie in and who may be asked to keep it; none: gone after the call
};

// Bytes of a page that views point to: where they came, or a copy.
struct Viewed {
    const uint8_t* data = nullptr;
    size_t size = 0;
    memory::FrameBlock* frame = nullptr;  // one reference
    Buffer copy;

    Viewed() = default;
    Viewed(const Viewed&) = delete;
    Viewed& operator=(const Viewed&) = delete;
    ~Viewed() {
        if (frame) frame->release();
    }
    void swap(Viewed& other) {
        std::swap(data, other.data);
        std::swap(size, other.size);
        std::swap(frame, other.frame);
        copy.swap(other.copy);
    }
};

// How many rows a batch will have in all: *target* is where one that goes on for long ends, *expected* the likely number,
// for which room is made with the first page. 0: unknown. Hints only: they never make an append fail.
struct RowCount {
    int64_t target = 0;
    int64_t expected = 0;
};

class Batch {
public:
    // Empty, with one reference; null without memory. The pool lives as long as what is taken from it.
    static Batch* make(const Plan& plan, memory::BlockPool& pool) noexcept;
    void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
    }

    // Whether the page's values surely fit behind those that are there: offsets have 31 bits.
    bool has_room_for(const Page& page) const noexcept;
    // All rows of the page behind those that are there. On failure the batch is as it was.
    bool append(const Page& page, const RowCount& in_all, Failure& failure);
    // What saved.h has written of a batch of the same types, into an empty one. False when it is none, or without memory.
    bool load(const uint8_t* p, size_t size, Failure& failure) noexcept;
    bool finish(Failure& failure) noexcept;

    const Plan& plan() const { return plan_; }
    int64_t rows() const noexcept { return rows_; }
    // Bytes that its buffers take, padding and all, and those of pages that views point to; a bound while it is built.
    size_t bytes() const noexcept { return (finished_ ? bytes_ : memory_.held) + pinned_; }
    const Column& column(int32_t i) const noexcept { return columns_[i]; }
    Column& column(int32_t i) noexcept { return columns_[i]; }
    int32_t page_count() const { return page_count_; }
    const Viewed& page(int32_t i) const { return pages_[i]; }

    // For who fills the columns of an empty batch himself (gather.h).
    Memory& memory() { return memory_; }
    void set_rows(int64_t rows) { rows_ = rows; }
    bool keep_copy(Buffer& page);

    // A struct array of all columns, of *rows* rows from *first* on; false without memory.
    bool export_array(ArrowArray* out, int64_t first, int64_t rows) noexcept;
    bool export_array(ArrowArray* out) noexcept { return export_array(out, 0, rows_); }
    // Nulls among some rows of a column.
    int64_t nulls_within(int32_t column, int64_t first, int64_t rows) const noexcept;

private:
    Batch(const Plan& plan, memory::BlockPool& pool, Column* columns) : plan_(plan), columns_(columns) {
        memory_.pool = &pool;
    }
    ~Batch() = default;
    void destroy();
    void measure(const Page& page, int64_t* bytes) const;
    bool make_room(const Page& page, const RowCount& in_all, Failure& failure);
    int64_t rows_to_come(const Page& page, int64_t page_bytes, const RowCount& in_all) const;
    bool make_first_room(const Page& page, const int64_t* bytes, Failure& failure);
    void expect(Column& column, size_t bytes, int64_t rows, int64_t to_come, Appender& appender);
    bool read(const Page& page, Appender& appender);
    bool check(Failure& failure) const;
    bool keep_page(const Page& page);
    bool end(Buffer& buffer);

    std::atomic<uint32_t> refs_{1};
    const Plan& plan_;
    Column* columns_;  // of all types of the plan, in their order; behind this object
    Memory memory_;
    int64_t rows_ = 0;
    Viewed* pages_ = nullptr;
    int32_t page_count_ = 0;
    size_t pinned_ = 0;  // bytes of pages in frames
    bool finished_ = false;
    size_t bytes_ = 0;
};

}  // namespace fastcql::columns
