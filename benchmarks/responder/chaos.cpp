// A cluster that misbehaves: nodes that delay, reorder, drop and cut as the dice say, and count what they executed.
//
//   chaos SEED IDS RECORDING...
//
// One node per RECORDING, at 127.0.0.1, 127.0.0.2 and so on, all on the port that is printed first. A recording is as
// in responder.cpp. Besides, an EXECUTE whose statement id begins with "echo" has a number below IDS as its first
// value; the last 8 bytes of the recorded answer are replaced by that number, and its execution is counted.
//
// Standard input takes one command a line, each answered by "ok": "on FACTOR" begins the misbehaviour, FACTOR times as
// often as the constants below say, "off" ends it, "counts PATH" writes how often each number was executed, a byte
// each. The program ends with its standard input; its last line says what it did to its clients.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "recording.h"

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// How likely it is that this happens to a request, and for how long.
constexpr double kCut = 0.0003, kDrop = 0.0005, kError = 0.004, kUnprepared = 0.0005, kDelay = 0.3, kLate = 0.001;
constexpr double kDelayMs = 2, kLateMs = 900;
// To what is sent at a time, and to a connection that comes in.
constexpr double kDribble = 0.1, kStall = 0.002, kRefuse = 0.05;
constexpr double kDribbleMs = 2, kStallMs = 60;
// A node goes away now and then.
constexpr double kDownEveryMs = 4000, kDownMs = 250;

constexpr int32_t kOverloaded = 0x1001, kUnavailable = 0x1000, kServerError = 0x0000, kNotPrepared = 0x2500;
constexpr int32_t kTruncate = 0x1003;

class Dice {
public:
    explicit Dice(uint64_t seed) : random_(seed) {}
    double factor = 0;  // 0: nothing happens
    bool on() const { return factor > 0; }
    bool falls(double chance) { return on() && uniform() < chance * factor; }
    double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }
    size_t below(size_t count) { return static_cast<size_t>(uniform() * static_cast<double>(count)) % count; }
    Time in(double mean_ms) {
        const double ms = std::exponential_distribution<double>(1 / mean_ms)(random_);
        return Clock::now() + std::chrono::microseconds(static_cast<int64_t>(ms * 1000));
    }

private:
    std::mt19937_64 random_;
};

struct Node {
    Recording recording;
    int listener = -1;
    Time down_until{};
};

struct Done {
    size_t cut = 0, torn = 0, dropped = 0, delayed = 0, errors = 0, unprepared = 0, refused = 0, down = 0, answers = 0;
};

struct Client {
    Client(int socket, uint64_t number, Node* owner) : fd(socket), serial(number), node(owner) {}
    ~Client() { ::close(fd); }
    const int fd;
    const uint64_t serial;
    Node* const node;
    std::string input, output;
    bool held = false;     // nothing is sent before a timer says so
    bool stalled = false;  // nothing is read before a timer says so
    bool writable = true;
    uint32_t watched = 0;
};

struct Timer {
    Time at;
    uint64_t order;
    int fd;
    uint64_t serial;
    enum Kind { kAnswer, kRelease, kRead } kind;
    std::string bytes;
    bool operator<(const Timer& other) const { return at != other.at ? at > other.at : order > other.order; }
};

class Chaos {
public:
    Chaos(uint64_t seed, size_t ids) : dice_(seed), counts_(ids), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

    bool add(const char* path) {
        nodes_.push_back(std::make_unique<Node>());
        return nodes_.back()->recording.load(path);
    }

    // One port that is free at every address; 0 if there is none.
    int listen() {
        for (int attempt = 0; attempt < 50; ++attempt) {
            int port = 0;
            bool all = true;
            for (size_t i = 0; i < nodes_.size() && all; ++i) all = listen(*nodes_[i], i, &port);
            if (all) {
                for (auto& node : nodes_) watch(node->listener, EPOLLIN, EPOLL_CTL_ADD);
                return port;
            }
            for (auto& node : nodes_) {
                if (node->listener >= 0) ::close(node->listener);
                node->listener = -1;
            }
        }
        return 0;
    }

    void run() {
        watch(STDIN_FILENO, EPOLLIN, EPOLL_CTL_ADD);
        epoll_event events[256];
        Time next_down = Clock::now();
        for (;;) {
            const int count = epoll_wait(epoll_, events, 256, wait_ms());
            for (int i = 0; i < count; ++i) {
                const int fd = events[i].data.fd;
                if (fd == STDIN_FILENO) {
                    if (!command()) return;
                } else if (Node* node = listening(fd)) {
                    accept(*node);
                } else {
                    serve(fd, events[i].events);
                }
            }
            fire();
            if (dice_.on() && Clock::now() >= next_down) {
                take_down(*nodes_[dice_.below(nodes_.size())]);
                next_down = dice_.in(kDownEveryMs / dice_.factor);
            }
        }
    }

    const Done& done() const { return done_; }

private:
    bool listen(Node& node, size_t index, int* port) {
        node.listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        const int on = 1;
        ::setsockopt(node.listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<uint16_t>(*port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<uint32_t>(index));
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(node.listener, generic, size) != 0 || ::listen(node.listener, 128) != 0) return false;
        ::getsockname(node.listener, generic, &size);
        *port = ntohs(address.sin_port);
        return true;
    }

    Node* listening(int fd) {
        for (auto& node : nodes_) {
            if (node->listener == fd) return node.get();
        }
        return nullptr;
    }

    void watch(int fd, uint32_t events, int operation) {
        epoll_event event{};
        event.events = events;
        event.data.fd = fd;
        epoll_ctl(epoll_, operation, fd, &event);
    }

    int wait_ms() const {
        if (timers_.empty()) return dice_.on() ? 50 : -1;
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(timers_.top().at - Clock::now()).count();
        return static_cast<int>(std::clamp<int64_t>(left + 1, 0, 50));
    }

    // False: the end.
    bool command() {
        char bytes[4096];
        const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
        if (got <= 0) return false;
        commands_.append(bytes, static_cast<size_t>(got));
        for (size_t end; (end = commands_.find('\n')) != std::string::npos; commands_.erase(0, end + 1)) {
            const std::string line = commands_.substr(0, end);
            if (line.rfind("on ", 0) == 0) dice_.factor = std::atof(line.c_str() + 3);
            if (line == "off") dice_.factor = 0;
            if (line.rfind("counts ", 0) == 0) {
                std::ofstream(line.substr(7), std::ios::binary)
                    .write(reinterpret_cast<const char*>(counts_.data()), static_cast<std::streamsize>(counts_.size()));
            }
            std::puts("ok");
            std::fflush(stdout);
        }
        return true;
    }

    // ---- connections

    void accept(Node& node) {
        const int fd = ::accept4(node.listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        auto& client = clients_[fd] = std::make_unique<Client>(fd, ++serial_, &node);
        watch(fd, client->watched = EPOLLIN, EPOLL_CTL_ADD);
        if (Clock::now() < node.down_until || dice_.falls(kRefuse)) {
            ++done_.refused;
            cut(*client, true);
        }
    }

    // With RESET the other side gets an error, else an end of file.
    void cut(Client& client, bool reset) {
        if (reset) {
            const linger at_once{1, 0};
            ::setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        }
        clients_.erase(client.fd);
    }

    void take_down(Node& node) {
        ++done_.down;
        node.down_until = dice_.in(kDownMs / std::max(dice_.factor, 1.0));
        std::vector<Client*> gone;
        for (auto& [fd, client] : clients_) {
            if (client->node == &node) gone.push_back(client.get());
        }
        for (Client* client : gone) cut(*client, dice_.uniform() < 0.5);
    }

    void serve(int fd, uint32_t events) {
        const auto found = clients_.find(fd);
        if (found == clients_.end()) return;
        Client& client = *found->second;
        if (events & EPOLLOUT) client.writable = true;
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
            if (client.stalled && !(events & (EPOLLHUP | EPOLLERR))) return update(client);
            if (!receive(client)) return;
        }
        flush(client);
    }

    // False: there is no such client any more.
    bool receive(Client& client) {
        char bytes[64 << 10];
        const ssize_t got = ::recv(client.fd, bytes, sizeof bytes, 0);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            cut(client, false);
            return false;
        }
        if (got > 0) client.input.append(bytes, static_cast<size_t>(got));
        size_t at = 0;
        while (client.input.size() - at >= kHeader) {
            const char* frame = client.input.data() + at;
            const size_t length = big32(frame + 5);
            if (client.input.size() - at - kHeader < length) break;
            if (!request(client, frame, length)) return false;
            at += kHeader + length;
        }
        client.input.erase(0, at);
        if (dice_.falls(kStall)) {
            client.stalled = true;
            later(client, Timer::kRead, kStallMs, {});
        }
        return true;
    }

    // ---- requests

    bool request(Client& client, const char* frame, size_t length) {
        const auto version = static_cast<uint8_t>(frame[0]);
        std::string bytes;
        if (version > kVersion) {
            append(bytes, frame, refusal(version));
        } else {
            const std::string key = key_of(static_cast<uint8_t>(frame[4]), frame + kHeader, length);
            const bool echo = key[0] == 'X' && key.compare(2, 4, "echo") == 0;
            append(bytes, frame, echo ? executed(client, key, frame, length) : client.node->recording.find(key));
        }
        ++done_.answers;
        if (dice_.falls(kCut)) {
            tear(client, bytes);
            return false;
        }
        if (dice_.falls(kDrop)) {
            ++done_.dropped;
        } else if (dice_.falls(kLate)) {
            later(client, Timer::kAnswer, kLateMs, std::move(bytes));
        } else if (dice_.falls(kDelay)) {
            later(client, Timer::kAnswer, kDelayMs, std::move(bytes));
        } else {
            client.output += bytes;
        }
        return true;
    }

    // Executes, or says why it does not: only an overload is one that may have been executed.
    Answer executed(Client& client, const std::string& key, const char* frame, size_t length) {
        const size_t values = 2 + (key.size() - 2) + 2 + 1 + 2;  // behind id, consistency, flags, count
        if (length < values + 12 || big32(frame + kHeader + values) != 8) return error(kInvalid, "no number is bound");
        const std::string number(frame + kHeader + values + 4, 8);
        const uint64_t id = uint64_t{big32(number.data())} << 32 | big32(number.data() + 4);
        if (id >= counts_.size()) return error(kInvalid, "the number is too large");
        if (dice_.falls(kUnprepared)) {
            ++done_.unprepared;
            Answer answer = error(kNotPrepared, "unprepared " + std::to_string(id));
            answer.body.push_back(static_cast<char>((key.size() - 2) >> 8));
            answer.body.push_back(static_cast<char>(key.size() - 2));
            answer.body.append(key, 2, std::string::npos);
            return answer;
        }
        if (dice_.falls(kError)) {
            ++done_.errors;
            const size_t which = dice_.below(4);
            if (which == 0) return unavailable(id);
            count(id);
            const int32_t codes[] = {kOverloaded, kServerError, kTruncate};
            return error(codes[which - 1], "error of " + std::to_string(id));
        }
        count(id);
        Answer answer = client.node->recording.find(key);
        answer.body.replace(answer.body.size() - 8, 8, number);
        return answer;
    }

    void count(uint64_t id) {
        if (counts_[id] < 255) ++counts_[id];
    }

    static Answer unavailable(uint64_t id) {
        Answer answer = error(kUnavailable, "error of " + std::to_string(id));
        answer.body.append("\0\x0a\0\0\0\1\0\0\0\0", 10);  // LOCAL_ONE needs 1, there is none
        return answer;
    }

    // ---- answers

    // Cut CLIENT, behind some of what it would have got: mostly in the middle of a frame.
    void tear(Client& client, const std::string& bytes) {
        ++done_.cut;
        client.output += bytes;
        if (!client.held && dice_.uniform() < 0.7) {
            ++done_.torn;
            ::send(client.fd, client.output.data(), dice_.below(client.output.size() + 1), MSG_NOSIGNAL);
        }
        cut(client, dice_.uniform() < 0.3);
    }

    void later(Client& client, Timer::Kind kind, double ms, std::string bytes) {
        if (kind == Timer::kAnswer) ++done_.delayed;
        timers_.push({dice_.in(ms), ++order_, client.fd, client.serial, kind, std::move(bytes)});
    }

    void fire() {
        const Time now = Clock::now();
        while (!timers_.empty() && timers_.top().at <= now) {
            const Timer timer = timers_.top();
            timers_.pop();
            const auto found = clients_.find(timer.fd);
            if (found == clients_.end() || found->second->serial != timer.serial) continue;
            Client& client = *found->second;
            client.output += timer.bytes;
            if (timer.kind == Timer::kRelease) client.held = false;
            if (timer.kind == Timer::kRead) client.stalled = false;
            flush(client);
        }
    }

    void flush(Client& client) {
        while (client.writable && !client.held && !client.output.empty()) {
            size_t size = client.output.size();
            if (dice_.falls(kDribble)) {
                size = 1 + dice_.below(size);
                client.held = true;
                later(client, Timer::kRelease, kDribbleMs, {});
            }
            const ssize_t sent = ::send(client.fd, client.output.data(), size, MSG_NOSIGNAL);
            if (sent < 0 && errno == EAGAIN) {
                client.writable = false;
            } else if (sent < 0 && errno != EINTR) {
                return cut(client, false);
            } else if (sent > 0) {
                client.output.erase(0, static_cast<size_t>(sent));
            }
        }
        update(client);
    }

    void update(Client& client) {
        const uint32_t events = (client.stalled ? 0u : EPOLLIN) | (client.writable ? 0u : EPOLLOUT);
        if (events != client.watched) watch(client.fd, client.watched = events, EPOLL_CTL_MOD);
    }

    Dice dice_;
    std::vector<uint8_t> counts_;
    const int epoll_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::unordered_map<int, std::unique_ptr<Client>> clients_;
    std::priority_queue<Timer> timers_;
    std::string commands_;
    uint64_t serial_ = 0, order_ = 0;
    Done done_;
};

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN);
    if (argc < 4) {
        std::fprintf(stderr, "usage: chaos SEED IDS RECORDING...\n");
        return 2;
    }
    Chaos chaos(std::strtoull(argv[1], nullptr, 10), std::strtoull(argv[2], nullptr, 10));
    for (int i = 3; i < argc; ++i) {
        if (!chaos.add(argv[i])) {
            std::fprintf(stderr, "%s is no recording\n", argv[i]);
            return 2;
        }
    }
    const int port = chaos.listen();
    if (port == 0) {
        std::perror("listen");
        return 1;
    }
    std::printf("%d\n", port);
    std::fflush(stdout);
    chaos.run();
    const Done& done = chaos.done();
    std::printf("%zu requests: %zu answers delayed, %zu dropped, %zu errors, %zu unprepared; %zu connections cut (%zu in "
                "an answer), %zu refused; nodes were down %zu times\n",
                done.answers, done.delayed, done.dropped, done.errors, done.unprepared, done.cut, done.torn,
                done.refused, done.down);
    return 0;
}
