// A pool's counters of held and permitted bytes, shared by all its allocators. Any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fastcql::memory {

class Budget {
public:
    Budget(size_t max_bytes, size_t retain_bytes)
        : max_(static_cast<int64_t>(max_bytes)), retain_(static_cast<int64_t>(retain_bytes)) {}

    int64_t max_bytes() const { return max_; }
    int64_t in_use() const noexcept { return in_use_.load(std::memory_order_seq_cst); }
    int64_t held() const { return held_.load(std::memory_order_relaxed); }
    int64_t peak() const { return peak_.load(std::memory_order_relaxed); }
    int64_t slabs() const { return slabs_.load(std::memory_order_relaxed); }

    // False if *bytes* more in use would exceed the limit.
    bool charge(size_t bytes) {
        const auto wanted = static_cast<int64_t>(bytes);
        const int64_t now = in_use_.fetch_add(wanted, std::memory_order_seq_cst) + wanted;
        if (now > max_) {
            discharge(bytes);
            return false;
        }
        note_peak(now);
        return true;
    }
    // Regardless of the limit.
    void charge_beyond(size_t bytes) {
        const auto wanted = static_cast<int64_t>(bytes);
        note_peak(in_use_.fetch_add(wanted, std::memory_order_seq_cst) + wanted);
    }
    // Sequentially consistent with the flag that marks waiting arenas.
    void discharge(size_t bytes) { in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_seq_cst); }

    // In the child of a fork, where no other thread charges.
    void set_in_use(int64_t bytes) { in_use_.store(bytes, std::memory_order_relaxed); }

    // Count memory taken from the system, or returned to it.
    void took(size_t bytes) { held_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed); }
    void gave(size_t bytes) { held_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed); }
    void count_slab(int change) { slabs_.fetch_add(change, std::memory_order_relaxed); }
    // Bytes that may still be charged; other threads may charge at the same time.
    size_t room() const {
        const int64_t left = max_ - in_use();
        return left > 0 ? static_cast<size_t>(left) : 0;
    }
    bool would_exceed(size_t bytes) const { return held() + static_cast<int64_t>(bytes) > max_; }

    // True if *bytes* of unused memory may be kept for later.
    bool keep_idle(size_t bytes) {
        const auto wanted = static_cast<int64_t>(bytes);
        if (idle_.fetch_add(wanted, std::memory_order_relaxed) + wanted <= retain_) return true;
        idle_.fetch_sub(wanted, std::memory_order_relaxed);
        return false;
    }
    void use_idle(size_t bytes) { idle_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed); }

private:
    void note_peak(int64_t now) {
        int64_t peak = peak_.load(std::memory_order_relaxed);
        while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
        }
    }

    const int64_t max_;
    const int64_t retain_;
    std::atomic<int64_t> in_use_{0};
    std::atomic<int64_t> held_{0};
    std::atomic<int64_t> idle_{0};
    std::atomic<int64_t> peak_{0};
    std::atomic<int64_t> slabs_{0};
};

}  // namespace fastcql::memory
