// Rows of several batches of one plan as a new batch: consecutive runs of rows are copied into its buffers.
//
// Pure except for memory, without locks: batches are finished, so any number of threads may read them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "columns/batch.h"

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

}  // namespace fastcql::columns
