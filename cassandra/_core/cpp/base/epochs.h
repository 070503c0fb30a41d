// Objects that readers use without a lock: freed once no reader can have them any more. This is epoch-based reclamation
// (K. Fraser, Practical lock-freedom, 2004, section 5.2.3), for builds without the GIL. With the GIL a replaced object
// has no readers, and nothing here costs anything.
//
// A reader announces the present epoch in the slot of its thread, reads pointers, and withdraws. A writer publishes a
// new pointer, then advances the epoch; the replaced object may be freed when every announced epoch is a later one.
// Why: all these accesses are sequentially consistent. If the writer finds no announcement of an earlier epoch, each
// reader announced after that check, and so reads the new pointer; or it announced an epoch that it read after the
// writer advanced it, which was after the publication. An announcement costs one exchange on a cache line that only
// this thread writes: 5 to 8 ns. The reference count of a shared object would cost two exchanges on a line that all
// readers write.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/threads.h"

namespace fastcql {

class Epochs {
    static constexpr uint64_t kNone = UINT64_MAX;
    static constexpr size_t kLine = 64;

    // Of one thread at a time. Never freed: there are as many as there were threads at a time.
    struct alignas(kLine) Slot {
        std::atomic<uint64_t> announced{kNone};
        std::atomic<bool> used{true};
        Slot* next = nullptr;
        int depth = 0;  // of readers; its thread's
    };

public:
    // Objects that can be found during its life are not freed. Readers of one thread may nest.
    class Reader {
    public:
#if FASTCQL_FREE_THREADED
        Reader() noexcept : slot_(slot()) {
            if (slot_.depth++ == 0)
                slot_.announced.store(now().load(std::memory_order_seq_cst), std::memory_order_seq_cst);
        }
        ~Reader() {
            if (--slot_.depth == 0) slot_.announced.store(kNone, std::memory_order_release);
        }
        Reader(const Reader&) = delete;
        Reader& operator=(const Reader&) = delete;

    private:
        Slot& slot_;
#else
        Reader() noexcept {}
        ~Reader() {}
#endif
    };

    // By a writer, after it has published other objects in place of some: the epoch of these.
    static uint64_t retire() noexcept { return now().fetch_add(1, std::memory_order_seq_cst); }

    // True if no reader can have objects of *epoch*.
    static bool over(uint64_t epoch) noexcept {
        for (const Slot* slot = slots().load(std::memory_order_seq_cst); slot; slot = slot->next)
            if (slot->announced.load(std::memory_order_seq_cst) <= epoch) return false;
        return true;
    }

private:
    struct Owner {
        Slot* slot = acquire();
        ~Owner() { slot->used.store(false, std::memory_order_release); }
    };

    static std::atomic<uint64_t>& now() noexcept {
        static std::atomic<uint64_t> epoch{1};
        return epoch;
    }
    static std::atomic<Slot*>& slots() noexcept {
        static std::atomic<Slot*> first{nullptr};
        return first;
    }
    static Slot& slot() noexcept {
        thread_local Owner owner;
        return *owner.slot;
    }
    static Slot* acquire() noexcept {
        for (Slot* slot = slots().load(std::memory_order_acquire); slot; slot = slot->next) {
            bool used = false;
            if (slot->used.compare_exchange_strong(used, true, std::memory_order_acq_rel)) return slot;
        }
        Slot* made = new Slot;  // terminates without memory for 64 bytes, as the thread's own storage does
        made->next = slots().load(std::memory_order_relaxed);
        while (!slots().compare_exchange_weak(made->next, made, std::memory_order_seq_cst)) {
        }
        return made;
    }
};

}  // namespace fastcql
