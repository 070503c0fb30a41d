// Blocks outside of any pool, for arrays that the application owns.
#pragma once

#include <cstdlib>
#include <cstring>

#include "base/sizes.h"
#include "memory/blocks.h"

namespace fastcql::columns {

class PlainBlocks final : public memory::BlockPool {
public:
    static PlainBlocks& instance() noexcept {
        static auto* const blocks = new PlainBlocks;  // lives as long as the process
        return *blocks;
    }
    bool take_block(size_t size, memory::ColumnBlock& block) override {
        constexpr size_t kAligned = 64;
        if (size > SIZE_MAX / 2) return false;
        const size_t rounded = rounded_up(size, kAligned);
        void* memory = nullptr;
        if (posix_memalign(&memory, kAligned, rounded) != 0) return false;
        block = {static_cast<uint8_t*>(memory), rounded, nullptr};
        return true;
    }
    bool grow_block(memory::ColumnBlock& block, size_t size, size_t used) override {
        memory::ColumnBlock larger;
        if (size <= block.capacity) return true;
        if (!take_block(size, larger)) return false;
        if (used) std::memcpy(larger.data, block.data, used);
        std::free(block.data);
        block = larger;
        return true;
    }
    void give_block(const memory::ColumnBlock& block) override { std::free(block.data); }
    void hold() noexcept override {}
    void let_go() noexcept override {}

private:
    PlainBlocks() = default;
    ~PlainBlocks() = default;
};

}  // namespace fastcql::columns
