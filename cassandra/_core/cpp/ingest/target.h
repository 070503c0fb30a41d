// CQL target types. Made once for a plan, then read-only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fastcql::ingest {

// The ids of the native protocol, and at the end ids of types that have none there.
enum class Cql : uint8_t {
    Custom = 0x00,
    Ascii = 0x01,
    Bigint = 0x02,
    Blob = 0x03,
    Boolean = 0x04,
    Counter = 0x05,
    Decimal = 0x06,
    Double = 0x07,
    Float = 0x08,
    Int = 0x09,
    Text = 0x0a,
    Timestamp = 0x0b,
    Uuid = 0x0c,
    Varchar = 0x0d,
    Varint = 0x0e,
    Timeuuid = 0x0f,
    Inet = 0x10,
    Date = 0x11,
    Time = 0x12,
    Smallint = 0x13,
    Tinyint = 0x14,
    Duration = 0x15,
    List = 0x20,
    Map = 0x21,
    Set = 0x22,
    Udt = 0x30,
    Tuple = 0x31,
    Vector = 0x40,
    Encrypted = 0x41,
};

struct Target {
    Cql cql = Cql::Custom;
    int32_t dimensions = 0;  // of a vector
    int64_t element = -1;    // bytes of a value of this type in a vector, -1: it has a length prefix
    std::string name;        // of the column or field
    std::string text;        // the type as CQL spells it
    std::vector<Target> children;  // of an encrypted type: the inner type, if it is known
};

}  // namespace fastcql::ingest
