#include "columns/words.h"

#include <cstdint>
#include <cstdlib>
#include <random>

#include "base/bytes.h"
#include "base/sizes.h"

namespace fastcql::columns {

// Seeded with a secret of this process, so that hostile texts cannot be made to collide.
uint64_t Words::hash(const uint8_t* p, size_t n) {
    static const uint64_t secret = [] {
        std::random_device random;
        return uint64_t{random()} << 32 | random();
    }();
    uint64_t h = secret ^ (n * 0x9e3779b97f4a7c15ULL);
    const auto mix = [&h](uint64_t word) {
        const unsigned __int128 product = static_cast<unsigned __int128>(h ^ word) * 0xa0761d6478bd642fULL;
        h = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ secret;
    };
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t word;
        std::memcpy(&word, p, 8);
        mix(word);
    }
    uint64_t rest = 0;
    if (n) std::memcpy(&rest, p, n);
    mix(rest);
    return h;
}

bool Words::grow() {
    const size_t size = mask_ ? times(mask_ + 1, 2) : 64;
    const size_t bytes = times(size, sizeof(Slot));
    if (bytes > PTRDIFF_MAX) return false;
    auto* slots = static_cast<Slot*>(std::malloc(bytes));
    if (!slots) return false;
    for (size_t i = 0; i < size; ++i) slots[i].index = -1;
    for (size_t i = 0; slots_ && i <= mask_; ++i) {
        if (slots_[i].index < 0) continue;
        size_t at = slots_[i].hash & (size - 1);
        while (slots[at].index >= 0) at = (at + 1) & (size - 1);
        slots[at] = slots_[i];
    }
    std::free(slots_);
    slots_ = slots;
    mask_ = size - 1;
    return true;
}

int32_t Words::index(const uint8_t* p, size_t n, Memory& memory) {
    if (static_cast<size_t>(count) * 4 >= mask_ * 3 && !grow()) return -1;
    const uint64_t h = hash(p, n);
    const auto* starts = reinterpret_cast<const int32_t*>(offsets.data());
    size_t at = h & mask_;
    for (; slots_[at].index >= 0; at = (at + 1) & mask_) {
        if (slots_[at].hash != h) continue;
        const int32_t i = slots_[at].index;
        const auto size = static_cast<size_t>(starts[i + 1] - starts[i]);
        if (size == n && (n == 0 || std::memcmp(data.data() + starts[i], p, n) == 0)) return i;
    }
    if (data.size() + n > INT32_MAX || count == INT32_MAX) return -1;
    offsets.set_size(count ? (static_cast<size_t>(count) + 1) * 4 : 0);
    if (!offsets.ensure(times(static_cast<size_t>(count) + 2, 4), memory)) return -1;
    if (n && !data.ensure(data.size() + n, memory)) return -1;
    if (n) std::memcpy(data.data() + data.size(), p, n);
    data.add(n);
    auto* ends = reinterpret_cast<int32_t*>(offsets.data());
    if (count == 0) ends[0] = 0;
    ends[count + 1] = static_cast<int32_t>(data.size());
    slots_[at] = {h, count};
    return count++;
}

}  // namespace fastcql::columns
