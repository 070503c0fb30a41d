// Rows of several batches of one plan: copied into a new batch, merged into one order, the first ones by a column.
//
// For a new batch consecutive runs of rows are copied into its buffers. Pure except for memory, without locks: batches
// are finished, so any number of threads may read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "columns/batch.h"
#include "columns/cells.h"
#include "columns/keys.h"
#include "columns/mask.h"

namespace fastcql::columns {

// Rows of the batch at index *from* of the caller's batches.
struct Run {
    int32_t from;
    int32_t first;
    int32_t count;
};

// The rows of *runs*, each within its batch, in their order. Null on failure; kind Value means that the values exceed
// one batch, whose offsets have 31 bits: half of the rows may fit.
Batch* gather(const Plan& plan, memory::BlockPool& pool, const Batch* const* batches, size_t batch_count, const Run* runs,
              size_t run_count, Failure& failure) noexcept;

// Copies n bits, from bit *from* of *in* to bit *to* of *out*, which must be zero there.
void copy_bits(uint8_t* out, int64_t to, const uint8_t* in, int64_t from, int64_t n);
// Sets n bits from bit *to* on.
void set_bits(uint8_t* out, int64_t to, int64_t n);
// Returns the number of one bits among the n bits from bit *from* on.
int64_t count_bits(const uint8_t* bits, int64_t from, int64_t n);

// ---- merge of the rows of many sources, each of which arrives in order, batch by batch, into one order
//
// A source is *open* until its end is reported, and *needs rows* when it is open and has none left. While no source
// needs rows, every row is *final* that is not above the smallest of the last available rows of open sources: all later
// rows come behind it. So rows are merged in passes up to this watermark, without a check of all sources per row. Of
// equal rows those of the source with the smaller number come first, also at the watermark, which is a row of a source.
//
// A pass gives runs: a number of consecutive rows of a batch. They are *pending* until they are taken: a run of many
// rows as a slice of its batch, shorter ones together, copied into a new batch. A batch is kept until its last row was
// taken.
//
// Belongs to one thread at a time; nothing here needs the GIL.

class Merge {
public:
    // Runs of *slice_rows* rows or more are slices. Throws std::bad_alloc. The pool and the plan outlive it.
    Merge(const Plan& plan, memory::BlockPool& pool, std::vector<OrderColumn> order, int32_t sources, int64_t slice_rows);
    Merge(const Merge&) = delete;
    Merge& operator=(const Merge&) = delete;
    ~Merge();

    // Adds the next rows of a source that needs rows: *count* of a batch of the plan, from *first* on. False, and nothing done,
    // if they are not in order (kind Value, and the row within the batch), or without memory.
    bool feed(int32_t source, Batch& batch, int64_t first, int64_t count, Failure& failure) noexcept;
    // Number of these ordered rows that are not behind the last row fed for the source: a repeated read begins with
    // them. -1 without memory.
    int64_t known(int32_t source, const Batch& batch, int64_t first, int64_t count) const noexcept;
    // Reports the end of a source.
    void end(int32_t source) noexcept { sources_[static_cast<size_t>(source)].open = false; }
    int32_t source_count() const noexcept { return static_cast<int32_t>(sources_.size()); }
    bool needs_rows(int32_t source) const noexcept {
        const Source& found = sources_[static_cast<size_t>(source)];
        return found.open && found.slot < 0;
    }

    // Merges final rows until *most* rows are pending; returns the number of pending rows. -1 without memory.
    int64_t advance(int64_t most) noexcept;
    int64_t pending() const noexcept { return pending_; }

    // Rows of a batch, with a reference.
    struct MergedRows {
        Batch* batch = nullptr;
        int64_t first = 0;
        int64_t count = 0;
    };
    // Takes pending rows, in order, as many as form one piece; no batch if there are none. False on failure.
    bool take(MergedRows& piece, Failure& failure) noexcept;
    // Origin of the rows of the last piece: runs of sources, each of which continues at its last position.
    const std::vector<Run>& origins() const noexcept { return origins_; }

private:
    // Rows fed for a source.
    struct FedRows {
        int32_t source;
        Batch* batch;
        int64_t first;
        Keys keys;  // until all rows are merged
        int64_t rows_left;  // rows, merged or not

        FedRows(int32_t of_source, Batch& of, int64_t from, int64_t count)
            : source(of_source), batch(&of), first(from), rows_left(count) {
            batch->retain();
        }
        ~FedRows() { batch->release(); }
    };
    struct Source {
        bool open = true;
        int32_t slot = -1;  // in fed_rows_
        int64_t at = 0;   // in the fed rows
        Keys last;       // key of the last row fed
    };
    // A source in a pass.
    struct Runner {
        const uint64_t* heads;
        const Keys* keys;
        int64_t at, limit;
        int32_t slot;
        int32_t offset;  // of its first fed row in its batch
        size_t source;
    };
    template <bool kRest>
    class Tree;

    void enter(size_t source, bool bounded, size_t watermark_source, const Keys* watermark);
    template <bool kRest>
    void pass(int64_t most);
    void add_run(const Runner& runner, int64_t count);
    void leave();
    void let_go(size_t count);
    Batch* gathered(size_t* runs, Failure& failure);

    const Plan& plan_;
    memory::BlockPool& pool_;
    const std::vector<OrderColumn> order_;
    const int64_t slice_rows_;
    std::vector<Source> sources_;
    std::vector<std::unique_ptr<FedRows>> fed_rows_;
    std::vector<int32_t> free_;  // unused indexes of fed_rows_
    std::vector<Runner> runners_;
    std::vector<Run> runs_;  // those from taken_ on are pending
    size_t taken_ = 0;
    int64_t pending_ = 0;
    std::vector<Run> origins_;
};

// ---- the first rows of several slices by the values of one column
//
// Least or greatest first, nulls last, equal ones in the order of slices and rows.

struct Candidates {
    Slice slice;
    const Mask* mask;  // null: all rows
};

struct Pick {
    int32_t source;
    int64_t row;  // of the batch
};

// Returns at most *count* of them, in their order. Throws std::bad_alloc.
std::vector<Pick> first_rows(const std::vector<Candidates>& sources, int32_t column, Form form, size_t count, bool descending);

}  // namespace fastcql::columns
