// The plan of a result's columns as Arrow types, and the structures of Arrow's C data and stream interface.
//
// The structures are as defined in the specification of the interface.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "columns/buffer.h"

extern "C" {

struct ArrowSchema {
    const char* format;
    const char* name;
    const char* metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema** children;
    struct ArrowSchema* dictionary;
    void (*release)(struct ArrowSchema*);
    void* private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void** buffers;
    struct ArrowArray** children;
    struct ArrowArray* dictionary;
    void (*release)(struct ArrowArray*);
    void* private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
    int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
    const char* (*get_last_error)(struct ArrowArrayStream*);
    void (*release)(struct ArrowArrayStream*);
    void* private_data;
};

}  // extern "C"

namespace fastcql::columns {

inline constexpr int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

// ---- plan: the Arrow types of a result's columns and the conversion of CQL bytes to them
//
// Made once, immutable, and reference-counted: exported schemas keep it.
//
// Types are one array, each level's children side by side, so that the columns of a batch are one array of the same
// order.

enum class Kind : uint8_t {
    One,        // fixed-width numbers of that many bytes
    Two,
    Four,
    Eight,
    Date,       // four bytes, counted from the middle
    Time,       // eight bytes, within a day
    Uuid,       // sixteen bytes, unchanged
    Boolean,
    Ascii,
    Text,
    Binary,
    View,        // text as views into the page
    Dictionary,  // text as indexes
    Inet,
    Duration,
    VarintText,
    VarintLong,
    Varint,      // decimal of the type's precision, scale 0
    DecimalText,
    Decimal,
    List,        // and set
    Map,
    Struct,      // tuple, user type; the entries of a map
    Vector,
    Place,       // offset in the page of the value, with its length: such a plan is for arrays, and never exported
};

struct Type {
    Kind kind = Kind::Binary;
    bool nullable = true;
    bool is_decimal256 = false;
    int32_t precision = 0;
    int32_t scale = 0;
    int32_t dimensions = 0;  // of a vector
    int64_t element = -1;    // bytes of a value of this type in a vector, -1: it has a length prefix
    int32_t parent = -1;
    int32_t first_child = 0;
    int32_t children = 0;
    std::string name;      // of the field
    std::string format;    // Arrow's
    std::string metadata;  // of the field, in the format of the C interface; empty for none
    std::string cql;       // for messages

    bool is_text() const { return kind == Kind::Text || kind == Kind::Ascii; }
    // Values of variable length behind offsets of four bytes.
    bool is_variable() const noexcept {
        return is_text() || kind == Kind::Binary || kind == Kind::Inet || kind == Kind::VarintText ||
               kind == Kind::DecimalText;
    }
    bool has_offsets() const { return is_variable() || kind == Kind::List || kind == Kind::Map; }
    // Bytes of a value in the first buffer; 0 for booleans and types without one.
    size_t width() const noexcept;
};

class Plan {
public:
    Plan() { counters().plans.fetch_add(1, std::memory_order_relaxed); }
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release() const noexcept {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    // All types, by level: first the columns, then their children, and so on.
    std::vector<Type> types;
    int32_t columns = 0;
    bool has_views = false;
    bool separate = false;  // each column has its own memory, which can be freed without that of others

    // Adds a field; *parent* -1 for a column. Children of one parent are added consecutively.
    Type& add(int32_t parent);
    // Called after the last one: true if types are side by side as required.
    bool complete() noexcept;
    // True if batches of both may be in one stream: types and names are equal.
    bool same_as(const Plan& other) const noexcept;

private:
    ~Plan() { counters().plans.fetch_sub(1, std::memory_order_relaxed); }

    mutable std::atomic<uint32_t> refs_{1};
};

// Key-value pairs in the format of the C interface.
class Metadata {
public:
    void add(const std::string& key, const std::string& value);
    std::string bytes() const;

private:
    int32_t count_ = 0;
    std::string pairs_;
};

// Exports a schema of struct type with all columns; false without memory. Its release may be called by any thread.
bool export_schema(const Plan& plan, ArrowSchema* out) noexcept;

}  // namespace fastcql::columns
