// The window of a channel while its server is overloaded: how many requests it may have in flight.
//
// A window is open, without a limit, until there is evidence of overload: the server rejects a request as overloaded, a
// request times out, or a response takes over 100 ms and ten times as long as usual. Evidence counts only if most of
// the recent responses were slow. So single lost responses, slow statements and a server that is a little slow limit
// nothing. If responses are as slow a little later, with few requests in flight, the reason is another one: the window
// opens again, and stays open for some minutes. Rejections leave no doubt about the reason.
//
// Windows that are limited keep the servers quick, so that a window without evidence would stay open and send what the
// others hold back. If most windows of the client are limited, it suffices that the responses of a further one are a
// little slow.
//
// A limited window follows the latency, as Swift does (Kumar et al., SIGCOMM 2020), which was designed for many
// senders to one receiver: while responses take at most about twice as long as usual the window grows, by a constant
// amount per time, so that clients become equal; else it shrinks, at most once per round trip. A window below one is a
// pause between requests: a hundred clients of one server need that. After a cut by evidence the window doubles with
// each round trip while responses are as quick as usual: a server that has paused is used again at once.
//
// Recent latencies are clipped at three times the usual one, so that their mean is near the median: a few requests that
// take thirty times as long have no effect. benchmarks/native/overload.cpp simulates all this.
//
// Owner: the channel, inside its mutex. is_limited() may be called without it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/clock.h"

namespace fastcql {

// The windows of one client, by state. Any thread.
class OverloadWindows {
public:
    void add() noexcept { open_.fetch_add(1, std::memory_order_relaxed); }
    void remove(bool limited) noexcept { (limited ? limited_ : open_).fetch_sub(1, std::memory_order_relaxed); }
    void limited() noexcept { move(open_, limited_); }
    void opened() noexcept { move(limited_, open_); }
    bool are_mostly_limited() const noexcept {
        return limited_.load(std::memory_order_relaxed) > open_.load(std::memory_order_relaxed);
    }

private:
    static void move(std::atomic<int>& from, std::atomic<int>& to) noexcept {
        from.fetch_sub(1, std::memory_order_relaxed);
        to.fetch_add(1, std::memory_order_relaxed);
    }
    std::atomic<int> open_{0}, limited_{0};
};

class OverloadWindow {
public:
    static constexpr double kClip = 3;  // times the usual latency

    // The window is one of *all*, which live until leave(). Called before what follows; without it there is no limit.
    void join(OverloadWindows& all) noexcept {
        all_ = &all;
        all.add();
    }
    void leave() noexcept {
        if (all_) all_->remove(is_limited());
        all_ = nullptr;
        limited_.store(false, std::memory_order_relaxed);
    }
    bool has_joined() const noexcept { return all_ != nullptr; }

    bool is_limited() const noexcept { return limited_.load(std::memory_order_relaxed); }
    double size() const noexcept { return size_; }

    bool has_room(int in_flight, Nanos now) const noexcept {
        if (!is_limited()) return true;
        return size_ >= 1 ? in_flight < size_ : in_flight == 0 && now >= next_;
    }
    // When there is room again although no request ends before; kNever if there is no such time.
    Nanos opens_at(int in_flight) const noexcept {
        return is_limited() && size_ < 1 && in_flight == 0 ? next_ : kNever;
    }

    // A response has arrived for a request sent at *sent*; *rejected*: the server reports overload. *usual*: latency of
    // the server without overload, 0 if unknown. *in_flight*: requests, this one included.
    void answered(Nanos sent, Nanos now, Nanos usual, int in_flight, bool rejected) noexcept {
        if (usual == 0) return;
        const auto elapsed = static_cast<double>(std::max(now - sent, Nanos{1}));
        const auto normal = static_cast<double>(usual);
        const bool limited = is_limited();
        if (limited && rejected) trial_left_ = 0;  // no doubt about the reason
        if (limited && trial_left_ > 0) worst_ = std::max(worst_, elapsed);
        if (limited && sent < cut_at_) return;  // it waited behind requests that would not be sent now
        if (limited && trial_left_ > 0 && is_useless(sent, elapsed)) {
            blind_until_ = now + kBlind;
            return open();
        }
        const double weight = limited ? 1 / std::clamp(4 * size_, 2.0, 16.0) : 1.0 / 16;
        recent_ += ((rejected ? kClip * normal : std::min(elapsed, kClip * normal)) - recent_) * weight;
        if (!limited) return look_for_evidence(sent, elapsed, now, normal, in_flight, rejected);
        if (now - evidence_ > kHold) return open();
        whole_ += (elapsed - whole_) * weight;
        const double target = normal * (kTarget + 0.2 * std::min(4.0, 1 / std::sqrt(size_)));
        if (rejected || recent_ > target) {
            cut(rejected ? 0.5 : std::clamp(0.8 * (whole_ - target) / whole_, 0.05, 0.5), now);
        } else if (2 * in_flight >= size_) {
            const bool quick = recent_ < kQuick * normal;
            const double rounds = static_cast<double>(std::min(now - grown_at_, kSecond)) / normal;
            const double step = !quick ? kStep * rounds : doubling_ ? std::min(1.0, size_ * rounds) : kQuickStep * rounds;
            size_ = std::min(size_ + step, kMost);
        }
        grown_at_ = now;
        pause(elapsed, now);
    }
    // A request that was sent at *sent* has had no response in time.
    void timed_out(Nanos sent, Nanos now, Nanos usual, int in_flight) noexcept {
        if (usual == 0) return;
        if (is_limited()) {
            evidence_ = now;
        } else {
            limit(static_cast<double>(std::max(now - sent, Nanos{1})), now, static_cast<double>(usual), in_flight, false);
        }
    }

private:
    static constexpr double kLate = 100.0 * kMillisecond, kMuch = 10;
    static constexpr int kSome = 8, kTrial = 3;
    static constexpr double kSlow = 2, kTarget = 1.5, kQuick = 1.25, kStep = 0.003, kQuickStep = 0.03;
    static constexpr double kLeast = 0.01, kMost = 32768, kFar = 8;
    static constexpr Nanos kHold = 5 * kSecond, kLongestPause = kSecond, kBlind = 300 * kSecond;
    static constexpr double kMargin = 0.5 * kSecond;

    // True after a few responses that are as slow as before though the server must have answered what it had: the number
    // of requests is not the reason.
    bool is_useless(Nanos sent, double elapsed) noexcept {
        if (static_cast<double>(sent - limited_at_) < worst_ + kMargin) return false;
        if (2 * elapsed > worst_) return --trial_left_ == 0;
        trial_left_ = 0;
        return false;
    }
    void look_for_evidence(Nanos sent, double elapsed, Nanos now, double normal, int in_flight, bool rejected) noexcept {
        const bool late = elapsed > kLate && elapsed > kMuch * normal && in_flight >= kSome;
        if (rejected || (late && late_since_ != 0 && sent >= late_since_) || is_spared(normal))
            return limit(elapsed, now, normal, in_flight, rejected);
        if (late && late_since_ == 0) {
            late_since_ = now;
        } else if (recent_ <= kSlow * normal) {
            late_since_ = 0;
        }
    }
    // True if responses are a little slow, and the limits of other windows are the reason why they are not slower.
    bool is_spared(double normal) const noexcept {
        return recent_ > kTarget * normal && all_->are_mostly_limited();
    }
    void limit(double elapsed, Nanos now, double normal, int in_flight, bool rejected) noexcept {
        if (recent_ <= kSlow * normal && !is_spared(normal)) return;
        if (now < blind_until_ && !rejected) return;
        limited_.store(true, std::memory_order_relaxed);
        all_->limited();
        doubling_ = true;
        late_since_ = 0;
        // After a rejection it begins far above: the next ones halve it, in all clients alike.
        size_ = std::clamp(in_flight * (rejected ? kFar : kSlow * normal / elapsed), kLeast, kMost);
        recent_ = whole_ = kQuick * normal;
        worst_ = elapsed;
        trial_left_ = rejected ? 0 : kTrial;
        limited_at_ = evidence_ = cut_at_ = grown_at_ = now;
        pause(elapsed, now);
    }
    void open() noexcept {
        limited_.store(false, std::memory_order_relaxed);
        all_->opened();
    }
    void cut(double part, Nanos now) noexcept {
        size_ = std::max(kLeast, size_ * (1 - part));
        doubling_ = false;
        evidence_ = cut_at_ = now;
    }
    void pause(double elapsed, Nanos now) noexcept {
        const double longest = trial_left_ > 0 ? std::min(worst_, double{kLongestPause}) : double{kLongestPause};
        if (size_ < 1) next_ = now + static_cast<Nanos>(std::min(elapsed * (1 / size_ - 1), longest));
    }

    OverloadWindows* all_ = nullptr;
    std::atomic<bool> limited_{false};
    bool doubling_ = false;   // until the first cut
    double size_ = kMost;
    double recent_ = 0;       // mean of the last latencies, clipped
    double whole_ = 0;        // the same, not clipped
    Nanos late_since_ = 0;    // not limited: when the first late response arrived; 0 if responses are not slow
    int trial_left_ = 0;      // responses that decide whether a limit is useless
    double worst_ = 0;        // the highest latency until then
    Nanos limited_at_ = 0;
    Nanos blind_until_ = 0;   // evidence is ignored: a limit was useless
    Nanos next_ = 0;          // a window below one: time of the next request
    Nanos evidence_ = 0;      // time of the last evidence of overload
    Nanos cut_at_ = 0;        // requests sent before do not shrink the window again
    Nanos grown_at_ = 0;
};

}  // namespace fastcql
