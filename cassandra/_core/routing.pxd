# What other extensions use of this one for every request: C fields and functions.


cdef class Place:
    cdef readonly object host
    cdef readonly object shard


# ``route(token)``; *route* is a RoutePlan nearly always.
cdef Place place_of(route, token)
