# What other extensions read of this one's objects as C fields.


cdef class Place:
    cdef readonly object host
    cdef readonly object shard
