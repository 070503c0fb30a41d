# The fields of a host that routing reads on every request, in C: base of ``Host``.
cdef enum:
    UNKNOWN = 0
    DOWN = 1
    UP = 2
    SUSPECT = 3  # up, and silent at present: last in plans


cdef class HostState:
    cdef atomic[int8_t] up
    cdef public Py_hash_t _hash

    @property
    def is_up(self):
        cdef int8_t up = state_of(self)
        return None if up == UNKNOWN else up >= UP

    @is_up.setter
    def is_up(self, is_up):
        self.up.store(UNKNOWN if is_up is None else UP if is_up else DOWN, memory_order_relaxed)

    @property
    def is_suspect(self):
        return state_of(self) == SUSPECT

    @is_suspect.setter
    def is_suspect(self, bint is_suspect):
        cdef int8_t before = UP if is_suspect else SUSPECT  # no effect on a host that is not up
        self.up.compare_exchange_strong(before, SUSPECT if is_suspect else UP)

    def __hash__(self):
        return self._hash


cdef inline int8_t state_of(HostState host) noexcept:
    return host.up.load(memory_order_relaxed)


@cython.final
cdef class Count:
    """A counter. Any thread."""

    cdef atomic[uint64_t] count

    cdef uint64_t number(self) noexcept:
        return self.count.load(memory_order_acquire)

    cdef uint64_t next(self) noexcept:
        """Return the number, and add one."""
        return self.count.fetch_add(1, memory_order_acq_rel)

    @property
    def value(self):
        return self.number()

    def __reduce__(self):
        return Count, ()

    def advance(self):
        return self.next()


@cython.final
@cython.freelist(16)
cdef class Target:
    def __init__(self, host, shard=None):
        self.host = host
        self.shard = shard

    def __eq__(self, other):
        if not isinstance(other, Target):
            return NotImplemented
        return self.host is (<Target> other).host and self.shard == (<Target> other).shard

    def __hash__(self):
        return hash((self.host, self.shard))

    def __repr__(self):
        return f"<Target: {self.host!r} shard {self.shard}>"
