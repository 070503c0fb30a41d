// Functions whose names depend on the system: aligned memory, IP addresses as text (inet_ntop, inet_pton), numbers as
// text. Also in the folders that need no POSIX system.
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
#include <locale.h>
#include <sys/socket.h>
#endif
#ifdef __APPLE__
#include <xlocale.h>
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

// As strtod and strtof, in the locale "C": that of the process may have a decimal comma. Other libraries than these two
// have no other locale.
#if defined(__GLIBC__) || defined(__APPLE__)
inline locale_t c_locale() noexcept {
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
}
inline void to_number(const char* text, char** end, double& out) noexcept {
    out = c_locale() ? strtod_l(text, end, c_locale()) : std::strtod(text, end);
}
inline void to_number(const char* text, char** end, float& out) noexcept {
    out = c_locale() ? strtof_l(text, end, c_locale()) : std::strtof(text, end);
}
#else
inline void to_number(const char* text, char** end, double& out) noexcept { out = std::strtod(text, end); }
inline void to_number(const char* text, char** end, float& out) noexcept { out = std::strtof(text, end); }
#endif

}  // namespace fastcql
