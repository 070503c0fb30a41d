// Arrow arrays as they are read: what the C data interface lets one check was checked, what lies in the values, such as
// offsets and indexes, is checked when a value is read.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "columns/abi.h"
#include "ingest/match.h"

namespace fastcql::ingest {

template <typename T>
T load(const uint8_t* p, int64_t i) {
    T v;
    std::memcpy(&v, p + i * static_cast<int64_t>(sizeof v), sizeof v);
    return v;
}

struct Input {
    Way way = Way::Nulls;
    Layout layout = Layout::Fixed;
    uint8_t width = 0;         // bytes of a number
    int64_t offset = 0;        // of the array: added to every index below
    int64_t length = 0;
    int64_t size = 0;          // of values of Layout::Fixed
    int64_t limit = 0;         // no value ends behind it
    const uint8_t* validity = nullptr;  // null: there are no nulls
    const uint8_t* values = nullptr;    // numbers, bits, offsets, views; bytes of Layout::Fixed
    const uint8_t* data = nullptr;      // bytes behind offsets; sizes of ranges
    const void* const* buffers = nullptr;  // that views refer to
    const uint8_t* sizes = nullptr;        // and how large they are
    int64_t buffer_count = 0;
    const Conversion* how = nullptr;
    std::vector<Input> children;

    bool is_null(int64_t i) const {
        i += offset;
        return validity ? !(validity[i / 8] >> (i % 8) & 1) : way == Way::Nulls;
    }
    template <typename T>
    T at(int64_t i) const {
        return load<T>(values, offset + i);
    }
    int64_t offset_at(int64_t i) const {  // the i-th offset
        return layout == Layout::Offsets64 ? at<int64_t>(i) : at<int32_t>(i);
    }
};

// Of the arrays that *how* needs, of which the first one has to have *needed* values. False: it is broken, *problem* says how.
bool read_array(const Conversion& how, const ArrowArray& array, int64_t needed, Input& out, std::string& problem);

}  // namespace fastcql::ingest
