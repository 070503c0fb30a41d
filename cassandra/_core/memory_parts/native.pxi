# Cython declarations of the C++ pool.

cdef extern from "memory/frames.h" namespace "fastcql::memory" nogil:
    cdef cppclass FramePool:
        pass

cdef extern from "memory/frames.h" namespace "fastcql::memory" nogil:
    cdef cppclass BlockPool:
        pass

cdef extern from "memory/entries.h" namespace "fastcql::memory" nogil:
    cdef cppclass Entry:
        uint8_t* data
        size_t length

cdef extern from "memory/pool.h" namespace "fastcql::memory" nogil:
    cdef cppclass Stats:
        int64_t in_use
        int64_t retained
        int64_t peak
        int64_t pinned
        int64_t overflow_bytes
        int64_t commits
        int64_t reads
        int64_t releases
        int64_t failed
        int64_t slabs
        int64_t evacuated
        int64_t frames
        int64_t oldest_pin
    cdef cppclass Segment:
        int64_t ref
        size_t length
        size_t capacity
        uint32_t pins
        uint32_t latches
    cdef enum class Unlatched "fastcql::memory::Unlatched":
        Done
        Unknown
        NotLatched
    cdef cppclass Options "fastcql::memory::Pool::Options":
        size_t max_bytes
        size_t retain_bytes
        size_t alignment
        bint strict
    cdef cppclass Budget:
        int64_t in_use()
    cdef cppclass Pool:
        Pool(const Options&) except +
        void retain()
        void release()
        Budget& budget()
        Entry* begin(size_t size)
        size_t capacity(const Entry* entry)
        bint resize(Entry* entry, size_t size, size_t length, bint may_move)
        int64_t publish(Entry* entry, size_t length)
        void abandon(Entry* entry)
        Entry* pin(int64_t ref, bint latch, bint view)
        void unpin(Entry* entry)
        int64_t copy(int64_t ref, uint8_t* target, size_t size)
        bint latch(int64_t ref)
        Unlatched unlatch(int64_t ref)
        bint drop(int64_t ref)
        size_t trim()
        size_t compact(size_t max_bytes)
        Stats stats()
        double fragmentation()
        vector[Segment] segments() except +
    cdef cppclass PoolCounters:
        int64_t pools
        int64_t arenas
        int64_t frames
    PoolCounters pool_counters()
