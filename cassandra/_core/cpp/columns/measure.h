// A measure: one aggregate of one column, for each group. Owned by its Groups.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "columns/cells.h"
#include "columns/mask.h"

namespace fastcql::columns {

enum class Aggregate : uint8_t { Count, Sum, Min, Max };

// The result of a measure for a group, by the type of its values.
struct Result {
    enum class What : uint8_t { None, Integer, Float, Text } what = What::None;
    double number = 0;
    std::string text;  // of an Integer: its bytes, little-endian and signed; UUIDs are Text
};

// Rows of a slice that a mask selects, or all; and their groups in the same order, or null if there is only one.
struct Rows {
    Slice slice;
    const Mask* mask;
    const uint32_t* groups;
};

class Measure {
public:
    virtual ~Measure() = default;
    virtual void grow(size_t groups) = 0;
    virtual void add(const Rows& rows) = 0;
    // Adds the results of *other*, of the same kind: its group i is *groups*[i] here.
    virtual void merge(const Measure& other, const uint32_t* groups, size_t count) = 0;
    virtual Result result(size_t group) const = 0;
    // Serialises to bytes, and back; false for invalid bytes.
    virtual void save(std::string& out) const = 0;
    virtual bool load(const uint8_t*& p, const uint8_t* end, size_t groups) = 0;
};

// Null if the aggregate does not support such values. A column of -1 counts rows.
std::unique_ptr<Measure> make_measure(Aggregate aggregate, int32_t column, Form form);

}  // namespace fastcql::columns
