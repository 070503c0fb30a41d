// Arrow arrays as input, checked; and memory of others as Arrow arrays.
#include <atomic>
#include <memory>

#include "ingest/input.h"
#include "columns/buffer.h"

namespace fastcql::ingest {

namespace {

// Upper bound of lengths: products with the size of a value stay within 64 bits.
constexpr int64_t kMost = int64_t{1} << 47;

class ArrayReader {
public:
    ArrayReader(const Conversion& conversion, const ArrowArray& array, Input& out, std::string& problem)
        : conversion_(conversion), source_(*conversion.source), array_(array), out_(out), problem_(problem) {}

    bool read(int64_t needed);

private:
    bool broken(const std::string& why) {
        problem_ = source_.text() + " array" + (source_.name.empty() ? "" : " '" + source_.name + "'") + ": " + why;
        return false;
    }
    bool check(int64_t needed);
    bool read_validity();
    bool read_values();
    bool read_offsets();
    bool read_views();
    bool read_list();
    bool read_runs();
    bool read_children(const std::vector<Conversion>& children, int64_t needed);
    const uint8_t* buffer(int64_t i) const { return static_cast<const uint8_t*>(array_.buffers[i]); }
    int64_t end() const { return array_.offset + array_.length; }

    const Conversion& conversion_;
    const Source& source_;
    const ArrowArray& array_;
    Input& out_;
    std::string& problem_;
};

// Number of buffers of an array of the shape; -1: three or more.
int64_t buffers_of(const Source& source) {
    switch (source.shape) {
        case Shape::Null:
        case Shape::RunEnds: return 0;
        case Shape::Struct: return 1;
        case Shape::Text:
        case Shape::Binary: return source.layout == Layout::View ? -1 : source.layout == Layout::Fixed ? 2 : 3;
        case Shape::List:
            if (source.layout == Layout::Fixed) return 1;
            return source.layout == Layout::Ranges32 || source.layout == Layout::Ranges64 ? 3 : 2;
        default: return 2;
    }
}

bool ArrayReader::check(int64_t needed) {
    const auto number = [](int64_t v) { return std::to_string(v); };
    if (array_.length < 0 || array_.length > kMost) return broken("invalid length " + number(array_.length));
    if (array_.offset < 0 || array_.offset > kMost) return broken("invalid offset " + number(array_.offset));
    if (array_.null_count < -1 || array_.null_count > array_.length) {
        return broken(number(array_.null_count) + " nulls in " + number(array_.length) + " values");
    }
    if (array_.length < needed) return broken(number(array_.length) + " values, but " + number(needed) + " are needed");
    // Some producers give a null one.
    const bool is_optional_buffer = source_.shape == Shape::Null && array_.n_buffers == 1;
    const int64_t wanted = is_optional_buffer ? 1 : buffers_of(source_);
    if (wanted < 0 ? array_.n_buffers < 3 : array_.n_buffers != wanted) return broken(number(array_.n_buffers) + " buffers");
    if (array_.n_buffers > 0 && !array_.buffers) return broken("its buffers are missing");
    const bool is_dictionary = source_.shape == Shape::Dictionary;
    if (is_dictionary != (array_.dictionary != nullptr)) return broken(is_dictionary ? "no dictionary" : "a dictionary");
    const auto children = static_cast<int64_t>(is_dictionary ? 0 : source_.children.size());
    if (array_.n_children != children) return broken(number(array_.n_children) + " children, but " + number(children) + " are needed");
    if (children > 0 && !array_.children) return broken("its children are missing");
    for (int64_t i = 0; i < children; ++i) {
        if (!array_.children[i] || !array_.children[i]->release) return broken("child " + number(i) + " is missing");
    }
    if (is_dictionary && !array_.dictionary->release) return broken("its dictionary is released");
    return true;
}

bool ArrayReader::read_validity() {
    if (array_.n_buffers == 0 || array_.length == 0 || array_.null_count == 0 || source_.shape == Shape::Null) return true;
    out_.validity = buffer(0);
    return out_.validity || array_.null_count < 0 || broken("it has nulls but no validity buffer");
}

bool ArrayReader::read_offsets() {
    if (out_.length == 0) return true;
    const int64_t first = out_.offset_at(0);
    out_.limit = out_.offset_at(out_.length);
    if (first < 0 || out_.limit < first) {
        return broken("invalid offsets from " + std::to_string(first) + " to " + std::to_string(out_.limit));
    }
    return true;
}

bool ArrayReader::read_views() {
    out_.buffer_count = array_.n_buffers - 3;
    out_.buffers = array_.buffers + 2;
    out_.sizes = buffer(array_.n_buffers - 1);
    if (out_.buffer_count == 0) return true;
    if (!out_.sizes) return broken("the sizes of its buffers are missing");
    for (int64_t i = 0; i < out_.buffer_count; ++i) {
        const auto size = load<int64_t>(out_.sizes, i);
        if (size < 0 || (size > 0 && !out_.buffers[i])) return broken("buffer " + std::to_string(i) + " is missing");
    }
    return true;
}

bool ArrayReader::read_values() {
    if (array_.n_buffers < 2) return true;
    out_.values = buffer(1);
    if (!out_.values && array_.length > 0 && !(out_.layout == Layout::Fixed && source_.is_text_like() && out_.size == 0)) {
        return broken("the buffer of its values is missing");
    }
    if (source_.shape != Shape::List && source_.shape != Shape::Map && !source_.is_text_like()) return true;
    if (out_.layout == Layout::View) return read_views();
    if (out_.layout == Layout::Fixed) {
        int64_t bytes = 0;
        return !__builtin_mul_overflow(end(), out_.size, &bytes) || broken("its size in bytes exceeds 64 bits");
    }
    if (array_.n_buffers == 3) out_.data = buffer(2);
    if (out_.layout == Layout::Ranges32 || out_.layout == Layout::Ranges64) {
        return out_.data || array_.length == 0 || broken("the buffer of its sizes is missing");
    }
    if (!read_offsets()) return false;
    return !source_.is_text_like() || out_.data || out_.limit == 0 || broken("the buffer of its bytes is missing");
}

bool ArrayReader::read_children(const std::vector<Conversion>& children, int64_t needed) {
    out_.children.resize(children.size());
    for (size_t i = 0; i < children.size(); ++i) {
        const Conversion& child = children[i];
        out_.children[i].conversion = &child;
        if (child.from < 0) continue;
        const ArrowArray& array = *array_.children[child.from];
        if (!read_array(child, array, needed, out_.children[i], problem_)) return false;
    }
    return true;
}

bool ArrayReader::read_list() {
    int64_t needed = out_.limit;
    if (out_.layout == Layout::Fixed && __builtin_mul_overflow(end(), out_.size, &needed)) {
        return broken("its number of items exceeds 64 bits");
    }
    if (out_.layout == Layout::Ranges32 || out_.layout == Layout::Ranges64) needed = 0;
    if (!read_children(conversion_.children, needed)) return false;
    if (out_.layout != Layout::Fixed) out_.limit = array_.children[0]->length;
    return true;
}

// Ends of runs must ascend, and the last one must not be before the last value.
bool ArrayReader::read_runs() {
    const ArrowArray& ends = *array_.children[0];
    const Source& type = source_.children[0];
    Conversion plain;
    plain.method = Method::Integer;
    plain.source = &type;
    out_.children.resize(2);
    if (!read_array(plain, ends, 0, out_.children[1], problem_)) return false;
    Input& runs = out_.children[1];
    runs.conversion = nullptr;
    out_.width = type.width;
    int64_t before = 0;
    for (int64_t i = 0; i < runs.length; ++i) {
        const int64_t end = type.width == 2 ? runs.at<int16_t>(i) : type.width == 4 ? runs.at<int32_t>(i) : runs.at<int64_t>(i);
        if (end <= before || runs.is_null(i)) return broken("the end of run " + std::to_string(i) + " does not ascend");
        before = end;
    }
    if (before < end()) return broken("its runs cover " + std::to_string(before) + " of " + std::to_string(end()) + " values");
    return read_array(conversion_.children[0], *array_.children[1], runs.length, out_.children[0], problem_);
}

bool ArrayReader::read(int64_t needed) {
    out_.conversion = &conversion_;
    out_.method = conversion_.method;
    if (conversion_.method == Method::Sealed) {
        out_.children.resize(1);
        return read_array(conversion_.children[0], array_, needed, out_.children[0], problem_);
    }
    if (!check(needed)) return false;
    out_.layout = source_.layout;
    out_.width = source_.width;
    out_.size = source_.size;
    out_.offset = array_.offset;
    out_.length = array_.length;
    if (!read_validity() || !read_values()) return false;
    switch (conversion_.method) {
        case Method::Dictionary:
            out_.children.resize(1);
            return read_array(conversion_.children[0], *array_.dictionary, 0, out_.children[0], problem_);
        case Method::Runs: return read_runs();
        case Method::List:
        case Method::Map:
        case Method::ListFields:
        case Method::Vector: return read_list();
        case Method::Pair:
        case Method::FieldMap:
        case Method::Struct: return read_children(conversion_.children, end());
        default: return true;
    }
}

}  // namespace

bool read_array(const Conversion& conversion, const ArrowArray& array, int64_t needed, Input& out,
                std::string& problem) {
    return ArrayReader(conversion, array, out, problem).read(needed);
}

// ---- memory of others

namespace {

// All data of one batch. Each structure may be moved and released separately; the last one frees it.
struct BorrowedArrays {
    Borrowed root;
    void* owner = nullptr;
    void (*let_go)(void*) = nullptr;
    std::atomic<int64_t> refs{0};
    std::vector<std::unique_ptr<ArrowArray>> arrays;
    std::vector<std::unique_ptr<ArrowSchema>> schemas;
    std::vector<std::unique_ptr<ArrowArray*[]>> array_lists;
    std::vector<std::unique_ptr<ArrowSchema*[]>> schema_lists;

    BorrowedArrays() { columns::counters().loans.fetch_add(1, std::memory_order_relaxed); }
    ~BorrowedArrays() {
        if (owner) let_go(owner);
        columns::counters().loans.fetch_sub(1, std::memory_order_relaxed);
    }
};

template <typename Structure>
void release(Structure* which) {
    for (int64_t i = 0; i < which->n_children; ++i) {
        if (which->children[i]->release) which->children[i]->release(which->children[i]);
    }
    auto* loan = static_cast<BorrowedArrays*>(which->private_data);
    which->release = nullptr;
    if (loan->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete loan;
}

void fill(BorrowedArrays& loan, Borrowed& borrowed, ArrowSchema& schema, ArrowArray& array) {
    const size_t count = borrowed.children.size();
    loan.array_lists.emplace_back(new ArrowArray*[count + 1]);
    loan.schema_lists.emplace_back(new ArrowSchema*[count + 1]);
    ArrowArray** const arrays = loan.array_lists.back().get();
    ArrowSchema** const schemas = loan.schema_lists.back().get();
    for (size_t i = 0; i < count; ++i) {
        arrays[i] = loan.arrays.emplace_back(new ArrowArray{}).get();
        schemas[i] = loan.schemas.emplace_back(new ArrowSchema{}).get();
        fill(loan, borrowed.children[i], *schemas[i], *arrays[i]);
    }
    schema.format = borrowed.format.c_str();
    schema.name = borrowed.name.c_str();
    schema.flags = columns::kNullable;
    schema.n_children = array.n_children = static_cast<int64_t>(count);
    schema.children = schemas;
    array.children = arrays;
    array.length = borrowed.length;
    array.null_count = borrowed.has_nulls ? -1 : 0;
    array.n_buffers = static_cast<int64_t>(borrowed.buffers.size());
    array.buffers = borrowed.buffers.data();
    schema.private_data = array.private_data = &loan;
    schema.release = release<ArrowSchema>;
    array.release = release<ArrowArray>;
    loan.refs += 2;
}

}  // namespace

void lend(std::vector<Borrowed> columns, int64_t length, void* owner, void (*let_go)(void*), ArrowSchema& schema, ArrowArray& array) {
    auto loan = std::make_unique<BorrowedArrays>();
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
