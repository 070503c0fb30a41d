# What other extensions use of this one for every request: C fields and functions.
from libc.stdint cimport int64_t, uint8_t


cdef class TimestampClock:
    cdef public int64_t last
    cdef readonly int64_t ahead  # of the clock, at the last call
    cdef int64_t step(self) except? -1


# ``ExecuteTemplate.encode``, without a tuple: *token* is set where this returns with *routed*.
cdef bytes encode_by_template(template, values, timestamp, int64_t* token, bint* routed)

# ``ResultDecoder.plain`` of the *size* bytes at *body*, which *owner* keeps; None will do up to UNOWNED of them.
cdef enum:
    UNOWNED = 4096
cdef tuple plain_rows(decoder, owner, const uint8_t* body, Py_ssize_t size, int header, plan, factory)
