#include "transport/lz4.h"

#include <cstring>

namespace fastcql {

namespace {

constexpr size_t kMinMatch = 4;
constexpr size_t kLongLength = 15;  // bytes that add to it follow, as long as they are 255
constexpr size_t kOffsetSize = 2;

// *length* and the bytes that add to it. False at the end of the input, or beyond *limit*.
bool extend(const uint8_t*& in, const uint8_t* end, size_t limit, size_t& length) {
    uint8_t byte;
    do {
        if (in == end || length > limit) return false;
        byte = *in++;
        length += byte;
    } while (byte == 255);
    return length <= limit;
}

// A match may overlap what it makes: then that repeats itself.
void copy_match(uint8_t* out, size_t offset, size_t length) {
    const uint8_t* from = out - offset;
    while (length > offset) {  // what is there twice as long can be copied at once the next time
        std::memcpy(out, from, offset);
        out += offset;
        length -= offset;
        offset *= 2;
    }
    std::memcpy(out, from, length);
}

}  // namespace

bool lz4_decompress(const uint8_t* data, size_t size, uint8_t* out, size_t out_size) {
    const uint8_t* in = data;
    const uint8_t* const in_end = data + size;
    uint8_t* at = out;
    uint8_t* const out_end = out + out_size;
    while (in != in_end) {
        const unsigned token = *in++;
        size_t literals = token >> 4;
        const auto room = static_cast<size_t>(out_end - at);
        if (literals == kLongLength && !extend(in, in_end, room, literals)) return false;
        if (literals > room || literals > static_cast<size_t>(in_end - in)) return false;
        if (literals > 0) std::memcpy(at, in, literals);
        at += literals;
        in += literals;
        if (in == in_end) return at == out_end;  // the last sequence has no match
        if (static_cast<size_t>(in_end - in) < kOffsetSize) return false;
        const size_t offset = in[0] | static_cast<size_t>(in[1]) << 8;
        in += kOffsetSize;
        if (offset == 0 || offset > static_cast<size_t>(at - out)) return false;
        size_t match = (token & kLongLength);
        const auto left = static_cast<size_t>(out_end - at);
        if (match == kLongLength && !extend(in, in_end, left, match)) return false;
        match += kMinMatch;
        if (match > left) return false;
        copy_match(at, offset, match);
        at += match;
    }
    return false;  // ends after a match, or is empty
}

}  // namespace fastcql
