// Envelopes of the native protocol (spec section 2.4): a header of nine bytes and a body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "memory/frames.h"
#include "transport/refs.h"

namespace fastcql {

using Arena = memory::FrameArena;
using Block = memory::FrameBlock;
using BlockRef = Ref<Block>;

constexpr size_t kHeaderSize = 9;
constexpr uint8_t kResponseBit = 0x80;
constexpr uint32_t kLongestBody = 0x7fffffff;      // a length is a signed number
constexpr uint32_t kDefaultMaxFrame = 256u << 20;  // before STARTUP was answered

enum Opcode : uint8_t {
    kError = 0x00,
    kReady = 0x02,
    kAuthenticate = 0x03,
    kOptions = 0x05,
    kSupported = 0x06,
    kResult = 0x08,
    kEvent = 0x0C,
    kAuthChallenge = 0x0E,
    kAuthSuccess = 0x10,
};

enum EnvelopeFlag : uint8_t { kCompressed = 0x01, kTracing = 0x02, kPayload = 0x04, kWarning = 0x08 };

struct Header {
    uint8_t version;  // with the direction bit
    uint8_t flags;
    int16_t stream;
    uint8_t opcode;
    int32_t length;

    static Header parse(const uint8_t* p) {
        return {p[0], p[1], static_cast<int16_t>(load16(p + 2)), p[4], static_cast<int32_t>(load32(p + 5))};
    }
};

// One response. The body lies in *block*, which the frame keeps alive. A *skipped* body is missing, and its length is
// 0.
struct Frame {
    uint8_t version = 0;
    uint8_t flags = 0;
    uint8_t opcode = 0;
    int16_t stream = 0;
    uint32_t length = 0;
    const uint8_t* body = nullptr;
    BlockRef block;
    uint32_t skipped = 0;  // length announced by the server
};

// An error in received bytes; the channel closes with it.
struct Fault {
    enum class Kind : uint8_t { None, Protocol, Crc, Memory };
    Kind kind = Kind::None;
    std::string message;

    explicit operator bool() const { return kind != Kind::None; }
    static Fault protocol(std::string text) { return {Kind::Protocol, std::move(text)}; }
    static Fault crc(std::string text) { return {Kind::Crc, std::move(text)}; }
    static Fault memory(size_t size, const Arena& arena) {
        std::string text = "no memory for a frame of " + std::to_string(size) + " bytes";
        if (arena.strict) text += "; the strict memory pool has " + std::to_string(arena.max_bytes);
        return {Kind::Memory, std::move(text)};
    }
};

// The way to read the result kind of a compressed v3/v4 body.
enum class Peek : uint8_t { Nothing, Lz4, Snappy };

// True for responses that concern only the caller: VOID or ROWS without tracing id, payload or warnings. Every other
// response changes state (keyspace, schema, prepared statements, routing) or is an error, and is handled at once.
bool is_hot(const Frame& frame, Peek peek) noexcept;

// The server's message in an ERROR frame (spec 9); "no message" if none can be read.
std::string error_text(const Frame& frame);

// Rules for response headers on one connection.
struct EnvelopeRules {
    uint8_t version = 0;  // 0 while it is negotiated: any
    uint32_t max_frame = kDefaultMaxFrame;  // longer bodies are skipped

    Fault check(const Header& header) const;
};

// Splits a byte stream into envelopes. Large bodies that lie in one chunk are referenced in place, small ones copied so
// that they never pin a slab, straddling ones assembled in a block of their own. At most FrameArena::kAtOnce bytes of
// it are allocated on a server's announcement; it grows as bytes arrive.
//
// A body that exceeds the limit or the memory is skipped: its frame is emitted at once, without it, and its bytes are
// dropped as they arrive. The next envelope begins behind it.
//
// A strict pool may have no memory for a straddling body: then the splitter waits. It keeps aside bytes that it is fed
// meanwhile, which have been received already; nothing more should be received until retry_allocation() got the memory.
class Splitter {
public:
    // Bodies from this size on stay in the slab.
    static constexpr size_t kInPlace = 16 << 10;

    EnvelopeRules rules;

    // Appends the frames that *data* completes to *frames*; on a fault these stay valid and come before it. *owner*
    // holds the bytes, or is null if they are gone after the call. *more* bytes follow in any case: a body that ends in
    // them does not wait for memory.
    Fault feed(const uint8_t* data, size_t size, Block* owner, Arena& arena, std::vector<Frame>& frames,
               size_t more = 0);

    // Room for the rest of a large body, so that it can be received where it stays; null if there is none.
    uint8_t* direct(size_t* size);
    // Reports that *size* bytes were received there.
    void direct_filled(size_t size, std::vector<Frame>& frames);

    // The same for any body, for use when there is no other memory to receive into.
    uint8_t* direct_part(size_t* size);

    // True between envelopes.
    bool idle() const { return head_size_ == 0 && !partial_.block && !waiting_ && skip_ == 0; }
    // True if it has memory for the body in progress.
    bool holds() const { return static_cast<bool>(partial_.block); }
    // True if it needs memory for wanted() bytes to continue.
    bool waiting() const { return waiting_; }
    size_t wanted() const { return partial_.length; }
    Fault retry_allocation(Arena& arena);

private:
    void open_partial(const Header& header, Arena& arena, bool complete, std::vector<Frame>& frames);
    void make_room(Arena& arena, std::vector<Frame>& frames);
    void skip(const Frame& head, size_t rest, std::vector<Frame>& frames);
    size_t room() const;
    void move_buffered();
    Fault feed_buffered(const uint8_t* data, size_t size, Arena& arena, std::vector<Frame>& frames);
    void close_partial(std::vector<Frame>& frames);

    uint8_t head_[kHeaderSize];
    uint8_t head_size_ = 0;
    Frame partial_;  // its block is set while a body is being assembled
    size_t filled_ = 0;
    size_t skip_ = 0;  // bytes of a skipped body that are still to come
    bool waiting_ = false;
    std::vector<uint8_t> buffered_;  // the body's bytes so far, while waiting
};

}  // namespace fastcql
