#include "transport/socket.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

namespace fastcql {

namespace {

int new_socket(int family) {
#ifdef SOCK_NONBLOCK
    return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
#else
    const int fd = ::socket(family, SOCK_STREAM, 0);
    if (fd >= 0) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
        const int on = 1;
        setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    }
    return fd;
#endif
}

}  // namespace

bool parse_address(int family, const char* host, int port, SocketAddress* address) noexcept {
    addrinfo hints{};
    hints.ai_family = family;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (getaddrinfo(host, std::to_string(port).c_str(), &hints, &found) != 0) return false;
    std::memcpy(&address->storage, found->ai_addr, found->ai_addrlen);
    address->length = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

bool parse_unix_path(const std::string& path, SocketAddress* address) {
    auto* un = reinterpret_cast<sockaddr_un*>(&address->storage);
    if (path.empty() || path.size() >= sizeof un->sun_path) return false;
    un->sun_family = AF_UNIX;
    std::memcpy(un->sun_path, path.data(), path.size());
    const bool abstract = path[0] == '\0';
    address->length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (abstract ? 0 : 1));
    return true;
}

bool describe_address(const SocketAddress& address, std::string* host, int* port) {
    if (address.storage.ss_family == AF_UNIX) {
        const auto* un = reinterpret_cast<const sockaddr_un*>(&address.storage);
        const size_t start = offsetof(sockaddr_un, sun_path);
        size_t size = address.length > start ? address.length - start : 0;
        if (size > 0 && un->sun_path[0] != '\0') size = strnlen(un->sun_path, size);
        host->assign(un->sun_path, size);
        return false;
    }
    char name[NI_MAXHOST], service[NI_MAXSERV];
    const int error = getnameinfo(address.get(), address.length, name, sizeof name, service, sizeof service,
                                  NI_NUMERICHOST | NI_NUMERICSERV);
    if (error != 0) return false;
    *host = name;
    *port = std::stoi(service);
    return true;
}

ConnectStep start_connect(const ConnectSpec& spec) {
    ConnectStep step;
    const auto failed = [&step](const char* operation) {
        step.error = errno;
        step.operation = operation;
        if (step.fd >= 0) ::close(step.fd);
        step.fd = -1;
        return step;
    };
    step.fd = new_socket(spec.family);
    if (step.fd < 0) return failed("socket");
    if (spec.family != AF_UNIX) {
        const int on = 1;
        setsockopt(step.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    for (const SocketOption& option : spec.options) {
        const auto size = static_cast<socklen_t>(option.value.size());
        if (setsockopt(step.fd, option.level, option.name, option.value.data(), size) != 0)
            return failed("setsockopt");
    }
    if (spec.local.length > 0 && ::bind(step.fd, spec.local.get(), spec.local.length) != 0)
        return failed("bind");
    // An interrupted connect continues by itself, like one in progress.
    const int result = ::connect(step.fd, spec.address.get(), spec.address.length);
    if (result != 0 && errno != EINPROGRESS && errno != EINTR) return failed("connect");
    return step;
}

int finish_connect(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    if (error != 0) return error;
    // The kernel may assign a port in the ephemeral range without a listener to the connecting socket itself, which is
    // then connected to itself.
    sockaddr_storage local{}, remote{};
    socklen_t local_size = sizeof local, remote_size = sizeof remote;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&remote), &remote_size) != 0) return errno;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_size) == 0 &&
        local.ss_family != AF_UNIX && local_size == remote_size &&
        std::memcmp(&local, &remote, local_size) == 0) {
        return ECONNREFUSED;
    }
    return 0;
}

}  // namespace fastcql
