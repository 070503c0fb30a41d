// Segments of protocol 5, with and without LZ4 (spec, section 2: "frames" there).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "lz4.h"
#include "recording.h"
#include "transport/crc.h"  // the driver's

class Segments {
public:
    explicit Segments(bool compressed) : compressed_(compressed) {}

    // Moves the whole segments at the front of INPUT into OUT, without their covers. False: they are malformed.
    bool unpack(std::string& input, std::string& out) const {
        size_t at = 0;
        while (input.size() - at >= header()) {
            const char* head = input.data() + at;
            const uint64_t bits = little(head, fields());
            if (fastcql::crc24(bits, static_cast<int>(fields())) != little(head + fields(), kCrc24)) return false;
            const size_t size = bits & kMost, plain = compressed_ ? bits >> kBits & kMost : 0;
            if (input.size() - at < header() + size + kCrc32) break;
            const char* payload = head + header();
            if (crc32(payload, size) != little(payload + size, kCrc32)) return false;
            if (plain == 0) {
                out.append(payload, size);
            } else if (!lz4::decompress(payload, size, plain, out)) {
                return false;
            }
            at += header() + size + kCrc32;
        }
        input.erase(0, at);
        return true;
    }

    // Appends ENVELOPES to OUT: as many whole ones in a segment as it holds, a larger one over several.
    void pack(const std::string& envelopes, std::string& out) const {
        for (size_t at = 0; at < envelopes.size();) {
            size_t size = envelope(envelopes, at);
            const bool whole = size <= kMost;
            while (whole && at + size < envelopes.size()) {
                const size_t next = envelope(envelopes, at + size);
                if (size + next > kMost) break;
                size += next;
            }
            for (const size_t end = at + size; at < end;) {
                const size_t part = std::min(end - at, kMost);
                put(envelopes.data() + at, part, whole, out);
                at += part;
            }
        }
    }

private:
    static constexpr int kBits = 17;
    static constexpr size_t kMost = (1u << kBits) - 1, kCrc24 = 3, kCrc32 = 4;

    size_t fields() const { return compressed_ ? 5 : 3; }
    size_t header() const { return fields() + kCrc24; }

    static size_t envelope(const std::string& envelopes, size_t at) { return kHeader + big32(&envelopes[at + 5]); }

    static uint64_t little(const char* bytes, size_t size) {
        uint64_t value = 0;
        std::memcpy(&value, bytes, size);
        return value;
    }

    static void put_little(std::string& out, uint64_t value, size_t size) {
        out.append(reinterpret_cast<const char*>(&value), size);
    }

    static uint32_t crc32(const char* data, size_t size) {
        return fastcql::segment_crc32(reinterpret_cast<const uint8_t*>(data), size);
    }

    // As Cassandra does, what LZ4 does not make smaller goes as it is.
    void put(const char* payload, size_t size, bool self_contained, std::string& out) const {
        uint64_t bits = size;
        std::string packed;
        if (compressed_) {
            lz4::compress(payload, size, packed);
            if (packed.size() < size) {
                bits = packed.size() | static_cast<uint64_t>(size) << kBits;
                payload = packed.data();
                size = packed.size();
            }
        }
        bits |= static_cast<uint64_t>(self_contained) << (compressed_ ? 2 * kBits : kBits);
        put_little(out, bits, fields());
        put_little(out, fastcql::crc24(bits, static_cast<int>(fields())), kCrc24);
        out.append(payload, size);
        put_little(out, crc32(payload, size), kCrc32);
    }

    const bool compressed_;
};
