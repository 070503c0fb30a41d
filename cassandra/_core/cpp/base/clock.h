// Time: the monotonic clock in nanoseconds.
#pragma once

#include <cstdint>
#include <ctime>

namespace fastcql {

using Nanos = int64_t;
constexpr Nanos kNever = INT64_MAX;
constexpr Nanos kMillisecond = 1000 * 1000;
constexpr Nanos kSecond = 1000 * kMillisecond;

inline Nanos monotonic_now() noexcept {
    timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return static_cast<Nanos>(ts.tv_sec) * kSecond + ts.tv_nsec;
}

}  // namespace fastcql
