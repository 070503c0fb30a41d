// Detection of a silent peer: sent requests wait, and no bytes arrive. The runtime is notified once per silence, and
// finds out the cause.
//
// A request with a late response does not mean a silent peer, but both look the same. So the notified runtime sends a
// request that is answered at once; its response is a sign of life for every request sent before (*told_at_*), and
// those are checked again only after the longer kLongPatience.
//
// Requests do not pay for this: the first one of a busy time arms the channel's scan a little sooner than its deadline
// would, and the scan reads times that are recorded anyway.
#include <algorithm>
#include <cerrno>
#include <sys/ioctl.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/sockios.h>
#endif
#include <utility>

#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

namespace {

constexpr Nanos kLongPatience = kSecond;
constexpr int kUpload = 32 << 10;  // bytes that the peer's system has yet to take

}  // namespace

void Channel::watch_quiet(Nanos patience) noexcept {
    Lock lock(mutex_);
    patience_ = std::min(patience, kPatient);
}

// Locked; the role holder. Returns the time at which the silence becomes too long, by the present state.
Nanos Channel::quiet_at(Nanos now) {
    if (patience_ >= kPatient || in_flight() == 0 || state() != State::Open) return kNever;
    const Nanos heard = last_received();
    Nanos oldest = kNever;
    bool unsent = false, told = false;
    for (const StreamEntry& entry : entries_) {
        if (entry.state != StreamState::Waiting) continue;
        if (queue_.still_queued(entry.position)) {
            unsent = true;  // the delay is on this side
        } else if (entry.started <= told_at_) {
            told = true;
        } else {
            oldest = std::min(oldest, entry.started);
        }
    }
    Nanos at = oldest == kNever ? kNever : std::max(oldest, heard) + patience_;
    if (told) at = std::min(at, std::max(told_at_, heard) + std::max(patience_, kLongPatience));
    if (unsent) at = std::min(at, now + patience_);
    return at;
}

// The role holder, when quiet_at() is reached. False if there is input after all: this process was busy, or did not run
// at all. A peer that takes an upload is not silent either.
bool Channel::is_quiet() {
    if (!stash_.empty()) return false;
    uint8_t byte;
    const ssize_t found = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (found >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return false;
    const uint64_t taken = uploaded();
    return taken == 0 || std::exchange(taken_, taken) == taken;
}

uint64_t Channel::uploaded() noexcept {
    int queued = 0;
#ifdef SIOCOUTQ
    Lock lock(mutex_);
    if (fd_ < 0 || ::ioctl(fd_, SIOCOUTQ, &queued) != 0) return 0;
#endif
    if (queued < kUpload) return 0;
    return bytes_sent() - static_cast<uint64_t>(queued);
}

void Channel::waiting(std::vector<WaitingRequest>& found) {
    Lock lock(mutex_);
    for (const StreamEntry& entry : entries_) {
        if (entry.state == StreamState::Waiting && !queue_.still_queued(entry.position))
            found.push_back({entry.operation, entry.attempt});
    }
}

}  // namespace fastcql
