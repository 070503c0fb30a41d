// Splitter, segments and checksums: pure functions of bytes.
#include <algorithm>
#include <random>
#include <string>

#include "memory/pool.h"
#include "testing.h"
#include "transport/segments.h"
#include "transport/segments.h"

namespace frames_test {

using namespace fastcql;

namespace {

struct ArenaOwner {
    memory::Pool* pool;
    Arena* arena;
    explicit ArenaOwner(size_t size = 64 << 20, bool strict = false)
        : pool(new memory::Pool({size, 1 << 20, 64, strict})), arena(pool->open_arena()) {}
    ~ArenaOwner() {
        arena->close();
        pool->release();
    }
    Arena& operator*() const { return *arena; }
};

std::string envelope(const std::string& body, int stream = 1, uint8_t opcode = kResult,
                     uint8_t version = 0x84) {
    std::string text{static_cast<char>(version), 0, static_cast<char>(stream >> 8), static_cast<char>(stream),
                     static_cast<char>(opcode)};
    for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(body.size() >> shift));
    return text + body;
}

const uint8_t* bytes(const std::string& text) { return reinterpret_cast<const uint8_t*>(text.data()); }

std::string body_of(const Frame& frame) {
    return std::string(reinterpret_cast<const char*>(frame.body), frame.length);
}

std::string noise(std::mt19937& random, size_t size) {
    std::string text(size, '\0');
    for (char& c : text) c = static_cast<char>(random());
    return text;
}

// Feeds *stream* in random pieces, each in a block of its own that goes away at once, or without an owner.
template <class Feed>
Fault feed_in_pieces(const std::string& stream, std::mt19937& random, size_t largest, Arena& arena,
                     Feed feed) {
    size_t at = 0;
    while (at < stream.size()) {
        const size_t size = std::min<size_t>(1 + random() % largest, stream.size() - at);
        BlockRef block = BlockRef::adopt(arena.allocate(size));
        std::memcpy(block->data(), stream.data() + at, size);
        Fault fault = feed(block->data(), size, random() % 4 ? block.get() : nullptr);
        if (fault) return fault;
        at += size;
    }
    return {};
}

}  // namespace

TEST(frames_split_anywhere) {
    ArenaOwner arena;
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
        std::vector<std::string> bodies;
        std::string stream;
        for (int i = 0; i < 40; ++i) {
            const size_t size = random() % 5 ? random() % 300 : random() % 100000;
            bodies.push_back(noise(random, size));
            stream += envelope(bodies.back(), i);
        }
        Splitter splitter;
        std::vector<Frame> frames;
        const size_t largest = round % 3 == 0 ? 7 : round % 3 == 1 ? 1500 : 200000;
        const Fault fault = feed_in_pieces(stream, random, largest, *arena,
                                           [&](const uint8_t* data, size_t size, Block* owner) {
                                               return splitter.feed(data, size, owner, *arena, frames);
                                           });
        CHECK(!fault && splitter.idle() && frames.size() == bodies.size());
        for (size_t i = 0; i < frames.size(); ++i) {
            CHECK(body_of(frames[i]) == bodies[i]);
            CHECK(frames[i].stream == static_cast<int16_t>(i) && frames[i].version == 4);
        }
    }
}

TEST(large_frames_stay_in_place_and_small_ones_do_not_pin) {
    ArenaOwner arena;
    const std::string stream =
        envelope(std::string(100, 's')) + envelope(std::string(Splitter::kInPlace, 'l'));
    BlockRef slab = BlockRef::adopt((*arena).allocate(stream.size()));
    std::memcpy(slab->data(), stream.data(), stream.size());
    Splitter splitter;
    std::vector<Frame> frames;
    CHECK(!splitter.feed(slab->data(), stream.size(), slab.get(), *arena, frames));
    CHECK(frames.size() == 2);
    CHECK(frames[0].block.get() != slab.get() && frames[1].block.get() == slab.get());
    CHECK(frames[1].body > slab->data() && frames[1].body < slab->data() + stream.size());
}

TEST(the_rest_of_a_large_frame_is_received_where_it_stays) {
    ArenaOwner arena;
    std::mt19937 random(2);
    const std::string body = noise(random, 1 << 20);
    const std::string stream = envelope(body);
    Splitter splitter;
    std::vector<Frame> frames;
    size_t at = 30000;
    CHECK(!splitter.feed(bytes(stream), at, nullptr, *arena, frames));
    size_t room = 0;
    while (uint8_t* direct = splitter.direct(&room)) {
        const size_t part = std::min<size_t>(room, 77777);
        std::memcpy(direct, stream.data() + at, part);
        splitter.direct_filled(part, frames);
        at += part;
    }
    CHECK(!splitter.feed(bytes(stream) + at, stream.size() - at, nullptr, *arena, frames));
    CHECK(frames.size() == 1 && body_of(frames[0]) == body);
}

TEST(malformed_headers_are_faults) {
    ArenaOwner arena;
    const auto fault_of = [&](const std::string& stream, EnvelopeRules rules = {}) {
        Splitter splitter;
        splitter.rules = rules;
        std::vector<Frame> frames;
        const Fault fault = splitter.feed(bytes(stream), stream.size(), nullptr, *arena, frames);
        return fault ? fault.message : std::string();
    };
    const auto has = [](const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    };
    CHECK(fault_of(envelope("x")).empty());
    CHECK(has(fault_of(envelope("x", 1, kResult, 0x04)), "not a response header"));
    CHECK(has(fault_of(std::string("\x15\x03\x03\x00\x02\x02\x28\x00\x00", 9)), "TLS"));
    CHECK(has(fault_of("HTTP/1.1 400"), "HTTP"));
    CHECK(has(fault_of(envelope("x", 1, 0x07)), "opcode of a response: 0x07"));
    EnvelopeRules known;
    known.version = 4;
    CHECK(fault_of(envelope("x", 1, 0x07, 0x84), known).empty());
    CHECK(has(fault_of(envelope("x", 1, 0x42)), "opcode of a response: 0x42"));
    CHECK(has(fault_of(envelope("x", 1, kEvent)), "stream 1"));
    CHECK(has(fault_of(envelope("x", -1, kResult)), "stream -1"));
    CHECK(fault_of(envelope("x", -1, kEvent)).empty());
    CHECK(has(fault_of(std::string("\x84\x00\x00\x01\x08\xff\xff\xff\xff", 9)), "negative length -1"));
    EnvelopeRules small;
    small.max_frame = 1000;
    CHECK(fault_of(envelope(std::string(1000, 'x')), small).empty());
    CHECK(fault_of(envelope(std::string(1001, 'x')), small).empty());
    EnvelopeRules four;
    four.version = 4;
    CHECK(has(fault_of(envelope("x", 1, kResult, 0x85), four), "version 5"));
}

// In one piece or in many, as segments or not: the frame is there without a body, and the next one is whole.
TEST(bodies_beyond_the_limit_are_skipped) {
    ArenaOwner arena;
    std::mt19937 random(11);
    EnvelopeRules rules;
    rules.max_frame = 100 << 10;
    for (int round = 0; round < 60; ++round) {
        std::string stream;
        std::vector<size_t> sizes;
        for (int i = 0; i < 6; ++i) {
            sizes.push_back(random() % 2 ? random() % 300 : random() % (400 << 10));
            stream += envelope(noise(random, sizes.back()), i, kResult, 0x85);
        }
        if (round % 2) {
            Buffer wire;
            encode_segments(bytes(stream), stream.size(), wire);
            stream.assign(wire.begin(), wire.end());
        }
        Splitter splitter;
        splitter.rules = rules;
        Buffer scratch;
        SegmentDecoder decoder(nullptr);
        std::vector<Frame> frames;
        feed_in_pieces(stream, random, 1 + random() % 100000, *arena, [&](const uint8_t* data, size_t size, Block* owner) {
            return round % 2 ? decoder.feed(data, size, owner, *arena, splitter, frames, scratch, nullptr)
                             : splitter.feed(data, size, owner, *arena, frames);
        });
        CHECK(frames.size() == sizes.size() && splitter.idle());
        for (size_t i = 0; i < frames.size(); ++i) {
            const bool skipped = sizes[i] > rules.max_frame;
            CHECK(frames[i].skipped == (skipped ? sizes[i] : 0));
            CHECK(frames[i].length == (skipped ? 0 : sizes[i]) && frames[i].stream == static_cast<int16_t>(i));
        }
    }
}

// An announced length takes memory for at most twice the received bytes, and a first part.
TEST(memory_grows_as_bytes_arrive) {
    for (const bool full : {false, true}) {
        ArenaOwner arena(full ? 1 << 20 : 200 << 20);
        std::mt19937 random(12);
        std::string body(40 << 20, '\0');
        for (size_t i = 0; i < body.size(); i += 1000) body[i] = static_cast<char>(random());
        const std::string stream = envelope(body);
        Splitter splitter;
        splitter.rules.max_frame = kLongestBody;
        std::vector<Frame> frames;
        size_t at = 0;
        while (at < stream.size()) {
            size_t room = 0;
            size_t part = std::min<size_t>(1 + random() % 300000, stream.size() - at);
            if (uint8_t* direct = splitter.direct(&room)) {
                part = std::min(part, room);
                std::memcpy(direct, stream.data() + at, part);
                splitter.direct_filled(part, frames);
            } else {
                CHECK(!splitter.feed(bytes(stream) + at, part, nullptr, *arena, frames));
            }
            at += part;
            const auto held = static_cast<size_t>((*arena).usage().bytes);
            CHECK(held <= std::max<size_t>(Arena::kAtOnce, 2 * at) + (1 << 20));
        }
        CHECK(frames.size() == 1 && body_of(frames[0]) == body);
        frames.clear();
        CHECK((*arena).usage().bytes == 0);
    }
}

TEST(frames_before_a_fault_are_delivered) {
    ArenaOwner arena;
    const std::string stream = envelope("one") + envelope("two") + "garbage!!";
    Splitter splitter;
    std::vector<Frame> frames;
    CHECK(splitter.feed(bytes(stream), stream.size(), nullptr, *arena, frames));
    CHECK(frames.size() == 2 && body_of(frames[1]) == "two");
}

TEST(hot_answers) {
    const auto hot = [](const std::string& body, uint8_t opcode, uint8_t flags, Peek peek = Peek::Nothing,
                        uint8_t version = 4) {
        Frame frame;
        frame.version = version;
        frame.flags = flags;
        frame.opcode = opcode;
        frame.length = static_cast<uint32_t>(body.size());
        frame.body = bytes(body);
        return is_hot(frame, peek);
    };
    const std::string rows("\0\0\0\2rest", 8), schema("\0\0\0\5rest", 8);
    CHECK(hot(rows, kResult, 0) && hot(std::string("\0\0\0\1", 4), kResult, 0));
    CHECK(!hot(schema, kResult, 0) && !hot(rows, kError, 0) && !hot(std::string("\0\0\0", 3), kResult, 0));
    CHECK(!hot(rows, kResult, kTracing) && !hot(rows, kResult, kPayload) && !hot(rows, kResult, kWarning));
    CHECK(!hot(rows, kResult, kCompressed) && hot(rows, kResult, kCompressed, Peek::Nothing, 5));
    const std::string lz4 = std::string("\0\0\0\10\200", 5) + rows;  // 8 literals
    CHECK(hot(lz4, kResult, kCompressed, Peek::Lz4) && !hot(lz4, kResult, kCompressed, Peek::Snappy));
    CHECK(!hot(std::string("\0\0\0\10\200", 5) + schema, kResult, kCompressed, Peek::Lz4));
    const std::string snappy = std::string("\10\34", 2) + rows;  // a literal of 8
    CHECK(hot(snappy, kResult, kCompressed, Peek::Snappy));
    std::mt19937 random(3);
    for (int i = 0; i < 20000; ++i) {  // any input: no reading beyond the end
        const std::string text = noise(random, random() % 12);
        hot(text, kResult, kCompressed, Peek::Lz4);
        hot(text, kResult, kCompressed, Peek::Snappy);
        hot(text, kResult, 0);
    }
}

TEST(checksums) {
    CHECK(crc24(0, 0) == 0x875060);
    // Bit by bit, as the text of the protocol defines it.
    const auto slow = [](uint64_t value, int length) {
        uint32_t crc = 0x875060;
        for (; length > 0; --length, value >>= 8) {
            crc ^= static_cast<uint32_t>(value & 0xff) << 16;
            for (int bit = 0; bit < 8; ++bit) {
                crc <<= 1;
                if (crc & 0x1000000) crc ^= 0x1974F0B;
            }
        }
        return crc;
    };
    std::mt19937_64 random(4);
    for (int i = 0; i < 1000; ++i) {
        const uint64_t value = random();
        for (int length : {3, 5}) CHECK(crc24(value, length) == slow(value, length));
    }
    const auto slow32 = [](const std::string& text) {
        uint32_t crc = 0xFFFFFFFF;
        for (const char c : "\xFA\x2D\x55\xCA" + text) {
            crc ^= static_cast<uint8_t>(c);
            for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0xEDB88320 : crc >> 1;
        }
        return ~crc;
    };
    std::mt19937 bytes_random(5);
    for (size_t size = 0; size < 600; ++size) {
        const std::string text = noise(bytes_random, size);
        CHECK(segment_crc32(bytes(text), size) == slow32(text));
    }
    // In pieces, which begin anywhere in memory and are as short or as long as they are.
    for (int round = 0; round < 200; ++round) {
        const std::string text = noise(bytes_random, bytes_random() % 5000);
        SegmentCrc32 crc;
        for (size_t at = 0, piece; at < text.size(); at += piece) {
            piece = std::min<size_t>(text.size() - at, 1 + bytes_random() % (round % 2 ? 40 : 1000));
            crc.add(bytes(text) + at, piece);
        }
        CHECK(crc.value() == slow32(text));
    }
}

TEST(segments_round_trip) {
    ArenaOwner arena;
    std::mt19937 random(6);
    for (int round = 0; round < 40; ++round) {
        std::vector<std::string> bodies;
        std::string envelopes;
        for (int i = 0; i < 30; ++i) {
            const size_t size = random() % 6 ? random() % 2000 : random() % 400000;
            bodies.push_back(noise(random, size));
            envelopes += envelope(bodies.back(), i, kResult, 0x85);
        }
        Buffer wire;
        encode_segments(bytes(envelopes), envelopes.size(), wire);
        const std::string stream(wire.begin(), wire.end());
        Buffer scratch;
        SegmentDecoder decoder(nullptr);
        Splitter splitter;
        std::vector<Frame> frames;
        const Fault fault = feed_in_pieces(stream, random, round % 2 ? 11 : 300000, *arena,
                                           [&](const uint8_t* data, size_t size, Block* owner) {
                                               return decoder.feed(data, size, owner, *arena, splitter,
                                                                   frames, scratch, nullptr);
                                           });
        CHECK(!fault && frames.size() == bodies.size());
        for (size_t i = 0; i < frames.size(); ++i) CHECK(body_of(frames[i]) == bodies[i]);
    }
}

TEST(small_envelopes_share_a_segment) {
    std::string envelopes;
    for (int i = 0; i < 10; ++i) envelopes += envelope(std::string(100, 'x'), i, kResult, 0x85);
    Buffer wire;
    encode_segments(bytes(envelopes), envelopes.size(), wire);
    CHECK(wire.size() == envelopes.size() + 10);
}

TEST(corrupted_segments_are_faults) {
    ArenaOwner arena;
    std::mt19937 random(7);
    const std::string envelopes =
        envelope(noise(random, 5000), 1, kResult, 0x85) + envelope("abc", 2, kResult, 0x85);
    Buffer wire;
    encode_segments(bytes(envelopes), envelopes.size(), wire);
    for (size_t i = 0; i < wire.size(); i += i < 20 ? 1 : 97) {
        std::string stream(wire.begin(), wire.end());
        stream[i] = static_cast<char>(stream[i] ^ (1 << random() % 8));
        Buffer scratch;
        SegmentDecoder decoder(nullptr);
        Splitter splitter;
        std::vector<Frame> frames;
        const Fault fault =
            feed_in_pieces(stream, random, 700, *arena, [&](const uint8_t* data, size_t size, Block* owner) {
                return decoder.feed(data, size, owner, *arena, splitter, frames, scratch, nullptr);
            });
        CHECK(fault.kind == Fault::Kind::Crc && frames.empty());
    }
}

// As a channel receives: where there is room for a body, right there, with a little more behind it.
struct Receiver {
    explicit Receiver(Arena& arena_) : arena(arena_) {}

    Arena& arena;
    SegmentDecoder decoder{nullptr};
    Splitter splitter;
    std::vector<Frame> frames;
    Buffer scratch;
    size_t direct = 0;

    Fault receive(const std::string& stream, size_t chunk) {
        for (size_t at = 0; at < stream.size();) {
            size_t room = 0;
            uint8_t* body = decoder.direct(splitter, &room);
            if (body) {
                room = std::min(room, stream.size() - at);
                std::memcpy(body, stream.data() + at, room);
                decoder.direct_filled(room, body, splitter);
                direct += room;
                at += room;
            }
            const size_t size = std::min(chunk, stream.size() - at);
            BlockRef block = BlockRef::adopt(arena.allocate(std::max<size_t>(size, 1)));
            std::memcpy(block->data(), stream.data() + at, size);
            Fault fault = decoder.feed(block->data(), size, block.get(), arena, splitter, frames, scratch, nullptr);
            if (fault) return fault;
            at += size;
        }
        return {};
    }
};

TEST(large_bodies_in_segments_are_received_where_they_stay) {
    ArenaOwner arena;
    std::mt19937 random(10);
    for (size_t chunk : {1u, 15u, 30u, 100u, 5000u, 70000u}) {
        std::vector<std::string> bodies;
        std::string envelopes;
        for (size_t size : {1u << 20, 300u, 140000u, 131062u, 131063u, 1u << 19}) {
            bodies.push_back(noise(random, size));
            envelopes += envelope(bodies.back(), 1, kResult, 0x85);
        }
        Buffer wire;
        encode_segments(bytes(envelopes), envelopes.size(), wire);
        Receiver receiver(*arena);
        CHECK(!receiver.receive(std::string(wire.begin(), wire.end()), chunk));
        CHECK(receiver.frames.size() == bodies.size());
        for (size_t i = 0; i < bodies.size(); ++i) CHECK(body_of(receiver.frames[i]) == bodies[i]);
        if (chunk <= 5000) CHECK(receiver.direct > envelopes.size() - 20 * (chunk + (16 << 10)));
    }
}

TEST(frames_of_a_segment_wait_for_its_checksum) {
    ArenaOwner arena;
    std::mt19937 random(11);
    std::string envelopes;
    for (int i = 0; i < 200; ++i) envelopes += envelope(std::string(300, 'x'), i, kResult, 0x85);
    Buffer wire;
    encode_segments(bytes(envelopes), envelopes.size(), wire);
    const std::string stream(wire.begin(), wire.end());
    {
        Receiver receiver(*arena);
        CHECK(!receiver.receive(stream.substr(0, stream.size() - 1), 7000));
        CHECK(receiver.frames.empty() && receiver.decoder.missing() == 1);
        CHECK(!receiver.receive(stream.substr(stream.size() - 1), 7000));
        CHECK(receiver.frames.size() == 200 && receiver.decoder.missing() == 0);
    }
    // A wrong byte in an envelope's header is reported as a checksum error, not as a bad header.
    for (size_t at : {size_t{6}, size_t{7}, size_t{12}, size_t{315 + 4}, stream.size() - 1}) {
        std::string wrong = stream;
        wrong[at] = static_cast<char>(wrong[at] ^ 0x7f);
        Receiver receiver(*arena);
        const Fault fault = receiver.receive(wrong, 7000);
        CHECK(fault.kind == Fault::Kind::Crc && receiver.frames.empty());
    }
    // Large ones, too, part of whose body lies where it stays when the checksum tells.
    const std::string large = envelope(noise(random, 300000), 1, kResult, 0x85);
    wire.clear();
    encode_segments(bytes(large), large.size(), wire);
    for (int round = 0; round < 30; ++round) {
        std::string wrong(wire.begin(), wire.end());
        const size_t at = 6 + random() % (wrong.size() - 6);
        wrong[at] = static_cast<char>(wrong[at] ^ 1);
        Receiver receiver(*arena);
        const Fault fault = receiver.receive(wrong, 100);
        CHECK(fault.kind == Fault::Kind::Crc && receiver.frames.empty());
    }
}

// Run lengths: (count, byte)*.
std::string run_lengths(const std::string& text) {
    std::string packed;
    for (size_t i = 0; i < text.size();) {
        size_t run = 1;
        while (i + run < text.size() && run < 255 && text[i + run] == text[i]) ++run;
        packed.push_back(static_cast<char>(run));
        packed.push_back(text[i]);
        i += run;
    }
    return packed;
}

Fault from_run_lengths(void*, const uint8_t* data, size_t size, uint8_t* plain, size_t plain_size) {
    for (size_t i = 0; i + 1 < size; i += 2) {
        if (data[i] > plain_size) return Fault::protocol("size");
        std::fill_n(plain, data[i], data[i + 1]);
        plain += data[i];
        plain_size -= data[i];
    }
    return plain_size == 0 ? Fault{} : Fault::protocol("size");
}

TEST(compressed_segments) {
    ArenaOwner arena;
    const std::string text = envelope(std::string(1000, 'z'), 3, kResult, 0x85);
    const std::string packed = run_lengths(text);
    Buffer wire;
    encode_compressed_segment(bytes(packed), packed.size(), text.size(), true, wire);
    encode_compressed_segment(bytes(text), text.size(), 0, true, wire);  // as it is
    std::mt19937 random(8);
    for (int round = 0; round < 10; ++round) {
        Buffer scratch;
        SegmentDecoder decoder(from_run_lengths);
        Splitter splitter;
        std::vector<Frame> frames;
        const Fault fault = feed_in_pieces(std::string(wire.begin(), wire.end()), random, 100, *arena,
                                           [&](const uint8_t* data, size_t size, Block* owner) {
                                               return decoder.feed(data, size, owner, *arena, splitter,
                                                                   frames, scratch, &decoder);
                                           });
        CHECK(!fault && frames.size() == 2);
        CHECK(body_of(frames[0]) == std::string(1000, 'z') && body_of(frames[1]) == body_of(frames[0]));
    }
}

// Bodies of any size and place: large ones stay in the block of their segment, and the middle of a body of several
// segments is decompressed where it stays.
TEST(large_compressed_segments) {
    std::mt19937 random(14);
    for (const bool strict : {false, true}) {
        ArenaOwner arena(4 << 20, strict);
        const std::vector<size_t> sizes{0, 100, 16000, 16384, 60000, 131000, 131062, 131063, 400000, 524284};
        for (const size_t size : sizes) {
            std::string body;
            while (body.size() < size) body += std::string(1 + random() % 300, static_cast<char>(random()));
            body.resize(size);
            const std::string stream = envelope("before", 1, kResult, 0x85) + envelope(body, 2, kResult, 0x85) +
                                       envelope("after", 3, kResult, 0x85);
            Buffer wire;
            for_each_payload(bytes(stream), stream.size(), [&](const uint8_t* payload, size_t length, bool whole) {
                const std::string packed = run_lengths(std::string(payload, payload + length));
                if (packed.size() < length) {
                    encode_compressed_segment(bytes(packed), packed.size(), length, whole, wire);
                } else {
                    encode_compressed_segment(payload, length, 0, whole, wire);
                }
            });
            Buffer scratch;
            SegmentDecoder decoder(from_run_lengths);
            Splitter splitter;
            std::vector<Frame> frames;
            const Fault fault =
                feed_in_pieces(std::string(wire.begin(), wire.end()), random, 50000, *arena,
                               [&](const uint8_t* data, size_t part, Block* owner) {
                                   return decoder.feed(data, part, owner, *arena, splitter, frames, scratch, &decoder);
                               });
            CHECK(!fault && frames.size() == 3 && splitter.idle());
            CHECK(body_of(frames[0]) == "before" && body_of(frames[1]) == body && body_of(frames[2]) == "after");
            const bool one = size + 2 * kHeaderSize + 15 < kMaxPayload && size >= Splitter::kInPlace;
            CHECK(!one || frames[1].body != frames[1].block->data());
            frames.clear();
            CHECK((*arena).usage().bytes == 0);
        }
    }
}

// A segment that cannot be decompressed, in the middle of a large body: a fault, and no frame.
TEST(a_damaged_segment_of_a_large_body) {
    ArenaOwner arena;
    const std::string stream = envelope(std::string(300000, 'x'), 1, kResult, 0x85);
    Buffer wire;
    size_t count = 0;
    for_each_payload(bytes(stream), stream.size(), [&](const uint8_t* payload, size_t length, bool whole) {
        const std::string packed = run_lengths(std::string(payload, payload + length));
        encode_compressed_segment(bytes(packed), packed.size() - (++count == 2 ? 2 : 0), length, whole, wire);
    });
    Buffer scratch;
    SegmentDecoder decoder(from_run_lengths);
    Splitter splitter;
    std::vector<Frame> frames;
    const Fault fault =
        decoder.feed(wire.data(), wire.size(), nullptr, *arena, splitter, frames, scratch, &decoder);
    CHECK(count == 3 && fault.kind == Fault::Kind::Protocol && frames.empty());
}

// Without a runtime it stops where there is something to decompress, whole or in pieces, and goes on with one.
TEST(compressed_segments_wait_for_the_runtime) {
    ArenaOwner arena;
    const std::string text = envelope("plain", 1, kResult, 0x85);
    Buffer wire;
    encode_compressed_segment(bytes(text), text.size(), 0, true, wire);
    const size_t plain_size = wire.size();
    encode_compressed_segment(bytes(text), text.size(), text.size(), true, wire);
    encode_compressed_segment(bytes(text), text.size(), 0, true, wire);
    const auto copy = [](void*, const uint8_t* data, size_t size, uint8_t* plain, size_t) -> Fault {
        std::copy_n(data, size, plain);
        return {};
    };
    for (size_t cut = 0; cut <= wire.size(); ++cut) {
        Buffer scratch;
        SegmentDecoder decoder(copy);
        Splitter splitter;
        std::vector<Frame> frames;
        size_t used = 0, taken = 0;
        for (const size_t end : {cut, wire.size()}) {
            CHECK(!decoder.feed(wire.data() + taken, end - taken, nullptr, *arena, splitter, frames, scratch, nullptr,
                                &used));
            taken += used;
            CHECK(taken <= end && (taken == end || frames.size() == 1));
        }
        CHECK(frames.size() == 1 && taken >= plain_size && (taken < wire.size() || decoder.ready()));
        CHECK(!decoder.feed(wire.data() + taken, wire.size() - taken, nullptr, *arena, splitter, frames, scratch,
                            &decoder, &used));
        CHECK(taken + used == wire.size() && frames.size() == 3 && !decoder.ready());
    }
}

TEST(envelopes_keep_to_self_contained_segments) {
    ArenaOwner arena;
    const std::string half = envelope(std::string(100, 'x'), 1, kResult, 0x85).substr(0, 50);
    Buffer wire;
    encode_compressed_segment(bytes(half), half.size(), 0, true, wire);
    Buffer scratch;
    SegmentDecoder decoder([](void*, const uint8_t*, size_t, uint8_t*, size_t) -> Fault { return {}; });
    Splitter splitter;
    std::vector<Frame> frames;
    const Fault fault =
        decoder.feed(wire.data(), wire.size(), nullptr, *arena, splitter, frames, scratch, nullptr);
    CHECK(fault.kind == Fault::Kind::Protocol);
}

// Mutated and random streams: any outcome is fine, as long as it stays inside the bytes.
TEST(mutated_and_random_streams_are_read_in_bounds) {
    ArenaOwner arena;
    std::mt19937 random(9);
    EnvelopeRules rules;
    rules.max_frame = 1 << 20;
    for (int round = 0; round < 4000; ++round) {
        std::string stream;
        for (int i = 0; i < 3; ++i) stream += envelope(noise(random, random() % 200), i, kResult, 0x85);
        if (round % 2) {
            Buffer wire;
            encode_segments(bytes(stream), stream.size(), wire);
            stream.assign(wire.begin(), wire.end());
        }
        for (int i = 0; i < 3 && round % 5; ++i)
            stream[random() % stream.size()] = static_cast<char>(random());
        Splitter splitter;
        splitter.rules = rules;
        Buffer scratch;
        SegmentDecoder decoder(nullptr);
        std::vector<Frame> frames;
        feed_in_pieces(stream, random, 100, *arena, [&](const uint8_t* data, size_t size, Block* owner) {
            return round % 2 ? decoder.feed(data, size, owner, *arena, splitter, frames, scratch, nullptr)
                             : splitter.feed(data, size, owner, *arena, frames);
        });
        size_t sum = 0;
        for (const Frame& frame : frames) {
            for (size_t i = 0; i < frame.length; ++i) sum += frame.body[i];
        }
        CHECK(sum < (size_t{1} << 40));
    }
}

}  // namespace frames_test
