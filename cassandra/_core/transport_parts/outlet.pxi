# Outlet: what native requests need of a connection.


@cython.final
cdef class Outlet:
    """What frames a connection takes, and the channel that takes them as they are."""

    cdef readonly object dialect
    cdef Channel channel

    def __init__(self, dialect, Channel channel not None):
        self.dialect = dialect
        self.channel = channel
