// The tablets of all tables, and tablets as ScyllaDB servers describe them.
//
// Servers describe a tablet in the values of the custom payload keys tablets-routing-v1,
// tuple<bigint, bigint, list<tuple<uuid, int>>>, and tablets-routing-v2, which has the version as a fourth bigint.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/epochs.h"
#include "base/threads.h"
#include "routing/tablets.h"

namespace fastcql {

using HostId = std::array<uint8_t, 16>;

struct PayloadReplica {
    HostId host;
    uint16_t shard;
};

struct TabletPayload {
    int64_t first = 0;
    int64_t last = 0;
    int64_t version = 0;
    bool has_version = false;
    std::vector<PayloadReplica> replicas;
};

// Return null, or the error in the bytes. Throws bad_alloc.
const char* parse_tablet(const uint8_t* data, size_t size, TabletPayload& parsed);

// ---- the tablets of all tables, and their hosts
//
// Names and host ids are bytes here; no code here depends on Python.
//
// With the GIL, which every caller holds, each call is atomic for other threads: no call releases it or runs foreign
// code. Without the GIL readers take no lock: a look-up announces itself (base/epochs.h), and reads the names and the
// snapshot of a table by one atomic pointer each. Writers have a mutex, publish new names and snapshots by these
// pointers, and free the replaced ones when no reader has them. No call into Python is made with the mutex.

struct TableName {
    TableName() noexcept = default;
    TableName(std::string_view keyspace, std::string_view table) noexcept : keyspace(keyspace), table(table) {}
    TableName(const char* keyspace, size_t keyspace_size, const char* table, size_t table_size) noexcept
        : keyspace(keyspace, keyspace_size), table(table, table_size) {}

    std::string_view keyspace;
    std::string_view table;
};

// A table's current snapshot. Lives as long as it has tablets or holders.
class TabletTable {
public:
    const std::string keyspace;
    const std::string table;
    const uint64_t hash;

    bool find(int64_t token, FoundTablet& found) const noexcept {
        const Epochs::Reader reader;
        return find_announced(token, found);
    }
    // By a caller that has an Epochs::Reader.
    bool find_announced(int64_t token, FoundTablet& found) const noexcept {
        const Snapshot* current = current_.load(std::memory_order_seq_cst);
        return current && current->find(token, found);
    }
    bool has_tablets() const noexcept { return current_.load(std::memory_order_relaxed) != nullptr; }

private:
    friend class TabletMap;
    friend class TableNames;
    TabletTable(const TableName& name, uint64_t hash) : keyspace(name.keyspace), table(name.table), hash(hash) {}

    std::atomic<const Snapshot*> current_{nullptr};
    size_t holders_ = 0;  // guarded by the map's mutex
};

// Tables by name: a hash table, rebuilt when tables are added or removed.
class TableNames {
public:
    static uint64_t hash(const TableName& name);
    TabletTable* find(const TableName& name, uint64_t hash) const;
    explicit TableNames(const std::vector<TabletTable*>& tables = {});

private:
    std::vector<TabletTable*> slots_;
    size_t mask_;
};

// Numbers of hosts: assigned on first sight, never reassigned. Any thread.
class TabletHosts {
public:
    static constexpr size_t kMax = 65535;

    // The number of *id*, a new one if it has none. Throws overflow_error if there are too many.
    uint16_t intern(const HostId& id);
    uint16_t add(const HostId& id);  // without a look-up, for ids outside the table of UUIDs
    bool look_up(const HostId& id, uint16_t& host) const noexcept;
    HostId id(size_t host) const noexcept {
        const GilLock lock(mutex_);
        return ids_[host];
    }

private:
    struct Hash {
        size_t operator()(const HostId& id) const;
    };
    uint16_t add_locked(const HostId& id);

    mutable GilMutex mutex_;
    std::vector<HostId> ids_;  // by number
    std::unordered_map<HostId, uint16_t, Hash> numbers_;
};

class TabletMap {
public:
    explicit TabletMap(std::shared_ptr<TabletHosts> hosts);
    ~TabletMap();
    TabletMap(const TabletMap&) = delete;
    TabletMap& operator=(const TabletMap&) = delete;

    // Readers.
    bool find(const TableName& name, int64_t token, FoundTablet& found) const noexcept {
        const Epochs::Reader reader;
        const TabletTable* table = named(name);
        return table && table->find_announced(token, found);
    }
    bool has_tablets(const TableName& name) const noexcept;
    // Number of known tables, with tablets or without.
    size_t tables() const noexcept { return count_.load(std::memory_order_relaxed); }
    // Increases with every change.
    uint64_t changes() const noexcept { return changes_.load(std::memory_order_relaxed); }

    // Writers. All throw bad_alloc and change nothing in that case.
    void add(const TableName& name, const TabletRow& row);
    // Returns null, or the error in the payload; *added* is true if it had replicas.
    const char* learn(const TableName& name, const uint8_t* payload, size_t size, bool& added);
    void replace(const TableName& name, const std::vector<TabletRow>& rows);
    void drop(const TableName& name);
    void drop_keyspace(const std::string& keyspace);
    void drop_host(uint16_t host);

    // Return a table that stays valid, empty or not, until it is released as often as it was held.
    TabletTable* hold(const TableName& name);
    void release(TabletTable* table) noexcept;

    struct Copy {  // of one table
        std::string keyspace, table;
        std::vector<TabletRow> rows;  // replicas point into replicas below
        std::vector<Replica> replicas;
    };
    // Return all tables that have tablets, and the change count of this state.
    std::vector<Copy> copy(uint64_t& changes) const;
    // Memory of all snapshots.
    size_t bytes() const noexcept;

private:
    // Replaced objects, which readers may still have.
    struct Retired {
        uint64_t epoch = 0;
        const Snapshot* snapshot = nullptr;
        std::vector<const Chunk*> chunks;
        std::unique_ptr<const TableNames> names;
        std::vector<TabletTable*> tables;

        Retired() = default;
        ~Retired();
    };
    // An entry for retired_, made before a change, which must not fail.
    class Entry {
    public:
        Retired* operator->() { return &made_.front(); }

    private:
        friend class TabletMap;
#if FASTCQL_FREE_THREADED
        std::list<Retired> made_ = std::list<Retired>(1);
#else
        std::array<Retired, 1> made_;
#endif
    };

    const TabletTable* named(const TableName& name) const noexcept;
    TabletTable* table_for(const TableName& name);
    void publish(TabletTable* table, Change& change, Entry& entry) noexcept;
    void put_names(std::unique_ptr<const TableNames> names, Entry& entry) noexcept;
    void retire(Entry& entry) noexcept;
    void clear(TabletTable* table);
    void remove_unused();

    std::atomic<const TableNames*> names_;
    std::atomic<size_t> count_{0};  // of tables_
    std::atomic<uint64_t> changes_{0};
    // Guarded by mutex_.
    mutable GilMutex mutex_;
    std::list<Retired> retired_;
    std::vector<TabletTable*> tables_;
    const std::shared_ptr<TabletHosts> hosts_;
    TabletPayload payload_;  // a member so that its memory is reused
};

}  // namespace fastcql
