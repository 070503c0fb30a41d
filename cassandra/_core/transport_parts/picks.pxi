# Picks: which connection of a pool takes a request, in one native step.


@cython.final
cdef class Picks:
    """The connections of one node, as they are now."""

    cdef object sole
    cdef Channel channel  # of that one
    cdef Outlet outlet  # of that one, too
    cdef object picker

    def __init__(self, sole, picker):
        self.sole = sole
        self.channel = None if sole is None else sole.channel
        self.outlet = None if sole is None else sole.outlet
        self.picker = picker

    def at(self, token=None, shard=None):
        return self.wanted(token is not None, 0 if token is None else <int64_t> token, shard)

    def pick(self, token=None, shard=None):
        return self.usable(token is not None, 0 if token is None else <int64_t> token, shard)

    cdef object wanted(self, bint routed, int64_t token, shard):
        if self.sole is not None:
            return self.sole
        return None if self.picker is None else self.picker.pick(token if routed else None, shard)

    cdef object usable(self, bint routed, int64_t token, shard):
        connection = self.wanted(routed, token, shard)
        if connection is None:
            return None
        cdef Channel channel = connection.channel if self.channel is None else self.channel
        return connection if takes_requests(connection, channel) else None


cdef bint takes_requests(connection, Channel channel) except -1:
    """Whether nothing says that another connection would be better."""
    if channel is None or channel.core.closed() or channel.core.reactor().foreign():
        return False
    cdef int given_up = channel.core.orphaned()
    if channel.core.in_flight() + given_up >= channel.core.max_requests():
        return False
    return given_up == 0 or given_up < connection.orphaned_threshold
