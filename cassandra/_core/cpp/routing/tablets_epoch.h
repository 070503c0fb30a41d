// Reclamation without locks for readers: what a writer unlinks is freed when nobody can be reading it any more.
//
// A reader holds a Pin for the few instructions in which it follows pointers; it must not wait, allocate or call
// foreign code meanwhile, nor take a second Pin. A writer first unlinks (a seq_cst store of the new root), then calls
// advance(), and frees what it unlinked once oldest() is greater than what advance() gave.
//
// Why that is safe: a pin is a seq_cst store to the thread's slot, followed by a seq_cst load of the root; a writer
// stores the root and then loads the slots, seq_cst too. In their single order either the writer sees the slot taken,
// and waits, or the slot was taken after the new root was there, and the reader sees that. A slot that holds a later
// epoch than advance() gave belongs to a reader who has read the counter after the unlinking.
#pragma once

#include <atomic>
#include <cstdint>

namespace fastcql {

class Epochs {
public:
    struct alignas(64) Slot {
        std::atomic<uint64_t> epoch{0};  // 0: its thread reads nothing
        std::atomic<bool> taken{true};
        Slot* next = nullptr;  // slots are never freed: threads that come later take them over
    };

    // The epoch that ends now: whoever may still read what was unlinked before this call has pinned it or one before.
    static uint64_t advance() { return current_.fetch_add(1); }

    // The oldest epoch anybody reads in; UINT64_MAX if nobody reads.
    static uint64_t oldest();

private:
    friend class Pin;
    static Slot* claim();
    static void after_fork();

    static std::atomic<uint64_t> current_;
    static std::atomic<Slot*> slots_;
    static thread_local Slot* mine_;
    friend struct SlotOwner;
};

class Pin {
public:
    Pin() : slot_(Epochs::mine_ ? Epochs::mine_ : Epochs::claim()) {
        slot_->epoch.store(Epochs::current_.load(std::memory_order_acquire), std::memory_order_seq_cst);
    }
    ~Pin() { slot_->epoch.store(0, std::memory_order_release); }
    Pin(const Pin&) = delete;
    Pin& operator=(const Pin&) = delete;

private:
    Epochs::Slot* const slot_;
};

}  // namespace fastcql
