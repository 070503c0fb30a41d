// Hashes of values that are equal whenever the server compares the values as equal, even if their bytes differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ingest/target.h"

namespace fastcql::ingest {

// Hash of a wire value of *target*, without its length. Servers compare 1.0 and 1.00, all NaN, and sets and maps in any
// order of their items as equal. Different values have different hashes with high probability, except maps of equal
// keys and custom types, which only the server can compare: each of these two groups has one hash. Throws
// std::bad_alloc.
uint64_t key_hash(const Target& target, const uint8_t* p, size_t n);

// True if values of a type are equal only if their bytes are, so that any hash of the bytes is sufficient.
bool is_compared_by_bytes(const Target& target) noexcept;

}  // namespace fastcql::ingest
