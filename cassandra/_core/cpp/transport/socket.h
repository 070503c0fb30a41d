// Sockets of channels: addresses, and the first non-blocking steps.
#pragma once

#include <string>
#include <sys/socket.h>
#include <vector>

#include "transport/segments.h"
#include "transport/sys.h"

namespace fastcql {

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

}  // namespace fastcql
