#include "columns/plan.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/bytes.h"

namespace fastcql::columns {

size_t Type::width() const noexcept {
    switch (kind) {
        case Kind::One: return 1;
        case Kind::Two: return 2;
        case Kind::Four:
        case Kind::Date:
        case Kind::Place:
        case Kind::Dictionary: return 4;
        case Kind::Eight:
        case Kind::Time:
        case Kind::VarintLong: return 8;
        case Kind::Uuid:
        case Kind::View:
        case Kind::Duration: return 16;
        case Kind::Varint:
        case Kind::Decimal: return is_decimal256 ? 32 : 16;
        default: return has_offsets() ? 4 : 0;
    }
}

Type& Plan::add(int32_t parent) {
    const auto index = static_cast<int32_t>(types.size());
    types.emplace_back();
    if (parent < 0) {
        ++columns;
    } else {
        Type& above = types[static_cast<size_t>(parent)];
        if (above.children++ == 0) above.first_child = index;
    }
    types.back().parent = parent;
    return types.back();
}

bool Plan::complete() noexcept {
    int32_t before = -1;
    for (size_t i = 0; i < types.size(); ++i) {
        const Type& type = types[i];
        if (type.parent < before || type.parent >= static_cast<int32_t>(i)) return false;
        before = type.parent;
        has_views = has_views || type.kind == Kind::View;
    }
    return true;
}

bool Plan::same_as(const Plan& other) const noexcept {
    if (columns != other.columns || types.size() != other.types.size()) return false;
    for (size_t i = 0; i < types.size(); ++i) {
        const Type& a = types[i];
        const Type& b = other.types[i];
        if (a.parent != b.parent || a.format != b.format || a.name != b.name || a.metadata != b.metadata) return false;
    }
    return true;
}

void Metadata::add(const std::string& key, const std::string& value) {
    for (const std::string* part : {&key, &value}) {
        const auto size = static_cast<int32_t>(part->size());
        pairs_.append(reinterpret_cast<const char*>(&size), sizeof size);
        pairs_.append(*part);
    }
    ++count_;
}

std::string Metadata::bytes() const {
    if (!count_) return {};
    return std::string(reinterpret_cast<const char*>(&count_), sizeof count_) + pairs_;
}

namespace {

// All structures of one export. Each of them may be moved and released separately; the last one frees it.
struct SchemaExport {
    std::atomic<int64_t> refs;
    const Plan* plan;
    ArrowSchema* schemas;     // of types, in their order, and then of dictionaries' values
    ArrowSchema** children;
    ArrowSchema* columns[1];  // the beginning of `children`
};

void drop_schema(SchemaExport* exported) {
    if (exported->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    exported->plan->release();
    std::free(exported);
    counters().schemas.fetch_sub(1, std::memory_order_relaxed);
}

void release_schema(ArrowSchema* schema) {
    for (int64_t i = 0; i < schema->n_children; ++i) {
        if (schema->children[i]->release) schema->children[i]->release(schema->children[i]);
    }
    if (schema->dictionary && schema->dictionary->release) schema->dictionary->release(schema->dictionary);
    auto* exported = static_cast<SchemaExport*>(schema->private_data);
    schema->release = nullptr;
    drop_schema(exported);
}

}  // namespace

bool export_schema(const Plan& plan, ArrowSchema* out) noexcept {
    const size_t n = plan.types.size();
    const size_t bytes = plus(sizeof(SchemaExport), times(n, 2 * sizeof(ArrowSchema) + sizeof(ArrowSchema*)));
    auto* exported = static_cast<SchemaExport*>(std::calloc(1, bytes));
    if (!exported) return false;
    plan.retain();
    counters().schemas.fetch_add(1, std::memory_order_relaxed);
    exported->plan = &plan;
    exported->children = exported->columns;
    exported->schemas = reinterpret_cast<ArrowSchema*>(exported->children + n + 1);
    int64_t refs = 1;
    for (size_t i = 0; i < n; ++i) {
        const Type& type = plan.types[i];
        ArrowSchema& schema = exported->schemas[i];
        schema.format = type.format.c_str();
        schema.name = type.name.c_str();
        schema.metadata = type.metadata.empty() ? nullptr : type.metadata.data();
        schema.flags = type.nullable ? kNullable : 0;
        schema.n_children = type.children;
        schema.children = type.children ? exported->children + type.first_child : nullptr;
        schema.release = release_schema;
        schema.private_data = exported;
        exported->children[i] = &schema;
        ++refs;
        if (type.kind == Kind::Dictionary) {
            ArrowSchema& values = exported->schemas[n + i];
            values.format = "u";
            values.name = "";
            values.flags = kNullable;
            values.release = release_schema;
            values.private_data = exported;
            schema.dictionary = &values;
            ++refs;
        }
    }
    new (&exported->refs) std::atomic<int64_t>(refs);
    *out = ArrowSchema{};
    out->format = "+s";
    out->name = "";
    out->n_children = plan.columns;
    out->children = plan.columns ? exported->children : nullptr;
    out->release = release_schema;
    out->private_data = exported;
    return true;
}

}  // namespace fastcql::columns
