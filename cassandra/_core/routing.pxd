# What other extensions use of this one for every request: C fields and functions.
from libc.stdint cimport int64_t


cdef class Place:
    cdef readonly object host
    cdef readonly object shard


# ``route(token)``, or ``route(None)`` of what is not *routed*; *route* is a RoutePlan nearly always.
cdef Place place_of(route, bint routed, int64_t token)


cdef class SessionFields:
    cdef public object _scope
    cdef public object _pool_set
    cdef object _kept
    cdef object _kept_in  # the scope it was in
    cdef object kept_so_far(self)


cdef class PoolSetFields:
    cdef public dict pools


cdef class PoolFields:
    cdef public object picks


cdef class MetadataFields:
    cdef public object state


cdef class ProfileFields:
    cdef public int64_t _version


cdef class CompiledCache:
    cdef public object place
    cdef public object last
    cdef public object lane
    cdef public dict others
