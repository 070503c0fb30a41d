// Arrays of machine numbers to the elements of a CQL vector and back, without making a Python object per element.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/bytes.h"

namespace fastcql {

enum class Element { kInt8, kInt16, kInt32, kInt64, kUint8, kUint16, kUint32, kUint64, kFloat, kDouble, kOther };

// Maps a struct-module format character, with its optional byte-order mark, to the stored type. *swapped* is true if
// the bytes are not in this machine's order.
inline Element element_of(const char* format, size_t itemsize, bool* swapped) noexcept {
    *swapped = false;
    if (!format) return itemsize == 1 ? Element::kUint8 : Element::kOther;
    if (*format == '>' || *format == '!') {
        *swapped = big16(1) != 1;
        ++format;
    } else if (*format == '<') {
        *swapped = big16(1) == 1;
        ++format;
    } else if (*format == '@' || *format == '=') {
        ++format;
    }
    if (format[0] == '\0' || format[1] != '\0') return Element::kOther;
    switch (format[0]) {
        case 'f': return itemsize == 4 ? Element::kFloat : Element::kOther;
        case 'd': return itemsize == 8 ? Element::kDouble : Element::kOther;
        case 'b': case 'h': case 'i': case 'l': case 'q': case 'n':
            return itemsize == 1   ? Element::kInt8
                   : itemsize == 2 ? Element::kInt16
                   : itemsize == 4 ? Element::kInt32
                   : itemsize == 8 ? Element::kInt64
                                   : Element::kOther;
        case 'B': case 'H': case 'I': case 'L': case 'Q': case 'N':
            return itemsize == 1   ? Element::kUint8
                   : itemsize == 2 ? Element::kUint16
                   : itemsize == 4 ? Element::kUint32
                   : itemsize == 8 ? Element::kUint64
                                   : Element::kOther;
        default: return Element::kOther;
    }
}

// ---- between big-endian numbers of the wire and those of this machine, the same step in both directions

// One number of 2, 4 or 8 bytes.
inline void load_number(const uint8_t* p, size_t width, uint8_t* out) {
    if (width == 4) {
        const uint32_t v = load32(p);
        std::memcpy(out, &v, sizeof v);
    } else if (width == 8) {
        const uint64_t v = load64(p);
        std::memcpy(out, &v, sizeof v);
    } else {
        const uint16_t v = load16(p);
        std::memcpy(out, &v, sizeof v);
    }
}

template <size_t kWidth>
inline void load_numbers_of(const uint8_t* __restrict p, size_t n, uint8_t* __restrict out) noexcept {
    size_t i = 0;
#ifdef __SSE2__
    // Compilers reverse bytes by an instruction that not every x86-64 has, or else one number at a time.
    for (; i + 16 / kWidth <= n; i += 16 / kWidth) {
        __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + kWidth * i));
        v = _mm_or_si128(_mm_slli_epi16(v, 8), _mm_srli_epi16(v, 8));
        if constexpr (kWidth == 4) v = _mm_shufflehi_epi16(_mm_shufflelo_epi16(v, 0xB1), 0xB1);
        if constexpr (kWidth == 8) v = _mm_shufflehi_epi16(_mm_shufflelo_epi16(v, 0x1B), 0x1B);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + kWidth * i), v);
    }
#endif
    for (; i < n; ++i) load_number(p + kWidth * i, kWidth, out + kWidth * i);
}

// n consecutive numbers; out need not be aligned, and does not overlap p.
inline void load_numbers(const uint8_t* __restrict p, size_t n, size_t width, uint8_t* __restrict out) noexcept {
    if (width == 4) {
        load_numbers_of<4>(p, n, out);
    } else if (width == 8) {
        load_numbers_of<8>(p, n, out);
    } else {
        load_numbers_of<2>(p, n, out);
    }
}

// ---- machine numbers to the elements of a CQL vector

template <typename T>
inline T load_element(const uint8_t* p, bool swapped) {
    T v;
    if (!swapped) {
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    uint8_t bytes[sizeof(T)];
    for (size_t i = 0; i < sizeof(T); ++i) bytes[i] = p[sizeof(T) - 1 - i];
    std::memcpy(&v, bytes, sizeof v);
    return v;
}

// Encodes a machine number as one element on the wire; false if the type cannot hold it.
inline bool store_element(uint8_t* out, double v, float*) noexcept {
    const float narrow = static_cast<float>(v);
    if (std::isinf(narrow) && !std::isinf(v)) return false;
    store_float(out, narrow);
    return true;
}
inline bool store_element(uint8_t* out, double v, double*) noexcept {
    store_double(out, v);
    return true;
}
template <typename Int>
inline bool store_element(uint8_t* out, Int v, int32_t*) noexcept {
    if (v < static_cast<Int>(std::numeric_limits<int32_t>::min()) || v > std::numeric_limits<int32_t>::max()) return false;
    store32(out, static_cast<uint32_t>(v));
    return true;
}
template <typename Int>
inline bool store_element(uint8_t* out, Int v, int64_t*) noexcept {
    store64(out, static_cast<uint64_t>(v));
    return true;
}

template <typename Source, typename Wide, typename Wire>
inline bool copy_elements(const uint8_t* p, ptrdiff_t stride, size_t n, bool swapped, uint8_t* out) {
    if constexpr (std::is_same_v<Source, Wire>) {  // the same bits, those of signalling NaNs as well
        constexpr size_t kWidth = sizeof(Wire);
        const size_t step = stride == static_cast<ptrdiff_t>(kWidth) ? n : 1;
        for (size_t i = 0; i < n; i += step, p += stride, out += kWidth) {
            if (swapped) {
                std::memcpy(out, p, step * kWidth);
            } else {
                load_numbers_of<kWidth>(p, step, out);
            }
        }
        return true;
    }
    for (size_t i = 0; i < n; ++i, p += stride, out += sizeof(Wire))
        if (!store_element(out, static_cast<Wide>(load_element<Source>(p, swapped)), static_cast<Wire*>(nullptr)))
            return false;
    return true;
}

template <typename Wide, typename Wire>
inline bool copy_integers(Element from, const uint8_t* p, ptrdiff_t stride, size_t n, bool swapped, uint8_t* out) {
    switch (from) {
        case Element::kInt8: return copy_elements<int8_t, Wide, Wire>(p, stride, n, swapped, out);
        case Element::kInt16: return copy_elements<int16_t, Wide, Wire>(p, stride, n, swapped, out);
        case Element::kInt32: return copy_elements<int32_t, Wide, Wire>(p, stride, n, swapped, out);
        case Element::kInt64: return copy_elements<int64_t, Wide, Wire>(p, stride, n, swapped, out);
        case Element::kUint8: return copy_elements<uint8_t, Wide, Wire>(p, stride, n, swapped, out);
        case Element::kUint16: return copy_elements<uint16_t, Wide, Wire>(p, stride, n, swapped, out);
        case Element::kUint32: return copy_elements<uint32_t, Wide, Wire>(p, stride, n, swapped, out);
        default: return false;  // 64-bit unsigned goes element by element, with its range check
    }
}

template <typename Wire>
inline bool copy_floats(Element from, const uint8_t* p, ptrdiff_t stride, size_t n, bool swapped, uint8_t* out) {
    if (from == Element::kFloat) return copy_elements<float, double, Wire>(p, stride, n, swapped, out);
    if (from == Element::kDouble) return copy_elements<double, double, Wire>(p, stride, n, swapped, out);
    return copy_integers<double, Wire>(from, p, stride, n, swapped, out);
}

// The four element types with machine representation on the wire; out has room for n of them.
inline bool copy_to_float(Element from, const uint8_t* p, ptrdiff_t stride, size_t n, bool swapped, uint8_t* out) noexcept {
    return copy_floats<float>(from, p, stride, n, swapped, out);
}
inline bool copy_to_double(Element from, const uint8_t* p, ptrdiff_t stride, size_t n, bool swapped, uint8_t* out) noexcept {
    return copy_floats<double>(from, p, stride, n, swapped, out);
}
inline bool copy_to_int32(Element from, const uint8_t* p, ptrdiff_t stride, size_t n, bool swapped, uint8_t* out) noexcept {
    return copy_integers<int64_t, int32_t>(from, p, stride, n, swapped, out);
}
inline bool copy_to_int64(Element from, const uint8_t* p, ptrdiff_t stride, size_t n, bool swapped, uint8_t* out) noexcept {
    return copy_integers<int64_t, int64_t>(from, p, stride, n, swapped, out);
}

}  // namespace fastcql
