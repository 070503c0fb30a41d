// Hashes of values that are equal wherever the server compares the values as equal, whatever their bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ingest/target.h"

namespace fastcql::ingest {

// Of a value of *target* as it is written, without its length. Servers compare 1.0 and 1.00, all NaN, and sets and maps in
// any order of their items as equal. Different values have different hashes but for chance, and for maps of equal keys and
// for custom types, which only the server can compare: all of these have one hash. Throws std::bad_alloc.
uint64_t key_hash(const Target& target, const uint8_t* p, size_t n);

// Whether values of a type are equal only when their bytes are, so that any hash of these does.
bool is_compared_by_bytes(const Target& target) noexcept;

}  // namespace fastcql::ingest
