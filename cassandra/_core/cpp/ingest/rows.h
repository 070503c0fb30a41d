// Rows of Arrow arrays as bound values: their target types, their conversion, and hashes of their keys.
//
// Hashes of values are equal whenever the server compares the values as equal, even if their bytes differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/row_source.h"
#include "columns/plan.h"
#include "ingest/encode.h"
#include "ingest/source.h"

namespace fastcql::ingest {

// Hash of a wire value of *target*, without its length. Servers compare 1.0 and 1.00, all NaN, and sets and maps in any
// order of their items as equal. Different values have different hashes with high probability, except maps of equal
// keys and custom types, which only the server can compare: each of these two groups has one hash. Throws
// std::bad_alloc.
uint64_t key_hash(const Target& target, const uint8_t* p, size_t n);

// True if values of a type are equal only if their bytes are, so that any hash of the bytes is sufficient.
bool is_compared_by_bytes(const Target& target) noexcept;

// ---- the target types of rows, and the conversion of rows of one Arrow schema to them
//
// Both are made once and then read-only; readers of rows hold references to them.

struct Column {
    Target target;
    bool is_required = false;  // part of the primary key: never null
};

// A column of the clustering key.
struct Clustering {
    int32_t column = 0;
    bool by_bytes = false;  // values are equal only if their bytes are
};

struct Plan {
    std::vector<Column> columns;  // in the order of the statement's markers
    std::vector<int32_t> key;     // indexes of the partition key columns, in the key's order
    std::vector<Clustering> clustering;  // in the order of the markers
    bool has_tokens = true;
    bool nulls_are_unset = true;
};

class Reading {
public:
    // Null if the rows do not fit, with all reasons in *problems*. *others_are_ignored*: columns that the plan lacks
    // are not an error. Columns that only the plan has are left unset. *encoded*: names of columns of the plan whose
    // values are valid bytes of their types already.
    static std::shared_ptr<const Reading> make(
        const std::shared_ptr<const Plan>& plan, const ArrowSchema& schema, bool others_are_ignored,
        const std::vector<std::string>& encoded, std::vector<std::string>& problems
    );
    // True if it was made from the same types and names.
    bool is_of(const ArrowSchema& schema, const std::vector<std::string>& encoded) const;

    const Plan& plan() const { return *plan_; }
    // The row as a struct, with one child per column of the plan.
    const Conversion& row() const { return row_; }

private:
    bool find_columns(bool others_are_ignored, std::vector<std::string>& problems);
    bool match_column(const Target& target, const Source& source, Conversion& out, std::vector<std::string>& problems) const;

    std::shared_ptr<const Plan> plan_;
    Source source_;
    Conversion row_;
    std::vector<std::string> encoded_;
};

// ---- the rows of an Arrow array as bound values
//
// It owns the array and releases it; used by one thread at a time.

// A cipher: appends the encrypted bytes of a value, or gives the reason of a failure in *why*.
struct Sealer {
    void* owner = nullptr;
    bool (*seal)(void* owner, size_t column, const uint8_t* p, size_t n, ByteBuffer& out, std::string& why) = nullptr;
};

class Rows final : public RowSource {
public:
    // Takes the array over, also on failure. Null if it is broken, with the reason in *problem*. *first*: the number of
    // its first row, for messages.
    static Rows* make(std::shared_ptr<const Reading> reading, ArrowArray& array, int64_t first, std::string& problem);
    ~Rows() override;
    // Sets the cipher for encrypted columns; its owner must outlive this object.
    void seal_by(const Sealer& sealer) noexcept { sealer_ = sealer; }
    // Fails the row with this reason when it is written.
    void refuse(int64_t row, std::string why) { refused_[row] = std::move(why); }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    size_t rows() const noexcept override { return static_cast<size_t>(array_.length); }
    bool write(size_t row, ByteBuffer& out, int64_t& token) noexcept override;
    bool same_partition(size_t left, size_t right) noexcept override;
    bool clustering_hash(const uint8_t* values, size_t size, uint64_t& hash) const noexcept override;
    const std::string& failure() const noexcept override { return failure_.text; }

private:
    Rows(std::shared_ptr<const Reading> reading, ArrowArray& array, int64_t first);
    bool put(int64_t row, ByteBuffer& out, int64_t& token);
    bool put_column(size_t i, int64_t row, ByteBuffer& out);
    bool put_sealed(size_t i, int64_t row, ByteBuffer& out);
    bool put_key(int64_t row, ByteBuffer& out);
    bool hash(int64_t row, ByteBuffer& out, int64_t& token);
    bool no(size_t column, int64_t row);

    std::shared_ptr<const Reading> reading_;
    const Plan& plan_;
    ArrowArray array_;
    int64_t first_;
    Input input_;
    std::vector<size_t> starts_;  // offsets in the buffer of the columns of the row being written
    ByteBuffer key_;
    EncodeFailure failure_;
    Sealer sealer_;
    std::unordered_map<int64_t, std::string> refused_;
};

}  // namespace fastcql::ingest
