#include "transport/poller.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <poll.h>
#include <unistd.h>
#include <unordered_map>

#ifdef __linux__
#include <sys/epoll.h>
#endif

namespace fastcql {

int wait_milliseconds(Nanos deadline) {
    if (deadline == kNever) return -1;
    const Nanos left = deadline - monotonic_now();
    if (left <= 0) return 0;
    return static_cast<int>(std::min<Nanos>((left + kMillisecond - 1) / kMillisecond, INT_MAX));
}

namespace {

#ifdef __linux__

class EpollPoller final : public Poller {
public:
    EpollPoller() : fd_(epoll_create1(EPOLL_CLOEXEC)) {}
    ~EpollPoller() override {
        if (fd_ >= 0) ::close(fd_);
    }
    bool valid() const { return fd_ >= 0; }
    const char* name() const override { return "epoll"; }

    bool add(int fd, uint32_t interest, void* data) override {
        return control(EPOLL_CTL_ADD, fd, interest, data);
    }
    void modify(int fd, uint32_t interest, void* data) override {
        control(EPOLL_CTL_MOD, fd, interest, data);
    }
    void remove(int fd) override { control(EPOLL_CTL_DEL, fd, 0, nullptr); }

    bool wait(Nanos deadline, std::vector<ReadyEvent>& events) override {
        events.clear();
        epoll_event ready[kBatch];
        const int count = epoll_wait(fd_, ready, static_cast<int>(kBatch), wait_milliseconds(deadline));
        for (int i = 0; i < count; ++i) {
            uint32_t flags = 0;
            if (ready[i].events & EPOLLIN) flags |= kReadable;
            if (ready[i].events & EPOLLOUT) flags |= kWritable;
            if (ready[i].events & (EPOLLERR | EPOLLHUP)) flags |= kBroken;
            events.push_back({ready[i].data.ptr, flags});
        }
        return count >= 0;
    }

private:
    bool control(int operation, int fd, uint32_t interest, void* data) {
        epoll_event event{};
        if (interest & kReadable) event.events |= EPOLLIN;
        if (interest & kWritable) event.events |= EPOLLOUT;
        event.data.ptr = data;
        return epoll_ctl(fd_, operation, fd, &event) == 0;
    }

    const int fd_;
};

#endif

class PollPoller final : public Poller {
public:
    const char* name() const override { return "poll"; }

    bool add(int fd, uint32_t interest, void* data) override {
        index_[fd] = fds_.size();
        fds_.push_back({fd, flags_of(interest), 0});
        data_.push_back(data);
        return true;
    }
    void modify(int fd, uint32_t interest, void*) override {
        const auto found = index_.find(fd);
        if (found != index_.end()) fds_[found->second].events = flags_of(interest);
    }
    void remove(int fd) override {
        const auto found = index_.find(fd);
        if (found == index_.end()) return;
        const size_t hole = found->second;
        index_.erase(found);
        if (hole + 1 != fds_.size()) {
            fds_[hole] = fds_.back();
            data_[hole] = data_.back();
            index_[fds_[hole].fd] = hole;
        }
        fds_.pop_back();
        data_.pop_back();
    }

    bool wait(Nanos deadline, std::vector<ReadyEvent>& events) override {
        events.clear();
        const int count = ::poll(fds_.data(), static_cast<nfds_t>(fds_.size()), wait_milliseconds(deadline));
        int left = count;
        for (size_t i = 0; left > 0 && i < fds_.size(); ++i) {
            const short got = fds_[i].revents;
            if (got == 0) continue;
            --left;
            uint32_t flags = 0;
            if (got & POLLIN) flags |= kReadable;
            if (got & POLLOUT) flags |= kWritable;
            if (got & (POLLERR | POLLHUP | POLLNVAL)) flags |= kBroken;
            events.push_back({data_[i], flags});
        }
        return count >= 0;
    }

private:
    static short flags_of(uint32_t interest) {
        return static_cast<short>((interest & kReadable ? POLLIN : 0) | (interest & kWritable ? POLLOUT : 0));
    }

    std::vector<pollfd> fds_;
    std::vector<void*> data_;
    std::unordered_map<int, size_t> index_;
};

}  // namespace

std::unique_ptr<Poller> make_poller(const char* backend) {
    const bool any = std::strcmp(backend, "auto") == 0;
#ifdef __linux__
    if (any || std::strcmp(backend, "epoll") == 0) {
        auto poller = std::make_unique<EpollPoller>();
        if (!poller->valid()) return nullptr;
        return poller;
    }
#endif
    if (any || std::strcmp(backend, "poll") == 0) return std::make_unique<PollPoller>();
    errno = EINVAL;
    return nullptr;
}

}  // namespace fastcql
