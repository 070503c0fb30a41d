// Arrow arrays as input, and memory of others as Arrow arrays.
//
// Properties of input that the C data interface allows to check at once are checked here; offsets and indexes within
// the values are checked when a value is read.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "columns/plan.h"
#include "ingest/source.h"

namespace fastcql::ingest {

template <typename T>
T load(const uint8_t* p, int64_t i) {
    T v;
    std::memcpy(&v, p + i * static_cast<int64_t>(sizeof v), sizeof v);
    return v;
}

struct Input {
    Method method = Method::Nulls;
    Layout layout = Layout::Fixed;
    uint8_t width = 0;         // bytes of a number
    int64_t offset = 0;        // of the array: added to every index below
    int64_t length = 0;
    int64_t size = 0;          // of values of Layout::Fixed
    int64_t limit = 0;         // upper bound of the ends of values
    const uint8_t* validity = nullptr;  // null: there are no nulls
    const uint8_t* values = nullptr;    // numbers, bits, offsets, views; bytes of Layout::Fixed
    const uint8_t* data = nullptr;      // bytes behind offsets; sizes of ranges
    const void* const* buffers = nullptr;  // that views refer to
    const uint8_t* sizes = nullptr;        // of these buffers
    int64_t buffer_count = 0;
    const Conversion* conversion = nullptr;
    std::vector<Input> children;

    bool is_null(int64_t i) const {
        i += offset;
        return validity ? !(validity[i / 8] >> (i % 8) & 1) : method == Method::Nulls;
    }
    template <typename T>
    T at(int64_t i) const {
        return load<T>(values, offset + i);
    }
    int64_t offset_at(int64_t i) const {  // the i-th offset
        return layout == Layout::Offsets64 ? at<int64_t>(i) : at<int32_t>(i);
    }
};

// Reads the arrays that *conversion* needs; the first one must have at least *needed* values. False if it is broken,
// with the reason in *problem*.
bool read_array(const Conversion& conversion, const ArrowArray& array, int64_t needed, Input& out,
                std::string& problem);

// ---- memory of others as Arrow arrays: columns in buffers of a program, without a copy
//
// The owner of the buffers is released with the last of the structures, in the thread that releases it.

struct Borrowed {
    std::string name, format;
    int64_t length = 0;
    bool has_nulls = false;
    std::vector<const void*> buffers;
    std::vector<Borrowed> children;
};

// Exports a struct of *columns*, and its schema. Throws std::bad_alloc; *owner* is not taken then.
void lend(std::vector<Borrowed> columns, int64_t length, void* owner, void (*let_go)(void*), ArrowSchema& schema, ArrowArray& array);

}  // namespace fastcql::ingest
