// Counts of this extension's objects in the process, for tests: columns outlive sessions, so no other counter has them.
#pragma once

#include <atomic>
#include <cstdint>

namespace fastcql::columns {

struct Counters {
    std::atomic<int64_t> plans{0}, batches{0}, blocks{0}, arrays{0}, schemas{0}, streams{0};
    std::atomic<int64_t> rows{0}, loans{0};  // input arrays being read; arrays over foreign memory
};

inline Counters& counters() noexcept {
    static Counters all;
    return all;
}

}  // namespace fastcql::columns
