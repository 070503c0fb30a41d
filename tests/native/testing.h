// A test framework of a few lines: TEST registers, CHECK aborts with place and text, main runs all, or the named ones
// and those of the named files ("life_test").
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

namespace testing {

struct Test {
    const char* file;
    const char* name;
    void (*run)();

    bool is_named(const char* text) const {
        const char* slash = std::strrchr(file, '/');
        const char* base = slash != nullptr ? slash + 1 : file;
        const size_t stem = std::strcspn(base, ".");
        return std::strcmp(text, name) == 0 || (std::strlen(text) == stem && std::strncmp(text, base, stem) == 0);
    }
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

struct Registered {
    Registered(const char* file, const char* name, void (*run)()) { tests().push_back({file, name, run}); }
};

[[noreturn]] inline void fail(const char* file, int line, const char* text) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, text);
    std::abort();
}

// Waits for something another thread does; generous, as sanitizers are slow.
inline bool eventually(const std::function<bool()>& condition, int milliseconds = 30000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

inline void pause_ms(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

inline int run_all(int argc, char** argv) {
    int count = 0;
    for (const Test& test : tests()) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; ++i) wanted = wanted || test.is_named(argv[i]);
        if (!wanted) continue;
        std::printf("%s\n", test.name);
        std::fflush(stdout);
        test.run();
        ++count;
    }
    std::printf("%d passed\n", count);
    return count > 0 ? 0 : 1;
}

}  // namespace testing

#define TEST(name)                                                                    \
    static void test_##name();                                                        \
    static const testing::Registered registered_##name(__FILE__, #name, test_##name); \
    static void test_##name()

// A test of a child that goes on after a fork, which ThreadSanitizer does not support.
#ifdef __SANITIZE_THREAD__
#define FORK_TEST(name) [[maybe_unused]] static void test_##name()
#else
#define FORK_TEST(name) TEST(name)
#endif

#define CHECK(condition)                                                         \
    do {                                                                         \
        if (!(condition)) testing::fail(__FILE__, __LINE__, "not: " #condition); \
    } while (false)

#define TEST_MAIN() \
    int main(int argc, char** argv) { return testing::run_all(argc, argv); }
