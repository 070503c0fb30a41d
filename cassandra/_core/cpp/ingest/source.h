// Arrow source types, and their conversion to CQL types.
//
// A source type is the content of a schema of the C data interface, read once and checked. Formats are those of its
// specification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns/plan.h"
#include "ingest/target.h"

namespace fastcql::ingest {

enum class Shape : uint8_t {
    Null,
    Boolean,
    Integer,
    Floating,
    Decimal,
    Text,
    Binary,
    Date,
    Time,
    Timestamp,
    Elapsed,  // a duration in units of time
    Months,
    DayTime,
    MonthDayNano,
    List,
    Map,
    Struct,
    Dictionary,
    RunEnds,
    Other,  // cannot be written
};

// Location of values of variable length.
enum class Layout : uint8_t {
    Fixed,      // side by side, of `size` bytes or items each
    Offsets32,
    Offsets64,
    View,       // of text and bytes
    Ranges32,   // of lists: an offset and a size each
    Ranges64,
};

struct Source {
    Shape shape = Shape::Other;
    Layout layout = Layout::Fixed;
    uint8_t width = 0;  // bytes of a number; 1 for a boolean stored as bytes
    bool is_signed = true;
    bool is_zoned = false;
    int32_t precision = 0;
    int32_t scale = 0;
    int64_t size = 0;  // bytes or items of a value of fixed size
    int64_t unit = 0;  // of times: units per second
    std::string name;
    std::string format;
    std::string extension;  // name of the extension type, if any
    std::vector<Source> children;  // of a dictionary: its values

    bool is_text_like() const { return shape == Shape::Text || shape == Shape::Binary; }
    bool operator==(const Source& other) const {
        return format == other.format && name == other.name && shape == other.shape && extension == other.extension &&
               children == other.children;
    }
    // For messages: "list<int32>".
    std::string text() const;
};

// Types nested more deeply are refused.
inline constexpr int kMaxDepth = 64;

// False if the schema is broken, with the reason in *problem*.
bool read_schema(const ArrowSchema& schema, Source& out, std::string& problem, int depth = 0);

// ---- conversion of an Arrow type to a CQL type: decided once for a schema

enum class Method : uint8_t {
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
    Method method = Method::Nulls;
    int32_t from = -1;  // index of the source's child; -1: none, all values are null
    const Target* target = nullptr;
    const Source* source = nullptr;
    std::vector<Conversion> children;
};

// True if every value of *source*, or every value in range, can be converted to *target*; otherwise the reasons are
// added to *problems*, with the position *path*. Both types must outlive *out*.
bool match(const Target& target, const Source& source, const std::string& path, Conversion& out, std::vector<std::string>& problems);

}  // namespace fastcql::ingest
