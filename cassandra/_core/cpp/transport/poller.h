// Readiness of descriptors: epoll on Linux, poll(2) everywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/sys.h"

namespace fastcql {

enum Readiness : uint32_t { kReadable = 1, kWritable = 2, kBroken = 4 };

struct ReadyEvent {
    void* data;
    uint32_t ready;
};

// Used by the holder of the reactor's role only. Level-triggered: unconsumed readiness is reported again, so that no
// call is needed to find that there is nothing more to read.
class Poller {
public:
    static constexpr size_t kBatch = 128;  // upper bound of events reported by one wait

    virtual ~Poller() = default;
    virtual const char* name() const = 0;
    // On failure returns false and sets errno.
    virtual bool add(int fd, uint32_t interest, void* data) = 0;
    virtual void modify(int fd, uint32_t interest, void* data) = 0;
    virtual void remove(int fd) = 0;
    // Waits until *deadline* at most. *events* is replaced. False if a signal ended the wait.
    virtual bool wait(Nanos deadline, std::vector<ReadyEvent>& events) = 0;
};

// *backend* is "epoll", "poll" or "auto"; null if the system does not support it (errno: EINVAL) or refuses.
std::unique_ptr<Poller> make_poller(const char* backend);

// Milliseconds to wait from now until *deadline*, rounded up so that a timer is never early; -1: for ever.
int wait_milliseconds(Nanos deadline);

}  // namespace fastcql
