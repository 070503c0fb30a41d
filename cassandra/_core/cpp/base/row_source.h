// Rows that are written one after another as the bound values of one prepared statement: the transport's interface to
// their source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace fastcql {

// Used by one thread at a time; no call needs the GIL. It is implemented in another extension module than it is used in,
// and each may have a C++ runtime library of its own: nothing is thrown.
class RowSource {
public:
    virtual ~RowSource() = default;
    virtual size_t rows() const noexcept = 0;
    // Appends the values of *row* (below rows()), each as [bytes] (length -1 null, -2 unset), in the order of the
    // statement's markers, without their count; *token* is that of its partition key, and 0 where the plan has none.
    // False: the row cannot be written, failure() gives the reason, and *out* is as before, unless it has failed()
    // itself.
    virtual bool write(size_t row, ByteBuffer& out, int64_t& token) noexcept = 0;
    // True if two rows have the same partition key. For rows of equal tokens: it may take as long as writing both.
    virtual bool same_partition(size_t left, size_t right) noexcept = 0;
    // *hash*: of the clustering key in the bytes that write() appended for one row. Keys that the server compares as
    // equal have equal hashes, even if their bytes differ. False if memory ran out.
    virtual bool clustering_hash(const uint8_t* values, size_t size, uint64_t& hash) const noexcept = 0;
    // The error of the last write() that returned false: names column, row (of this source) and value. Empty where
    // memory ran out.
    virtual const std::string& failure() const noexcept = 0;
};

}  // namespace fastcql
