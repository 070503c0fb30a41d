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

// Used by the holder of the reactor's role only. Level-triggered: what is not consumed is reported again, so
// that no call is needed to learn that there is nothing more to read.
class Poller {
public:
    static constexpr size_t kBatch = 128;  // events of one wait that are told of at the most

    virtual ~Poller() = default;
    virtual const char* name() const = 0;
    // False: errno says why.
    virtual bool add(int fd, uint32_t interest, void* data) = 0;
    virtual void modify(int fd, uint32_t interest, void* data) = 0;
    virtual void remove(int fd) = 0;
    // Waits until *deadline* at most. *events* is replaced. False when a signal ended the wait.
    virtual bool wait(Nanos deadline, std::vector<ReadyEvent>& events) = 0;
};

// *backend* is "epoll", "poll" or "auto"; null when the system does not have it (errno: EINVAL) or refuses.
std::unique_ptr<Poller> make_poller(const char* backend);

// Milliseconds to wait from now until *deadline*, rounded up so that a timer is never early; -1: for ever.
int wait_milliseconds(Nanos deadline);

}  // namespace fastcql
