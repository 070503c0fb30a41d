// Preloaded into Python: fails one allocation, or all from one on, of those that watched code asks for. Code is watched
// by where it lies, so that the interpreter and other libraries have the memory they want.
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

constexpr int kMost = 32;
uintptr_t begins[kMost], ends[kMost];
int watched = 0;
long left = -1;  // allocations until the one that fails; negative: none does
bool for_good = false;
long failed = 0;

bool fails(void* caller) {
    if (left < 0) return false;
    const auto at = reinterpret_cast<uintptr_t>(caller);
    for (int i = 0; i < watched; ++i) {
        if (at < begins[i] || at >= ends[i]) continue;
        if (left > 0) {
            --left;
            return false;
        }
        if (!for_good) left = -1;
        ++failed;
        errno = ENOMEM;
        return true;
    }
    return false;
}

void* made(size_t size, void* caller) {
    void* memory = fails(caller) ? nullptr : __libc_malloc(size ? size : 1);
    if (!memory) throw std::bad_alloc();
    return memory;
}

}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {

__attribute__((visibility("default"))) void watch_code(uintptr_t begin, uintptr_t end) {
    if (watched == kMost) std::abort();
    begins[watched] = begin;
    ends[watched++] = end;
}
// The allocation with number *number*, from 0 on; negative: none.
__attribute__((visibility("default"))) void fail_allocation(long number, int all_after) {
    for_good = all_after != 0;
    failed = 0;
    left = number;
}
__attribute__((visibility("default"))) long failed_allocations() { return failed; }

__attribute__((visibility("default"))) void* malloc(size_t size) { return fails(CALLER) ? nullptr : __libc_malloc(size); }
__attribute__((visibility("default"))) void* calloc(size_t n, size_t size) {
    return fails(CALLER) ? nullptr : __libc_calloc(n, size);
}
__attribute__((visibility("default"))) void* realloc(void* memory, size_t size) {
    return fails(CALLER) ? nullptr : __libc_realloc(memory, size);
}
__attribute__((visibility("default"))) int posix_memalign(void** out, size_t alignment, size_t size) {
    void* memory = fails(CALLER) ? nullptr : __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *out = memory;
    return 0;
}

}  // extern "C"

__attribute__((visibility("default"))) void* operator new(size_t size) { return made(size, CALLER); }
__attribute__((visibility("default"))) void* operator new[](size_t size) { return made(size, CALLER); }
__attribute__((visibility("default"))) void* operator new(size_t size, const std::nothrow_t&) noexcept {
    return fails(CALLER) ? nullptr : __libc_malloc(size ? size : 1);
}
__attribute__((visibility("default"))) void* operator new[](size_t size, const std::nothrow_t&) noexcept {
    return fails(CALLER) ? nullptr : __libc_malloc(size ? size : 1);
}
__attribute__((visibility("default"))) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((visibility("default"))) void operator delete[](void* memory) noexcept { std::free(memory); }
__attribute__((visibility("default"))) void operator delete(void* memory, size_t) noexcept { std::free(memory); }
__attribute__((visibility("default"))) void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
