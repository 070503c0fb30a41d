// What a reactor's channels receive into: the arena of its thread in a memory pool, and the block for the next bytes.
// The role holder's, but for what says otherwise.
//
// At the limit of a strict pool channels are paused: nothing is read from them until memory came back. Only what has its
// memory already is received to its end, so that no one waits for another who waits.
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

class Intake final : public Arena::Listener {
public:
    // *warn_after*: how long channels are paused before somebody should know.
    Intake(Reactor& reactor, Arena* arena, Nanos warn_after);
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;
    ~Intake();

    // At least kMinRoom bytes, or null without memory.
    struct Room {
        uint8_t* data;
        size_t size;
        Block* block;
    };
    Room room(Arena::AtLimit limit);
    void used(size_t size) { used_ += size; }

    Arena& arena() { return *arena_; }
    // False: channels should not begin to receive anything new.
    bool admits() const { return !arena_->strict || arena_->would_fit(slab_ ? kMinRoom : kFresh); }
    // The channel was paused, or a paused one was closed.
    void pause(Channel& channel);
    void nudge() { news_.store(true, std::memory_order_relaxed); }
    static size_t wanted_by_new_input() { return kFresh; }

    // Any thread.
    void memory_returned() override;
    int64_t paused() const { return paused_count_.load(std::memory_order_relaxed); }

    // Paused ones may go on: the next turn must come at once.
    bool news() const { return news_.load(std::memory_order_seq_cst); }
    Nanos next_due() const { return warn_at_; }
    // Once per turn, at its end. A warning, when it is time for one.
    std::string turn();

    // Drops what it holds; the reactor closes the arena, when nobody can ask for its usage any more.
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
    std::atomic<bool> news_{false};
};

}  // namespace fastcql
