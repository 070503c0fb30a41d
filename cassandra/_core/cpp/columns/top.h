// The first rows of several slices by the values of one column: least or greatest first, nulls last, equal ones in the
// order of slices and rows.
#pragma once

#include <cstdint>
#include <vector>

#include "columns/cells.h"
#include "columns/mask.h"

namespace fastcql::columns {

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
