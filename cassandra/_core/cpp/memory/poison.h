// Mark unowned pooled memory as inaccessible for AddressSanitizer; no effect in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define FASTCQL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FASTCQL_ASAN 1
#endif
#endif

#ifdef FASTCQL_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace fastcql::memory {

inline void poison([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef FASTCQL_ASAN
    ASAN_POISON_MEMORY_REGION(memory, bytes);
#endif
}

inline void unpoison([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#ifdef FASTCQL_ASAN
    ASAN_UNPOISON_MEMORY_REGION(memory, bytes);
#endif
}

}  // namespace fastcql::memory
