// The target types of rows, and the conversion of rows of one Arrow schema to them. Both are made once and then
// read-only; readers of rows hold references to them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "columns/abi.h"
#include "ingest/match.h"

namespace fastcql::ingest {

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
    // are not an error. Columns that only the plan has are left unset.
    static std::shared_ptr<const Reading> make(
        const std::shared_ptr<const Plan>& plan, const ArrowSchema& schema, bool others_are_ignored,
        std::vector<std::string>& problems
    );
    // True if it was made from the same types and names.
    bool is_of(const ArrowSchema& schema) const;

    const Plan& plan() const { return *plan_; }
    // The row as a struct, with one child per column of the plan.
    const Conversion& row() const { return row_; }

private:
    bool find_columns(bool others_are_ignored, std::vector<std::string>& problems);

    std::shared_ptr<const Plan> plan_;
    Source source_;
    Conversion row_;
};

}  // namespace fastcql::ingest
