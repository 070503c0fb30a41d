# The fields of a host that routing reads on every request, in C: base of ``Host``.
cdef enum:
    UNKNOWN = 0
    DOWN = 1
    UP = 2
    SUSPECT = 3  # up, and silent at present: last in plans


cdef class HostState:
    cdef signed char up
    cdef public Py_hash_t _hash

    @property
    def is_up(self):
        return None if self.up == UNKNOWN else self.up >= UP

    @is_up.setter
    def is_up(self, is_up):
        self.up = UNKNOWN if is_up is None else UP if is_up else DOWN

    @property
    def is_suspect(self):
        return self.up == SUSPECT

    @is_suspect.setter
    def is_suspect(self, bint is_suspect):
        if self.up >= UP:
            self.up = SUSPECT if is_suspect else UP

    def __hash__(self):
        return self._hash


@cython.final
cdef class Count:
    cdef readonly uint64_t value

    def __reduce__(self):
        return Count, ()

    def advance(self):
        cdef uint64_t before = self.value
        self.value = before + 1
        return before


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
