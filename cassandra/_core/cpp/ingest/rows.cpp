// Rows of Arrow arrays as bound values: their target columns, their values, and hashes of their keys.
#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "ingest/rows.h"
#include "base/bytes.h"
#include "base/murmur3.h"
#include "columns/buffer.h"

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

// ---- target columns

// Assign a column of the data to each column of the plan; no column is used twice.
bool Reading::find_columns(bool others_are_ignored, std::vector<std::string>& problems) {
    const std::vector<Column>& columns = plan_->columns;
    row_.children.resize(columns.size());
    for (size_t i = 0; i < columns.size(); ++i) row_.children[i].target = &columns[i].target;
    for (size_t k = 0; k < source_.children.size(); ++k) {
        const std::string& name = source_.children[k].name;
        size_t i = 0;
        while (i < columns.size() && columns[i].target.name != name) ++i;
        if (i == columns.size()) {
            if (!others_are_ignored) problems.push_back("column '" + name + "': the table has no such column");
        } else if (row_.children[i].from >= 0) {
            problems.push_back("column '" + name + "': duplicate column in the data");
        } else {
            row_.children[i].from = static_cast<int32_t>(k);
        }
    }
    for (size_t i = 0; i < columns.size(); ++i) {
        const Target& target = columns[i].target;
        Conversion& found = row_.children[i];
        if (found.from >= 0) {
            match_column(target, source_.children[static_cast<size_t>(found.from)], found, problems);
        } else if (columns[i].is_required) {
            problems.push_back("column '" + target.name + "': missing in the data, it is part of the primary key");
        }
    }
    return problems.empty();
}

bool Reading::match_column(
    const Target& target, const Source& source, Conversion& out, std::vector<std::string>& problems
) const {
    const std::string path = "column '" + target.name + "'";
    const bool is_encoded = std::find(encoded_.begin(), encoded_.end(), target.name) != encoded_.end();
    return is_encoded ? match_encoded(target, source, path, out, problems) : match(target, source, path, out, problems);
}

std::shared_ptr<const Reading> Reading::make(
    const std::shared_ptr<const Plan>& plan, const ArrowSchema& schema, bool others_are_ignored,
    const std::vector<std::string>& encoded, std::vector<std::string>& problems
) {
    const auto made = std::make_shared<Reading>();
    made->encoded_ = encoded;
    std::string broken;
    if (!read_schema(schema, made->source_, broken)) {
        problems.push_back(broken);
        return nullptr;
    }
    if (made->source_.shape != Shape::Struct) {
        problems.push_back("expected rows (a struct of columns), got " + made->source_.text());
        return nullptr;
    }
    made->plan_ = plan;
    made->row_.method = Method::Struct;
    made->row_.source = &made->source_;
    return made->find_columns(others_are_ignored, problems) ? made : nullptr;
}

bool Reading::is_of(const ArrowSchema& schema, const std::vector<std::string>& encoded) const {
    Source other;
    std::string broken;
    return encoded == encoded_ && read_schema(schema, other, broken) && other == source_;
}

// ---- rows

namespace {

constexpr int32_t kMaxKeyPart = 0xffff;

}  // namespace

Rows::Rows(std::shared_ptr<const Reading> reading, ArrowArray& array, int64_t first)
    : reading_(std::move(reading)), plan_(reading_->plan()), array_(array), first_(first), starts_(plan_.columns.size()) {
    array.release = nullptr;
    columns::counters().rows.fetch_add(1, std::memory_order_relaxed);
}

Rows::~Rows() {
    if (array_.release) array_.release(&array_);
    columns::counters().rows.fetch_sub(1, std::memory_order_relaxed);
}

Rows* Rows::make(std::shared_ptr<const Reading> reading, ArrowArray& array, int64_t first, std::string& problem) {
    if (!array.release) {
        problem = "the array was released already";
        return nullptr;
    }
    std::unique_ptr<Rows> made(new Rows(std::move(reading), array, first));
    if (!read_array(made->reading_->row(), made->array_, 0, made->input_, problem)) return nullptr;
    return made.release();
}

bool Rows::no(size_t column, int64_t row) {
    const Target& target = plan_.columns[column].target;
    return failure_.in("column '" + target.name + "' (" + target.text + "), row " + std::to_string(first_ + row));
}

// Null stays null.
bool Rows::put_sealed(size_t i, int64_t row, ByteBuffer& out) {
    ByteBuffer plain;
    if (!Encoder(plain, failure_).cell(input_.children[i].children[0], row, kNull)) {
        if (!failure_.text.empty()) failure_.no("not a value of the type; encrypted values are not shown");
        return false;
    }
    const int32_t size = load_i32(plain.data());
    if (size < 0) {
        out.put32(plan_.nulls_are_unset ? kUnset : kNull);
        return !out.failed();
    }
    if (!sealer_.seal) return failure_.no("the column is encrypted, but no cipher is set");
    const size_t at = out.size();
    out.put32(0);
    if (!sealer_.seal(sealer_.owner, i, plain.data() + 4, static_cast<size_t>(size), out, failure_.text)) return false;
    if (out.failed()) return false;
    out.patch32(at, static_cast<uint32_t>(out.size() - at - 4));
    return true;
}

bool Rows::put_column(size_t i, int64_t row, ByteBuffer& out) {
    const Input& column = input_.children[i];
    if (column.conversion->from < 0) {
        out.put32(kUnset);
        return !out.failed();
    }
    if (column.method == Method::Sealed) return put_sealed(i, input_.offset + row, out);
    return Encoder(out, failure_).cell(column, input_.offset + row, plan_.nulls_are_unset ? kUnset : kNull);
}

bool Rows::put(int64_t row, ByteBuffer& out, int64_t& token) {
    if (input_.is_null(row)) return failure_.no("row " + std::to_string(first_ + row) + " is null");
    if (!refused_.empty()) {
        const auto found = refused_.find(row);
        if (found != refused_.end()) return failure_.no(found->second);
    }
    for (size_t i = 0; i < starts_.size(); ++i) {
        starts_[i] = out.size();
        if (!put_column(i, row, out)) return no(i, row);
        if (plan_.columns[i].is_required && load_i32(out.data() + starts_[i]) < 0) {
            failure_.no("null in a column of the primary key");
            return no(i, row);
        }
    }
    token = 0;
    return !plan_.has_tokens || hash(row, out, token);
}

// Hash the key in place, or the composite of several parts.
bool Rows::hash(int64_t row, ByteBuffer& out, int64_t& token) {
    const bool is_composite = plan_.key.size() > 1;
    key_.truncate(0);
    for (const int32_t part : plan_.key) {
        const uint8_t* cell = out.data() + starts_[static_cast<size_t>(part)];
        const int32_t size = load_i32(cell);
        if (size > kMaxKeyPart) {
            failure_.no("a part of the partition key has " + std::to_string(size) + " bytes, the limit is " +
                        std::to_string(kMaxKeyPart));
            return no(static_cast<size_t>(part), row);
        }
        if (!is_composite) {
            token = murmur3_token(cell + 4, static_cast<size_t>(size));
            return true;
        }
        key_.put16(static_cast<uint16_t>(size));
        key_.put(cell + 4, static_cast<size_t>(size));
        key_.put8(0);
    }
    if (key_.failed()) return false;
    token = murmur3_token(key_.data(), key_.size());
    return true;
}

bool Rows::write(size_t row, ByteBuffer& out, int64_t& token) noexcept {
    const size_t before = out.size();
    try {
        failure_.text.clear();
        if (put(static_cast<int64_t>(row), out, token)) return true;
    } catch (const std::bad_alloc&) {
        failure_.text.clear();
    }
    out.truncate(before);
    return false;
}

bool Rows::put_key(int64_t row, ByteBuffer& out) {
    for (const int32_t part : plan_.key) {
        if (!put_column(static_cast<size_t>(part), row, out)) return false;
    }
    return !plan_.key.empty() && !input_.is_null(row);
}

bool Rows::same_partition(size_t left, size_t right) noexcept {
    try {
        ByteBuffer one, other;
        if (!put_key(static_cast<int64_t>(left), one) || !put_key(static_cast<int64_t>(right), other)) return false;
        return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

bool Rows::clustering_hash(const uint8_t* values, size_t size, uint64_t& hash) const noexcept try {
    const uint8_t* const end = values + size;
    hash = 0;
    int32_t at = 0;  // the column at *values*
    for (const Clustering& part : plan_.clustering) {
        for (; at < part.column && end - values >= 4; ++at) values += 4 + std::max(0, load_i32(values));
        if (end - values < 4) break;
        const auto length = static_cast<size_t>(std::max(0, load_i32(values)));
        const Target& target = plan_.columns[static_cast<size_t>(part.column)].target;
        const uint64_t found = part.by_bytes ? static_cast<uint64_t>(murmur3_token(values + 4, length)) : key_hash(target, values + 4, length);
        hash = hash * 0x9E3779B97F4A7C15u + found;
        values += 4 + length;
        ++at;
    }
    return true;
} catch (const std::bad_alloc&) {
    return false;
}

}  // namespace fastcql::ingest
