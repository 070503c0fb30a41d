// One-shot timers, and the heap in which a reactor keeps them. The heap is owned by the role holder; any thread may
// cancel.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "transport/counters.h"
#include "transport/refs.h"
#include "transport/sys.h"

namespace fastcql {

class Timer : public RefCounted<Timer> {
public:
    Timer(Nanos due, void* callback) : due(due), callback_(callback) {}

    const Nanos due;

    // Returns the callback to the thread that ends the timer: the reactor when it fires, or cancel(). Null if it ended
    // before.
    void* take_callback() noexcept { return callback_.exchange(nullptr, std::memory_order_acq_rel); }
    bool stale(Nanos) const { return callback_.load(std::memory_order_acquire) == nullptr; }

private:
    std::atomic<void*> callback_;  // an object of the runtime's language; this holds a reference
    Counted<&Counters::timers> counted_;
};

// Items by due time, earliest first. Obsolete entries stay until then: T::stale(due) detects them, and they are removed
// when they are due or when they could be half of the heap.
template <class T>
class DueHeap {
public:
    void add(Nanos due, Ref<T> item) {
        if (heap_.size() >= 2 * live_bound_) drop_stale();
        heap_.push_back({due, sequence_++, std::move(item)});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    Nanos next_due() const { return heap_.empty() ? kNever : heap_.front().due; }
    size_t size() const { return heap_.size(); }
    // The earliest item that is due at *now* and not stale, or null.
    Ref<T> pop(Nanos now) {
        while (!heap_.empty() && heap_.front().due <= now) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const Nanos due = heap_.back().due;
            Ref<T> item = std::move(heap_.back().item);
            heap_.pop_back();
            if (!item->stale(due)) return item;
        }
        return nullptr;
    }
    void erase(const T* item) {
        heap_.erase(std::remove_if(heap_.begin(), heap_.end(),
                                   [item](const Entry& e) { return e.item.get() == item; }),
                    heap_.end());
        std::make_heap(heap_.begin(), heap_.end(), later);
    }

private:
    struct Entry {
        Nanos due;
        uint64_t sequence;  // items with the same due time keep the order of insertion
        Ref<T> item;
    };
    static bool later(const Entry& a, const Entry& b) {
        return a.due != b.due ? a.due > b.due : a.sequence > b.sequence;
    }
    void drop_stale() {
        const auto stale = [](const Entry& entry) { return entry.item->stale(entry.due); };
        heap_.erase(std::remove_if(heap_.begin(), heap_.end(), stale), heap_.end());
        std::make_heap(heap_.begin(), heap_.end(), later);
        live_bound_ = std::max<size_t>(64, heap_.size());
    }

    std::vector<Entry> heap_;
    uint64_t sequence_ = 0;
    size_t live_bound_ = 64;
};

}  // namespace fastcql
