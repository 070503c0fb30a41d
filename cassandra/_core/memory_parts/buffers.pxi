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
