# Outlet: what native requests need of a connection.


@cython.final
cdef class Outlet:
    """What frames a connection takes, the channel that takes them as they are, and who reads the answers."""

    cdef readonly object dialect
    cdef Channel channel
    cdef object results

    def __init__(self, dialect, Channel channel not None, results):
        self.dialect = dialect
        self.channel = channel
        self.results = results
