// What a pool holds and may hold, counted by everything that takes memory for it. Any thread.
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

    // False when *bytes* more would be in use than the pool may have.
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
    // Whatever the limit is.
    void charge_beyond(size_t bytes) {
        const auto wanted = static_cast<int64_t>(bytes);
        note_peak(in_use_.fetch_add(wanted, std::memory_order_seq_cst) + wanted);
    }
    // In one order with the flag that somebody waits for memory.
    void discharge(size_t bytes) { in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_seq_cst); }

    // In the child of a fork, where nobody charges anything at the same time.
    void set_in_use(int64_t bytes) { in_use_.store(bytes, std::memory_order_relaxed); }

    // Memory that came from or went back to the system.
    void took(size_t bytes) { held_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed); }
    void gave(size_t bytes) { held_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed); }
    void count_slab(int change) { slabs_.fetch_add(change, std::memory_order_relaxed); }
    // What may still be charged; others may be charging at the same time.
    size_t room() const {
        const int64_t left = max_ - in_use();
        return left > 0 ? static_cast<size_t>(left) : 0;
    }
    bool would_exceed(size_t bytes) const { return held() + static_cast<int64_t>(bytes) > max_; }

    // Whether *bytes* that nobody uses may be kept for later.
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
