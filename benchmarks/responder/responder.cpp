// A CQL server that knows no CQL: it plays recorded answers, so that measurements are of the client.
//
//   responder RECORDING [PORT [VERSION [DELAY [CERTIFICATE]]]]
//
// One thread, epoll, protocol 4 or, as VERSION says, also 5, with LZ4 for clients that ask (newer versions are refused
// as Cassandra refuses them, so that clients step down); by TLS with a CERTIFICATE, a PEM file with its key. Answers to
// EXECUTE come DELAY microseconds late (protocol 4). It prints the port it listens on (127.0.0.1) and ends when its
// standard input does, so that it cannot outlive its parent process; its last line is "<answers> <CPU seconds>", which
// shows that it was not the limit. Everything that was received in one read is answered with one write.
//
// The recording is a sequence of (u32 size, key) (u8 opcode, u8 flags) (u32 size, body), little-endian. Keys: "O"
// OPTIONS, "S" STARTUP, "R" REGISTER, "B" any BATCH, "Q<text>" QUERY, "P<text>" PREPARE, "X<0|1><id>" EXECUTE without
// or with the flag to skip metadata. A query that was not recorded gets the answer of one that reads the same table, an
// EXECUTE the answer with the other flag. A further page of a QUERY has a key of its own: text, zero byte, paging state.
// An answer that is an EVENT goes to all clients that have registered for events, and the request gets a VOID.

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <string>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "recording.h"
#include "segments.h"
#include "stream.h"

namespace {

int64_t nanos_now() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Answers that come late, each as late as the others: the first one is due first.
struct Late {
    struct One {
        int64_t due;
        uint64_t client;
        std::string bytes;
    };
    int64_t delay;
    std::deque<One> waiting;
};

class Client {
public:
    Client(int fd, uint64_t number, uint8_t newest, const OpenSsl* library, Late* late)
        : fd_(fd), number_(number), newest_(newest), late_(late), stream_(fd, library) {}
    ~Client() { ::close(fd_); }
    int fd() const { return fd_; }
    uint64_t number() const { return number_; }
    bool blocked() const { return sent_ < output_.size(); }
    bool registered() const { return registered_; }
    // The event that this client has asked for, once.
    const Answer* take_event() { return std::exchange(event_, nullptr); }
    bool send_event(const Answer& event) {  // protocol 4
        append(output_, "\0\0\377\377", event);
        return send();
    }

    // False: the connection ended.
    bool receive(Recording& recording) {
        std::string& input = segments_ ? covered_ : input_;
        const size_t before = input.size();
        input.resize(before + kChunk);
        const ssize_t got = stream_.read(input.data() + before, kChunk);
        if (got <= 0) {
            input.resize(before);
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        }
        input.resize(before + static_cast<size_t>(got));
        if (segments_ && !segments_->unpack(covered_, input_)) return false;
        const bool covered = segments_.has_value();
        std::string& answers = covered ? answers_ : output_;
        size_t at = 0;
        while (input_.size() - at >= kHeader) {
            const char* frame = input_.data() + at;
            const size_t length = big32(frame + 5);
            if (input_.size() - at - kHeader < length) break;
            answer(frame, length, recording, answers);
            at += kHeader + length;
        }
        input_.erase(0, at);
        if (covered) {
            segments_->pack(answers_, output_);
            answers_.clear();
        }
        return send();
    }

    bool send_late(const std::string& bytes) {
        output_ += bytes;
        return send();
    }

    bool send() {
        while (blocked()) {
            const ssize_t done = stream_.write(output_.data() + sent_, output_.size() - sent_);
            if (done < 0) return errno == EAGAIN || errno == EINTR;
            sent_ += static_cast<size_t>(done);
        }
        output_.clear();
        sent_ = 0;
        return true;
    }

private:
    static constexpr size_t kChunk = 64 << 10;
    static constexpr uint8_t kStartup = 0x01, kExecute = 0x0A, kRegister = 0x0B, kEvent = 0x0C;

    void answer(const char* frame, size_t length, Recording& recording, std::string& out) {
        const auto version = static_cast<uint8_t>(frame[0]), opcode = static_cast<uint8_t>(frame[4]);
        if (version > newest_) {
            append(out, frame, refusal(version, newest_));
            return;
        }
        const Answer& found = recording.find(key_of(opcode, frame + kHeader, length, version));
        if (version <= kVersion && late_ && opcode == kExecute) {
            late_->waiting.push_back({nanos_now() + late_->delay, number_, {}});
            append(late_->waiting.back().bytes, frame, found);
            return;
        }
        registered_ |= opcode == kRegister;
        if (version <= kVersion && found.opcode == kEvent) {
            event_ = &found;
            append(out, frame, {0x08, 0, std::string("\0\0\0\1", 4)});
            return;
        }
        if (version <= kVersion) {
            append(out, frame, found);
            return;
        }
        append(out, frame, with_metadata_id(found), version);
        if (opcode == kStartup) segments_.emplace(std::string(frame + kHeader, length).find("lz4") != std::string::npos);
    }

    const int fd_;
    const uint64_t number_;
    const uint8_t newest_;
    Late* const late_;
    Stream stream_;
    std::optional<Segments> segments_;  // from STARTUP on, in protocol 5
    std::string covered_;               // received, in segments
    std::string input_;
    std::string answers_;  // to be put into segments
    std::string output_;
    size_t sent_ = 0;
    bool registered_ = false;
    const Answer* event_ = nullptr;
};

class Server {
public:
    Server(Recording& recording, uint8_t newest, int64_t delay, const char* certificate)
        : recording_(recording), newest_(newest), late_{delay, {}}, epoll_(epoll_create1(EPOLL_CLOEXEC)) {
        if (certificate) library_.emplace(certificate);
    }

    int listen(int port) {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        const int on = 1;
        ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_, generic, size) != 0 || ::listen(listener_, 128) != 0) return -1;
        ::getsockname(listener_, generic, &size);
        watch(listener_, EPOLLIN, EPOLL_CTL_ADD);
        return ntohs(address.sin_port);
    }

    // Until standard input ends.
    void run() {
        watch(STDIN_FILENO, EPOLLIN | EPOLLHUP, EPOLL_CTL_ADD);
        watch(timer_, EPOLLIN, EPOLL_CTL_ADD);
        epoll_event events[64];
        for (;;) {
            const int count = epoll_wait(epoll_, events, 64, -1);
            for (int i = 0; i < count; ++i) {
                const int fd = events[i].data.fd;
                if (fd == STDIN_FILENO) {
                    char sink[64];
                    if (::read(fd, sink, sizeof sink) <= 0) return;
                } else if (fd == listener_) {
                    accept();
                } else if (fd == timer_) {
                    answer_late();
                } else {
                    serve(fd, events[i].events);
                }
            }
            if (!armed_ && !late_.waiting.empty()) arm();
        }
    }

private:
    void watch(int fd, uint32_t events, int operation) {
        epoll_event event{};
        event.events = events;
        event.data.fd = fd;
        epoll_ctl(epoll_, operation, fd, &event);
    }

    void accept() {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        numbers_[++accepted_] = fd;
        Late* const late = late_.delay ? &late_ : nullptr;
        clients_[fd] = std::make_unique<Client>(fd, accepted_, newest_, library_ ? &*library_ : nullptr, late);
        watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }

    void serve(int fd, uint32_t events) {
        Client& client = *clients_[fd];
        const bool was_blocked = client.blocked();
        bool alive = true;
        if (events & EPOLLOUT) alive = client.send();
        if (alive && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) alive = client.receive(recording_);
        const Answer* const event = client.take_event();
        settle(client, was_blocked, alive);
        if (event) push(*event);
    }

    void push(const Answer& event) {
        for (auto at = clients_.begin(); at != clients_.end();) {
            Client& client = *(at++)->second;  // it may be removed
            const bool was_blocked = client.blocked();
            if (client.registered()) settle(client, was_blocked, client.send_event(event));
        }
    }

    void settle(Client& client, bool was_blocked, bool alive) {
        const int fd = client.fd();
        if (!alive) {
            numbers_.erase(client.number());
            clients_.erase(fd);
        } else if (client.blocked() != was_blocked) {
            watch(fd, client.blocked() ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
        }
    }

    void arm() {
        const int64_t due = late_.waiting.front().due;
        itimerspec when{};
        when.it_value = {due / 1'000'000'000, due % 1'000'000'000};
        timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
        armed_ = true;
    }

    void answer_late() {
        uint64_t expirations;
        if (::read(timer_, &expirations, sizeof expirations) < 0) return;
        armed_ = false;
        while (!late_.waiting.empty() && late_.waiting.front().due <= nanos_now()) {
            const Late::One one = std::move(late_.waiting.front());
            late_.waiting.pop_front();
            const auto found = numbers_.find(one.client);
            if (found == numbers_.end()) continue;
            Client& client = *clients_[found->second];
            const bool was_blocked = client.blocked();
            settle(client, was_blocked, client.send_late(one.bytes));
        }
    }

    Recording& recording_;
    const uint8_t newest_;
    Late late_;
    std::optional<OpenSsl> library_;
    const int epoll_;
    int listener_ = -1;
    const int timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    bool armed_ = false;
    uint64_t accepted_ = 0;
    std::unordered_map<uint64_t, int> numbers_;  // of clients
    std::unordered_map<int, std::unique_ptr<Client>> clients_;
};

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    Recording recording;
    if (argc < 2 || !recording.load(argv[1])) {
        std::fprintf(stderr, "usage: responder RECORDING [PORT [VERSION [DELAY [CERTIFICATE]]]]\n");
        return 2;
    }
    const int newest = argc > 3 ? std::atoi(argv[3]) : kVersion;
    const int64_t delay = argc > 4 ? std::atoll(argv[4]) * 1000 : 0;
    Server server(recording, static_cast<uint8_t>(newest), delay, argc > 5 ? argv[5] : nullptr);
    const int port = server.listen(argc > 2 ? std::atoi(argv[2]) : 0);
    if (port < 0) {
        std::perror("listen");
        return 1;
    }
    std::printf("%d\n", port);
    std::fflush(stdout);
    server.run();
    std::printf("%zu %.6f\n", recording.asked(), static_cast<double>(std::clock()) / CLOCKS_PER_SEC);
    return 0;
}
