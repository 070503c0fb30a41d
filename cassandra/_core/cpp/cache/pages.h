// Pages of results in memory, by the request that has read them; eviction by S3-FIFO.
//
// Pages are kept in three queues (Yang et al., FIFO queues are all you need for cache eviction, SOSP 2023): new pages
// enter the *small* one, a tenth of the bytes; those that were hit meanwhile go on to the *main* one, all others leave,
// and only their hashes are kept, as *ghosts*: a page that returns while it has a ghost enters the main queue. The main
// queue is a FIFO in which pages that were hit get another round. A hit only increments a counter. Pages of a scan,
// which are read once, pass through the small queue alone. benchmarks/bench_cache.py compares it with LRU and W-TinyLFU.
//
// Owners and threads. A PageCache belongs to its Python object; any thread may call it. Each method acquires the mutex
// once, for a bounded number of steps without a call into Python (GilLock: with the GIL, that is the lock). Only put()
// allocates and copies. A Page is immutable, and counts its references: one is the cache's, the others belong to threads
// that decode it, without the lock; the last one returns the block to the pool, which the page keeps alive.
//
// Caches may have Totals: these count what all of them have done, also those that are gone. Their mutex is acquired
// before that of a cache.
//
// A page is found only if its key is equal, it is younger than the limit, counted from before its request was sent, and
// no write has made it invalid (writes.h). The caller's clock must not go back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "base/epochs.h"
#include "cache/writes.h"
#include "memory/frames.h"

namespace fastcql::cache {

// A request: the number of its statement and settings, and the encoded values.
struct Key {
    uint64_t shape;
    const uint8_t* data;
    size_t size;
};

// When a page was requested, and what it depends on.
struct Read {
    int64_t sent = 0;   // ns, before the request was sent
    uint64_t time = 0;  // TableWrites::now(), before the request was sent
    bool routed = false;
    int64_t token = 0;  // of the partition, if routed
};

class Page {
public:
    // Null without memory. With one reference.
    static Page* make(memory::BlockPool& pool, const Key& key, const uint8_t* body, size_t size, int header) {
        memory::ColumnBlock block;
        if (!pool.take_block(sizeof(Page) + key.size + size, block)) return nullptr;
        auto* page = new (block.data) Page(pool, block, key, size, header);
        if (key.size) std::memcpy(page->key_data(), key.data, key.size);
        if (size) std::memcpy(page->key_data() + key.size, body, size);
        return page;
    }
    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        memory::BlockPool& pool = pool_;
        const memory::ColumnBlock block = block_;
        this->~Page();
        pool.give_block(block);
        pool.let_go();
    }
    bool has(const Key& key) const noexcept {
        return shape_ == key.shape && key_size_ == key.size &&
               (key.size == 0 || std::memcmp(key_data(), key.data, key.size) == 0);
    }
    const uint8_t* body() const noexcept { return key_data() + key_size_; }
    size_t size() const noexcept { return size_; }
    int header() const noexcept { return header_; }  // protocol version, flags and opcode
    size_t capacity() const noexcept { return block_.capacity; }

private:
    Page(memory::BlockPool& pool, const memory::ColumnBlock& block, const Key& key, size_t size, int header)
        : pool_(pool), block_(block), shape_(key.shape), key_size_(key.size), size_(size), header_(header) {
        pool.hold();
    }
    ~Page() = default;
    uint8_t* key_data() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }
    const uint8_t* key_data() const noexcept { return reinterpret_cast<const uint8_t*>(this + 1); }

    std::atomic<uint32_t> references_{1};
    memory::BlockPool& pool_;
    const memory::ColumnBlock block_;
    const uint64_t shape_;
    const size_t key_size_, size_;
    const int header_;
};

struct Statistics {
    int64_t hits, misses, shared, evictions, invalidations, expirations, bytes, entries;

    Statistics& operator+=(const Statistics& other) noexcept {
        hits += other.hits;
        misses += other.misses;
        shared += other.shared;
        evictions += other.evictions;
        invalidations += other.invalidations;
        expirations += other.expirations;
        bytes += other.bytes;
        entries += other.entries;
        return *this;
    }
};

class PageCache;

// The sums of the statistics of several caches. Those that are gone still count, but for bytes and entries.
class Totals {
public:
    Statistics read() noexcept;

private:
    friend class PageCache;
    void add(PageCache& cache) noexcept;
    void remove(PageCache& cache) noexcept;

    GilMutex mutex_;
    PageCache* first_ = nullptr;
    Statistics gone_{};
};

class PageCache {
public:
    PageCache(memory::BlockPool& pool, size_t max_bytes, int64_t ttl, uint64_t seed,
              std::shared_ptr<Totals> totals = nullptr) noexcept
        : pool_(pool), max_bytes_(static_cast<int64_t>(max_bytes)), ttl_(ttl), seed_(seed), totals_(std::move(totals)) {
        pool_.hold();
        if (totals_) totals_->add(*this);
    }
    ~PageCache() {
        {
            GilLock lock(mutex_);
            remove_all();
        }
        if (totals_) totals_->remove(*this);
        std::free(buckets_);
        std::free(ghosts_);
        pool_.let_go();
    }
    PageCache(const PageCache&) = delete;
    PageCache& operator=(const PageCache&) = delete;

    // The page of *key*, with a reference for the caller; null if there is none that is valid *now* (ns).
    Page* find(const Key& key, int64_t now, const TableWrites& writes) noexcept {
        const uint64_t hash = hash_of(key);
        GilLock lock(mutex_);
        Entry* entry = entry_of(hash, key);
        if (entry && is_current(*entry, now, writes)) {
            if (entry->hits < kMostHits) ++entry->hits;
            ++statistics_.hits;
            entry->page->retain();
            return entry->page;
        }
        ++statistics_.misses;
        return nullptr;
    }

    // Stores a copy of *body*. Does nothing for a page that is not valid *now*, or is larger than an eighth of the
    // cache, or without memory: there is no page of *key* afterwards then, unless that of a later read.
    void put(const Key& key, const uint8_t* body, size_t size, int header, const Read& read, int64_t now,
             const TableWrites& writes) noexcept {
        const uint64_t hash = hash_of(key);
        Page* page = nullptr;
        if (static_cast<int64_t>(key.size + size) <= max_bytes_ / 8)
            page = Page::make(pool_, key, body, size, header);
        Page* old = nullptr;
        {
            GilLock lock(mutex_);
            Entry* entry = entry_of(hash, key);
            if (entry && entry->read.sent > read.sent) {
                old = page;
            } else if (!page || !is_valid(read, now, writes)) {
                if (entry) remove(entry);
                old = page;
            } else if (entry) {
                old = replace(*entry, page, read);
                shrink(0, now);
            } else if (!insert(hash, page, read, now)) {
                old = page;
            }
        }
        if (old) old->release();
    }

    // Pages of reads before *time*, and those in memory, are invalid.
    void invalidate(uint64_t time) noexcept {
        GilLock lock(mutex_);
        if (since_ < time) since_ = time;
        statistics_.invalidations += statistics_.entries;
        remove_all();
    }

    void count_shared() noexcept {
        GilLock lock(mutex_);
        ++statistics_.shared;
    }

    Statistics statistics() noexcept {
        GilLock lock(mutex_);
        return statistics_;
    }

private:
    static constexpr uint8_t kMostHits = 3;
    static constexpr size_t kFewest = 64;  // buckets
    enum class Queue : uint8_t { Small, Main };

    struct Entry {
        Page* page;
        Entry* next_in_bucket;
        Entry *newer, *older;  // in its queue
        uint64_t hash;
        Read read;
        Queue queue;
        uint8_t hits;
    };
    struct Fifo {
        Entry *newest = nullptr, *oldest = nullptr;
        int64_t bytes = 0;
    };

    static uint64_t mix(uint64_t a, uint64_t b) noexcept {
        const auto product = static_cast<unsigned __int128>(a) * b;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }
    // Seeded, as programs may have keys from outside.
    uint64_t hash_of(const Key& key) const noexcept {
        uint64_t state = mix(seed_ ^ key.shape, 0x9E3779B97F4A7C15u ^ key.size);
        const uint8_t* at = key.data;
        size_t left = key.size;
        for (; left >= 8; left -= 8, at += 8) {
            uint64_t word;
            std::memcpy(&word, at, 8);
            state = mix(state ^ word, seed_ | 1);
        }
        uint64_t word = 0;
        if (left) std::memcpy(&word, at, left);
        return mix(state ^ word, 0xD6E8FEB86659FD93u ^ seed_);
    }

    Entry* entry_of(uint64_t hash, const Key& key) const noexcept {
        if (!buckets_) return nullptr;
        Entry* entry = buckets_[hash & mask_];
        while (entry && !(entry->hash == hash && entry->page->has(key))) entry = entry->next_in_bucket;
        return entry;
    }

    bool is_valid(const Read& read, int64_t now, const TableWrites& writes) const noexcept {
        return now - read.sent < ttl_ && read.time >= since_ && writes.is_valid(read.time, read.routed, read.token);
    }
    // Removes an entry that is not.
    bool is_current(Entry& entry, int64_t now, const TableWrites& writes) noexcept {
        if (is_valid(entry.read, now, writes)) return true;
        ++(now - entry.read.sent < ttl_ ? statistics_.invalidations : statistics_.expirations);
        remove(&entry);
        return false;
    }

    static int64_t bytes_of(const Page& page) noexcept {
        return static_cast<int64_t>(page.capacity() + sizeof(Entry) + sizeof(Entry*) + sizeof(uint64_t));
    }
    Fifo& fifo_of(const Entry& entry) noexcept { return entry.queue == Queue::Small ? small_ : main_; }

    void push(Entry& entry, Queue queue) noexcept {
        entry.queue = queue;
        Fifo& fifo = fifo_of(entry);
        entry.newer = nullptr;
        entry.older = fifo.newest;
        (fifo.newest ? fifo.newest->newer : fifo.oldest) = &entry;
        fifo.newest = &entry;
        fifo.bytes += bytes_of(*entry.page);
    }
    void unlink(Entry& entry) noexcept {
        Fifo& fifo = fifo_of(entry);
        (entry.newer ? entry.newer->older : fifo.newest) = entry.older;
        (entry.older ? entry.older->newer : fifo.oldest) = entry.newer;
        fifo.bytes -= bytes_of(*entry.page);
    }

    Page* replace(Entry& entry, Page* page, const Read& read) noexcept {
        Page* old = entry.page;
        const int64_t more = bytes_of(*page) - bytes_of(*old);
        fifo_of(entry).bytes += more;
        statistics_.bytes += more;
        entry.page = page;
        entry.read = read;
        return old;
    }

    bool insert(uint64_t hash, Page* page, const Read& read, int64_t now) noexcept {
        if (!grow()) return false;
        auto* entry = static_cast<Entry*>(std::malloc(sizeof(Entry)));
        if (!entry) return false;
        new (entry) Entry{page, buckets_[hash & mask_], nullptr, nullptr, hash, read, Queue::Small, 0};
        shrink(bytes_of(*page), now);
        entry->next_in_bucket = buckets_[hash & mask_];
        buckets_[hash & mask_] = entry;
        push(*entry, has_ghost(hash) ? Queue::Main : Queue::Small);
        ++statistics_.entries;
        statistics_.bytes += bytes_of(*page);
        return true;
    }

    void remove(Entry* entry) noexcept {
        Entry** link = &buckets_[entry->hash & mask_];
        while (*link != entry) link = &(*link)->next_in_bucket;
        *link = entry->next_in_bucket;
        unlink(*entry);
        --statistics_.entries;
        statistics_.bytes -= bytes_of(*entry->page);
        entry->page->release();
        std::free(entry);
    }
    void remove_all() noexcept {
        while (small_.oldest) remove(small_.oldest);
        while (main_.oldest) remove(main_.oldest);
    }

    // Evicts pages until *more* bytes fit.
    void shrink(int64_t more, int64_t now) noexcept {
        while (statistics_.bytes + more > max_bytes_ && statistics_.entries > 0) {
            if (small_.oldest && (small_.bytes > max_bytes_ / 10 || !main_.oldest)) {
                evict_from_small(*small_.oldest, now);
            } else {
                evict_from_main(*main_.oldest, now);
            }
        }
    }
    bool is_wanted(const Entry& entry, int64_t now) const noexcept {
        return entry.hits > 0 && now - entry.read.sent < ttl_ && entry.read.time >= since_;
    }
    void evict_from_small(Entry& entry, int64_t now) noexcept {
        if (is_wanted(entry, now)) {
            unlink(entry);
            entry.hits = 0;
            push(entry, Queue::Main);
            return;
        }
        add_ghost(entry.hash);
        ++statistics_.evictions;
        remove(&entry);
    }
    void evict_from_main(Entry& entry, int64_t now) noexcept {
        if (is_wanted(entry, now)) {
            unlink(entry);
            --entry.hits;
            push(entry, Queue::Main);
            return;
        }
        ++statistics_.evictions;
        remove(&entry);
    }

    // Has at least as many buckets as entries. The table of ghosts has as many places: a ghost is the hash of a page,
    // at the place of its hash, until another one takes that. False without memory for the first buckets.
    bool grow() noexcept {
        const size_t count = buckets_ ? mask_ + 1 : 0;
        if (static_cast<size_t>(statistics_.entries) < count) return true;
        const size_t wanted = count ? 2 * count : kFewest;
        auto** buckets = static_cast<Entry**>(std::calloc(wanted, sizeof(Entry*)));
        auto* ghosts = static_cast<uint64_t*>(std::calloc(wanted, sizeof(uint64_t)));
        if (!buckets || !ghosts) {
            std::free(buckets);
            std::free(ghosts);
            return count > 0;
        }
        for (size_t index = 0; index < count; ++index) {
            for (Entry* entry = buckets_[index]; entry;) {
                Entry* next = entry->next_in_bucket;
                entry->next_in_bucket = buckets[entry->hash & (wanted - 1)];
                buckets[entry->hash & (wanted - 1)] = entry;
                entry = next;
            }
            if (ghosts_[index]) ghosts[ghosts_[index] & (wanted - 1)] = ghosts_[index];
        }
        std::free(buckets_);
        std::free(ghosts_);
        buckets_ = buckets;
        ghosts_ = ghosts;
        mask_ = wanted - 1;
        return true;
    }
    void add_ghost(uint64_t hash) noexcept { ghosts_[hash & mask_] = hash; }
    bool has_ghost(uint64_t hash) noexcept {
        uint64_t& ghost = ghosts_[hash & mask_];
        const bool found = ghost == hash && hash != 0;
        if (found) ghost = 0;
        return found;
    }

    memory::BlockPool& pool_;
    const int64_t max_bytes_, ttl_;
    const uint64_t seed_;
    GilMutex mutex_;
    Entry** buckets_ = nullptr;
    uint64_t* ghosts_ = nullptr;
    size_t mask_ = 0;
    Fifo small_, main_;
    uint64_t since_ = 0;  // pages that were read before are invalid
    Statistics statistics_{};
    const std::shared_ptr<Totals> totals_;
    PageCache *next_ = nullptr, *previous_ = nullptr;  // of totals_, which guards them
    friend class Totals;
};

inline void Totals::add(PageCache& cache) noexcept {
    GilLock lock(mutex_);
    cache.next_ = first_;
    if (first_) first_->previous_ = &cache;
    first_ = &cache;
}

inline void Totals::remove(PageCache& cache) noexcept {
    GilLock lock(mutex_);
    (cache.previous_ ? cache.previous_->next_ : first_) = cache.next_;
    if (cache.next_) cache.next_->previous_ = cache.previous_;
    gone_ += cache.statistics();
}

inline Statistics Totals::read() noexcept {
    GilLock lock(mutex_);
    Statistics sum = gone_;
    for (PageCache* cache = first_; cache; cache = cache->next_) sum += cache->statistics();
    return sum;
}

}  // namespace fastcql::cache
