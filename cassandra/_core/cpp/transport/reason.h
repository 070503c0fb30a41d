// Reasons of a channel's end, and of an attempt's end without a response.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "transport/refs.h"

namespace fastcql {

// Shared by the channel's closing and the failures of its requests, which any thread may read.
struct Reason : RefCounted<Reason> {
    enum class Kind : uint8_t {
        Local,     // close() without an error
        Runtime,   // an exception of the runtime's language: close(error), a callback or byte filter that raised
        System,    // *error* is an errno
        Timeout,   // not connected in time
        Eof,       // the peer closed
        Protocol,  // malformed input
        Crc,       // a checksum did not match
        Stopped,   // the reactor was stopped
        Keyspace,  // its current keyspace became unknown
        Silent,     // no response to a heartbeat
        Heartbeat,  // an unexpected response to a heartbeat
    };

    Reason(Kind kind, std::string message, int error = 0)
        : kind(kind), error(error), message(std::move(message)) {}
    ~Reason() {
        if (void* object = object_.load(std::memory_order_acquire)) drop_.load(std::memory_order_relaxed)(object);
    }

    // The exception, once the runtime has made one; borrowed.
    void* object() const noexcept { return object_.load(std::memory_order_acquire); }
    // Takes over a reference of the exception. False, and nothing is taken, if another thread has set one already.
    bool set_object(void* object, void (*drop)(void*)) noexcept {
        drop_.store(drop, std::memory_order_relaxed);  // the same function for all
        void* none = nullptr;
        return object_.compare_exchange_strong(none, object, std::memory_order_acq_rel);
    }

    const Kind kind;
    const int error;
    const std::string message;

private:
    std::atomic<void*> object_{nullptr};
    std::atomic<void (*)(void*)> drop_{nullptr};
};

// Failure.kind of the typed contract.
enum class FailureKind : uint8_t { TimedOut = 1, Closed = 2, Protocol = 3, Cancelled = 4 };

struct Failure {
    FailureKind kind;
    bool sent;  // false only if no byte of the request reached the socket
    std::string message;
    Ref<Reason> reason;
};

}  // namespace fastcql
