#include "transport/intake.h"

namespace fastcql {

// Room is kept in one slab while nothing pins it, so that its memory stays in cache.
Intake::Room Intake::room() {
    if (slab_ && !slab_->shared()) used_ = 0;
    if (!slab_ || kSlabSize - used_ < kMinRoom) {
        finish();
        slab_ = BlockRef::adopt(arena_->allocate(kSlabSize));
        used_ = 0;
        if (!slab_) return {nullptr, 0, nullptr};
        slab_->kept.store(1, std::memory_order_relaxed);
    }
    return {slab_->data() + used_, kSlabSize - used_, slab_.get()};
}

void Intake::finish() {
    if (slab_) slab_->kept.store(0, std::memory_order_relaxed);
    slab_ = nullptr;
}

}  // namespace fastcql
