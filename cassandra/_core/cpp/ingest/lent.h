// Memory of others as Arrow arrays: columns in buffers of a program, without a copy. The owner of the buffers is
// released with the last of the structures, in the thread that releases it.
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

// Exports a struct of *columns*, and its schema. Throws std::bad_alloc; *owner* is not taken then.
void lend(std::vector<Lent> columns, int64_t length, void* owner, void (*let_go)(void*), ArrowSchema& schema, ArrowArray& array);

}  // namespace fastcql::ingest
