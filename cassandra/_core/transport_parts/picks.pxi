# Picks: selects the connection of a pool for a request, in one native step.


@cython.final
cdef class Picks:
    """The present connections of one node."""

    cdef ConnectionBase sole
    cdef object picker

    def __init__(self, ConnectionBase sole, picker):
        self.sole = sole
        self.picker = picker

    def at(self, token=None, shard=None):
        return self.wanted(token is not None, 0 if token is None else <int64_t> token, shard)

    def pick(self, token=None, shard=None):
        return self.usable(token is not None, 0 if token is None else <int64_t> token, shard)

    cdef ConnectionBase wanted(self, bint routed, int64_t token, shard):
        cdef ConnectionBase picked = self.sole
        if picked is None and self.picker is not None:
            picked = self.picker.pick(token if routed else None, shard)
        return picked

    cdef ConnectionBase usable(self, bint routed, int64_t token, shard):
        cdef ConnectionBase connection = self.wanted(routed, token, shard)
        return connection if connection is not None and takes_requests(connection) else None


cdef bint takes_requests(ConnectionBase connection) noexcept:
    """True if there is no reason to prefer another connection."""
    cdef Channel channel = connection.channel
    if channel is None or channel.core.closed() or channel.core.reactor().foreign():
        return False
    cdef int given_up = channel.core.orphaned()
    if channel.core.in_flight() + given_up >= channel.core.max_requests():
        return False
    return given_up == 0 or given_up < connection.orphaned_threshold
