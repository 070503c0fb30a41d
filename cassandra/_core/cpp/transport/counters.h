// Live native objects, counted so that tests can detect leaks. Objects made per connection are always counted; those
// made per request only in CQL_DEBUG builds, where a few nanoseconds do not matter.
#pragma once

#include <atomic>
#include <cstdint>

namespace fastcql {

struct Counters {
    std::atomic<int64_t> reactors{0};
    std::atomic<int64_t> channels{0};
    std::atomic<int64_t> timers{0};
    std::atomic<int64_t> completion_queues{0};
#ifdef CQL_DEBUG
    std::atomic<int64_t> operations{0};
    std::atomic<int64_t> frames{0};    // Frame objects of the runtime's language
    std::atomic<int64_t> requests{0};  // entries of stream tables that hold an operation
#endif
};

inline Counters counters;

// Member that counts its owner: `Counted<&Counters::channels> counted_;`
template <std::atomic<int64_t> Counters::* Field>
struct Counted {
    Counted() { (counters.*Field).fetch_add(1, std::memory_order_relaxed); }
    Counted(const Counted&) : Counted() {}
    Counted& operator=(const Counted&) = default;
    ~Counted() { (counters.*Field).fetch_sub(1, std::memory_order_relaxed); }
};

#ifdef CQL_DEBUG
#define FASTCQL_COUNT(field, delta) ::fastcql::counters.field.fetch_add((delta), std::memory_order_relaxed)
#else
#define FASTCQL_COUNT(field, delta) static_cast<void>(0)
#endif

}  // namespace fastcql
