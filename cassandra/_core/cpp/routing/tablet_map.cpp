// The map of tablets: names, hosts, look-ups, changes; and tablets as servers describe them.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "routing/tablet_map.h"
#include "base/bytes.h"
#include "routing/tablets.h"

namespace fastcql {

// ---- names

namespace {

uint64_t mix(uint64_t hash, std::string_view text) {
    const char* at = text.data();
    size_t left = text.size();
    uint64_t word = 0;
    for (; left >= 8; at += 8, left -= 8) {
        std::memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    word = left;  // separates the end of one name from the beginning of the next
    if (left & 4) {
        uint32_t part;
        std::memcpy(&part, at, 4);
        word = (word << 32) | part;
        at += 4;
    }
    for (left &= 3; left > 0; --left) word = (word << 8) | static_cast<uint8_t>(*at++);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
}

}  // namespace

uint64_t TableNames::hash(const TableName& name) { return mix(mix(0, name.keyspace), name.table); }

TabletTable* TableNames::find(const TableName& name, uint64_t hash) const {
    for (size_t at = hash & mask_; TabletTable* table = slots_[at]; at = (at + 1) & mask_)
        if (table->hash == hash && table->table == name.table && table->keyspace == name.keyspace) return table;
    return nullptr;
}

TableNames::TableNames(const std::vector<TabletTable*>& tables) {
    size_t slots = 4;
    while (slots < tables.size() * 2 + 1) slots *= 2;
    slots_.resize(slots);
    mask_ = slots - 1;
    for (TabletTable* table : tables) {
        size_t at = table->hash & mask_;
        while (slots_[at]) at = (at + 1) & mask_;
        slots_[at] = table;
    }
}

// ---- hosts

size_t TabletHosts::Hash::operator()(const HostId& id) const {
    uint64_t halves[2];
    std::memcpy(halves, id.data(), sizeof halves);
    return (halves[0] ^ (halves[1] * 0x9E3779B97F4A7C15u)) * 0x9E3779B97F4A7C15u >> 7;
}

bool TabletHosts::look_up(const HostId& id, uint16_t& host) const noexcept {
    const GilLock lock(mutex_);
    const auto found = numbers_.find(id);
    if (found == numbers_.end()) return false;
    host = found->second;
    return true;
}

uint16_t TabletHosts::intern(const HostId& id) {
    const GilLock lock(mutex_);
    const auto found = numbers_.find(id);
    if (found != numbers_.end()) return found->second;
    const uint16_t host = add_locked(id);
    numbers_.emplace(id, host);
    return host;
}

uint16_t TabletHosts::add(const HostId& id) {
    const GilLock lock(mutex_);
    return add_locked(id);
}

uint16_t TabletHosts::add_locked(const HostId& id) {
    if (ids_.size() == kMax) throw std::overflow_error("more than 65535 hosts in the tablet map");
    ids_.push_back(id);
    return static_cast<uint16_t>(ids_.size() - 1);
}

// ---- the map

TabletMap::Retired::~Retired() {
    for (const Chunk* chunk : chunks) Chunk::Free()(chunk);
    if (snapshot) free_snapshot(snapshot);
    for (const TabletTable* table : tables) delete table;
}

TabletMap::TabletMap(std::shared_ptr<TabletHosts> hosts) : names_(new TableNames), hosts_(std::move(hosts)) {}

TabletMap::~TabletMap() {
    for (TabletTable* table : tables_) {
        free_snapshot_with_chunks(table->current_.load());
        delete table;
    }
    delete names_.load();
}

const TabletTable* TabletMap::named(const TableName& name) const noexcept {
    return names_.load(std::memory_order_seq_cst)->find(name, TableNames::hash(name));
}

bool TabletMap::has_tablets(const TableName& name) const noexcept {
    const Epochs::Reader reader;
    const TabletTable* table = named(name);
    return table && table->has_tablets();
}

void TabletMap::add(const TableName& name, const TabletRow& row) {
    const GilLock lock(mutex_);
    TabletTable* table = table_for(name);
    Change change = Change::add(table->current_.load(), row);
    Entry entry;
    publish(table, change, entry);
}

const char* TabletMap::learn(const TableName& name, const uint8_t* payload, size_t size, bool& added) {
    const GilLock lock(mutex_);
    added = false;
    payload_.replicas.clear();
    payload_.has_version = false;
    if (const char* wrong = parse_tablet(payload, size, payload_)) return wrong;
    if (payload_.replicas.empty()) return nullptr;
    Replica replicas[kMaxReplicas];
    size_t count = 0;
    try {
        for (const PayloadReplica& replica : payload_.replicas)
            replicas[count++] = make_replica(hosts_->intern(replica.host), replica.shard);
    } catch (const std::overflow_error&) {
        return "the map cannot hold more hosts";
    }
    const TabletRow row = {payload_.first,
                           payload_.last,
                           payload_.has_version ? payload_.version : 0,
                           replicas,
                           static_cast<uint8_t>(count),
                           payload_.has_version ? uint8_t{kHasVersion} : uint8_t{0}};
    TabletTable* table = table_for(name);
    Change change = Change::add(table->current_.load(), row);
    Entry entry;
    publish(table, change, entry);
    added = true;
    return nullptr;
}

void TabletMap::replace(const TableName& name, const std::vector<TabletRow>& rows) {
    const GilLock lock(mutex_);
    Change change = Change::all_of(rows);
    TabletTable* table = table_for(name);
    if (const Snapshot* before = table->current_.load())
        change.gone.assign(before->all(), before->all() + before->chunks());
    Entry entry;
    publish(table, change, entry);
    if (rows.empty()) remove_unused();
}

void TabletMap::drop(const TableName& name) {
    const GilLock lock(mutex_);
    TabletTable* table = names_.load()->find(name, TableNames::hash(name));
    if (!table) return;
    clear(table);
    remove_unused();
}

void TabletMap::drop_keyspace(const std::string& keyspace) {
    const GilLock lock(mutex_);
    for (TabletTable* table : tables_)
        if (table->keyspace == keyspace) clear(table);
    remove_unused();
}

void TabletMap::drop_host(uint16_t host) {
    const GilLock lock(mutex_);
    for (TabletTable* table : tables_) {
        const Snapshot* before = table->current_.load();
        if (!before) continue;
        Change change = Change::without_host(*before, host);
        if (change.gone.empty()) continue;
        Entry entry;
        publish(table, change, entry);
    }
    remove_unused();
}

TabletTable* TabletMap::hold(const TableName& name) {
    const GilLock lock(mutex_);
    TabletTable* table = table_for(name);
    ++table->holders_;
    return table;
}

void TabletMap::release(TabletTable* table) noexcept {
    const GilLock lock(mutex_);
    if (--table->holders_ > 0 || table->has_tablets()) return;
    try {
        remove_unused();
    } catch (const std::bad_alloc&) {  // removed with the next one
    }
}

std::vector<TabletMap::Copy> TabletMap::copy(uint64_t& changes) const {
    const GilLock lock(mutex_);
    changes = changes_.load();
    std::vector<Copy> copies;
    for (const TabletTable* table : tables_) {
        const Snapshot* snapshot = table->current_.load();
        if (!snapshot) continue;
        Copy& copy = copies.emplace_back();
        copy.keyspace = table->keyspace;
        copy.table = table->table;
        copy.rows.reserve(snapshot->tablets());
        size_t replicas = 0;
        for (size_t i = 0; i < snapshot->chunks(); ++i) replicas += snapshot->chunk(i)->size() * snapshot->chunk(i)->stride();
        copy.replicas.reserve(replicas);  // it must not move while rows point into it
        for (size_t i = 0; i < snapshot->chunks(); ++i) {
            for (size_t j = 0; j < snapshot->chunk(i)->size(); ++j) {
                TabletRow row = snapshot->chunk(i)->row(j);
                const Replica* to = copy.replicas.data() + copy.replicas.size();
                copy.replicas.insert(copy.replicas.end(), row.replicas, row.replicas + row.count);
                row.replicas = to;
                copy.rows.push_back(row);
            }
        }
    }
    return copies;
}

size_t TabletMap::bytes() const noexcept {
    const GilLock lock(mutex_);
    size_t bytes = 0;
    for (const TabletTable* table : tables_)
        if (const Snapshot* snapshot = table->current_.load()) bytes += snapshot->bytes();
    return bytes;
}

// ---- writing, with the mutex

TabletTable* TabletMap::table_for(const TableName& name) {
    const uint64_t hash = TableNames::hash(name);
    if (TabletTable* table = names_.load()->find(name, hash)) return table;
    std::unique_ptr<TabletTable> table(new TabletTable(name, hash));
    std::vector<TabletTable*> tables(tables_);
    tables.push_back(table.get());
    Entry entry;
    auto names = std::make_unique<const TableNames>(tables);
    tables_.swap(tables);
    put_names(std::move(names), entry);
    return table.release();
}

// All steps that can fail are done before.
void TabletMap::publish(TabletTable* table, Change& change, Entry& entry) noexcept {
    entry->snapshot = table->current_.exchange(change.commit(), std::memory_order_seq_cst);
    entry->chunks.swap(change.gone);
    changes_.fetch_add(1, std::memory_order_relaxed);
    retire(entry);
}

void TabletMap::put_names(std::unique_ptr<const TableNames> names, Entry& entry) noexcept {
    entry->names.reset(names_.exchange(names.release(), std::memory_order_seq_cst));
    count_.store(tables_.size(), std::memory_order_relaxed);
    retire(entry);
}

// Frees what is in *entry*, and in earlier ones, if no reader has it; else a later writer does.
void TabletMap::retire(Entry& entry) noexcept {
#if FASTCQL_FREE_THREADED
    entry->epoch = Epochs::retire();
    retired_.splice(retired_.end(), entry.made_);
    while (!retired_.empty() && Epochs::over(retired_.front().epoch)) retired_.pop_front();
#else
    static_cast<void>(entry);  // frees it
#endif
}

void TabletMap::clear(TabletTable* table) {
    const Snapshot* before = table->current_.load();
    if (!before) return;
    Change nothing;
    nothing.gone.assign(before->all(), before->all() + before->chunks());
    Entry entry;
    publish(table, nothing, entry);
}

// Remove tables without tablets and holders.
void TabletMap::remove_unused() {
    std::vector<TabletTable*> kept, gone;
    for (TabletTable* table : tables_) {
        const bool unused = table->holders_ == 0 && !table->has_tablets();
        (unused ? gone : kept).push_back(table);
    }
    if (gone.empty()) return;
    Entry entry;
    auto names = std::make_unique<const TableNames>(kept);
    entry->tables.swap(gone);
    tables_.swap(kept);
    put_names(std::move(names), entry);
}

// ---- tablets as servers describe them

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
