// A test of one column: its values lie within bounds, are in a set, or are null. All comparisons are compiled to one of
// these; the compiler has already resolved cases such as "more than 2.5" for an integer.
#pragma once

#include <string>
#include <vector>

#include "columns/cells.h"
#include "columns/mask.h"

namespace fastcql::columns {

// Both ends are included, except for text, where an end may be exclusive or missing.
template <class V>
struct Bounds {
    V low{}, high{};
};

struct TextBounds {
    std::string low, high;
    bool has_low = false, has_high = false, without_low = false, without_high = false;
    bool hold(std::string_view text) const {
        if (has_low) {
            const int order = text.compare(low);
            if (order < 0 || (order == 0 && without_low)) return false;
        }
        if (has_high) {
            const int order = text.compare(high);
            if (order > 0 || (order == 0 && without_high)) return false;
        }
        return true;
    }
    bool is_one() const { return has_low && has_high && low == high && !without_low && !without_high; }
};

class Test {
public:
    enum class What : uint8_t { Null, Within, Among };

    int32_t column = 0;
    Form form = Form::Other;
    What what = What::Null;

    // Only those of the form's type are used; the lists are sorted by finish().
    Bounds<int64_t> integers;
    Bounds<double> floats;
    Bounds<Id> ids;
    Bounds<Wide> wides;
    TextBounds texts;
    std::vector<int64_t> some_integers;
    std::vector<double> some_floats;
    std::vector<Id> some_ids;
    std::vector<Wide> some_wides;
    std::vector<std::string> some_texts;

    void finish();
    void run(const Slice& slice, Mask& out) const;

private:
    template <class Cells>
    void within(const Cells& cells, const Slice& slice, uint64_t* out) const;
    template <class Cells>
    void among(const Cells& cells, const Slice& slice, uint64_t* out) const;
    bool has(std::string_view text) const;
};

}  // namespace fastcql::columns
