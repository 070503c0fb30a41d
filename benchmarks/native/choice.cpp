// Tails of latency by the choice of replicas and by speculative executions: a simulation in virtual time, of the
// driver's own code (ShardLoad, RandomSource, SpeculationTracker). Its figures do not depend on the machine.
//
// Three nodes have eight shards each, and each row is on the same shard of all three. A shard executes up to four
// requests at a time, in the order of arrival; a request takes 1 ms, lognormally distributed. Clients send at random
// times, each with its own counters, and use only what the driver knows: requests in flight and responses.
//
//   choice     prints: scenario, mode, p50, p99, p99.9 in ns, uneven load, share of extra executions, cache hits
//   choice ns  prints the time of one choice in ns
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <list>
#include <queue>
#include <random>
#include <unordered_map>
#include <vector>

#include "metrics/speculation.h"
#include "routing/load.h"
#include "routing/ring.h"
#include "cpu.h"

namespace {

using namespace fastcql;

constexpr int kNodes = 3, kShards = 8, kClients = 4, kServers = 4;
constexpr Nanos kWarmUp = 8 * kSecond, kEnd = 48 * kSecond;
constexpr double kRate = 10'000;  // requests per second of all clients
constexpr double kMean = 1e6, kSigma = 0.4;
constexpr size_t kRows = 40'000, kCached = 600;  // rows, and rows in the cache of a shard

enum Scenario { kHealthy, kSlow, kStall };
enum Mode { kRandom, kByLoad, kHedged };

Nanos now = 0;

// The least recently used rows of one shard.
class Cache {
public:
    bool read(size_t row) {
        const auto found = places_.find(row);
        const bool hit = found != places_.end();
        if (hit) rows_.erase(found->second);
        rows_.push_front(row);
        places_[row] = rows_.begin();
        if (rows_.size() > kCached) {
            places_.erase(rows_.back());
            rows_.pop_back();
        }
        return hit;
    }

private:
    std::list<size_t> rows_;
    std::unordered_map<size_t, std::list<size_t>::iterator> places_;
};

struct Server {
    Nanos free_at[kServers] = {};
    Cache cache;
};

struct Client {
    ShardLoad loads[kNodes][kShards];
    RandomSource random;
    SpeculationTracker tracker{99, 0.05};
};

struct Request {
    Nanos sent;
    int client, shard, first;
    bool done = false;
};

struct Event {
    Nanos at;
    enum Kind { kSend, kResponse, kSpeculate } kind;
    uint32_t request;
    int node;
    Nanos attempted;
    bool operator<(const Event& other) const { return at > other.at; }
};

class Simulation {
public:
    Simulation(Scenario scenario, Mode mode, uint64_t seed) : scenario_(scenario), mode_(mode), chance_(seed) {
        for (size_t i = 0; i < kClients; ++i) clients_[i].random = RandomSource(seed * 100 + i);
        double sum = 0;
        for (size_t row = 0; row < kRows; ++row) popular_.push_back(sum += std::pow(static_cast<double>(row + 1), -0.9));
    }

    void run(const char* scenario, const char* mode) {
        now = 0;
        add(Event{arrival(), Event::kSend, 0, 0, 0});
        while (!events_.empty() && events_.top().at < kEnd) {
            const Event event = events_.top();
            events_.pop();
            now = event.at;
            if (event.kind == Event::kSend) send();
            if (event.kind == Event::kResponse) respond(event);
            if (event.kind == Event::kSpeculate) speculate(event.request);
        }
        std::sort(latencies_.begin(), latencies_.end());
        const double mean = static_cast<double>(load_[0] + load_[1] + load_[2]) / kNodes;
        const double uneven = static_cast<double>(*std::max_element(load_, load_ + kNodes)) / mean - 1;
        std::printf("%s %s %lld %lld %lld %.5f %.5f %.5f\n", scenario, mode, percentile(0.5), percentile(0.99),
                    percentile(0.999), uneven, static_cast<double>(extra_) / static_cast<double>(counted_),
                    static_cast<double>(hits_) / static_cast<double>(reads_));
    }

private:
    long long percentile(double part) const {
        return static_cast<long long>(latencies_[static_cast<size_t>(part * static_cast<double>(latencies_.size()))]);
    }
    void add(const Event& event) { events_.push(event); }
    double uniform() { return std::uniform_real_distribution<double>(0, 1)(chance_); }
    Nanos arrival() { return now + static_cast<Nanos>(std::exponential_distribution<double>(kRate / 1e9)(chance_)); }

    int choose(Client& client, int shard, int excluded) {
        int nodes[kNodes], count = 0;
        for (int node = 0; node < kNodes; ++node)
            if (node != excluded) nodes[count++] = node;
        if (mode_ == kRandom) return nodes[client.random.below(static_cast<size_t>(count))];
        const RandomSource::Two two = client.random.two_below(static_cast<uint32_t>(count));
        const int one = nodes[two.first], other = nodes[two.second];
        return less_loaded(client.loads[one][shard], client.loads[other][shard], [] { return now; }) ? one : other;
    }

    void send() {
        const auto number = static_cast<uint32_t>(requests_.size());
        const auto row = static_cast<size_t>(std::lower_bound(popular_.begin(), popular_.end(),
                                                              uniform() * popular_.back()) - popular_.begin());
        Request request{now, static_cast<int>(uniform() * kClients), static_cast<int>(row * 7919 % kShards), 0};
        Client& client = clients_[request.client];
        request.first = choose(client, request.shard, -1);
        requests_.push_back(request);
        rows_.push_back(row);
        if (now >= kWarmUp) ++counted_;
        client.tracker.deposit();
        attempt(number, request.first);
        const Nanos delay = mode_ == kHedged ? client.tracker.delay(now) : 0;
        if (delay) add(Event{now + delay, Event::kSpeculate, number, 0, 0});
        add(Event{arrival(), Event::kSend, 0, 0, 0});
    }

    void attempt(uint32_t number, int node) {
        const Request& request = requests_[number];
        clients_[request.client].loads[node][request.shard].begin(now);
        Server& server = servers_[node][request.shard];
        const bool hit = server.cache.read(rows_[number]);
        if (now >= kWarmUp) {
            ++load_[node];
            ++reads_;
            hits_ += hit;
        }
        Nanos* const free = std::min_element(server.free_at, server.free_at + kServers);
        const double slow = scenario_ == kSlow && node == 0 ? 10 : 1;
        const double work = kMean * slow * std::lognormal_distribution<double>(-kSigma * kSigma / 2, kSigma)(chance_);
        *free = finish(std::max(now, *free), static_cast<Nanos>(work), node, request.shard);
        add(Event{*free, Event::kResponse, number, node, now});
    }

    // A stalled shard does nothing in the first 200 ms of each second.
    Nanos finish(Nanos start, Nanos work, int node, int shard) const {
        constexpr Nanos kStalled = kSecond / 5;
        if (scenario_ != kStall || node != 0 || shard != 0) return start + work;
        if (start % kSecond < kStalled) start += kStalled - start % kSecond;
        const Nanos left = kSecond - start % kSecond;
        return work < left ? start + work : start + work + kStalled;
    }

    void respond(const Event& event) {
        Request& request = requests_[event.request];
        Client& client = clients_[request.client];
        ShardLoad& load = client.loads[event.node][request.shard];
        load.end();
        load.answered(now - event.attempted, now, false);
        if (request.done) return;
        request.done = true;
        client.tracker.record(now - request.sent, now);
        if (request.sent >= kWarmUp) latencies_.push_back(now - request.sent);
    }

    void speculate(uint32_t number) {
        const Request& request = requests_[number];
        Client& client = clients_[request.client];
        if (request.done || !client.tracker.withdraw()) return;
        if (now >= kWarmUp) ++extra_;
        attempt(number, choose(client, request.shard, request.first));
    }

    const Scenario scenario_;
    const Mode mode_;
    std::mt19937_64 chance_;
    Client clients_[kClients];
    Server servers_[kNodes][kShards];
    std::priority_queue<Event> events_;
    std::vector<Request> requests_;
    std::vector<size_t> rows_;
    std::vector<double> popular_;
    std::vector<Nanos> latencies_;
    uint64_t load_[kNodes] = {}, counted_ = 0, extra_ = 0, reads_ = 0, hits_ = 0;
};

// The time of a choice by load, less that of a random one.
void measure() {
    constexpr int kLoops = 1'000'000;
    HostLoad hosts[kNodes];
    for (HostLoad& host : hosts) {
        host.set_sharding(kShards, 12);
        for (uint32_t shard = 0; shard < kShards; ++shard) host.of_shard(shard).answered(1'000'000, kSecond, false);
    }
    RandomSource random(1);
    double best[2] = {1, 1};
    uint64_t kept = 0;
    for (int sample = 0; sample < 15; ++sample) {
        double start = cpu_seconds();
        for (int i = 0; i < kLoops; ++i) kept += random.below(kNodes + (kept & 1));
        best[0] = std::min(best[0], cpu_seconds() - start);
        start = cpu_seconds();
        for (int i = 0; i < kLoops; ++i) {
            const auto token = static_cast<int64_t>(kept * 0x9E3779B97F4A7C15u);
            const RandomSource::Two two = random.two_below(kNodes);
            kept += less_loaded(hosts[two.first], hosts[two.second], token) ? two.first : two.second;
        }
        best[1] = std::min(best[1], cpu_seconds() - start);
    }
    std::printf("choice %.2f %d\n", (best[1] - best[0]) / kLoops * 1e9, static_cast<int>(kept & 1));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "ns") == 0) {
        measure();
        return 0;
    }
    const char* const scenarios[] = {"healthy", "slow", "stall"};
    const char* const modes[] = {"random", "load", "hedged"};
    const uint64_t seed = argc > 1 ? static_cast<uint64_t>(std::atoll(argv[1])) : 1;
    for (int scenario = kHealthy; scenario <= kStall; ++scenario)
        for (int mode = kRandom; mode <= kHedged; ++mode)
            Simulation(static_cast<Scenario>(scenario), static_cast<Mode>(mode), seed).run(scenarios[scenario], modes[mode]);
}
