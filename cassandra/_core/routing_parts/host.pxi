# What routing reads of a host on every request, as C fields: ``Host`` is made on top of it.
cdef class HostState:
    cdef signed char up  # 0 not known, 1 down, 2 up
    cdef public Py_hash_t _hash

    @property
    def is_up(self):
        return None if self.up == 0 else self.up == 2

    @is_up.setter
    def is_up(self, is_up):
        self.up = 0 if is_up is None else 2 if is_up else 1

    def __hash__(self):
        return self._hash


@cython.final
cdef class Count:
    cdef readonly uint64_t value

    def advance(self):
        cdef uint64_t before = self.value
        self.value = before + 1
        return before


@cython.final
@cython.freelist(16)
cdef class Place:
    cdef readonly object host
    cdef readonly object shard

    def __init__(self, host, shard=None):
        self.host = host
        self.shard = shard

    def __eq__(self, other):
        if not isinstance(other, Place):
            return NotImplemented
        return self.host is (<Place> other).host and self.shard == (<Place> other).shard

    def __hash__(self):
        return hash((self.host, self.shard))

    def __repr__(self):
        return f"<Place: {self.host!r} shard {self.shard}>"
