// Token ring, helpers of route plans, shards.
//
// The vnode ring is numbers: sorted tokens and a bisection. The caller maps tokens to owners.
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

// ---- helpers of route plans besides rings and tablets: lists of host positions by range, and cheap random numbers

// Positions of hosts by range of a ring, filled in on demand. Guarded by its owner.
class RangeLists {
public:
    explicit RangeLists(size_t ranges = 0) : starts_(ranges, 0), numbers_(1, 0) {}

    // The list of *range*, its count in front; null if it was not filled in. Valid until the next fill().
    const uint16_t* find(size_t range) const noexcept { return starts_[range] ? &numbers_[starts_[range]] : nullptr; }

    void fill(size_t range, const uint16_t* list, size_t count) {
        const size_t start = numbers_.size();
        numbers_.push_back(static_cast<uint16_t>(count));
        numbers_.insert(numbers_.end(), list, list + count);
        starts_[range] = static_cast<uint32_t>(start);
    }

private:
    std::vector<uint32_t> starts_;   // in numbers_; 0: not filled in
    std::vector<uint16_t> numbers_;  // the first one is unused
};

// Random numbers for load balancing (splitmix64): fast and uniform, not for cryptography. Guarded by its owner.
class Dice {
public:
    explicit Dice(uint64_t seed = 0) noexcept : state_(seed) {}

    // Uniformly one of 0 to count - 1.
    size_t below(size_t count) noexcept {
        uint64_t mixed = (state_ += 0x9E3779B97F4A7C15u);
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        return static_cast<size_t>(((mixed >> 32) * count) >> 32);
    }

private:
    uint64_t state_;
};

// ---- the shard of a ScyllaDB node that owns a token
//
// Biased-token-round-robin, as defined in the text "Intranode sharding" of the protocol extensions.

// *shards* is at least 1, *ignore_msb* at most 63. The product of 64 and 32 bits is computed in two halves, so that no
// compiler needs 128-bit integers.
inline uint32_t shard_of_token(int64_t token, uint32_t shards, uint32_t ignore_msb) noexcept {
    const uint64_t biased = (static_cast<uint64_t>(token) + (uint64_t{1} << 63)) << ignore_msb;
    const uint64_t low = (biased & 0xffffffffu) * shards;
    const uint64_t high = (biased >> 32) * shards;
    return static_cast<uint32_t>((high + (low >> 32)) >> 32);
}

}  // namespace fastcql
