// The number of requests that one client, an ingest or a scan, has in flight to one host.
//
// Additive increase, multiplicative decrease: after a round of results the window grows by one; it halves when the host
// reports overload. Until the first report it grows by one with each result.
//
// Owner: the thread that consumes the results of the client.
#pragma once

#include <algorithm>
#include <cstdint>

#include "transport/sys.h"

namespace fastcql {

class HostWindow {
public:
    static constexpr uint32_t kMin = 1;

    HostWindow(uint32_t first, uint32_t max) : size_(std::min(first, max)), max_(max) {}

    uint32_t size() const noexcept { return size_; }
    uint32_t in_flight() const noexcept { return in_flight_; }
    bool has_room() const noexcept { return in_flight_ < size_; }

    void sent() noexcept { ++in_flight_; }
    // A request ended without a result.
    void gone() noexcept { --in_flight_; }
    // A request ended with a result. A window that is not used does not grow.
    void answered() noexcept {
        --in_flight_;
        if (size_ >= max_ || 2 * (in_flight_ + 1) < size_) return;
        if (slow_start_ || ++credit_ >= size_) {
            ++size_;
            credit_ = 0;
        }
    }
    // The host reported overload for a request sent at *sent*, which is gone. Requests that were in flight together
    // halve the window once.
    void congested(Nanos sent, Nanos now) noexcept {
        if (sent < cut_at_) return;
        size_ = std::max(kMin, size_ / 2);
        credit_ = 0;
        slow_start_ = false;
        cut_at_ = now;
    }

private:
    uint32_t size_;
    uint32_t in_flight_ = 0;
    uint32_t credit_ = 0;
    const uint32_t max_;
    bool slow_start_ = true;
    Nanos cut_at_ = 0;
};

}  // namespace fastcql
