// Small helpers for the Cython parts.
#pragma once

#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "transport/channel.h"
#include "transport/reactor.h"

namespace fastcql {

inline void append(Buffer& buffer, const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    buffer.insert(buffer.end(), bytes, bytes + size);
}

inline void add_option(std::vector<SocketOption>& options, int level, int name, const void* value,
                       size_t size) {
    SocketOption& option = options.emplace_back();
    option.level = level;
    option.name = name;
    append(option.value, value, size);
}

inline Reason* runtime_reason(const std::string& message, void* object, void (*drop)(void*)) {
    auto* reason = new Reason(Reason::Kind::Runtime, message);
    if (object) reason->set_object(object, drop);
    return reason;
}

inline Frame make_frame(uint8_t version, uint8_t flags, int16_t stream, uint8_t opcode, const void* body,
                        size_t size) {
    Frame frame;
    frame.block = BlockRef::adopt(Block::make(size));
    if (!frame.block) throw std::bad_alloc();
    std::memcpy(frame.block->data(), body, size);
    frame.version = version;
    frame.flags = flags;
    frame.stream = stream;
    frame.opcode = opcode;
    frame.length = static_cast<uint32_t>(size);
    frame.body = frame.block->data();
    return frame;
}

inline Failure* make_failure(int kind, bool sent, const std::string& message, Reason* reason) {
    return new Failure{static_cast<FailureKind>(kind), sent, message, Ref<Reason>::adopt(reason)};
}

inline std::vector<std::pair<std::string, int64_t>> counter_values() {
    return {
        {"reactors", counters.reactors},     {"channels", counters.channels},
        {"timers", counters.timers},         {"completion_queues", counters.completion_queues},
#ifdef CQL_DEBUG
        {"operations", counters.operations}, {"frames", counters.frames},
        {"requests", counters.requests},
#endif
    };
}

inline void count_frame(int delta) noexcept {
    static_cast<void>(delta);
    FASTCQL_COUNT(frames, delta);
}

}  // namespace fastcql
