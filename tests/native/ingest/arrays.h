// Arrow arrays made by hand, each buffer a block of its own exact size, so that every read beyond it is detected.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "columns/plan.h"

namespace testing {

inline int& released() {
    static int count = 0;
    return count;
}

struct Made {
    Made(std::string format, int64_t length, std::string name = "f") : format(std::move(format)), name(std::move(name)) {
        array.length = length;
    }
    Made(const Made&) = delete;

    template <typename T>
    Made& buffer(const std::vector<T>& values) {
        storage.emplace_back(new uint8_t[values.size() * sizeof(T)]);
        if (!values.empty()) std::memcpy(storage.back().get(), values.data(), values.size() * sizeof(T));
        buffers.push_back(storage.back().get());
        sizes.push_back(values.size() * sizeof(T));
        return *this;
    }
    Made& no_buffer() {
        buffers.push_back(nullptr);
        sizes.push_back(0);
        return *this;
    }
    Made& bytes(const std::string& text) { return buffer(std::vector<char>(text.begin(), text.end())); }
    Made& child(std::unique_ptr<Made> made) {
        children.push_back(std::move(made));
        return *this;
    }

    // Both structures point to all of that; to be called again after a change.
    void seal() {
        child_arrays.clear();
        child_schemas.clear();
        for (const auto& made : children) {
            made->seal();
            child_arrays.push_back(&made->array);
            child_schemas.push_back(&made->schema);
        }
        if (dictionary) dictionary->seal();
        array.n_buffers = static_cast<int64_t>(buffers.size());
        array.buffers = buffers.data();
        array.n_children = static_cast<int64_t>(children.size());
        array.children = child_arrays.data();
        array.dictionary = dictionary ? &dictionary->array : nullptr;
        array.release = [](ArrowArray* which) {
            which->release = nullptr;
            ++released();
        };
        schema.format = format.c_str();
        schema.name = name.c_str();
        schema.n_children = array.n_children;
        schema.children = child_schemas.data();
        schema.dictionary = dictionary ? &dictionary->schema : nullptr;
        schema.release = [](ArrowSchema* which) { which->release = nullptr; };
    }

    // This one, its children and dictionaries, and so on.
    void all(std::vector<Made*>& out) {
        out.push_back(this);
        for (const auto& made : children) made->all(out);
        if (dictionary) dictionary->all(out);
    }

    std::string format, name;
    ArrowArray array{};
    ArrowSchema schema{};
    std::vector<std::unique_ptr<uint8_t[]>> storage;
    std::vector<const void*> buffers;
    std::vector<size_t> sizes;
    std::vector<std::unique_ptr<Made>> children;
    std::unique_ptr<Made> dictionary;
    std::vector<ArrowArray*> child_arrays;
    std::vector<ArrowSchema*> child_schemas;
};

// Of as many values as numbers, unless *length* says how many.
template <typename T>
std::unique_ptr<Made> numbers(const char* format, const std::vector<T>& values, int64_t length = -1) {
    auto made = std::make_unique<Made>(format, length < 0 ? static_cast<int64_t>(values.size()) : length);
    made->no_buffer().buffer(values);
    return made;
}

inline std::unique_ptr<Made> texts(const std::vector<std::string>& values) {
    std::vector<int32_t> offsets{0};
    std::string all;
    for (const std::string& value : values) {
        all += value;
        offsets.push_back(static_cast<int32_t>(all.size()));
    }
    auto made = std::make_unique<Made>("u", static_cast<int64_t>(values.size()));
    made->no_buffer().buffer(offsets).bytes(all);
    return made;
}

// Inside up to 12 bytes, else in the only other buffer.
inline std::unique_ptr<Made> views(const std::vector<std::string>& values) {
    std::vector<int32_t> words;
    std::string all;
    for (const std::string& value : values) {
        int32_t view[4] = {static_cast<int32_t>(value.size())};
        std::memcpy(view + 1, value.data(), std::min<size_t>(value.size(), value.size() > 12 ? 4 : 12));
        if (value.size() > 12) {
            view[3] = static_cast<int32_t>(all.size());
            all += value;
        }
        words.insert(words.end(), view, view + 4);
    }
    auto made = std::make_unique<Made>("vu", static_cast<int64_t>(values.size()));
    made->no_buffer().buffer(words).bytes(all).buffer(std::vector<int64_t>{static_cast<int64_t>(all.size())});
    return made;
}

}  // namespace testing
