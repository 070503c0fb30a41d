// Recorded answers, and what requests are looked up by. See responder.cpp for the form of a recording.
#pragma once

#include <arpa/inet.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

constexpr size_t kHeader = 9;
constexpr uint8_t kVersion = 4;
constexpr uint8_t kErrorOpcode = 0x00;
constexpr int32_t kProtocolError = 0x000A, kInvalid = 0x2200;

struct Answer {
    uint8_t opcode;
    uint8_t flags;
    std::string body;
};

inline uint32_t big32(const char* p) {
    uint32_t value;
    std::memcpy(&value, p, 4);
    return ntohl(value);
}

inline uint16_t big16(const char* p) {
    uint16_t value;
    std::memcpy(&value, p, 2);
    return ntohs(value);
}

inline Answer error(int32_t code, const std::string& text) {
    std::string body;
    for (int shift = 24; shift >= 0; shift -= 8) body.push_back(static_cast<char>(code >> shift));
    body.push_back(static_cast<char>(text.size() >> 8));
    body.push_back(static_cast<char>(text.size()));
    return {kErrorOpcode, 0, body + text};
}

// The word after FROM, or nothing.
inline std::string_view table_of(std::string_view query) {
    size_t at = query.find("FROM ");
    if (at == std::string_view::npos) return {};
    at += 5;
    return query.substr(at, query.find_first_of(" ;", at) - at);
}

// What follows the text in the key of a query for a further page: a zero byte and the paging state.
inline std::string_view page_of(std::string_view key) {
    const size_t at = key.find('\0');
    return at == std::string_view::npos ? std::string_view() : key.substr(at);
}

class Recording {
public:
    bool load(const char* path) {
        std::ifstream file(path, std::ios::binary);
        const std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        size_t at = 0;
        const auto sized = [&data, &at](std::string* out) {
            uint32_t size;
            if (data.size() - at < sizeof size) return false;
            std::memcpy(&size, data.data() + at, sizeof size);
            at += sizeof size;
            if (data.size() - at < size) return false;
            out->assign(data, at, size);
            at += size;
            return true;
        };
        while (at < data.size()) {
            std::string key;
            Answer answer{};
            if (!sized(&key) || data.size() - at < 2) return false;
            answer.opcode = static_cast<uint8_t>(data[at++]);
            answer.flags = static_cast<uint8_t>(data[at++]);
            if (!sized(&answer.body)) return false;
            answers_.emplace(std::move(key), std::move(answer));
        }
        for (const auto& [key, answer] : answers_) {
            if (key[0] == 'Q') tables_.emplace(alike_of(key), &answer);
        }
        return !answers_.empty();
    }

    size_t asked() const { return asked_; }

    const Answer& find(const std::string& key) {
        ++asked_;
        const auto found = answers_.find(key);
        if (found != answers_.end()) return found->second;
        if (key[0] == 'Q') {
            const auto alike = tables_.find(alike_of(key));
            if (alike != tables_.end() && alike->first[0] != '\0') return *alike->second;
        }
        if (key[0] == 'X') {  // with metadata as good as without
            std::string other = key;
            other[1] = static_cast<char>('0' + '1' - other[1]);
            const auto alike = answers_.find(other);
            if (alike != answers_.end()) return alike->second;
        }
        std::fprintf(stderr, "not recorded: %.200s\n", key.c_str());
        return answers_.emplace(key, error(kInvalid, "not recorded")).first->second;
    }

private:
    // Table and page of the key of a query.
    static std::string alike_of(std::string_view key) {
        return std::string(table_of(key.substr(1, key.find('\0') - 1))).append(1, '\0').append(page_of(key));
    }

    std::unordered_map<std::string, Answer> answers_;
    std::unordered_map<std::string, const Answer*> tables_;
    size_t asked_ = 0;
};

// A zero byte and the paging state of a QUERY without values, of which consistency and flags begin at *p*; or nothing.
inline std::string paging_of(const char* p, size_t size, uint8_t version) {
    const size_t flags = version > kVersion ? 6 : 3;
    if (size < flags || (p[flags - 1] & 0x09) != 0x08) return {};
    const size_t at = flags + (p[flags - 1] & 0x04 ? 4 : 0);
    if (size < at + 4 || size - at - 4 < big32(p + at)) return {};
    return std::string(1, '\0').append(p + at + 4, big32(p + at));
}

// What a request is looked up by; *size* was checked against the header.
inline std::string key_of(uint8_t opcode, const char* body, size_t size, uint8_t version = kVersion) {
    switch (opcode) {
        case 0x05:
            return "O";
        case 0x01:
            return "S";
        case 0x0B:
            return "R";
        case 0x07:
        case 0x09: {
            if (size < 4 || size - 4 < big32(body)) return "?";
            const std::string key = std::string(1, opcode == 0x07 ? 'Q' : 'P').append(body + 4, big32(body));
            return opcode == 0x07 ? key + paging_of(body + key.size() + 3, size - key.size() - 3, version) : key;
        }
        case 0x0A: {
            if (size < 2) return "?";
            const size_t id = big16(body);
            size_t flags = 2 + id + 2;
            if (version > kVersion) {  // an id of the metadata comes before, and four bytes of flags
                if (size < 2 + id + 2) return "?";
                flags += 2 + big16(body + 2 + id) + 3;
            }
            if (size <= flags) return "?";
            const bool skip_metadata = (body[flags] & 0x02) != 0;
            return std::string(skip_metadata ? "X1" : "X0").append(body + 2, id);
        }
        case 0x0D:
            return "B";
        default:
            return "?";
    }
}

// What a client of a newer protocol is told, so that it steps down.
inline Answer refusal(uint8_t version, uint8_t newest = kVersion) {
    const std::string versions = newest > kVersion ? "3/v3, 4/v4, 5/v5" : "3/v3, 4/v4";
    return error(kProtocolError, "Invalid or unsupported protocol version (" + std::to_string(version) +
                                     "); supported versions are (" + versions + ")");
}

// In protocol 5 what was prepared has an id of its result's metadata, too: here it is that of the statement.
inline Answer with_metadata_id(const Answer& answer) {
    constexpr size_t kId = 4;
    if (answer.opcode != 0x08 || answer.body.size() < kId + 2 || big32(answer.body.data()) != 4) return answer;
    Answer made = answer;
    const std::string id = answer.body.substr(kId, 2 + big16(answer.body.data() + kId));
    made.body.insert(kId + id.size(), id);
    return made;
}

// ANSWER as the answer to the request that REQUEST begins, at the end of OUT.
inline void append(std::string& out, const char* request, const Answer& answer, uint8_t version = kVersion) {
    char header[kHeader] = {static_cast<char>(0x80 | version), static_cast<char>(answer.flags), request[2], request[3],
                            static_cast<char>(answer.opcode)};
    const uint32_t length = htonl(static_cast<uint32_t>(answer.body.size()));
    std::memcpy(header + 5, &length, 4);
    out.append(header, kHeader);
    out.append(answer.body);
}
