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
