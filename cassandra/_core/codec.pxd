# What other extensions read of this one's objects as C fields.
from libc.stdint cimport int64_t


cdef class TimestampClock:
    cdef public int64_t last
    cdef readonly int64_t ahead  # of the clock, at the last call
    cdef int64_t step(self) except? -1
