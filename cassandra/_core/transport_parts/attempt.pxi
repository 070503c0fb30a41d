# Attempt: one send of a request.


@cython.final
@cython.freelist(128)
cdef class Attempt:
    """One send of a request: host, connection and stream, needed to give it up, and how to read its response."""

    cdef readonly object host
    cdef readonly object pool
    cdef readonly ConnectionBase connection
    cdef readonly object reprepares
    cdef readonly int64_t page
    cdef public object plan
    cdef public int64_t number
    cdef public int64_t stream
    cdef public double started
    cdef public bint answered

    def __init__(self, host, pool, ConnectionBase connection, int64_t page, reprepares=None, int64_t number=-1, plan=None):
        self.host = host
        self.pool = pool
        self.connection = connection
        self.page = page
        self.reprepares = reprepares
        self.number = number
        self.plan = plan
        self.stream = -1

    cdef object reader(self):
        return self.connection.results

    def abandon(self, Operation request not None):
        if self.stream >= 0:
            self.connection.orphan(self.stream, request, self.number)


cdef Attempt first_attempt(host, pool, ConnectionBase connection, plan):
    cdef Attempt attempt = Attempt.__new__(Attempt)
    attempt.host = host
    attempt.pool = pool
    attempt.connection = connection
    attempt.plan = plan
    attempt.stream = -1
    return attempt
