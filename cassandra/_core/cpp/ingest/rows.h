// The rows of an Arrow array as bound values. It owns the array and releases it; used by one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/row_source.h"
#include "ingest/encode.h"
#include "ingest/plan.h"

namespace fastcql::ingest {

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
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    size_t rows() const override { return static_cast<size_t>(array_.length); }
    bool write(size_t row, ByteBuffer& out, int64_t& token) override;
    bool same_partition(size_t left, size_t right) override;
    uint64_t clustering_hash(const uint8_t* values, size_t size) const override;
    std::string failure() const override { return trouble_.text; }

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
    Trouble trouble_;
    Sealer sealer_;
};

}  // namespace fastcql::ingest
