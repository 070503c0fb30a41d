# C fields and functions that other extensions use for every request.
from libc.stdint cimport int64_t, uint8_t
from libcpp.atomic cimport atomic


cdef class TimestampClock:
    cdef atomic[int64_t] latest
    cdef atomic[int64_t] lead  # ahead of the clock, at the last call
    cdef int64_t step(self) except? -1


# ``ExecuteTemplate.encode``, without a tuple: *token* is set if this returns with *routed*.
cdef bytes encode_by_template(template, values, timestamp, int64_t* token, bint* routed)

# The same in two steps: the encoded values, and the envelope around them.
cdef bytes encode_values(template, values, int64_t* token, bint* routed)
cdef bytes envelope_of(template, bytes values, timestamp, bint routed, int64_t token)

# ``ResultDecoder.plain`` of the *size* bytes at *body*, which *owner* keeps; None is sufficient up to UNOWNED bytes.
cdef enum:
    UNOWNED = 4096
cdef tuple plain_rows(decoder, owner, const uint8_t* body, Py_ssize_t size, int header, plan, factory)
