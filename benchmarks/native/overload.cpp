// Servers that get more requests than they can answer: a simulation in virtual time, of the driver's own code
// (OverloadWindow, UsualLatency, ShardLoad). Its figures do not depend on the machine.
//
// Three nodes have two shards each; a shard executes up to four requests at a time, in the order of arrival. A request
// takes 1 ms, lognormally distributed, and the network 0.2 ms. Clients send at random times: half of what the servers
// can execute for 20 s, then the load of the scenario, then half again. A client chooses between two replicas by load.
// It gives up after two seconds; the server executes the request nevertheless. Requests without room wait in the client,
// as in _session/request/admission.py: the oldest is next, the newest once that has waited for half of its time.
//
//   overload SEED    prints for each scenario and mode (off, adaptive): goodput as a share of the capacity; p99 at half
//                    load, of sent requests under load, and of all from their beginning, in ns; seconds until all is as
//                    before; requests sent / asked; most / least requests answered to a client; share of failed ones
//   overload ns      prints the time that a response takes beyond that of ShardLoad alone, in ns
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include "routing/load.h"
#include "routing/ring.h"
#include "transport/window.h"
#include "cpu.h"

namespace {

using namespace fastcql;

constexpr int kNodes = 3, kShards = 2, kServers = 4, kMostClients = 100;
constexpr double kMean = 1e6, kSigma = 0.4, kHalf = 0.5;
constexpr double kCapacity = kNodes * kShards * kServers * 1e9 / kMean;  // requests a second
constexpr Nanos kNetwork = kMillisecond / 5, kTimeout = 2 * kSecond, kPausesEach = 5 * kSecond;
constexpr Nanos kBegin = 20 * kSecond, kSettled = 5 * kSecond, kAfter = 15 * kSecond, kBucket = kSecond / 10;

struct Scenario {
    const char* name;
    int clients;
    double load;            // as a share of the capacity
    Nanos lasts;
    double heavy = 0;       // share of the requests that take thirty times as long
    Nanos delay = 0;        // of each response, besides
    Nanos pause = 0;        // of all servers, every five seconds
    size_t longest = 1e9;   // queue of a shard, which rejects further requests
};

constexpr Scenario kScenarios[] = {
    {"overload", 100, 3, 60 * kSecond},
    {"few", 4, 3, 30 * kSecond},
    {"rejecting", 100, 3, 30 * kSecond, 0, 0, 0, 200},
    {"heavy", 4, 0.9, 30 * kSecond, 0.01},
    {"slow", 4, 0.5, 30 * kSecond, 0, 150 * kMillisecond},
    {"pauses", 4, 0.5, 30 * kSecond, 0, 0, 300 * kMillisecond},
};

Nanos now = 0;

struct Window {
    OverloadWindow window;
    int in_flight = 0;
    Nanos expected = 0;  // the time of an event at which it opens
};

struct Client {
    ShardLoad loads[kNodes][kShards];
    OverloadWindows all;
    Window windows[kNodes][kShards];
    std::deque<uint32_t> waiting[kShards];
    RandomSource random;
    uint64_t answered = 0;
};

struct Shard {
    std::deque<uint32_t> queue;
    int busy = 0;
    bool wakes = false;
};

struct Request {
    Nanos asked, sent = 0;
    int client, shard, node = 0;
    bool over = false;
};

struct Event {
    enum Kind : uint8_t { kAsk, kArrive, kExecuted, kResponse, kTimedOut, kOpens, kWakes };
    Nanos at;
    Kind kind;
    bool rejected;
    int node;
    uint32_t request;  // kWakes: the shard
    bool operator<(const Event& other) const { return at > other.at; }
};

class Simulation {
public:
    Simulation(const Scenario& scenario, bool adaptive, uint64_t seed)
        : scenario_(scenario), adaptive_(adaptive), end_(kBegin + scenario.lasts), chance_(seed),
          buckets_(static_cast<size_t>((end_ + kAfter) / kBucket + 1)), failures_(buckets_.size()) {
        for (int i = 0; i < kMostClients; ++i) {
            clients_[i].random = RandomSource(seed * 1000 + static_cast<uint64_t>(i));
            for (auto& node : clients_[i].windows)
                for (Window& window : node) window.window.join(clients_[i].all);
        }
    }

    void run() {
        now = 0;
        add(0, Event::kAsk);
        while (events_.top().at < end_ + kAfter) {
            const Event event = events_.top();
            events_.pop();
            now = event.at;
            switch (event.kind) {
                case Event::kAsk: ask(); break;
                case Event::kArrive: arrive(event); break;
                case Event::kExecuted: executed(event); break;
                case Event::kResponse: respond(event); break;
                case Event::kTimedOut: time_out(event.request); break;
                case Event::kOpens: send_waiting(Request(requests_[event.request])); break;
                case Event::kWakes:
                    shards_[event.node][event.request].wakes = false;
                    execute(event.node, static_cast<int>(event.request));
                    break;
            }
        }
        print();
    }

private:
    bool loaded() const { return now >= kBegin && now < end_; }
    double uniform() { return std::uniform_real_distribution<double>(0, 1)(chance_); }
    void add(Nanos at, Event::Kind kind, uint32_t request = 0, int node = 0, bool rejected = false) {
        events_.push(Event{at, kind, rejected, node, request});
    }
    double capacity() const { return kCapacity / (1 + 29 * scenario_.heavy); }

    // ---- clients

    void ask() {
        const auto number = static_cast<uint32_t>(requests_.size());
        Request request{};
        request.asked = now;
        request.client = static_cast<int>(uniform() * scenario_.clients);
        request.shard = static_cast<int>(uniform() * kShards);
        requests_.push_back(request);
        if (loaded()) ++asked_;
        add(now + kTimeout, Event::kTimedOut, number);
        const int node = choose(request);
        if (node < 0) {
            clients_[request.client].waiting[request.shard].push_back(number);
            expect_room(request);
        } else {
            send(number, node);
        }
        const double rate = (loaded() ? scenario_.load : kHalf) * capacity();
        add(now + static_cast<Nanos>(std::exponential_distribution<double>(rate / 1e9)(chance_)), Event::kAsk);
    }
    // -1 if no replica has room.
    int choose(const Request& request) {
        Client& client = clients_[request.client];
        int nodes[kNodes];
        uint32_t count = 0;
        for (int node = 0; node < kNodes; ++node) {
            const Window& window = client.windows[node][request.shard];
            if (!adaptive_ || window.window.has_room(window.in_flight, now)) nodes[count++] = node;
        }
        if (count < 2) return count == 0 ? -1 : nodes[0];
        const RandomSource::Two two = client.random.two_below(count);
        const int one = nodes[two.first], other = nodes[two.second];
        const ShardLoad &ours = client.loads[one][request.shard], &theirs = client.loads[other][request.shard];
        return less_loaded(ours, theirs, [] { return now; }) ? one : other;
    }
    void send(uint32_t number, int node) {
        Request& request = requests_[number];
        request.sent = now;
        request.node = node;
        Client& client = clients_[request.client];
        ++client.windows[node][request.shard].in_flight;
        client.loads[node][request.shard].begin(now);
        if (loaded()) ++sent_;
        add(now + kNetwork / 2, Event::kArrive, number, node);
    }
    void send_waiting(const Request& like) {
        std::deque<uint32_t>& waiting = clients_[like.client].waiting[like.shard];
        while (!waiting.empty()) {
            const bool newest = now - requests_[waiting.front()].asked > kTimeout / 2;
            const uint32_t number = newest ? waiting.back() : waiting.front();
            const int node = requests_[number].over ? 0 : choose(like);
            if (node < 0) break;
            newest ? waiting.pop_back() : waiting.pop_front();
            if (!requests_[number].over) send(number, node);
        }
        expect_room(like);
    }
    // Windows below one open by time.
    void expect_room(const Request& like) {
        Client& client = clients_[like.client];
        if (client.waiting[like.shard].empty()) return;
        for (int node = 0; node < kNodes; ++node) {
            Window& window = client.windows[node][like.shard];
            const Nanos at = window.window.opens_at(window.in_flight);
            if (at == kNever || at <= now || at == window.expected) continue;
            window.expected = at;
            add(at, Event::kOpens, client.waiting[like.shard].front(), node);
        }
    }
    void respond(const Event& event) {
        Request& request = requests_[event.request];
        Client& client = clients_[request.client];
        ShardLoad& load = client.loads[event.node][request.shard];
        load.end();
        load.answered(now - request.sent, now, event.rejected);
        if (!request.over) {
            Window& window = client.windows[event.node][request.shard];
            window.window.answered(request.sent, now, load.usual.get(), window.in_flight--, event.rejected);
            end(request, !event.rejected);
        }
        if (adaptive_) send_waiting(Request(request));
    }
    void time_out(uint32_t number) {
        Request& request = requests_[number];
        if (request.over) return;
        if (request.sent) {
            Client& client = clients_[request.client];
            Window& window = client.windows[request.node][request.shard];
            const Nanos usual = client.loads[request.node][request.shard].usual.get();
            window.window.timed_out(request.sent, now, usual, window.in_flight--);
        }
        end(request, false);
        if (adaptive_) send_waiting(Request(request));
    }
    void end(Request& request, bool answered) {
        request.over = true;
        const Nanos took = now - request.asked;
        const auto bucket = static_cast<size_t>(request.asked / kBucket);
        if (request.asked >= kBegin && request.asked < end_) failed_ += !answered;
        if (!answered) {
            ++failures_[bucket];
            return;
        }
        buckets_[bucket].push_back(took);
        if (request.asked >= kBegin / 4 && request.asked < kBegin) before_.push_back(took);
        if (now < kBegin + kSettled || now >= end_) return;
        ++good_;
        ++clients_[request.client].answered;
        from_sent_.push_back(now - request.sent);
        from_asked_.push_back(took);
    }

    // ---- servers

    void arrive(const Event& event) {
        const int shard = requests_[event.request].shard;
        std::deque<uint32_t>& queue = shards_[event.node][shard].queue;
        if (queue.size() >= scenario_.longest)
            return add(now + kNetwork / 2, Event::kResponse, event.request, event.node, true);
        queue.push_back(event.request);
        execute(event.node, shard);
    }
    void execute(int node, int number) {
        Shard& shard = shards_[node][number];
        const Nanos phase = now % kPausesEach;
        if (loaded() && phase < scenario_.pause) {
            if (!std::exchange(shard.wakes, true))
                add(now - phase + scenario_.pause, Event::kWakes, static_cast<uint32_t>(number), node);
            return;
        }
        while (shard.busy < kServers && !shard.queue.empty()) {
            ++shard.busy;
            const double mean = uniform() < scenario_.heavy ? 30 * kMean : kMean;
            const double work = mean * std::lognormal_distribution<double>(-kSigma * kSigma / 2, kSigma)(chance_);
            add(now + static_cast<Nanos>(work), Event::kExecuted, shard.queue.front(), node);
            shard.queue.pop_front();
        }
    }
    void executed(const Event& event) {
        const int shard = requests_[event.request].shard;
        --shards_[event.node][shard].busy;
        execute(event.node, shard);
        add(now + kNetwork / 2 + (loaded() ? scenario_.delay : 0), Event::kResponse, event.request, event.node);
    }

    // ---- figures

    static long long p99(std::vector<Nanos>& latencies) {
        if (latencies.empty()) return kTimeout;
        const auto at = latencies.begin() + static_cast<ptrdiff_t>(0.99 * static_cast<double>(latencies.size()));
        std::nth_element(latencies.begin(), at, latencies.end());
        return *at;
    }
    // Seconds after the load until no request fails, and the p99 of a tenth of a second is not above 1.5x that of before.
    double until_usual(long long before) {
        double seconds = 0;
        const auto first = static_cast<size_t>(end_ / kBucket), last = buckets_.size() - 25;  // whose requests have ended
        for (size_t bucket = first; bucket < last; ++bucket) {
            if (failures_[bucket] || 2 * p99(buckets_[bucket]) > 3 * before)
                seconds = static_cast<double>(bucket + 1 - first) * kBucket / kSecond;
        }
        return seconds;
    }
    void print() {
        const double seconds = static_cast<double>(scenario_.lasts - kSettled) / kSecond;
        uint64_t least = UINT64_MAX, most = 0;
        for (int i = 0; i < scenario_.clients; ++i) {
            least = std::min(least, clients_[i].answered);
            most = std::max(most, clients_[i].answered);
        }
        const long long before = p99(before_);
        const auto asked = static_cast<double>(asked_);
        std::printf("%s %s %.4f %lld %lld %lld %.1f %.4f %.4f %.4f\n", scenario_.name, adaptive_ ? "adaptive" : "off",
                    static_cast<double>(good_) / (capacity() * seconds), before, p99(from_sent_), p99(from_asked_),
                    until_usual(before), static_cast<double>(sent_) / asked,
                    static_cast<double>(most) / static_cast<double>(std::max(least, uint64_t{1})),
                    static_cast<double>(failed_) / asked);
    }

    const Scenario& scenario_;
    const bool adaptive_;
    const Nanos end_;
    std::mt19937_64 chance_;
    Client clients_[kMostClients];
    Shard shards_[kNodes][kShards];
    std::priority_queue<Event> events_;
    std::vector<Request> requests_;
    std::vector<Nanos> before_, from_sent_, from_asked_;
    std::vector<std::vector<Nanos>> buckets_;
    std::vector<int> failures_;
    uint64_t asked_ = 0, sent_ = 0, good_ = 0, failed_ = 0;
};

// The time that the window of a server without overload takes with each response.
void measure() {
    constexpr int kLoops = 1'000'000;
    double best = 1;
    int limited = 0;
    for (int sample = 0; sample < 15; ++sample) {
        OverloadWindows all;
        OverloadWindow window;
        window.join(all);
        const double start = cpu_seconds();
        for (int i = 0; i < kLoops; ++i) {
            limited += !window.has_room(10, i);
            window.answered(i, i + kMillisecond + i % 1000, kMillisecond, 10, false);
        }
        best = std::min(best, cpu_seconds() - start);
    }
    std::printf("response %.2f %d\n", best / kLoops * 1e9, limited);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "ns") == 0) {
        measure();
        return 0;
    }
    const uint64_t seed = argc > 1 ? static_cast<uint64_t>(std::atoll(argv[1])) : 1;
    for (const Scenario& scenario : kScenarios)
        for (const bool adaptive : {false, true}) std::make_unique<Simulation>(scenario, adaptive, seed)->run();
}
