# distutils: language = c++
"""Memory extension (L1): the pool of blocks for frames and for users. Contract: ``memory.pyi``; states, ownership and
locks: cpp/memory/pool.h."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from cassandra._base.memory import MemoryPoolStats

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


# Objects that keep a block in place: a view of a live block, and the buffer of a block that is being written.

cdef class _View:
    """Exports the bytes of a live block, read-only. The block is pinned while this object lives, which is as long as a
    buffer of it exists: there are no other references to it."""

    cdef Pool* pool
    cdef Entry* entry

    def __dealloc__(self):
        if self.entry != NULL:
            self.pool.unpin(self.entry)
            self.pool.release()

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, _bytes_of(self.entry), <Py_ssize_t>self.entry.length, 1, flags)


cdef uint8_t _no_bytes[64]


cdef inline void* _bytes_of(Entry* entry) noexcept:
    return entry.data if entry.data != NULL else _no_bytes  # zero bytes have an address too


cdef class WritableBuffer:
    cdef Pool* pool
    cdef Entry* entry
    cdef size_t size
    cdef bint zero  # bytes that are not written yet are zero
    cdef Py_ssize_t exports
    cdef object __weakref__

    def __init__(self):
        raise TypeError("a WritableBuffer is made by MemoryPool.reserve()")

    def __dealloc__(self):
        if self.entry != NULL:
            self.pool.abandon(self.entry)
        if self.pool != NULL:
            self.pool.release()

    def __len__(self):
        return <Py_ssize_t>self.size

    def __repr__(self):
        if self.entry == NULL:
            return "<WritableBuffer, finished>"
        return f"<WritableBuffer of {self.size} bytes>"

    def __enter__(self):
        self._writing()
        return self

    def __exit__(self, *exc_info):
        if self.entry != NULL:
            self.abort()

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        if self.entry == NULL:
            raise BufferError("the WritableBuffer is finished: it was committed or aborted")
        PyBuffer_FillInfo(buffer, self, _bytes_of(self.entry), <Py_ssize_t>self.size, 0, flags)
        with cython.critical_section(self):
            self.exports += 1

    def __releasebuffer__(self, Py_buffer* buffer):
        with cython.critical_section(self):
            self.exports -= 1

    @property
    def capacity(self):
        return self.pool.capacity(self.entry) if self.entry != NULL else 0

    def resize(self, size):
        self._writing()
        cdef size_t wanted = _size_of(size)
        if wanted < self.size and self.exports:
            raise BufferError(f"cannot shrink to {wanted} bytes: {self.exports} views of the buffer exist")
        # In place if possible; with existing views it must be.
        if not self.pool.resize(self.entry, wanted, self.size, self.exports == 0):
            if self.exports:
                raise BufferError(f"cannot grow to {wanted} bytes in place while {self.exports} views of it exist")
            raise MemoryError(f"the pool has no room to grow the buffer from {self.size} to {wanted} bytes")
        cdef size_t before = self.size
        self.size = wanted
        self.clear(before)

    def commit(self, length=None):
        self._writing()
        self._unshared("commit")
        cdef size_t written = self.size if length is None else _size_of(length)
        if written > self.size:
            raise ValueError(f"cannot commit {written} bytes of a buffer of {self.size}")
        cdef Entry* entry = self._finished()
        return self.pool.publish(entry, written)

    def abort(self):
        self._writing()
        self._unshared("abort")
        cdef Entry* entry = self._finished()
        self.pool.abandon(entry)

    cdef Entry* _finished(self) except NULL:
        """Take the entry away; one thread gets it."""
        cdef Entry* entry
        with cython.critical_section(self):
            entry, self.entry = self.entry, <Entry*>NULL
        if entry == NULL:
            self._writing()  # raises
        return entry

    cdef void clear(self, size_t begin) noexcept:
        """Zero the bytes from *begin* on, if requested: the block may have held other data."""
        if self.zero and begin < self.size:
            memset(self.entry.data + begin, 0, self.size - begin)

    cdef int _writing(self) except -1:
        if self.entry == NULL:
            raise ValueError("the WritableBuffer is finished: it was committed or aborted")
        return 0

    cdef int _unshared(self, str what) except -1:
        if self.exports:
            raise BufferError(f"cannot {what} while {self.exports} views of the buffer exist; release them first")
        return 0


cdef size_t _size_of(object size) except? 0:
    cdef Py_ssize_t value = size
    if value < 0:
        raise ValueError(f"size must not be negative: {value}")
    return <size_t>value


# MemoryPool: the Python wrapper of the pool. It takes no Python lock; the C++ pool has its own.

DEFAULT_RETAIN = 32 << 20

MAX_BYTES = 1 << 62  # far above the memory of any machine, and sums of sizes stay within 64 bits


cdef class MemoryPool:
    cdef Pool* pool
    cdef readonly str name
    cdef readonly size_t max_bytes
    cdef readonly size_t retain_bytes
    cdef readonly size_t alignment
    cdef readonly bint strict
    cdef object __weakref__

    def __cinit__(self, max_bytes, *, str name="", alignment=64, retain_bytes=None, bint strict=False):
        cdef Options options
        if not 0 < max_bytes <= MAX_BYTES:
            raise ValueError(f"max_bytes must be positive and at most {MAX_BYTES}, got {max_bytes}")
        self.max_bytes = options.max_bytes = _size_of(max_bytes)
        self.retain_bytes = options.retain_bytes = _size_of(
            min(DEFAULT_RETAIN, max_bytes) if retain_bytes is None else min(retain_bytes, MAX_BYTES)
        )
        self.alignment = options.alignment = _size_of(alignment)
        if not 64 <= self.alignment <= 4096 or self.alignment & (self.alignment - 1):
            raise ValueError(f"alignment must be a power of two from 64 to 4096, got {alignment}")
        self.strict = options.strict = strict
        self.name = name
        self.pool = new Pool(options)

    def __dealloc__(self):
        if self.pool != NULL:
            self.pool.release()

    def __repr__(self):
        name = f" {self.name!r}" if self.name else ""
        return f"<MemoryPool{name}: {self.pool.budget().in_use()} of {self.max_bytes} bytes in use>"

    def __reduce__(self):
        raise TypeError("a MemoryPool cannot be copied or pickled")

    @property
    def _native(self):
        return PyCapsule_New(<FramePool*>self.pool, "fastcql::memory::FramePool", NULL)

    @property
    def _blocks(self):
        return PyCapsule_New(<BlockPool*>self.pool, "fastcql::memory::BlockPool", NULL)

    # ---- blocks

    def commit(self, data):
        cdef Py_buffer buffer
        if PyBytes_CheckExact(data):
            return self._commit(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            return self._commit(<const char*>buffer.buf, buffer.len)
        finally:
            PyBuffer_Release(&buffer)

    cdef object _commit(self, const char* data, Py_ssize_t size):
        cdef Entry* entry = self._begin(<size_t>size)
        if size:
            memcpy(entry.data, data, <size_t>size)
        return self.pool.publish(entry, <size_t>size)

    cdef Entry* _begin(self, size_t size) except NULL:
        cdef Entry* entry = self.pool.begin(size)
        if entry == NULL:
            self._exhausted(size)
        return entry

    cdef int _exhausted(self, size_t size) except -1:
        name = f" {self.name!r}" if self.name else ""
        raise MemoryError(
            f"the memory pool{name} has no room for {size} bytes: "
            f"{self.pool.budget().in_use()} of {self.max_bytes} are in use"
        )

    def reserve(self, size, *, bint zero=False):
        cdef WritableBuffer buffer = WritableBuffer.__new__(WritableBuffer)
        buffer.size = _size_of(size)
        buffer.zero = zero
        buffer.entry = self._begin(buffer.size)
        buffer.clear(0)
        buffer.pool = self.pool
        self.pool.retain()
        return buffer

    def read(self, ref, bint zero_copy=False, bint latch=False):
        cdef int64_t handle = _ref_of(ref)
        cdef uint8_t small[512]
        cdef int64_t length
        if not zero_copy and not latch:  # small blocks with one lock of the pool
            length = self.pool.copy(handle, small, sizeof(small))
            if 0 <= length <= <int64_t>sizeof(small):
                return PyBytes_FromStringAndSize(<const char*>small, <Py_ssize_t>length)
        cdef Entry* entry = self.pool.pin(handle, latch, zero_copy)
        if entry == NULL:
            _unknown(ref)
        if zero_copy:
            return self._view(entry)
        try:
            return PyBytes_FromStringAndSize(<const char*>_bytes_of(entry), <Py_ssize_t>entry.length)
        finally:
            self.pool.unpin(entry)

    cdef object _view(self, Entry* entry):
        cdef _View view
        try:
            view = _View.__new__(_View)
        except BaseException:
            self.pool.unpin(entry)
            raise
        view.entry = entry
        view.pool = self.pool
        self.pool.retain()
        return memoryview(view)

    def latch(self, ref):
        if not self.pool.latch(_ref_of(ref)):
            _unknown(ref)

    def unlatch(self, ref):
        cdef Unlatched outcome = self.pool.unlatch(_ref_of(ref))
        if outcome == Unlatched.Unknown:
            _unknown(ref)
        if outcome == Unlatched.NotLatched:
            raise RuntimeError(f"the block {ref} is not latched")

    def release(self, ref):
        if not self.pool.drop(_ref_of(ref)):
            _unknown(ref)

    # ---- upkeep

    def trim(self):
        return self.pool.trim()

    def compact(self, max_bytes=1 << 20):
        cdef size_t most = _size_of(max_bytes)
        cdef size_t moved
        with nogil:
            moved = self.pool.compact(most)
        return moved

    def available_space(self):
        return max(0, <int64_t>self.max_bytes - self.pool.budget().in_use())

    def fragmentation(self):
        return self.pool.fragmentation()

    @property
    def used_segments(self):
        cdef vector[Segment] segments = self.pool.segments()
        found = {}
        for segment in segments:
            found[segment.ref] = {
                "length": segment.length,
                "capacity": segment.capacity,
                "pins": segment.pins,
                "latches": segment.latches,
            }
        return found

    def stats(self):
        cdef Stats stats = self.pool.stats()
        return MemoryPoolStats(
            stats.in_use,
            stats.retained,
            stats.peak,
            stats.pinned,
            stats.overflow_bytes,
            stats.commits,
            stats.reads,
            stats.releases,
            stats.failed,
            stats.slabs,
            stats.evacuated,
            stats.frames,
            stats.oldest_pin / 1e9,
        )


cdef int64_t _ref_of(object ref) except? -1:
    cdef int overflow = 0
    cdef long long value
    if PyLong_CheckExact(ref):
        value = PyLong_AsLongLongAndOverflow(ref, &overflow)
        return 0 if overflow else value  # 0 is never given
    if not isinstance(ref, int):
        raise TypeError(f"a block reference must be an int, not {type(ref).__name__}")
    return _ref_of(int(ref))


cdef int _unknown(object ref) except -1:
    raise ValueError(f"no live block has the reference {ref}: it was released or belongs to another pool")


def debug_counters():
    """Return the numbers of pools, arenas and frames in this process."""
    cdef PoolCounters counters = pool_counters()
    return {"pools": counters.pools, "pool_arenas": counters.arenas, "pool_frames": counters.frames}
