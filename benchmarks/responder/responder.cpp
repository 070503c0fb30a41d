// A CQL server that knows no CQL: it plays recorded answers, so that what is measured is the client.
//
//   responder RECORDING [PORT]
//
// One thread, epoll, protocol 4 (newer versions are refused as Cassandra refuses them, so that clients step down). It
// prints the port it listens on (127.0.0.1) and ends when its standard input does, so that it cannot outlive whoever
// started it; its last line is "<answers> <CPU seconds>", which shows that it was not the limit. Everything that was
// received in one read is answered with one write.
//
// The recording is a sequence of (u32 size, key) (u8 opcode, u8 flags) (u32 size, body), little-endian. Keys: "O"
// OPTIONS, "S" STARTUP, "R" REGISTER, "Q<text>" QUERY, "P<text>" PREPARE, "X<0|1><id>" EXECUTE without or with the flag
// to skip metadata. A query that was not recorded gets the answer of one that reads the same table, an EXECUTE the
// answer with the other flag.

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace {

constexpr size_t kHeader = 9;
constexpr uint8_t kVersion = 4;
constexpr uint8_t kErrorOpcode = 0x00;
constexpr int32_t kProtocolError = 0x000A, kInvalid = 0x2200;

struct Answer {
    uint8_t opcode;
    uint8_t flags;
    std::string body;
};

uint32_t big32(const char* p) {
    uint32_t value;
    std::memcpy(&value, p, 4);
    return ntohl(value);
}

uint16_t big16(const char* p) {
    uint16_t value;
    std::memcpy(&value, p, 2);
    return ntohs(value);
}

Answer error(int32_t code, const std::string& text) {
    std::string body;
    for (int shift = 24; shift >= 0; shift -= 8) body.push_back(static_cast<char>(code >> shift));
    body.push_back(static_cast<char>(text.size() >> 8));
    body.push_back(static_cast<char>(text.size()));
    return {kErrorOpcode, 0, body + text};
}

// The word after FROM, or nothing.
std::string_view table_of(std::string_view query) {
    size_t at = query.find("FROM ");
    if (at == std::string_view::npos) return {};
    at += 5;
    return query.substr(at, query.find_first_of(" ;", at) - at);
}

class Recording {
public:
    bool load(const char* path) {
        std::ifstream file(path, std::ios::binary);
        const std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        size_t at = 0;
        const auto sized = [&data, &at](std::string* out) {
            uint32_t size;
            if (data.size() - at < sizeof size) return false;
            std::memcpy(&size, data.data() + at, sizeof size);
            at += sizeof size;
            if (data.size() - at < size) return false;
            out->assign(data, at, size);
            at += size;
            return true;
        };
        while (at < data.size()) {
            std::string key;
            Answer answer{};
            if (!sized(&key) || data.size() - at < 2) return false;
            answer.opcode = static_cast<uint8_t>(data[at++]);
            answer.flags = static_cast<uint8_t>(data[at++]);
            if (!sized(&answer.body)) return false;
            answers_.emplace(std::move(key), std::move(answer));
        }
        for (const auto& [key, answer] : answers_) {
            if (key[0] == 'Q') tables_.emplace(table_of(std::string_view(key).substr(1)), &answer);
        }
        return !answers_.empty();
    }

    size_t asked() const { return asked_; }

    const Answer& find(const std::string& key) {
        ++asked_;
        const auto found = answers_.find(key);
        if (found != answers_.end()) return found->second;
        if (key[0] == 'Q') {
            const auto alike = tables_.find(table_of(std::string_view(key).substr(1)));
            if (alike != tables_.end() && !alike->first.empty()) return *alike->second;
        }
        if (key[0] == 'X') {  // with metadata as good as without
            std::string other = key;
            other[1] = static_cast<char>('0' + '1' - other[1]);
            const auto alike = answers_.find(other);
            if (alike != answers_.end()) return alike->second;
        }
        std::fprintf(stderr, "not recorded: %.200s\n", key.c_str());
        return answers_.emplace(key, error(kInvalid, "not recorded")).first->second;
    }

private:
    std::unordered_map<std::string, Answer> answers_;
    std::unordered_map<std::string_view, const Answer*> tables_;
    size_t asked_ = 0;
};

// What a request is looked up by; *size* was checked against the header.
std::string key_of(uint8_t opcode, const char* body, size_t size) {
    switch (opcode) {
        case 0x05:
            return "O";
        case 0x01:
            return "S";
        case 0x0B:
            return "R";
        case 0x07:
        case 0x09: {
            if (size < 4 || size - 4 < big32(body)) return "?";
            return std::string(1, opcode == 0x07 ? 'Q' : 'P').append(body + 4, big32(body));
        }
        case 0x0A: {
            if (size < 2 || size < 2u + big16(body) + 3) return "?";
            const size_t id = big16(body);
            const bool skip_metadata = (body[2 + id + 2] & 0x02) != 0;
            return std::string(skip_metadata ? "X1" : "X0").append(body + 2, id);
        }
        default:
            return "?";
    }
}

class Client {
public:
    explicit Client(int fd) : fd_(fd) {}
    ~Client() { ::close(fd_); }
    int fd() const { return fd_; }
    bool blocked() const { return sent_ < output_.size(); }

    // False: the connection ended.
    bool receive(Recording& recording) {
        const size_t before = input_.size();
        input_.resize(before + kChunk);
        const ssize_t got = ::recv(fd_, input_.data() + before, kChunk, 0);
        if (got <= 0) {
            input_.resize(before);
            return got < 0 && (errno == EAGAIN || errno == EINTR);
        }
        input_.resize(before + static_cast<size_t>(got));
        size_t at = 0;
        while (input_.size() - at >= kHeader) {
            const char* frame = input_.data() + at;
            const size_t length = big32(frame + 5);
            if (input_.size() - at - kHeader < length) break;
            answer(frame, length, recording);
            at += kHeader + length;
        }
        input_.erase(0, at);
        return send();
    }

    bool send() {
        while (blocked()) {
            const ssize_t done = ::send(fd_, output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
            if (done < 0) return errno == EAGAIN || errno == EINTR;
            sent_ += static_cast<size_t>(done);
        }
        output_.clear();
        sent_ = 0;
        return true;
    }

private:
    static constexpr size_t kChunk = 64 << 10;

    void answer(const char* frame, size_t length, Recording& recording) {
        const auto version = static_cast<uint8_t>(frame[0]);
        if (version > kVersion) {
            append(frame, error(kProtocolError, "Invalid or unsupported protocol version (" +
                                                    std::to_string(version) +
                                                    "); supported versions are (3/v3, 4/v4)"));
        } else {
            append(frame, recording.find(key_of(static_cast<uint8_t>(frame[4]), frame + kHeader, length)));
        }
    }

    void append(const char* frame, const Answer& answer) {
        char header[kHeader] = {static_cast<char>(0x80 | kVersion), static_cast<char>(answer.flags), frame[2],
                                frame[3], static_cast<char>(answer.opcode)};
        const uint32_t length = htonl(static_cast<uint32_t>(answer.body.size()));
        std::memcpy(header + 5, &length, 4);
        output_.append(header, kHeader);
        output_.append(answer.body);
    }

    const int fd_;
    std::string input_;
    std::string output_;
    size_t sent_ = 0;
};

class Server {
public:
    explicit Server(Recording& recording) : recording_(recording), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

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
                } else {
                    serve(fd, events[i].events);
                }
            }
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
        clients_[fd] = std::make_unique<Client>(fd);
        watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }

    void serve(int fd, uint32_t events) {
        Client& client = *clients_[fd];
        const bool was_blocked = client.blocked();
        bool alive = true;
        if (events & EPOLLOUT) alive = client.send();
        if (alive && events & (EPOLLIN | EPOLLHUP | EPOLLERR)) alive = client.receive(recording_);
        if (!alive) {
            clients_.erase(fd);
        } else if (client.blocked() != was_blocked) {
            watch(fd, client.blocked() ? EPOLLIN | EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
        }
    }

    Recording& recording_;
    const int epoll_;
    int listener_ = -1;
    std::unordered_map<int, std::unique_ptr<Client>> clients_;
};

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    Recording recording;
    if (argc < 2 || !recording.load(argv[1])) {
        std::fprintf(stderr, "usage: responder RECORDING [PORT]\n");
        return 2;
    }
    Server server(recording);
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
