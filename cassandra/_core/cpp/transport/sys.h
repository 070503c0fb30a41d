// The few services that differ between POSIX systems: parking of threads, wake-up descriptors, pollers, sockets.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include "base/clock.h"
#include "transport/segments.h"

// FASTCQL_PORTABLE: the calls of all POSIX systems in place of Linux's own. FASTCQL_KQUEUE: there is a kqueue.
#if defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__) || defined(__DragonFly__)
#define FASTCQL_KQUEUE 1
#endif

namespace fastcql {

// The time *seconds* after *now*; large (or not finite) values become kNever.
inline Nanos deadline_after(Nanos now, double seconds) noexcept {
    if (!(seconds < 3e8)) return kNever;
    if (seconds <= 0) return now;
    return now + static_cast<Nanos>(seconds * 1e9);
}

// Parking: sleep while *word* holds *expected*. A wake-up may be spurious. Waking uses only the address, never the
// memory, so the word may be freed by then; a lock or signal can therefore live in an object that its waiter destroys.
enum class ParkResult { Woken, TimedOut, Interrupted };
ParkResult park(std::atomic<uint32_t>& word, uint32_t expected, Nanos timeout);
void unpark_one(std::atomic<uint32_t>* word);
void unpark_all(std::atomic<uint32_t>* word);

// A mutex of four bytes for state that is held for nanoseconds (one in every operation).
class SmallLock {
public:
    void lock() {
        uint32_t free = 0;
        if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) lock_slow();
    }
    void unlock() {
        if (word_.exchange(0, std::memory_order_release) == 2) unpark_one(&word_);
    }

private:
    void lock_slow();
    std::atomic<uint32_t> word_{0};  // 0 free, 1 held, 2 held and a thread may sleep
};

// A descriptor that makes a poller return: eventfd on Linux, else a pipe. Many signals are one wake-up. A kqueue could
// be woken without a descriptor (EVFILT_USER), but a CompletionQueue needs one for event loops anyway, and not every
// system has that filter.
class WakeDescriptor {
public:
    WakeDescriptor() = default;
    WakeDescriptor(const WakeDescriptor&) = delete;
    WakeDescriptor& operator=(const WakeDescriptor&) = delete;
    ~WakeDescriptor() { close(); }

    bool open();  // on failure false and errno
    void close();
    int fd() const { return read_fd_; }
    void signal();
    void drain();

private:
    int read_fd_ = -1;
    int write_fd_ = -1;
};

// Changes in every forked child, so that objects can detect that their thread stayed in the parent.
uint32_t fork_generation() noexcept;

// ---- readiness of descriptors: epoll on Linux, kqueue on macOS and the BSDs, poll(2) everywhere

enum Readiness : uint32_t { kReadable = 1, kWritable = 2, kBroken = 4 };

// A descriptor may have two events in one wait, one for each interest.
struct ReadyEvent {
    void* data;
    uint32_t ready;
};

// Used by the owner of the reactor only. Level-triggered: unconsumed readiness is reported again, so that no
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

// The pollers of this system, the default first.
inline constexpr const char* kPollers[] = {
#ifdef __linux__
    "epoll",
#endif
#ifdef FASTCQL_KQUEUE
    "kqueue",
#endif
    "poll"};

// *backend* is one of them or "auto"; null if it is not (errno: EINVAL), or if the system refuses.
std::unique_ptr<Poller> make_poller(const char* backend);

// Milliseconds to wait from now until *deadline*, rounded up so that a timer is never early; -1: for ever.
int wait_milliseconds(Nanos deadline);

// ---- sockets of channels: addresses, and the first non-blocking steps

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

// Parses a numeric address; false if it is not one of *family* (AF_INET, AF_INET6; scope ids are supported).
bool parse_address(int family, const char* host, int port, SocketAddress* address) noexcept;
// False if the path is too long. A leading NUL is Linux's abstract name space.
bool parse_unix_path(const std::string& path, SocketAddress* address);

// Returns host and port in numeric form, or false and a path.
bool describe_address(const SocketAddress& address, std::string* host, int* port);

struct SocketOption {
    int level;
    int name;
    Buffer value;
};

struct ConnectSpec {
    int family = 0;
    SocketAddress address;
    SocketAddress local;  // length 0: any
    std::vector<SocketOption> options;
    Nanos timeout = kNever;
};

struct ConnectStep {
    int fd = -1;
    int error = 0;  // errno of *operation*; fd is -1 then
    const char* operation = "";
};

// Non-blocking, close-on-exec, TCP_NODELAY, options, bind, connect.
ConnectStep start_connect(const ConnectSpec& spec);
// After the socket became writable: 0 or errno.
int finish_connect(int fd);

// ---- bytes of sockets: counts, or -1 and errno

#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL;
#else
constexpr int kSendFlags = 0;  // the sockets have SO_NOSIGPIPE
#endif

inline ssize_t send_bytes(int fd, const uint8_t* data, size_t size) noexcept {
    return ::send(fd, data, size, kSendFlags);
}

inline ssize_t receive_bytes(int fd, uint8_t* data, size_t size) noexcept { return ::recv(fd, data, size, 0); }

// Fills *first*, then *second*.
inline ssize_t receive_bytes(int fd, uint8_t* first, size_t first_size, uint8_t* second, size_t second_size) noexcept {
    const iovec parts[2] = {{first, first_size}, {second, second_size}};
    return ::readv(fd, parts, 2);
}

// False if a read would return nothing now: no byte, no end and no error.
bool has_input(int fd) noexcept;
// Bytes that the peer's system has yet to take; 0 if unknown.
int unsent_bytes(int fd) noexcept;
bool socket_address(int fd, bool peer, SocketAddress* address) noexcept;
void end_output(int fd) noexcept;
// Ends the connection, also for forked children with a copy of the descriptor.
void end_connection(int fd) noexcept;
void close_socket(int fd) noexcept;

}  // namespace fastcql
