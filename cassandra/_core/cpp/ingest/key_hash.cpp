#include "ingest/key_hash.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/bytes.h"
#include "base/murmur3.h"
#include "base/vint.h"

namespace fastcql::ingest {

namespace {

constexpr uint64_t kNullHash = 0x6e756c6c, kEmptyHash = 0x656d7074, kNanHash = 0x6e616e;

uint64_t bytes_hash(const uint8_t* p, size_t n) { return static_cast<uint64_t>(murmur3_token(p, n)); }
uint64_t combine(uint64_t before, uint64_t hash) { return before * 0x9E3779B97F4A7C15u + hash; }

// Numbers modulo a prime. Equal numbers are equal there, too, at any scale, as ten has an inverse.
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

constexpr uint64_t multiply(uint64_t a, uint64_t b) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % kPrime);
}

constexpr uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1) result = multiply(result, base);
        base = multiply(base, base);
    }
    return result;
}

constexpr uint64_t kTenth = power(10, kPrime - 2);

// Two's complement of any length.
uint64_t whole_number(const uint8_t* p, size_t n) {
    const bool negative = n > 0 && *p & 0x80;
    const uint8_t flip = negative ? 0xff : 0;
    uint64_t found = 0;
    for (size_t i = 0; i < n; ++i) found = (multiply(found, 256) + (p[i] ^ flip)) % kPrime;
    return negative ? kPrime - 1 - found : found;  // -1 - ~x is x
}

uint64_t decimal_hash(const uint8_t* p, size_t n) {
    if (n < 4) return bytes_hash(p, n);
    const auto scale = int64_t{load_i32(p)};
    const uint64_t factor = scale < 0 ? power(10, static_cast<uint64_t>(-scale)) : power(kTenth, static_cast<uint64_t>(scale));
    return multiply(whole_number(p + 4, n - 4), factor);
}

// The values within a collection, tuple, user type or vector.
class Parts {
public:
    Parts(const uint8_t* p, size_t n) : p_(p), end_(p + n) {}

    bool at_end() const { return p_ == end_; }
    // Reads the number of items at the beginning of a collection.
    uint32_t count() {
        if (end_ - p_ < 4) return 0;
        const uint32_t found = load32(p_);
        p_ += 4;
        return found;
    }
    // Hash of the next [bytes]; null behind the end.
    uint64_t cell_hash(const Target& target) {
        if (end_ - p_ < 4) return rest_hash();
        const int32_t size = load_i32(p_);
        p_ += 4;
        return size < 0 ? kNullHash : hash(target, static_cast<size_t>(size));
    }
    // Hash of an element of a vector, which has a fixed size or a length prefix.
    uint64_t element_hash(const Target& target) {
        if (target.element >= 0) return hash(target, static_cast<size_t>(target.element));
        uint64_t size = 0;
        const size_t read = read_unsigned_vint(p_, end_, &size);
        if (!read) return rest_hash();
        p_ += read;
        return hash(target, static_cast<size_t>(std::min<uint64_t>(size, SIZE_MAX)));
    }

private:
    uint64_t hash(const Target& target, size_t size) {
        const uint8_t* at = p_;
        size = std::min(size, static_cast<size_t>(end_ - p_));
        p_ += size;
        return key_hash(target, at, size);
    }
    uint64_t rest_hash() {
        p_ = end_;
        return kNullHash;
    }

    const uint8_t* p_;
    const uint8_t* const end_;
};

// Combines the hashes in sorted order without duplicates, as servers store the items.
uint64_t unordered_hash(std::vector<uint64_t>& hashes) {
    std::sort(hashes.begin(), hashes.end());
    hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
    uint64_t found = hashes.size();
    for (const uint64_t hash : hashes) found = combine(found, hash);
    return found;
}

// Hash of a set or map; of maps only the keys: the server decides which value of duplicate keys is stored.
uint64_t unordered_hash(const Target& target, const uint8_t* p, size_t n) {
    Parts parts(p, n);
    std::vector<uint64_t> hashes;
    for (uint32_t left = parts.count(); left > 0 && !parts.at_end(); --left) {
        hashes.push_back(parts.cell_hash(target.children[0]));
        if (target.cql == Cql::Map) parts.cell_hash(target.children[1]);
    }
    return unordered_hash(hashes);
}

uint64_t list_hash(const Target& target, const uint8_t* p, size_t n) {
    Parts parts(p, n);
    uint64_t found = parts.count();
    while (!parts.at_end()) found = combine(found, parts.cell_hash(target.children[0]));
    return found;
}

// Missing fields are null.
uint64_t fields_hash(const Target& target, const uint8_t* p, size_t n) {
    Parts parts(p, n);
    uint64_t found = 0;
    for (const Target& field : target.children) found = combine(found, parts.cell_hash(field));
    return found;
}

uint64_t vector_hash(const Target& target, const uint8_t* p, size_t n) {
    Parts parts(p, n);
    uint64_t found = 0;
    for (int32_t i = 0; i < target.dimensions; ++i) found = combine(found, parts.element_hash(target.children[0]));
    return found;
}

}  // namespace

bool is_compared_by_bytes(const Target& target) noexcept {
    switch (target.cql) {
        case Cql::Float:
        case Cql::Double:
        case Cql::Decimal:
        case Cql::Varint:
        case Cql::Boolean:
        case Cql::List:
        case Cql::Set:
        case Cql::Map:
        case Cql::Tuple:
        case Cql::Udt:
        case Cql::Vector:
        case Cql::Custom: return false;
        default: return true;
    }
}

uint64_t key_hash(const Target& target, const uint8_t* p, size_t n) {
    if (n == 0) return kEmptyHash;
    switch (target.cql) {
        case Cql::Float:
            return n == 4 && std::isnan(load_float(p)) ? kNanHash : bytes_hash(p, n);
        case Cql::Double:
            return n == 8 && std::isnan(load_double(p)) ? kNanHash : bytes_hash(p, n);
        case Cql::Decimal: return decimal_hash(p, n);
        case Cql::Varint: return whole_number(p, n);
        case Cql::Boolean: return *p != 0;
        case Cql::List: return list_hash(target, p, n);
        case Cql::Set:
        case Cql::Map: return unordered_hash(target, p, n);
        case Cql::Tuple:
        case Cql::Udt: return fields_hash(target, p, n);
        case Cql::Vector: return vector_hash(target, p, n);
        case Cql::Custom: return 0;
        default: return bytes_hash(p, n);
    }
}

}  // namespace fastcql::ingest
