#include "transport/writes.h"

#include <algorithm>

namespace fastcql {

namespace {

constexpr size_t kHeader = 9;

}  // namespace

uint32_t WriteTable::open() {
    if (free_ == 0) {
        writes_.emplace_back();
        free_ = static_cast<uint32_t>(writes_.size());
    }
    const uint32_t number = free_ - 1;
    free_ = writes_[number].next;
    writes_[number] = Write{};
    writes_[number].state = Write::State::Held;
    ++open_;
    return number;
}

void WriteTable::close(uint32_t number) noexcept {
    Write* write = find(number);
    if (!write) return;
    write->state = Write::State::Free;
    write->next = free_;
    free_ = number + 1;
    --open_;
}

bool WriteFrames::open_one(RowSource& source, size_t row) {
    frame_.truncate(0);
    put(frame_, parts_.head);
    token_ = 0;
    if (frame_.failed() || !source.write(row, frame_, token_)) return false;
    put(frame_, parts_.values);
    put(frame_, parts_.tail);
    open_size_ = frame_.size();
    return !frame_.failed();
}

WriteFrames::FrameResult WriteFrames::make() {
    if (at_end()) return FrameResult::End;
    if (parts_.max_rows > 1) return make_batch();
    at_ = next_++;
    count_ = 1;
    return open_one(*source_, at_) ? FrameResult::Request : FrameResult::Failed;
}

WriteFrames::FrameResult WriteFrames::build_again(RowSource& source, size_t at, size_t count) {
    at_ = at;
    count_ = count;
    if (count == 1) return open_one(source, at) ? FrameResult::Request : FrameResult::Failed;
    has_prefetched_ = false;
    values_.truncate(0);
    spans_.clear();
    for (size_t row = at; row < at + count; ++row) {
        const size_t begin = values_.size();
        if (!source.write(row, values_, token_)) return FrameResult::Failed;
        spans_.push_back({begin, values_.size()});
    }
    put_batch(spans_);
    return frame_.failed() || values_.failed() ? FrameResult::Failed : FrameResult::Request;
}

WriteFrames::FrameResult WriteFrames::make_batch() {
    RowSource& source = *source_;
    at_ = next_;
    spans_.clear();
    hashes_.clear();
    if (has_prefetched_) {
        const size_t size = prefetched_span_.end - prefetched_span_.begin;
        std::memmove(values_.data(), values_.data() + prefetched_span_.begin, size);
        values_.truncate(size);
        token_ = prefetched_token_;
    } else {
        values_.truncate(0);
        token_ = 0;
        if (!source.write(next_, values_, token_)) {
            ++next_;
            count_ = 1;
            return FrameResult::Failed;
        }
    }
    has_prefetched_ = false;
    spans_.push_back({0, values_.size()});
    uint64_t hash = 0;
    const size_t max_rows = hash_of(spans_[0], hash) ? parts_.max_rows : 1;
    hashes_.push_back(hash);
    size_t bytes = values_.size() + parts_.overhead;
    while (spans_.size() < max_rows && at_ + spans_.size() < source.rows()) {
        const size_t row = at_ + spans_.size();
        const Span span{values_.size(), 0};
        int64_t token = 0;
        if (!source.write(row, values_, token)) break;  // reported when it is the next row
        const Span here{span.begin, values_.size()};
        const size_t size = here.end - here.begin + parts_.overhead;
        bool joins = token == token_ && bytes + size <= parts_.max_bytes && source.same_partition(at_, row);
        joins = joins && hash_of(here, hash) && std::find(hashes_.begin(), hashes_.end(), hash) == hashes_.end();
        if (!joins) {
            has_prefetched_ = true;
            prefetched_span_ = here;
            prefetched_token_ = token;
            break;
        }
        bytes += size;
        spans_.push_back(here);
        hashes_.push_back(hash);
    }
    count_ = spans_.size();
    next_ = at_ + count_;
    if (count_ > 1) {
        put_batch(spans_);
    } else {
        frame_.truncate(0);
        put(frame_, parts_.head);
        frame_.put(values_.data(), spans_[0].end);
        put(frame_, parts_.values);
        put(frame_, parts_.tail);
        open_size_ = frame_.size();
    }
    return frame_.failed() || values_.failed() ? FrameResult::Failed : FrameResult::Request;
}

void WriteFrames::put_batch(const std::vector<Span>& spans) {
    frame_.truncate(0);
    put(frame_, parts_.batch_head);
    frame_.put16(static_cast<uint16_t>(spans.size()));
    for (const Span span : spans) {
        put(frame_, parts_.entry);
        frame_.put(values_.data() + span.begin, span.end - span.begin);
        put(frame_, parts_.values);
    }
    put(frame_, parts_.batch_tail);
    open_size_ = frame_.size();
}

bool WriteFrames::close(int64_t timestamp, int block) noexcept {
    frame_.truncate(open_size_);
    frame_.put64(static_cast<uint64_t>(timestamp));
    if (block >= 0 && !is_batch()) frame_.put8(static_cast<uint8_t>(block));
    const size_t length = frame_.size() - kHeader;
    if (frame_.failed() || length > static_cast<size_t>(INT32_MAX)) return false;
    frame_.patch32(5, static_cast<uint32_t>(length));
    return true;
}

}  // namespace fastcql
