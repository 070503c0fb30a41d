#include "routing/tablets_payload.h"

#include <cstring>

#include "base/bytes.h"
#include "routing/tablets_chunk.h"

namespace fastcql {

namespace {

// Reads length-prefixed values from the remaining bytes.
class Reader {
public:
    Reader(const uint8_t* data, size_t size) : at_(data), left_(size) {}

    bool empty() const { return left_ == 0; }
    bool number(int32_t& value) {
        if (left_ < 4) return false;
        value = load_i32(at_);
        skip(4);
        return true;
    }
    // The next value; a null one has no bytes.
    bool value(const uint8_t*& data, size_t& size) {
        int32_t length = 0;
        if (!number(length)) return false;
        size = length < 0 ? 0 : static_cast<size_t>(length);
        if (size > left_) return false;
        data = at_;
        skip(size);
        return true;
    }
    bool fixed(const uint8_t*& data, size_t wanted) {
        size_t size = 0;
        return value(data, size) && size == wanted;
    }

private:
    void skip(size_t size) {
        at_ += size;
        left_ -= size;
    }
    const uint8_t* at_;
    size_t left_;
};

const char* parse_replicas(Reader list, std::vector<PayloadReplica>& replicas) {
    int32_t count = 0;
    if (!list.number(count) || count < 0) return "the number of replicas is cut off or negative";
    if (static_cast<size_t>(count) > kMaxReplicas) return "too many replicas";
    replicas.reserve(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) {
        const uint8_t *data = nullptr, *host = nullptr, *shard = nullptr;
        size_t size = 0;
        if (!list.value(data, size)) return "a replica is cut off";
        Reader replica(data, size);
        if (!replica.fixed(host, 16)) return "the host id of a replica is not a uuid";
        if (!replica.fixed(shard, 4)) return "the shard of a replica is not an int";
        if (!replica.empty()) return "a replica has more than host id and shard";
        const int32_t number = load_i32(shard);
        if (number < 0 || number > UINT16_MAX) return "the shard of a replica is out of range";
        PayloadReplica& parsed = replicas.emplace_back();
        std::memcpy(parsed.host.data(), host, 16);
        parsed.shard = static_cast<uint16_t>(number);
    }
    return list.empty() ? nullptr : "extra bytes behind the last replica";
}

}  // namespace

const char* parse_tablet(const uint8_t* data, size_t size, TabletPayload& parsed) {
    Reader tuple(data, size);
    const uint8_t *first = nullptr, *last = nullptr, *list = nullptr, *version = nullptr;
    size_t list_size = 0;
    if (!tuple.fixed(first, 8)) return "the first token is not a bigint";
    if (!tuple.fixed(last, 8)) return "the last token is not a bigint";
    if (!tuple.value(list, list_size)) return "the list of replicas is cut off";
    parsed.first = load_i64(first);
    parsed.last = load_i64(last);
    if (!tuple.empty()) {
        if (!tuple.fixed(version, 8)) return "the version is not a bigint";
        if (!tuple.empty()) return "extra bytes behind the version";
        parsed.version = load_i64(version);
        parsed.has_version = true;
    }
    return list_size == 0 ? nullptr : parse_replicas(Reader(list, list_size), parsed.replicas);
}

}  // namespace fastcql
