// Values of a column for kernels: one of five comparable types, independent of the memory layout.
//
// Integers, times and booleans are int64_t; float and double are double; text, blobs and addresses are bytes, in the
// order of unsigned bytes (that of code points); UUIDs are Ids; decimals of a precision are Wide, times ten to the
// scale.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "columns/batch.h"
#include "columns/column.h"

namespace fastcql::columns {

enum class Form : uint8_t { Bits, Int8, Int16, Int32, Int64, Float, Double, Bytes, Words, Views, Uuid, TimeUuid, Wide16, Wide32, Other };

Form form_of(const Type& type) noexcept;

// Rows of a batch that are processed together: all of them, or a consecutive range.
struct Slice {
    const Batch* batch;
    int64_t first;
    int64_t rows;
};

// Sixteen bytes as numbers, in the order of the server (keys.cpp): of time UUIDs by time, of others by version first.
struct Id {
    uint64_t high, low;
    bool operator<(const Id& other) const { return high != other.high ? high < other.high : low < other.low; }
    bool operator==(const Id& other) const { return high == other.high && low == other.low; }
};

// Time UUIDs: the fields of time from high to low; the server compares the bytes behind them as signed.
inline constexpr uint64_t kSigns = 0x8080808080808080ULL;
inline Id id_of(const uint8_t* p) noexcept { return {load64(p), load64(p + 8)}; }
inline Id by_time(Id id) noexcept { return {id.high << 48 | (id.high >> 16 & 0xffff) << 32 | id.high >> 32, id.low ^ kSigns}; }
inline Id from_time(Id id) { return {id.high << 32 | (id.high >> 32 & 0xffff) << 16 | id.high >> 48, id.low ^ kSigns}; }
inline Id by_version(Id id) noexcept {
    const uint64_t version = id.high >> 12 & 15;
    if (version == 1) return {by_time(id).high, id.low};
    return {version << 60 | id.high >> 16 << 12 | (id.high & 0xfff), id.low};
}
inline Id from_version(Id id) {
    const uint64_t version = id.high >> 60;
    if (version == 1) return {from_time(id).high, id.low};
    return {id.high << 4 >> 16 << 16 | version << 12 | (id.high & 0xfff), id.low};
}
inline void store_id(Id id, bool time, uint8_t* out) {
    id = time ? from_time(id) : from_version(id);
    store64(out, id.high);
    store64(out + 8, id.low);
}

// 256 bits with a sign, least significant limb first.
struct Wide {
    std::array<uint64_t, 4> limbs;
    bool operator<(const Wide& other) const {
        if (limbs[3] != other.limbs[3]) return static_cast<int64_t>(limbs[3]) < static_cast<int64_t>(other.limbs[3]);
        for (int i = 2; i > 0; --i) {
            if (limbs[i] != other.limbs[i]) return limbs[i] < other.limbs[i];
        }
        return limbs[0] < other.limbs[0];
    }
    bool operator==(const Wide& other) const { return limbs == other.limbs; }
};

// A total order of doubles: NaN is the largest, and -0.0 comes before 0.0, as on the server.
inline bool comes_before(double a, double b) {
    if (a < b) return true;
    if (a > b) return false;
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return std::signbit(a) && !std::signbit(b);
}
template <class V>
bool comes_before(const V& a, const V& b) {
    return a < b;
}

template <class T>
struct Numbers {
    const uint8_t* data;
    auto get(int64_t i) const {
        T found;
        std::memcpy(&found, data + static_cast<size_t>(i) * sizeof(T), sizeof(T));
        if constexpr (std::is_floating_point_v<T>) {
            return static_cast<double>(found);
        } else {
            return static_cast<int64_t>(found);
        }
    }
};

struct Bits {
    const uint8_t* data;
    int64_t get(int64_t i) const { return data[i / 8] >> i % 8 & 1; }
};

struct Strings {
    const int32_t* offsets;
    const char* data;
    std::string_view get(int64_t i) const noexcept { return {data + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i])}; }
};

// The index of a null is arbitrary.
struct WordCells {
    const uint8_t* indexes;
    Strings words;
    int32_t count;
    int32_t index(int64_t i) const {
        int32_t found;
        std::memcpy(&found, indexes + i * 4, 4);
        return found;
    }
    std::string_view get(int64_t i) const {
        const int32_t at = index(i);
        return at < count ? words.get(at) : std::string_view();
    }
};

struct ViewCells {
    const uint8_t* views;
    const Batch* batch;
    std::string_view get(int64_t i) const {
        const uint8_t* view = views + i * 16;
        int32_t size, page, at;
        std::memcpy(&size, view, 4);
        if (size <= 12) return {reinterpret_cast<const char*>(view) + 4, static_cast<size_t>(size)};
        std::memcpy(&page, view + 8, 4);
        std::memcpy(&at, view + 12, 4);
        return {reinterpret_cast<const char*>(batch->page(page).data) + at, static_cast<size_t>(size)};
    }
};

template <bool ByTime>
struct Ids {
    const uint8_t* data;
    Id get(int64_t i) const { return ByTime ? by_time(id_of(data + i * 16)) : by_version(id_of(data + i * 16)); }
};

template <size_t Width>
struct Wides {
    const uint8_t* data;
    Wide get(int64_t i) const {
        Wide found{};
        std::memcpy(found.limbs.data(), data + static_cast<size_t>(i) * Width, Width);
        if constexpr (Width == 16) {
            found.limbs[2] = found.limbs[3] = static_cast<int64_t>(found.limbs[1]) < 0 ? ~uint64_t{0} : 0;
        }
        return found;
    }
};

// Calls *use* with the cells of a column; nothing for forms without cells. Rows count from the beginning of the batch.
template <class Use>
void with_cells(const Batch& batch, int32_t index, Form form, Use&& use) {
    const Column& column = batch.column(index);
    const uint8_t* values = column.values.data();
    switch (form) {
        case Form::Bits: return use(Bits{values});
        case Form::Int8: return use(Numbers<int8_t>{values});
        case Form::Int16: return use(Numbers<int16_t>{values});
        case Form::Int32: return use(Numbers<int32_t>{values});
        case Form::Int64: return use(Numbers<int64_t>{values});
        case Form::Float: return use(Numbers<float>{values});
        case Form::Double: return use(Numbers<double>{values});
        case Form::Bytes: return use(Strings{offsets_of(column), reinterpret_cast<const char*>(column.data.data())});
        case Form::Words: {
            const columns::Words* words = column.words;
            if (!words) return use(WordCells{values, {nullptr, nullptr}, 0});
            return use(WordCells{values,
                                 {reinterpret_cast<const int32_t*>(words->offsets.data()),
                                  reinterpret_cast<const char*>(words->data.data())},
                                 words->count});
        }
        case Form::Views: return use(ViewCells{values, &batch});
        case Form::Uuid: return use(Ids<false>{values});
        case Form::TimeUuid: return use(Ids<true>{values});
        case Form::Wide16: return use(Wides<16>{values});
        case Form::Wide32: return use(Wides<32>{values});
        case Form::Other: return;
    }
}

}  // namespace fastcql::columns
