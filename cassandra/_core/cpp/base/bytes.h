// Bytes: arithmetic on sizes of memory, loads and stores, the buffer of encoders, variable-length integers.
//
// A size that does not fit is SIZE_MAX, which no allocator grants: products and sums of external numbers become a
// failed allocation, never a small one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

// Integers of the wire and of arrays are read in this byte order, and sizes are not checked against fewer bits.
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || __SIZEOF_POINTER__ != 8
#error "fastcql needs a 64-bit little-endian machine, such as x86-64 or ARM64."
#endif

namespace fastcql {

inline constexpr size_t times(size_t a, size_t b) {
    size_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

inline constexpr size_t plus(size_t a, size_t b) {
    size_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

// The next multiple of *step*, a power of two.
inline constexpr size_t rounded_up(size_t size, size_t step) {
    const size_t up = plus(size, step - 1);
    return up == SIZE_MAX ? SIZE_MAX : up & ~(step - 1);
}

// ---- big- and little-endian loads and stores, and the buffer to which every encoder appends

inline uint16_t big16(uint16_t v) { return __builtin_bswap16(v); }
inline uint32_t big32(uint32_t v) { return __builtin_bswap32(v); }
inline uint64_t big64(uint64_t v) { return __builtin_bswap64(v); }

inline uint32_t load_little32(const uint8_t* p) {
    uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline uint64_t load_little64(const uint8_t* p) {
    uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

inline uint16_t load16(const uint8_t* p) noexcept {
    uint16_t v;
    std::memcpy(&v, p, sizeof v);
    return big16(v);
}
inline uint32_t load32(const uint8_t* p) noexcept {
    uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return big32(v);
}
inline uint64_t load64(const uint8_t* p) {
    uint64_t v;
    std::memcpy(&v, p, sizeof v);
    return big64(v);
}
inline int32_t load_i32(const uint8_t* p) noexcept { return static_cast<int32_t>(load32(p)); }
inline int64_t load_i64(const uint8_t* p) noexcept { return static_cast<int64_t>(load64(p)); }
inline float load_float(const uint8_t* p) noexcept {
    const uint32_t bits = load32(p);
    float v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}
inline double load_double(const uint8_t* p) noexcept {
    const uint64_t bits = load64(p);
    double v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

inline void store16(uint8_t* p, uint16_t v) {
    v = big16(v);
    std::memcpy(p, &v, sizeof v);
}
inline void store32(uint8_t* p, uint32_t v) {
    v = big32(v);
    std::memcpy(p, &v, sizeof v);
}
inline void store64(uint8_t* p, uint64_t v) {
    v = big64(v);
    std::memcpy(p, &v, sizeof v);
}
inline void store_float(uint8_t* p, float v) {
    uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    store32(p, bits);
}
inline void store_double(uint8_t* p, double v) {
    uint64_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    store64(p, bits);
}

// Append-only bytes: small contents stay inline in the object, larger ones double on the heap. A failed allocation is
// sticky: later appends do nothing, and the caller checks failed() once, at the end, instead of at every call.
class ByteBuffer {
public:
    ByteBuffer() noexcept = default;
    ~ByteBuffer() {
        if (data_ != inline_) std::free(data_);
    }
    ByteBuffer(const ByteBuffer&) = delete;
    ByteBuffer& operator=(const ByteBuffer&) = delete;

    size_t size() const noexcept { return size_; }
    uint8_t* data() noexcept { return data_; }
    bool failed() const noexcept { return failed_; }
    void truncate(size_t size) noexcept {
        if (size < size_) size_ = size;
    }

    // Room for n more bytes, counted as written; null when memory ran out.
    uint8_t* extend(size_t n) noexcept {
        if (n > capacity_ - size_ && !grow(n)) return nullptr;
        uint8_t* at = data_ + size_;
        size_ += n;
        return at;
    }
    void put8(uint8_t v) noexcept {
        if (uint8_t* p = extend(1)) *p = v;
    }
    void put16(uint16_t v) noexcept {
        if (uint8_t* p = extend(2)) store16(p, v);
    }
    void put32(uint32_t v) noexcept {
        if (uint8_t* p = extend(4)) store32(p, v);
    }
    void put64(uint64_t v) noexcept {
        if (uint8_t* p = extend(8)) store64(p, v);
    }
    void put_float(float v) noexcept {
        if (uint8_t* p = extend(4)) store_float(p, v);
    }
    void put_double(double v) noexcept {
        if (uint8_t* p = extend(8)) store_double(p, v);
    }
    void put(const void* bytes, size_t n) noexcept {
        if (n == 0) return;
        if (uint8_t* p = extend(n)) std::memcpy(p, bytes, n);
    }
    void patch16(size_t at, uint16_t v) noexcept {
        if (!failed_) store16(data_ + at, v);
    }
    void patch32(size_t at, uint32_t v) noexcept {
        if (!failed_) store32(data_ + at, v);
    }
    void patch8(size_t at, uint8_t v) noexcept {
        if (!failed_) data_[at] = v;
    }

private:
    bool grow(size_t n) {
        if (failed_ || n > SIZE_MAX / 2 - size_) return fail();
        size_t capacity = times(capacity_, 2);
        while (capacity - size_ < n) capacity = times(capacity, 2);
        void* moved;
        if (data_ == inline_) {
            moved = std::malloc(capacity);
            if (moved) std::memcpy(moved, inline_, size_);
        } else {
            moved = std::realloc(data_, capacity);
        }
        if (!moved) return fail();
        data_ = static_cast<uint8_t*>(moved);
        capacity_ = capacity;
        return true;
    }
    bool fail() {
        failed_ = true;
        size_ = 0;
        capacity_ = 0;  // keeps extend() on its slow path, which fails from now on
        return false;
    }

    static constexpr size_t kInline = 480;
    uint8_t* data_ = inline_;
    size_t size_ = 0;
    size_t capacity_ = kInline;
    bool failed_ = false;
    uint8_t inline_[kInline];
};

// ---- variable-length integers (native protocol v5, section 3)
//
// The leading one bits of the first byte count the bytes that follow it.

// Reads one [unsigned vint] from [p, end); returns the bytes used, or 0 when the input ends inside it.
inline size_t read_unsigned_vint(const uint8_t* p, const uint8_t* end, uint64_t* value) noexcept {
    if (p >= end) return 0;
    const uint8_t first = *p;
    if (first < 0x80) {
        *value = first;
        return 1;
    }
    const int extra = first == 0xff ? 8 : __builtin_clz(static_cast<uint32_t>(static_cast<uint8_t>(~first))) - 24;
    if (end - p <= extra) return 0;
    uint64_t v = extra == 8 ? 0 : first & (0xffu >> extra);
    for (int i = 1; i <= extra; ++i) v = v << 8 | p[i];
    *value = v;
    return static_cast<size_t>(extra) + 1;
}

inline void put_unsigned_vint(ByteBuffer& out, uint64_t value) noexcept {
    const int bits = 64 - __builtin_clzll(value | 1);
    int size = (bits + 6) / 7;  // 7 payload bits per byte, up to 8 bytes
    if (size > 9) size = 9;
    uint8_t bytes[9];
    for (int i = size - 1; i >= 0; --i) {
        bytes[i] = static_cast<uint8_t>(value);
        value >>= 8;
    }
    if (size > 1) bytes[0] |= static_cast<uint8_t>(0xff00u >> (size - 1));
    out.put(bytes, static_cast<size_t>(size));
}

inline int64_t zigzag_decode(uint64_t n) noexcept { return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1); }
inline uint64_t zigzag_encode(int64_t n) noexcept {
    return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63);
}

// ---- two's complement integers of any width up to 8 bytes (varint), in Java's minimal big-endian form

// n is 1..8.
inline int64_t load_varint(const uint8_t* p, size_t n) noexcept {
    uint64_t v = p[0] & 0x80 ? ~0ULL : 0;
    for (size_t i = 0; i < n; ++i) v = v << 8 | p[i];
    return static_cast<int64_t>(v);
}

inline void put_varint(ByteBuffer& out, int64_t v) noexcept {
    uint8_t bytes[8];
    store64(bytes, static_cast<uint64_t>(v));
    int skip = 0;
    const uint8_t filler = v < 0 ? 0xff : 0x00;
    while (skip < 7 && bytes[skip] == filler && (bytes[skip + 1] & 0x80) == (filler & 0x80)) ++skip;
    out.put(bytes + skip, static_cast<size_t>(8 - skip));
}

}  // namespace fastcql
