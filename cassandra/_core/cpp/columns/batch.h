// A batch: columns of the same number of rows, built page by page, then exported any number of times.
//
// While it is built it has one owner, which appends pages. finish() makes it immutable; from then on it is
// reference-counted: each exported array holds one reference, and the last release, on any thread and without the GIL,
// frees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "columns/column.h"
#include "columns/plan.h"
#include "memory/frames.h"

namespace fastcql::columns {

struct Page {
    const uint8_t* data;
    size_t size;
    int64_t rows;
    memory::FrameBlock* frame = nullptr;  // contains the page, and can be retained; null: the page ends with the call
};

// Bytes of a page that views point to: in their frame, or a copy.
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

// Expected number of rows of the whole batch: *target* is the limit of a long one, *expected* the likely number, for
// which the first page reserves memory. 0: unknown. Hints only: they never make an append fail.
struct RowCount {
    int64_t target = 0;
    int64_t expected = 0;
};

class Batch {
public:
    // Empty, with one reference; null without memory. The pool lives as long as its blocks.
    static Batch* make(const Plan& plan, memory::BlockPool& pool) noexcept;
    void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
    }

    // True if the page's values fit behind the present ones in any case: offsets have 31 bits.
    bool has_room_for(const Page& page) const noexcept;
    // Appends all rows of the page. On failure the batch is unchanged.
    bool append(const Page& page, const RowCount& in_all, Failure& failure);
    // Reads the output of saved.h for a batch of the same types into an empty one. False for other data, or without
    // memory.
    bool load(const uint8_t* p, size_t size, Failure& failure) noexcept;
    bool finish(Failure& failure) noexcept;

    const Plan& plan() const { return plan_; }
    int64_t rows() const noexcept { return rows_; }
    // Bytes of its buffers with padding, and of pages that views point to; an upper bound while it is built.
    size_t bytes() const noexcept { return (finished_ ? bytes_ : memory_.held) + pinned_; }
    const Column& column(int32_t i) const noexcept { return columns_[i]; }
    Column& column(int32_t i) noexcept { return columns_[i]; }
    int32_t page_count() const { return page_count_; }
    const Viewed& page(int32_t i) const { return pages_[i]; }

    // For callers that fill the columns of an empty batch directly (gather.h).
    Memory& memory() { return memory_; }
    void set_rows(int64_t rows) { rows_ = rows; }
    bool keep_copy(Buffer& page);

    // Exports a struct array of all columns, of *rows* rows from *first* on; false without memory.
    bool export_array(ArrowArray* out, int64_t first, int64_t rows) noexcept;
    bool export_array(ArrowArray* out) noexcept { return export_array(out, 0, rows_); }
    // Number of nulls in a range of rows of a column.
    int64_t nulls_within(int32_t column, int64_t first, int64_t rows) const noexcept;

private:
    Batch(const Plan& plan, memory::BlockPool& pool, Column* columns) : plan_(plan), columns_(columns) {
        memory_.pool = &pool;
    }
    ~Batch() = default;
    void destroy();
    void measure(const Page& page, int64_t* bytes) const;
    bool make_room(const Page& page, const RowCount& in_all, Failure& failure);
    int64_t remaining_rows(const Page& page, int64_t page_bytes, const RowCount& in_all) const;
    bool make_first_room(const Page& page, const int64_t* bytes, Failure& failure);
    void expect(Column& column, size_t bytes, int64_t rows, int64_t remaining, Appender& appender);
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

// A batch as bytes, for pickles: the buffers of all types in sequence. Batch::load() reads them; views point into at
// most one page.

void save_batch(const Batch& batch, std::string& out);

}  // namespace fastcql::columns
