// What making bound values of Arrow arrays takes without Python, in nanoseconds of CPU: a row of five columns with the
// token of its key, and one of a vector of 768 floats.
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "ingest/rows.h"

namespace {

using namespace fastcql;
using namespace fastcql::ingest;

constexpr int64_t kRows = 4096, kDimensions = 768;
constexpr int kRounds = 20, kSamples = 15;

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Field {
    Field(const char* name, const char* format, int64_t length, std::vector<const void*> memory) : buffers(std::move(memory)) {
        schema.name = name;
        schema.format = format;
        schema.release = [](ArrowSchema* which) { which->release = nullptr; };
        array.length = length;
        array.n_buffers = static_cast<int64_t>(buffers.size());
        array.buffers = buffers.data();
        array.release = [](ArrowArray* which) { which->release = nullptr; };
    }
    void add(Field& child) {
        schemas.push_back(&child.schema);
        arrays.push_back(&child.array);
        schema.n_children = array.n_children = static_cast<int64_t>(arrays.size());
        schema.children = schemas.data();
        array.children = arrays.data();
    }

    ArrowSchema schema{};
    ArrowArray array{};
    std::vector<const void*> buffers;
    std::vector<ArrowSchema*> schemas;
    std::vector<ArrowArray*> arrays;
};

Column column(Cql cql, const char* name) {
    Column made;
    made.target.cql = cql;
    made.target.name = name;
    return made;
}

void measure(const char* name, const std::shared_ptr<const Plan>& plan, Field& rows) {
    std::vector<std::string> problems;
    std::string problem;
    const auto reading = Reading::make(plan, rows.schema, false, {}, problems);
    const std::unique_ptr<Rows> source(reading ? Rows::make(reading, rows.array, 0, problem) : nullptr);
    if (!source) std::abort();
    double best = 1e9;
    int64_t kept = 0;
    ByteBuffer out;
    for (int sample = 0; sample < kSamples; ++sample) {
        const double start = cpu_seconds();
        for (int round = 0; round < kRounds; ++round) {
            for (size_t row = 0; row < source->rows(); ++row) {
                int64_t token = 0;
                out.truncate(0);
                if (!source->write(row, out, token)) std::abort();
                kept += token;
            }
        }
        best = std::min(best, (cpu_seconds() - start) / (kRounds * static_cast<double>(source->rows())));
    }
    std::printf("%s %.2f %u\n", name, best * 1e9, static_cast<unsigned>(kept & 1));
}

void five_columns() {
    std::vector<int32_t> ids, ends{0};
    std::vector<int64_t> scores, times;
    std::vector<double> ratios;
    std::string names;
    for (int64_t i = 0; i < kRows; ++i) {
        ids.push_back(static_cast<int32_t>(i));
        names += "user-" + std::to_string(i * 1000);
        ends.push_back(static_cast<int32_t>(names.size()));
        scores.push_back(i << 40);
        ratios.push_back(static_cast<double>(i) / 3);
        times.push_back(1700000000000 + i);
    }
    Field rows("", "+s", kRows, {nullptr}), id("id", "i", kRows, {nullptr, ids.data()}),
        name("name", "u", kRows, {nullptr, ends.data(), names.data()}), score("score", "l", kRows, {nullptr, scores.data()}),
        ratio("ratio", "g", kRows, {nullptr, ratios.data()}), at("at", "tsm:UTC", kRows, {nullptr, times.data()});
    for (Field* field : {&id, &name, &score, &ratio, &at}) rows.add(*field);
    const auto plan = std::make_shared<Plan>();
    plan->columns = {column(Cql::Int, "id"), column(Cql::Text, "name"), column(Cql::Bigint, "score"), column(Cql::Double, "ratio"),
                     column(Cql::Timestamp, "at")};
    plan->columns[0].is_required = true;
    plan->key = {0};
    measure("rows5", plan, rows);
}

void vectors() {
    const std::vector<float> floats(kRows * kDimensions, 0.25f);
    Field rows("", "+s", kRows, {nullptr}), vector("v", "+w:768", kRows, {nullptr}),
        item("item", "f", kRows * kDimensions, {nullptr, floats.data()});
    vector.add(item);
    rows.add(vector);
    const auto plan = std::make_shared<Plan>();
    plan->columns = {column(Cql::Vector, "v")};
    Target& target = plan->columns[0].target;
    target.dimensions = kDimensions;
    target.children.push_back(column(Cql::Float, "").target);
    target.children[0].element = 4;
    plan->has_tokens = false;
    measure("vector", plan, rows);
}

}  // namespace

int main() {
    five_columns();
    vectors();
}
