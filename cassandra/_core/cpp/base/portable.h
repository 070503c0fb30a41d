// Functions whose names depend on the system: aligned memory, IP addresses as text (inet_ntop, inet_pton). Also in
// the folders that need no POSIX system.
#pragma once

#include <cstddef>
#include <cstdlib>

#ifdef _WIN32
#include <malloc.h>
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <arpa/inet.h>
#include <sys/socket.h>
#endif

namespace fastcql {

// Null without memory.
inline void* allocate_aligned(size_t alignment, size_t bytes) noexcept {
#ifdef _WIN32
    return _aligned_malloc(bytes, alignment);
#else
    void* memory = nullptr;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
#endif
}

inline void free_aligned(void* memory) noexcept {
#ifdef _WIN32
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

}  // namespace fastcql
