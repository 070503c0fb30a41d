// CQL target types, Arrow source types, and the conversion of these to those.
//
// A source type is the content of a schema of the C data interface, read once and checked. Formats are those of its
// specification.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "columns/plan.h"

namespace fastcql::ingest {

// ---- CQL target types: made once for a plan, then read-only

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

// Treatment of points in time that are more precise than the target type.
enum class Rounding : uint8_t {
    Refuse,
    Floor,
    Nearest,  // of two equally near ones the even one
};

struct Target {
    Cql cql = Cql::Custom;
    Rounding rounding = Rounding::Refuse;
    int32_t dimensions = 0;  // of a vector
    int64_t element = -1;    // bytes of a value of this type in a vector, -1: it has a length prefix
    std::string name;        // of the column or field
    std::string text;        // the type as CQL spells it
    std::vector<Target> children;  // of an encrypted type: the inner type, if it is known
};

// ---- source types

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
    Whole,    // whole floating-point numbers as integers, NaN as null
    Float,    // of floating-point numbers: rounded; of integers: exact values only, as for Double
    Double,
    IntegerText,
    FloatText,
    DoubleText,
    BooleanText,
    TimestampText,
    DateText,
    TimeText,
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
    FieldMap,   // of a struct, whose fields are the pairs
    Struct,
    ListFields,  // a list as a tuple: each child reads the items
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

// The same for a column of values that are encoded already: *source* has their bytes.
bool match_encoded(
    const Target& target, const Source& source, const std::string& path, Conversion& out, std::vector<std::string>& problems
);

}  // namespace fastcql::ingest
