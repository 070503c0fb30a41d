// Memory of others as Arrow arrays: columns that lie in buffers of a program, without a copy. What keeps those alive is let
// go when the last of the structures is released, by whoever does that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns/abi.h"

namespace fastcql::ingest {

struct Lent {
    std::string name, format;
    int64_t length = 0;
    bool has_nulls = false;
    std::vector<const void*> buffers;
    std::vector<Lent> children;
};

// A struct of *columns*, and its schema. Throws std::bad_alloc, and has not taken *owner* then.
void lend(std::vector<Lent> columns, int64_t length, void* owner, void (*let_go)(void*), ArrowSchema& schema, ArrowArray& array);

}  // namespace fastcql::ingest
