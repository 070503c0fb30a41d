// What of this extension exists in the process, for tests: columns outlive sessions, so nothing else tells.
#pragma once

#include <atomic>
#include <cstdint>

namespace fastcql::columns {

struct Counters {
    std::atomic<int64_t> plans{0}, batches{0}, blocks{0}, arrays{0}, schemas{0}, streams{0};
    std::atomic<int64_t> rows{0}, loans{0};  // arrays of others that are read; arrays over memory of others
};

inline Counters& counters() noexcept {
    static Counters all;
    return all;
}

}  // namespace fastcql::columns
