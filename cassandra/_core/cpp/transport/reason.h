// Reasons of a channel's end, and of an attempt's end without a response.
#pragma once

#include <cstdint>
#include <string>

#include "transport/refs.h"

namespace fastcql {

// Shared by the channel's closing and the failures of its requests. Accessed only with the runtime lock (the GIL), as
// *object* belongs to the runtime language.
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
    };

    Reason(Kind kind, std::string message, int error = 0)
        : kind(kind), error(error), message(std::move(message)) {}
    ~Reason() {
        if (object) drop(object);
    }

    const Kind kind;
    const int error;
    const std::string message;
    void* object = nullptr;  // the exception, once the runtime has made one; a reference
    void (*drop)(void*) = nullptr;
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
