// Conversion of an Arrow type to a CQL type: decided once for a schema.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ingest/source.h"
#include "ingest/target.h"

namespace fastcql::ingest {

enum class Way : uint8_t {
    Nulls,       // null values only
    Dictionary,  // the value of the only child at the index
    Runs,        // the value of the only child for the run
    One,         // numbers of that many bytes, unchanged
    Two,
    Four,
    Eight,
    Day,      // days, counted from the middle
    Sixteen,  // bytes, unchanged
    Boolean,
    Text,
    Ascii,
    Bytes,
    Integer,  // of another width: range-checked
    Float,    // exact values only, as for Double
    Double,
    UuidText,
    UuidBytes,
    InetText,
    InetBytes,
    Timestamp,
    Date,
    Time,
    Duration,
    Varint,
    Decimal,
    List,  // and set
    Map,   // of a list of Pair
    Pair,
    Struct,
    Vector,
    Sealed,  // the only child, encrypted by a cipher
};

struct Conversion {
    Way way = Way::Nulls;
    int32_t from = -1;  // index of the source's child; -1: none, all values are null
    const Target* target = nullptr;
    const Source* source = nullptr;
    std::vector<Conversion> children;
};

// True if every value of *source*, or every value in range, can be converted to *target*; otherwise the reasons are
// added to *problems*, with the position *path*. Both types must outlive *out*.
bool match(const Target& target, const Source& source, const std::string& path, Conversion& out, std::vector<std::string>& problems);

}  // namespace fastcql::ingest
