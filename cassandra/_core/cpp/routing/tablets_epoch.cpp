#include "routing/tablets_epoch.h"

#include <pthread.h>

namespace fastcql {

std::atomic<uint64_t> Epochs::current_{1};
std::atomic<Epochs::Slot*> Epochs::slots_{nullptr};
thread_local Epochs::Slot* Epochs::mine_ = nullptr;

// Gives the slot of a thread back when the thread ends.
struct SlotOwner {
    Epochs::Slot* slot = nullptr;
    ~SlotOwner() {
        Epochs::mine_ = nullptr;
        if (slot) slot->taken.store(false, std::memory_order_release);
    }
};

// In the child only the thread that forked goes on, and it reads nothing: the others' slots are free.
void Epochs::after_fork() {
    for (Slot* slot = slots_.load(); slot; slot = slot->next) {
        slot->epoch.store(0);
        slot->taken.store(slot == mine_);
    }
}

Epochs::Slot* Epochs::claim() {
    static const int registered = pthread_atfork(nullptr, nullptr, after_fork);
    static_cast<void>(registered);  // if memory ran out, a child may never free what a vanished reader pinned
    static thread_local SlotOwner owner;
    Slot* slot = slots_.load(std::memory_order_acquire);
    for (; slot; slot = slot->next) {
        bool taken = false;
        if (slot->taken.compare_exchange_strong(taken, true)) break;
    }
    if (!slot) {
        slot = new Slot;
        slot->next = slots_.load(std::memory_order_relaxed);
        while (!slots_.compare_exchange_weak(slot->next, slot)) {
        }
    }
    owner.slot = slot;
    mine_ = slot;
    return slot;
}

uint64_t Epochs::oldest() {
    uint64_t oldest = UINT64_MAX;
    for (Slot* slot = slots_.load(); slot; slot = slot->next) {
        const uint64_t epoch = slot->epoch.load();
        if (epoch && epoch < oldest) oldest = epoch;
    }
    return oldest;
}

}  // namespace fastcql
