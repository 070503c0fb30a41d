#include "codec/retention.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/system.h"

namespace fastcql::retention {

std::atomic<uint64_t> decoded{0};
std::atomic<uint64_t> mark{kBegin};
std::atomic<uint32_t> epoch{0};
__thread uint32_t anchored = 0;

namespace {

constexpr int kTicks = 4;          // of a period
constexpr size_t kAnchor = 64 << 10;  // the smallest chunk whose freeing makes glibc check the top of its arena
constexpr size_t kAnchors = 128;
constexpr size_t kArenas = kMost >> 18;  // the arenas of Python 3.9 had 256 KiB
constexpr size_t kThreadStack = 128 << 10;
constexpr int kRestingTrim = 64 << 20, kMmap = 32 << 20, kPad = 128 << 10;  // maxima of glibc's own; its default

std::mutex& mutex = *new std::mutex;  // lives as long as the process: the thread uses it

class Guard {
public:
    Guard() { mutex.lock(); }
    ~Guard() { mutex.unlock(); }
};

// Guarded by the mutex.
bool prepared = false, running = false, sets_malloc = false, wrapped = false;
double period = kPeriod;
double period_began = 0;  // while no memory is kept
uint64_t ticks[kTicks];   // bytes of the last ticks
int tick = 0;
size_t kept = 0;          // bytes that may be kept: the target
uint32_t epochs = 0;
void* anchors[kAnchors];
size_t next_anchor = 0;
Arenas python{};
void* arenas[kArenas];  // freed arenas, the last one on top
size_t arena_count = 0, cold = 0;  // the lowest *cold* arenas have no memory
size_t arena_bytes = 0;

double now() noexcept {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool is_set_by_environment() noexcept {
    for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"})
        if (std::getenv(name)) return true;
    const char* const tunables = std::getenv("GLIBC_TUNABLES");
    if (!tunables) return false;
    for (const char* name : {"glibc.malloc.trim_threshold", "glibc.malloc.mmap_threshold", "glibc.malloc.top_pad"})
        if (std::strstr(tunables, name)) return true;
    return false;
}

void keep_large_blocks() noexcept {
    if (sets_malloc) system::set_malloc_mmap_threshold(kMmap);
}

void set_malloc(size_t trim) noexcept {
    if (!sets_malloc) return;
    // A heap of a thread has 64 MiB: without a larger pad glibc unmaps those behind the first when they are empty.
    system::set_malloc_trimming(trim > kLeast ? static_cast<int>(kLeast) + kPad : kPad, static_cast<int>(trim));
}

void trim_malloc(size_t bytes) noexcept {
    if (sets_malloc) system::trim_malloc(bytes);
}

void add_anchor() noexcept {
    if (!sets_malloc) return;
    void* const made = std::malloc(kAnchor);
    void*& place = anchors[next_anchor++ % kAnchors];
    std::free(place);
    place = made;
}

void release_malloc() noexcept {
    void* freed[kAnchors];
    {
        const Guard guard;
        if (!sets_malloc) return;
        std::memcpy(freed, anchors, sizeof(freed));
        std::memset(anchors, 0, sizeof(anchors));
        system::set_malloc_trimming(kPad, 0);
    }
    for (void* anchor : freed) std::free(anchor);
    system::trim_malloc(0);
}

void set_target(size_t bytes) noexcept {
    kept = bytes;
    mark.store(bytes, std::memory_order_relaxed);
    set_malloc(bytes);
}

size_t target() noexcept {
    uint64_t sum = decoded.load(std::memory_order_relaxed);
    for (const uint64_t bytes : ticks) sum += bytes;
    size_t bytes = kLeast;
    while (bytes < sum && bytes < kMost) bytes *= 2;
    return bytes;
}

// Return the memory of arenas beyond *bytes* to the system; their addresses stay, as only Python may free them. One
// arena per lock, so that Python does not wait for long.
void drop_arenas(size_t bytes) noexcept {
    while (true) {
        const Guard guard;
        const size_t most = arena_bytes ? bytes / arena_bytes : 0;
        if (cold + most >= arena_count) return;
        system::discard_pages(arenas[cold++], arena_bytes);
    }
}

void* allocate_arena(void*, size_t bytes) {
    void* found = nullptr;
    {
        const Guard guard;
        if (arena_count && bytes == arena_bytes) {
            found = arenas[--arena_count];
            cold = std::min(cold, arena_count);
        }
    }
    return found ? found : python.allocate(python.context, bytes);
}

void free_arena(void*, void* arena, size_t bytes) {
    {
        const Guard guard;
        if (!arena_count) arena_bytes = bytes;
        if (running && bytes == arena_bytes && arena_count < kArenas && (arena_count + 1) * bytes <= kept) {
            arenas[arena_count++] = arena;
            return;
        }
    }
    python.free(python.context, arena, bytes);
}

// Sum the last ticks, and lower the target if they took less. False if the sum is below kIdle.
bool adjust(size_t& lowered) noexcept {
    const Guard guard;
    lowered = 0;
    ticks[tick++ % kTicks] = decoded.exchange(0, std::memory_order_relaxed);
    uint64_t sum = 0;
    for (const uint64_t bytes : ticks) sum += bytes;
    if (sum < kIdle) {
        kept = 0;
        epoch.store(0, std::memory_order_relaxed);
        return false;
    }
    const size_t wanted = target();
    if (wanted < kept) {
        set_target(wanted);
        lowered = wanted;
    }
    return true;
}

void rest() noexcept {
    const Guard guard;
    set_malloc(kRestingTrim);
    std::memset(ticks, 0, sizeof(ticks));
    decoded.store(0, std::memory_order_relaxed);
    mark.store(kBegin, std::memory_order_relaxed);
    period_began = now();
    running = false;
}

void* watch(void*) noexcept {
    std::chrono::duration<double> tick_length{};
    {
        const Guard guard;
        tick_length = std::chrono::duration<double>(period / kTicks);
    }
    while (true) {
        std::this_thread::sleep_for(tick_length);
        size_t lowered = 0;
        if (!adjust(lowered)) break;
        if (lowered) {
            drop_arenas(lowered);
            trim_malloc(lowered);
        }
    }
    drop_arenas(0);  // slow: pages may be decoded meanwhile
    release_malloc();
    rest();
    return nullptr;
}

bool start_thread() noexcept {
    pthread_t thread;
    if (system::start_thread(&thread, watch, nullptr, kThreadStack) != 0) return false;
    system::detach_thread(thread);
    return true;
}

void before_fork() { mutex.lock(); }
void in_parent() { mutex.unlock(); }
void in_child() {
    if (running) {
        running = false;
        std::memset(ticks, 0, sizeof(ticks));
        decoded.store(0, std::memory_order_relaxed);
        mark.store(0, std::memory_order_relaxed);  // the next page begins a thread: there is memory to give back
        epoch.store(0, std::memory_order_relaxed);
    }
    mutex.unlock();
}

void prepare() noexcept {
    prepared = true;
    period_began = now();
    if (const char* given = std::getenv("FASTCQL_KEEP_FREED")) {
        char* end = nullptr;
        const double seconds = std::strtod(given, &end);
        if (end != given && seconds >= 0 && seconds <= 86400) period = seconds;
    }
    sets_malloc = period > 0 && system::has_malloc_settings() && !is_set_by_environment();
    if (period > 0) system::at_fork(before_fork, in_parent, in_child);
    else mark.store(UINT64_MAX, std::memory_order_relaxed);
}

}  // namespace

bool begin(size_t bytes) noexcept {
    const Guard guard;
    if (!prepared) prepare();
    if (period <= 0) return false;
    if (!running) {
        const double at = now();
        if (mark.load(std::memory_order_relaxed) && at - period_began > period) {  // few bytes are decoded
            period_began = at;
            decoded.store(bytes, std::memory_order_relaxed);
            if (bytes <= kBegin) return false;
        }
        if (!start_thread()) return false;
        running = true;
        tick = 0;
        keep_large_blocks();
        set_target(target());
        epochs = epochs == UINT32_MAX ? 1 : epochs + 1;
        epoch.store(epochs, std::memory_order_relaxed);
    } else if (const size_t wanted = target(); wanted > kept && kept) {
        set_target(wanted);
    }
    const uint32_t of = epoch.load(std::memory_order_relaxed);
    if (of && anchored != of) {
        anchored = of;
        add_anchor();
    }
    if (wrapped) return false;
    wrapped = true;
    return true;
}

Arenas wrap(const Arenas& given) noexcept {
    python = given;
    return {nullptr, allocate_arena, free_arena};
}

}  // namespace fastcql::retention
