#include "ingest/lent.h"

#include <atomic>
#include <memory>

#include "columns/counters.h"

namespace fastcql::ingest {

namespace {

// All data of one batch. Each structure may be moved and released separately; the last one frees it.
struct Loan {
    Lent root;
    void* owner = nullptr;
    void (*let_go)(void*) = nullptr;
    std::atomic<int64_t> refs{0};
    std::vector<std::unique_ptr<ArrowArray>> arrays;
    std::vector<std::unique_ptr<ArrowSchema>> schemas;
    std::vector<std::unique_ptr<ArrowArray*[]>> array_lists;
    std::vector<std::unique_ptr<ArrowSchema*[]>> schema_lists;

    Loan() { columns::counters().loans.fetch_add(1, std::memory_order_relaxed); }
    ~Loan() {
        if (owner) let_go(owner);
        columns::counters().loans.fetch_sub(1, std::memory_order_relaxed);
    }
};

template <typename Structure>
void release(Structure* which) {
    for (int64_t i = 0; i < which->n_children; ++i) {
        if (which->children[i]->release) which->children[i]->release(which->children[i]);
    }
    auto* loan = static_cast<Loan*>(which->private_data);
    which->release = nullptr;
    if (loan->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete loan;
}

void fill(Loan& loan, Lent& lent, ArrowSchema& schema, ArrowArray& array) {
    const size_t count = lent.children.size();
    loan.array_lists.emplace_back(new ArrowArray*[count + 1]);
    loan.schema_lists.emplace_back(new ArrowSchema*[count + 1]);
    ArrowArray** const arrays = loan.array_lists.back().get();
    ArrowSchema** const schemas = loan.schema_lists.back().get();
    for (size_t i = 0; i < count; ++i) {
        arrays[i] = loan.arrays.emplace_back(new ArrowArray{}).get();
        schemas[i] = loan.schemas.emplace_back(new ArrowSchema{}).get();
        fill(loan, lent.children[i], *schemas[i], *arrays[i]);
    }
    schema.format = lent.format.c_str();
    schema.name = lent.name.c_str();
    schema.flags = columns::kNullable;
    schema.n_children = array.n_children = static_cast<int64_t>(count);
    schema.children = schemas;
    array.children = arrays;
    array.length = lent.length;
    array.null_count = lent.has_nulls ? -1 : 0;
    array.n_buffers = static_cast<int64_t>(lent.buffers.size());
    array.buffers = lent.buffers.data();
    schema.private_data = array.private_data = &loan;
    schema.release = release<ArrowSchema>;
    array.release = release<ArrowArray>;
    loan.refs += 2;
}

}  // namespace

void lend(std::vector<Lent> columns, int64_t length, void* owner, void (*let_go)(void*), ArrowSchema& schema, ArrowArray& array) {
    auto loan = std::make_unique<Loan>();
    loan->root.format = "+s";
    loan->root.length = length;
    loan->root.buffers = {nullptr};
    loan->root.children = std::move(columns);
    ArrowSchema made_schema{};
    ArrowArray made_array{};
    fill(*loan, loan->root, made_schema, made_array);
    loan->owner = owner;
    loan->let_go = let_go;
    schema = made_schema;
    array = made_array;
    loan.release();
}

}  // namespace fastcql::ingest
