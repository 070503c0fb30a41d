// Arrays that only grow, and whose elements stay in place: threads read elements without a lock while another adds some.
//
// The elements are in blocks, each twice as large as the one before. A reader needs an index that was published after
// its element was written: by an atomic store, or with a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fastcql {

// *T* is value-initialised. At most 2^32 elements. Writers exclude each other.
template <class T>
class Growing {
public:
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    ~Growing() {
        for (auto& block : blocks_) delete[] block.load(std::memory_order_relaxed);
    }

    size_t size() const noexcept { return size_.load(std::memory_order_acquire); }

    T& operator[](size_t index) const noexcept {
        const unsigned block = block_of(index);
        return blocks_[block].load(std::memory_order_acquire)[index + kFirst - (kFirst << block)];
    }

    // Adds elements up to *size*. Throws bad_alloc, with nothing changed.
    void grow(size_t size) {
        if (size <= this->size()) return;
        for (unsigned block = block_of(size - 1) + 1; block-- > 0;) {
            if (blocks_[block].load(std::memory_order_relaxed)) break;
            blocks_[block].store(new T[kFirst << block](), std::memory_order_release);
        }
        size_.store(size, std::memory_order_release);
    }

    // The index at which *count* elements in a row begin, at the end of the array or behind it; grow() must follow.
    size_t next_run(size_t count) const noexcept {
        size_t at = size();
        while (block_of(at) != block_of(at + count - 1)) at = (kFirst << (block_of(at) + 1)) - kFirst;
        return at;
    }

private:
    static constexpr size_t kFirst = 16;

    static unsigned block_of(size_t index) noexcept {
        return 63u - static_cast<unsigned>(__builtin_clzll(index / kFirst + 1));
    }

    std::atomic<T*> blocks_[29] = {};
    std::atomic<size_t> size_{0};
};

}  // namespace fastcql
