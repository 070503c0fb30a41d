// The tablets of all tables, and the hosts they are on. Names and host ids are bytes here; nothing knows Python.
//
// Readers (find, host) take no lock and may run in any thread beside writers. Each sees the tablets of a table as they
// were at one moment. Writers take turns by a mutex, which is never held while foreign code runs.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "routing/tablets_epoch.h"
#include "routing/tablets_payload.h"
#include "routing/tablets_snapshot.h"

namespace fastcql {

struct TableName {
    TableName() = default;
    TableName(std::string_view keyspace, std::string_view table) : keyspace(keyspace), table(table) {}
    TableName(const char* keyspace, size_t keyspace_size, const char* table, size_t table_size)
        : keyspace(keyspace, keyspace_size), table(table, table_size) {}

    std::string_view keyspace;
    std::string_view table;
};

// A table's current snapshot. Lives as long as it has tablets or somebody holds it.
class TabletTable {
public:
    const std::string keyspace;
    const std::string table;
    const uint64_t hash;

    bool find(int64_t token, FoundTablet& found) const {
        Pin pin;
        const Snapshot* snapshot = current_.load();
        return snapshot && snapshot->find(token, found);
    }
    // For a caller who holds what every writer of the map holds: then nothing is freed meanwhile.
    bool find_undisturbed(int64_t token, FoundTablet& found) const {
        const Snapshot* snapshot = current_.load(std::memory_order_acquire);
        return snapshot && snapshot->find(token, found);
    }
    bool has_tablets() const { return current_.load() != nullptr; }

private:
    friend class TabletMap;
    friend class TableNames;
    TabletTable(const TableName& name, uint64_t hash) : keyspace(name.keyspace), table(name.table), hash(hash) {}

    std::atomic<const Snapshot*> current_{nullptr};
    size_t holders_ = 0;  // under the map's mutex
};

// Tables by name: an immutable hash table, replaced when tables come and go.
class TableNames {
public:
    static uint64_t hash(const TableName& name);
    TabletTable* find(const TableName& name, uint64_t hash) const;
    static TableNames* of(const std::vector<TabletTable*>& tables);

private:
    explicit TableNames(size_t slots) : slots_(slots), mask_(slots - 1) {}
    std::vector<TabletTable*> slots_;
    const size_t mask_;
};

// Numbers of hosts: given on first sight, never given to another. From number to id there is no lock.
class TabletHosts {
public:
    static constexpr size_t kMax = 65535;

    TabletHosts() = default;
    ~TabletHosts();
    // The number of *id*, a new one if it has none. Throws overflow_error when there are too many.
    uint16_t intern(const HostId& id);
    uint16_t add(const HostId& id);  // without looking for it: ids that only the caller knows
    bool look_up(const HostId& id, uint16_t& host) const;
    HostId id(size_t host) const { return blocks_[host / kBlock].load(std::memory_order_acquire)[host % kBlock]; }

private:
    static constexpr size_t kBlock = 256;
    struct Hash {
        size_t operator()(const HostId& id) const;
    };
    std::atomic<HostId*> blocks_[(kMax + kBlock) / kBlock] = {};
    uint16_t next(const HostId& id);

    mutable std::mutex mutex_;
    size_t size_ = 0;
    std::unordered_map<HostId, uint16_t, Hash> numbers_;
};

class TabletMap {
public:
    explicit TabletMap(std::shared_ptr<TabletHosts> hosts);
    ~TabletMap();  // nobody may read any more
    TabletMap(const TabletMap&) = delete;
    TabletMap& operator=(const TabletMap&) = delete;

    // Readers.
    bool find(const TableName& name, int64_t token, FoundTablet& found) const {
        const uint64_t hash = TableNames::hash(name);
        Pin pin;
        const TabletTable* table = names_.load()->find(name, hash);
        if (!table) return false;
        const Snapshot* snapshot = table->current_.load();
        return snapshot && snapshot->find(token, found);
    }
    bool has_tablets(const TableName& name) const;
    // How many tables are known, with tablets or without.
    size_t tables() const { return table_count_.load(std::memory_order_relaxed); }
    // Goes up with every change.
    uint64_t changes() const { return changes_.load(std::memory_order_acquire); }

    // Writers. All throw bad_alloc and change nothing then.
    void add(const TableName& name, const TabletRow& row);
    // Null, or what is wrong with the payload; *added* says whether it had replicas.
    const char* learn(const TableName& name, const uint8_t* payload, size_t size, bool& added);
    void replace(const TableName& name, const std::vector<TabletRow>& rows);
    void drop(const TableName& name);
    void drop_keyspace(const std::string& keyspace);
    void drop_host(uint16_t host);

    // A table that stays valid, empty or not, until it is released as often as it was held.
    TabletTable* hold(const TableName& name);
    void release(TabletTable* table) noexcept;

    struct Copy {  // of one table
        std::string keyspace, table;
        std::vector<TabletRow> rows;  // replicas point into replicas below
        std::vector<Replica> replicas;
    };
    // All tables that have tablets, and the count of changes they belong to.
    std::vector<Copy> copy(uint64_t& changes) const;
    // Memory of all snapshots.
    size_t bytes() const;

private:
    struct Retired {
        uint64_t epoch;
        const void* memory;
        void (*free)(const void*);
    };
    TabletTable* table_for(const TableName& name);
    void publish(TabletTable* table, Change& change);
    void clear(TabletTable* table);
    void remove_unused();
    void publish_names(const std::vector<TabletTable*>& tables);
    void reserve_retired(size_t more);
    void reclaim();

    mutable std::mutex mutex_;
    std::atomic<TableNames*> names_;
    std::atomic<uint64_t> changes_{0};
    std::vector<TabletTable*> tables_;
    std::vector<Retired> retired_;
    std::atomic<size_t> table_count_{0};
    const std::shared_ptr<TabletHosts> hosts_;
    TabletPayload payload_;  // here for its memory
};

}  // namespace fastcql
