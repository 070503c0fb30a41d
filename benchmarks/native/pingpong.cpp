// The cost of requests without a driver: the same bytes to the same responder, by send and recv alone.
//
//   pingpong PORT (NAME WINDOW[/PAUSE] REQUEST)...
//
// REQUEST is a frame in hexadecimal digits. WINDOW of them are in flight at a time: with 1 this is a ping-pong, the
// least that a request can take when its caller waits for it; with more, the responder's throughput limit. With
// WINDOW/PAUSE it computes for PAUSE microseconds after each answer, as a client that processes it does: the
// responder goes to sleep meanwhile, which costs more than the pause. Prints a
// JSON object with, per NAME, the mean of CPU seconds per request and, as "<NAME> wall" and "<NAME> median wall", the
// best sample of wall time and the median.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr double kSample = 0.02;
constexpr int kSamples = 50;
constexpr size_t kHeader = 9;

double seconds(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

std::string unhex(const char* digits) {
    std::string bytes;
    for (; digits[0] && digits[1]; digits += 2) {
        const char pair[] = {digits[0], digits[1], 0};
        bytes.push_back(static_cast<char>(std::strtol(pair, nullptr, 16)));
    }
    return bytes;
}

int connect_to(int port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("connect");
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

class Requests {
public:
    Requests(int fd, const std::string& request, size_t window, double pause)
        : fd_(fd), window_(window), pause_(pause), input_(256 << 10) {
        for (size_t i = 0; i < window; ++i) output_ += request;
        size_ = request.size();
        send(1);
        size_t got = 0;
        do got += receive(input_.data() + got); while (got < kHeader || got < (answer_ = answer_size()));
        if (input_[4] != 0x08) fail("the answer is no RESULT");
    }

    // Ask for COUNT answers and wait for all of them.
    void run(size_t count) {
        size_t asked = std::min(count, window_), bytes = 0, answered = 0;
        send(asked);
        while (answered < count) {
            bytes += receive(input_.data());
            const size_t now = bytes / answer_;
            const size_t more = std::min(now - answered, count - asked);
            answered = now;
            asked += more;
            if (pause_ > 0) compute();
            if (more) send(more);
        }
    }

private:
    size_t answer_size() const {
        uint32_t length;
        std::memcpy(&length, input_.data() + 5, 4);
        return kHeader + ntohl(length);
    }

    void compute() const {
        const double start = seconds(CLOCK_MONOTONIC);
        while (seconds(CLOCK_MONOTONIC) - start < pause_) {
        }
    }

    void send(size_t count) {
        const char* at = output_.data();
        for (size_t left = count * size_; left;) {
            const ssize_t done = ::send(fd_, at, left, MSG_NOSIGNAL);
            if (done <= 0) fail("send");
            at += done;
            left -= static_cast<size_t>(done);
        }
    }

    size_t receive(char* to) {
        const ssize_t got = ::recv(fd_, to, input_.size() - static_cast<size_t>(to - input_.data()), 0);
        if (got <= 0) fail("recv");
        return static_cast<size_t>(got);
    }

    const int fd_;
    const size_t window_;
    const double pause_;
    std::vector<char> input_;
    std::string output_;
    size_t size_ = 0, answer_ = 0;
};

void measure(const char* name, Requests& requests) {
    size_t count = 1;
    for (;; count *= 2) {
        const double start = seconds(CLOCK_MONOTONIC);
        requests.run(count);
        if (seconds(CLOCK_MONOTONIC) - start >= kSample) break;
    }
    std::vector<double> took;
    const double spent = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < kSamples; ++i) {
        const double start = seconds(CLOCK_MONOTONIC);
        requests.run(count);
        took.push_back(seconds(CLOCK_MONOTONIC) - start);
    }
    const double cpu = (seconds(CLOCK_PROCESS_CPUTIME_ID) - spent) / kSamples;
    std::sort(took.begin(), took.end());
    const auto per = static_cast<double>(count);
    std::printf("\"%s\": %.12f, \"%s wall\": %.12f, \"%s median wall\": %.12f", name, cpu / per, name, took.front() / per,
                name, took[took.size() / 2] / per);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5 || argc % 3 != 2) {
        std::fprintf(stderr, "usage: pingpong PORT (NAME WINDOW[/PAUSE] REQUEST)...\n");
        return 2;
    }
    for (int i = 2; i < argc; i += 3) {
        const int fd = connect_to(std::atoi(argv[1]));
        const char* const pause = std::strchr(argv[i + 1], '/');
        Requests requests(fd, unhex(argv[i + 2]), static_cast<size_t>(std::atoi(argv[i + 1])),
                          pause ? std::atof(pause + 1) * 1e-6 : 0);
        std::printf(i == 2 ? "{" : ", ");
        measure(argv[i], requests);
        ::close(fd);
    }
    std::printf("}\n");
}
