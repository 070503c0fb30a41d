#include "ingest/plan.h"

namespace fastcql::ingest {

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
            match(target, source_.children[static_cast<size_t>(found.from)], "column '" + target.name + "'", found, problems);
        } else if (columns[i].is_required) {
            problems.push_back("column '" + target.name + "': missing in the data, it is part of the primary key");
        }
    }
    return problems.empty();
}

std::shared_ptr<const Reading> Reading::make(
    const std::shared_ptr<const Plan>& plan, const ArrowSchema& schema, bool others_are_ignored,
    std::vector<std::string>& problems
) {
    const auto made = std::make_shared<Reading>();
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
    made->row_.way = Way::Struct;
    made->row_.source = &made->source_;
    return made->find_columns(others_are_ignored, problems) ? made : nullptr;
}

bool Reading::is_of(const ArrowSchema& schema) const {
    Source other;
    std::string broken;
    return read_schema(schema, other, broken) && other == source_;
}

}  // namespace fastcql::ingest
