// LZ4 blocks, as segments of protocol 5 carry them: no header, sizes are known from outside. Small and plain; the
// answers of a server shall look to a client as LZ4 does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace lz4 {

constexpr size_t kMinMatch = 4, kTail = 5, kNoMatchIn = 12, kFarthest = 65535;

inline void put_length(std::string& out, size_t length) {
    for (; length >= 255; length -= 255) out.push_back(static_cast<char>(255));
    out.push_back(static_cast<char>(length));
}

inline void put_sequence(std::string& out, const char* literals, size_t count, size_t offset, size_t match) {
    const size_t more = match ? match - kMinMatch : 0;
    out.push_back(static_cast<char>((count < 15 ? count : 15) << 4 | (more < 15 ? more : 15)));
    if (count >= 15) put_length(out, count - 15);
    out.append(literals, count);
    if (!match) return;
    out.push_back(static_cast<char>(offset));
    out.push_back(static_cast<char>(offset >> 8));
    if (more >= 15) put_length(out, more - 15);
}

// Greedy, by a table of where four bytes were seen last.
inline void compress(const char* data, size_t size, std::string& out) {
    constexpr int kBits = 12;
    uint32_t seen[1u << kBits] = {};  // position + 1
    size_t at = 0, done = 0;
    while (at + kNoMatchIn < size) {
        uint32_t four;
        std::memcpy(&four, data + at, sizeof four);
        uint32_t& slot = seen[four * 2654435761u >> (32 - kBits)];
        const size_t before = slot;
        slot = static_cast<uint32_t>(at + 1);
        if (before == 0 || at - (before - 1) > kFarthest || std::memcmp(data + before - 1, data + at, kMinMatch) != 0) {
            ++at;
            continue;
        }
        const char* from = data + before - 1;
        size_t match = kMinMatch;
        while (at + match + kTail < size && from[match] == data[at + match]) ++match;
        put_sequence(out, data + done, at - done, at - (before - 1), match);
        at += match;
        done = at;
    }
    put_sequence(out, data + done, size - done, 0, 0);
}

// False: these are no *plain* bytes.
inline bool decompress(const char* data, size_t size, size_t plain, std::string& out) {
    size_t at = 0;
    const size_t start = out.size();
    const auto length = [&](size_t low) {
        size_t found = low;
        if (low != 15) return found;
        for (uint8_t more = 255; more == 255 && at < size;) found += more = static_cast<uint8_t>(data[at++]);
        return found;
    };
    while (at < size) {
        const auto token = static_cast<uint8_t>(data[at++]);
        const size_t literals = length(token >> 4);
        if (size - at < literals || plain - (out.size() - start) < literals) return false;
        out.append(data + at, literals);
        at += literals;
        if (at == size) break;
        if (size - at < 2) return false;
        const size_t offset = static_cast<uint8_t>(data[at]) | static_cast<uint8_t>(data[at + 1]) << 8;
        at += 2;
        const size_t match = length(token & 15) + kMinMatch;
        const size_t have = out.size() - start;
        if (offset == 0 || offset > have || plain - have < match) return false;
        for (size_t i = 0; i < match; ++i) out.push_back(out[out.size() - offset]);
    }
    return out.size() - start == plain;
}

}  // namespace lz4
