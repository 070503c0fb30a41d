// Services of the operating system that several folders use: memory pages, settings of malloc, threads, forks. Sockets,
// pollers and parking of threads are in transport/sys.h. No other header of the system is included elsewhere.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#include <malloc.h>
#endif

namespace fastcql::system {

// ---- pages: null or false if memory or address space is exhausted

inline uint8_t* map_pages(size_t bytes) noexcept {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

// Address space without memory, which commit_pages() adds.
inline uint8_t* reserve_pages(size_t bytes) noexcept {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
    flags |= MAP_NORESERVE;
#endif
    void* memory = mmap(nullptr, bytes, PROT_NONE, flags, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

inline bool commit_pages(uint8_t* memory, size_t bytes) noexcept {
    return mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0;
}

inline void unmap_pages(uint8_t* memory, size_t bytes) noexcept { munmap(memory, bytes); }

// Returns the memory, whose content is lost; the addresses stay usable.
inline void discard_pages(void* memory, size_t bytes) noexcept {
#ifdef __APPLE__
    madvise(memory, bytes, MADV_FREE);  // MADV_DONTNEED keeps the pages there
#else
    madvise(memory, bytes, MADV_DONTNEED);
#endif
}

// Advice: a refusal changes nothing.
inline void advise_huge_pages([[maybe_unused]] uint8_t* memory, [[maybe_unused]] size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

// Moves the pages, without a copy, to *to*, whose pages they replace, or, if that is null, to any address, and resizes
// the range. Null if the system cannot; the range is unchanged then.
inline uint8_t* move_pages([[maybe_unused]] uint8_t* memory, [[maybe_unused]] size_t bytes,
                           [[maybe_unused]] size_t wanted, [[maybe_unused]] uint8_t* to) noexcept {
#ifdef __linux__
    void* moved = to ? mremap(memory, bytes, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, to)
                     : mremap(memory, bytes, wanted, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? nullptr : static_cast<uint8_t*>(moved);
#else
    return nullptr;
#endif
}

#ifdef __linux__
constexpr bool kMovesPages = true;
#else
constexpr bool kMovesPages = false;
#endif

// ---- malloc, if it is glibc's and not a preloaded or linked allocator; else all of this is without effect

#ifdef __GLIBC__
inline bool has_malloc_settings() noexcept {
    Dl_info libc{}, used{};
    void* const symbol = dlsym(RTLD_DEFAULT, "malloc");
    void* const version = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    return symbol && version && dladdr(symbol, &used) && dladdr(version, &libc) && used.dli_fbase == libc.dli_fbase;
}
inline void set_malloc_mmap_threshold(int bytes) noexcept { mallopt(M_MMAP_THRESHOLD, bytes); }
inline void set_malloc_trimming(int pad, int threshold) noexcept {
    mallopt(M_TOP_PAD, pad);
    mallopt(M_TRIM_THRESHOLD, threshold);
}
inline void trim_malloc(size_t kept) noexcept { malloc_trim(kept); }
#else
inline bool has_malloc_settings() noexcept { return false; }
inline void set_malloc_mmap_threshold(int) noexcept {}
inline void set_malloc_trimming(int, int) noexcept {}
inline void trim_malloc(size_t) noexcept {}
#endif

// ---- threads and forks

// Starts a thread in which no signal is handled: signals are for the program's threads. *stack*: its size, 0 for the
// default. Returns 0 or an errno.
inline int start_thread(pthread_t* thread, void* (*run)(void*), void* argument, size_t stack = 0) noexcept {
    pthread_attr_t attributes;
    if (const int error = pthread_attr_init(&attributes)) return error;
    if (stack > 0) pthread_attr_setstacksize(&attributes, stack);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(thread, &attributes, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return error;
}

inline void join_thread(pthread_t thread) noexcept { pthread_join(thread, nullptr); }
inline void detach_thread(pthread_t thread) noexcept { pthread_detach(thread); }

inline void yield() noexcept { sched_yield(); }

// Names the calling thread, for debuggers.
inline void name_thread([[maybe_unused]] const char* name) noexcept {
#ifdef __linux__
    char cut[16] = {};  // longer names are refused
    for (size_t i = 0; i + 1 < sizeof cut && name[i]; ++i) cut[i] = name[i];
    pthread_setname_np(pthread_self(), cut);
#elif defined(__APPLE__)
    pthread_setname_np(name);
#endif
}

// Calls *before* and *in_parent* or *in_child* at every fork of the process, from now on.
inline void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) noexcept {
    pthread_atfork(before, in_parent, in_child);
}

}  // namespace fastcql::system
