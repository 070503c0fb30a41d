#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/event.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

// The filters of one descriptor, by index: reading, writing.
struct Filters {
    bool added[2] = {false, false};
    void* data[2] = {nullptr, nullptr};
};

using Queue = std::map<int, Filters>;
std::mutex mutex;
std::map<int, Queue> queues;  // by descriptor; stale after close()

// An open file can carry the number of a signal, which is not used without O_ASYNC: a queue is known by it after its
// number was closed and opened as another's.
const int kMark = SIGRTMAX - 3;
bool is_queue(int fd) { return ::fcntl(fd, F_GETSIG) == kMark; }

// A child of a fork does not have the queues of its parent.
void in_child() {
    for (const auto& [fd, queue] : queues) {
        if (is_queue(fd)) ::close(fd);
    }
    queues.clear();
    mutex.unlock();
}

int index_of(int16_t filter) { return filter == EVFILT_READ ? 0 : filter == EVFILT_WRITE ? 1 : -1; }

// Locked. Returns 0 or an errno.
int apply(int fd, Queue& queue, const struct kevent& change) {
    const int index = index_of(change.filter);
    const int action = change.flags & ~EV_RECEIPT;
    const int ident = static_cast<int>(change.ident);
    if (index < 0 || (action != EV_ADD && action != EV_DELETE)) return EINVAL;
    const auto found = queue.find(ident);
    Filters filters = found == queue.end() ? Filters{} : found->second;
    if (action == EV_DELETE && !filters.added[index]) return ENOENT;
    filters.added[index] = action == EV_ADD;
    filters.data[index] = change.udata;
    epoll_event event{};
    event.data.fd = ident;
    if (filters.added[0]) event.events |= EPOLLIN | EPOLLRDHUP;
    if (filters.added[1]) event.events |= EPOLLOUT;
    if (event.events == 0) {
        queue.erase(ident);
        return ::epoll_ctl(fd, EPOLL_CTL_DEL, ident, &event) == 0 ? 0 : errno;
    }
    // A closed descriptor has lost its filters, and its number may be another's.
    if (::epoll_ctl(fd, EPOLL_CTL_MOD, ident, &event) != 0) {
        if (errno != ENOENT) return errno;
        if (found != queue.end()) queue.erase(found);
        if (action == EV_DELETE) return ENOENT;
        filters = Filters{};
        filters.added[index] = true;
        filters.data[index] = change.udata;
        event.events = index == 0 ? uint32_t{EPOLLIN | EPOLLRDHUP} : uint32_t{EPOLLOUT};
        if (::epoll_ctl(fd, EPOLL_CTL_ADD, ident, &event) != 0) return errno;
    }
    queue[ident] = filters;
    return 0;
}

int milliseconds(const timespec* timeout) {
    if (!timeout) return -1;
    return static_cast<int>(std::min<long>(timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000, INT_MAX));
}

// Locked. Adds the events of the filters for which *ready* holds.
int report(const Filters& filters, const epoll_event& ready, struct kevent* out) {
    int count = 0;
    const bool broken = (ready.events & (EPOLLHUP | EPOLLERR)) != 0;
    for (int index = 0; index < 2; ++index) {
        const bool eof = broken || (index == 0 && (ready.events & EPOLLRDHUP));
        if (!filters.added[index] || !(eof || (ready.events & (index == 0 ? EPOLLIN : EPOLLOUT)))) continue;
        struct kevent& event = out[count++];
        EV_SET(&event, static_cast<uintptr_t>(ready.data.fd), index == 0 ? EVFILT_READ : EVFILT_WRITE, eof ? EV_EOF : 0,
               (ready.events & EPOLLERR) ? ECONNRESET : 0, 0, filters.data[index]);
    }
    return count;
}

}  // namespace

int kqueue() {
    static const int hook = pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, in_child);
    static_cast<void>(hook);
    const std::lock_guard<std::mutex> guard(mutex);
    const int fd = ::epoll_create1(0);  // as a kqueue, it is not closed on exec
    if (fd < 0 || ::fcntl(fd, F_SETSIG, kMark) != 0) return -1;
    queues[fd].clear();
    return fd;
}

int kevent(int queue, const struct kevent* changes, int change_count, struct kevent* events, int event_count,
           const timespec* timeout) {
    int count = 0;
    {
        const std::lock_guard<std::mutex> guard(mutex);
        const auto found = queues.find(queue);
        if (found == queues.end() || !is_queue(queue)) return errno = EBADF, -1;
        for (int i = 0; i < change_count; ++i) {
            struct kevent change = changes[i];  // *events* may be the same array
            const int error = apply(queue, found->second, change);
            if (error == 0 && !(change.flags & EV_RECEIPT)) continue;
            if (count == event_count) return errno = error, -1;
            change.flags = EV_ERROR;
            change.data = error;
            events[count++] = change;
        }
    }
    if (count > 0 || event_count == 0) return count;
    constexpr int kMost = 256;
    epoll_event ready[kMost];
    const int got = ::epoll_wait(queue, ready, std::min(event_count, kMost), milliseconds(timeout));
    if (got < 0) return -1;
    const std::lock_guard<std::mutex> guard(mutex);
    const Queue& filters = queues[queue];
    for (int i = 0; i < got; ++i) {
        const auto known = filters.find(ready[i].data.fd);
        if (known == filters.end()) continue;
        struct kevent found[2];
        const int reported = std::min(report(known->second, ready[i], found), event_count - count);
        std::copy(found, found + reported, events + count);  // the rest is found by the next call
        count += reported;
    }
    return count;
}
