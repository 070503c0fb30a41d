// Arena and blocks.
#include <algorithm>
#include <mutex>
#include <random>

#include "testing.h"
#include "transport/memory.h"

using namespace fastcql;

TEST(blocks_are_aligned_and_large_enough) {
    auto* arena = new Arena(1 << 20);
    for (size_t size :
         {0, 1, 63, 64, 65, 80, 81, 127, 128, 129, 1000, 4096, 100000, 1 << 20, (1 << 20) + 1}) {
        BlockRef block = arena->allocate(size);
        CHECK(block && block->capacity >= size);
        CHECK(block->capacity <= std::max<size_t>(64, size + size / 4));
        CHECK(reinterpret_cast<uintptr_t>(block->data()) % 64 == 0);
        std::memset(block->data(), 0xAB, block->capacity);
    }
    CHECK(arena->live_blocks() == 0 && arena->live_bytes() == 0);
    arena->close();
    CHECK(counters.blocks == 0 && counters.arenas == 0);
}

TEST(a_block_is_used_again) {
    auto* arena = new Arena(1 << 20);
    BlockRef first = arena->allocate(1000);
    const Block* address = first.get();
    first = nullptr;
    CHECK(arena->retained_bytes() > 0);
    BlockRef second = arena->allocate(900);
    CHECK(second.get() == address);
    second = nullptr;
    arena->close();
}

TEST(retention_is_bounded) {
    auto* arena = new Arena(64 << 10);
    std::vector<BlockRef> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(arena->allocate(4096));
    CHECK(arena->live_bytes() == 1000 * 4096);
    blocks.clear();
    CHECK(arena->retained_bytes() <= 64 << 10);
    CHECK(counters.blocks <= 16);
    arena->close();
    CHECK(counters.blocks == 0);
}

TEST(blocks_outlive_their_arena) {
    auto* arena = new Arena(1 << 20);
    BlockRef block = arena->allocate(500);
    arena->close();
    CHECK(counters.arenas == 1);
    std::memset(block->data(), 1, 500);
    block = nullptr;
    CHECK(counters.arenas == 0 && counters.blocks == 0);
}

// One thread allocates, several release, and the arena is closed while some are still out.
TEST(blocks_come_back_from_any_thread) {
    for (int round = 0; round < 20; ++round) {
        auto* arena = new Arena(256 << 10);
        constexpr int kThreads = 4;
        std::mutex mutex;
        std::vector<BlockRef> shared;
        std::atomic<bool> done{false};
        std::vector<std::thread> threads;
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back([&] {
                for (;;) {
                    const bool last = done;
                    BlockRef block;
                    {
                        std::lock_guard<std::mutex> guard(mutex);
                        if (!shared.empty()) {
                            block = std::move(shared.back());
                            shared.pop_back();
                        }
                    }
                    if (block) {
                        CHECK(block->data()[0] == block->data()[1]);
                    } else if (last) {
                        return;
                    }
                }
            });
        }
        std::mt19937 random(static_cast<unsigned>(round));
        for (int i = 0; i < 2000; ++i) {
            BlockRef block = arena->allocate(2 + random() % 20000);
            block->data()[0] = block->data()[1] = static_cast<uint8_t>(i);
            BlockRef copy = block;
            std::lock_guard<std::mutex> guard(mutex);
            shared.push_back(std::move(copy));
        }
        arena->close();
        done = true;
        for (std::thread& thread : threads) thread.join();
        CHECK(counters.blocks == 0 && counters.arenas == 0);
    }
}

TEST_MAIN()
