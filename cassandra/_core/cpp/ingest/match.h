// How values of an Arrow type become values of a CQL type: decided once for a schema.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ingest/source.h"
#include "ingest/target.h"

namespace fastcql::ingest {

enum class Way : uint8_t {
    Nulls,       // there are no others
    Dictionary,  // what the index tells, of the only child
    Runs,        // what the run has, of the only child
    One,         // numbers of that many bytes, as they are
    Two,
    Four,
    Eight,
    Day,      // days, counted from the middle
    Sixteen,  // bytes as they are
    Boolean,
    Text,
    Ascii,
    Bytes,
    Integer,  // of another width: checked
    Float,    // exact, or not at all; so is Double
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
    Sealed,  // what a cipher makes of the only child
};

struct Conversion {
    Way way = Way::Nulls;
    int32_t from = -1;  // which child of the source; -1: none, all are null
    const Target* target = nullptr;
    const Source* source = nullptr;
    std::vector<Conversion> children;
};

// Whether every value of *source*, or every one that fits, is one of *target*; if not, what is wrong is added to *problems*.
// *path* says where that is. Both have to stay where they are as long as *out*.
bool match(const Target& target, const Source& source, const std::string& path, Conversion& out, std::vector<std::string>& problems);

}  // namespace fastcql::ingest
