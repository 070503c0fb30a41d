// Helpers of route plans besides rings and tablets: lists of host positions by range, and cheap random numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace fastcql {

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

}  // namespace fastcql
