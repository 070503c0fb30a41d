// The vnode ring as numbers: sorted tokens and a bisection. The caller maps tokens to owners.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace fastcql {

class Ring {
public:
    Ring() = default;

    // *tokens* in any order and without duplicates; order()[i] is the input position of the i-th smallest.
    explicit Ring(const std::vector<int64_t>& tokens) : tokens_(tokens.size()), order_(tokens.size()) {
        for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
        std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return tokens[a] < tokens[b]; });
        for (size_t i = 0; i < order_.size(); ++i) tokens_[i] = tokens[order_[i]];
    }

    size_t size() const noexcept { return tokens_.size(); }
    int64_t token(size_t i) const noexcept { return tokens_[i]; }
    size_t order(size_t i) const noexcept { return order_[i]; }

    bool has_duplicates() const noexcept {
        return std::adjacent_find(tokens_.begin(), tokens_.end()) != tokens_.end();
    }

    // Index i with token in (tokens[i-1], tokens[i]]; past the last token the ring wraps to 0. Not for an empty ring.
    size_t index(int64_t token) const noexcept {
        const int64_t* base = tokens_.data();
        size_t length = tokens_.size();
        while (length > 1) {
            const size_t half = length / 2;
            base += half & -static_cast<size_t>(base[half - 1] < token);  // branchless: half would be mispredicted
            length -= half;
        }
        const size_t found = static_cast<size_t>(base - tokens_.data()) + (*base < token);
        return found == tokens_.size() ? 0 : found;
    }

private:
    std::vector<int64_t> tokens_;
    std::vector<size_t> order_;
};

}  // namespace fastcql
