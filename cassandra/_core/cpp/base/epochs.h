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
//
// Forks: a child has one thread, so no other one may be within a GilLock at that moment. A thread marks its slot before
// it acquires a lock and then checks whether a fork is under way; a fork is announced before it waits for all marks to
// go. One of them sees the other, as these accesses are sequentially consistent. Announcements of readers are removed in
// the child. A child of a build with the GIL has none of these problems, as the thread that forks has it.
#pragma once

#include "base/threads.h"

#if FASTCQL_FREE_THREADED

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/system.h"

namespace fastcql {

class Epochs {
    static constexpr uint64_t kNone = UINT64_MAX;
    static constexpr size_t kLine = 64;

    // Of one thread at a time. Never freed: there are as many as there were threads at a time.
    struct alignas(kLine) Slot {
        std::atomic<uint64_t> announced{kNone};
        std::atomic<bool> used{true};
        std::atomic<bool> locks{false};  // is within a GilLock
        Slot* next = nullptr;
        // Its thread's.
        int readers = 0;
        int locked = 0;
    };

public:
    // Objects that can be found during its life are not freed. Readers of one thread may nest.
    class Reader {
    public:
        Reader() noexcept : slot_(slot()) {
            if (slot_.readers++ == 0)
                slot_.announced.store(now().load(std::memory_order_seq_cst), std::memory_order_seq_cst);
        }
        ~Reader() {
            if (--slot_.readers == 0) slot_.announced.store(kNone, std::memory_order_release);
        }
        Reader(const Reader&) = delete;
        Reader& operator=(const Reader&) = delete;

    private:
        Slot& slot_;
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
    friend class GilLock;

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
        static const bool registered = (system::at_fork(before_fork, in_parent, in_child), true);
        static_cast<void>(registered);
        Slot* made = new Slot;  // terminates without memory for 64 bytes, as the thread's own storage does
        made->next = slots().load(std::memory_order_relaxed);
        while (!slots().compare_exchange_weak(made->next, made, std::memory_order_seq_cst)) {
        }
        return made;
    }

    static std::atomic<int>& forks() noexcept {  // under way
        static std::atomic<int> count{0};
        return count;
    }
    static void before_fork() noexcept {
        forks().fetch_add(1, std::memory_order_seq_cst);
        for (Slot* slot = slots().load(std::memory_order_seq_cst); slot; slot = slot->next)
            while (slot->locks.load(std::memory_order_seq_cst)) system::yield();
    }
    static void in_parent() noexcept { forks().fetch_sub(1, std::memory_order_seq_cst); }
    static void in_child() noexcept {
        forks().store(0, std::memory_order_seq_cst);
        const Slot* own = &slot();
        for (Slot* slot = slots().load(std::memory_order_seq_cst); slot; slot = slot->next) {
            if (slot == own) continue;
            slot->announced.store(kNone, std::memory_order_relaxed);
            slot->readers = 0;
            slot->locked = 0;  // its thread may have waited for the fork
            slot->used.store(false, std::memory_order_release);
        }
    }
};

// Acquires a GilMutex for a short step: a thread that waits for it is attached to the interpreter, which it would keep
// from stopping all threads. So no call into Python is made with it. Those of one thread may nest, of different mutexes;
// none begins within a Reader.
class GilLock {
public:
    explicit GilLock(GilMutex& mutex) : slot_(Epochs::slot()), mutex_(mutex) {
        if (slot_.locked++ == 0) begin();
        mutex_.lock();
    }
    ~GilLock() {
        mutex_.unlock();
        if (--slot_.locked == 0) slot_.locks.store(false, std::memory_order_release);
    }
    GilLock(const GilLock&) = delete;
    GilLock& operator=(const GilLock&) = delete;

private:
    void begin() noexcept {
        slot_.locks.store(true, std::memory_order_seq_cst);
        while (Epochs::forks().load(std::memory_order_seq_cst) != 0) {
            slot_.locks.store(false, std::memory_order_seq_cst);
            while (Epochs::forks().load(std::memory_order_acquire) != 0) system::yield();
            slot_.locks.store(true, std::memory_order_seq_cst);
        }
    }

    Epochs::Slot& slot_;
    GilMutex& mutex_;
};

}  // namespace fastcql

#else

namespace fastcql {

class Epochs {
public:
    class Reader {
    public:
        Reader() noexcept {}
        ~Reader() {}
    };
};

class GilLock {
public:
    explicit GilLock(GilMutex&) noexcept {}
    ~GilLock() {}
};

}  // namespace fastcql

#endif
