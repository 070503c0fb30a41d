// The receive buffer of a reactor's channels: the arena of its thread in a memory pool, and the block for the next
// bytes. For the reactor's owner only, unless stated otherwise.
//
// At the limit of a strict pool channels are paused: they are not read from until memory was returned. Only bodies that
// have their memory already are received to their end, so that no waiter waits for another waiter.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "transport/envelope.h"
#include "transport/sys.h"

namespace fastcql {

class Channel;
class Reactor;

class ReceiveBuffer final : public Arena::Listener {
public:
    // *warn_after*: time for which channels are paused before a warning is logged.
    ReceiveBuffer(Reactor& reactor, Arena* arena, Nanos warn_after);
    ReceiveBuffer(const ReceiveBuffer&) = delete;
    ReceiveBuffer& operator=(const ReceiveBuffer&) = delete;
    ~ReceiveBuffer();

    // At least kMinRoom bytes, or null without memory.
    struct Room {
        uint8_t* data;
        size_t size;
        Block* block;
    };
    Room room(Arena::AtLimit limit);
    void used(size_t size) { used_ += size; }

    Arena& arena() { return *arena_; }
    // False: channels should not begin to receive new bodies.
    bool accepts_input() const { return !arena_->strict || arena_->would_fit(slab_ ? kMinRoom : kFresh); }
    // The channel was paused, or a paused one was closed.
    void pause(Channel& channel);
    void request_turn() { memory_returned_.store(true, std::memory_order_relaxed); }
    static size_t size_of_new_input() { return kFresh; }

    // Any thread.
    void memory_returned() override;
    int64_t paused() const { return paused_count_.load(std::memory_order_relaxed); }

    // Paused channels may continue: the next turn must come at once.
    bool has_returned_memory() const { return memory_returned_.load(std::memory_order_seq_cst); }
    Nanos next_due() const { return warn_at_; }
    // Once per turn, at its end. Returns a warning when one is due.
    std::string turn();

    // Drops its memory; the reactor closes the arena later, when its usage can no longer be read.
    void finish();
    Arena* detach() { return std::exchange(arena_, nullptr); }
    const Arena* attached() const { return arena_; }

    // One block of the pool, with its header.
    static constexpr size_t kSlabSize = (128 << 10) - sizeof(Block);
    static constexpr size_t kMinRoom = 16 << 10;

private:
    static constexpr size_t kFresh = kSlabSize + kMinRoom;
    static constexpr Nanos kWarnAgain = 30 * kSecond;

    void drop_slab();
    void resume();
    std::string warning(Nanos now) const;

    Reactor& reactor_;
    Arena* arena_;
    BlockRef slab_;
    size_t used_ = 0;
    const Nanos warn_after_;
    std::vector<Ref<Channel>> paused_;
    Nanos paused_since_ = 0;
    Nanos warn_at_ = kNever;
    std::atomic<int64_t> paused_count_{0};
    std::atomic<bool> memory_returned_{false};
};

}  // namespace fastcql
