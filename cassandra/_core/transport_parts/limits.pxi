# Limits on requests in flight that channels share, see cpp/transport/limits.h.


cdef class Limit:
    """At most *maximum* requests in flight over all channels that have it, and within the limits above it."""

    cdef Ref[CLimit] core
    cdef readonly Limit parent
    cdef Operation waiter

    def __init__(self, int maximum, Operation waiter not None, Limit parent=None):
        if maximum < 1:
            raise ValueError(f"a limit is at least 1, not {maximum}")
        cdef Ref[CLimit] above
        if parent is not None:
            above = parent.core
        self.parent = parent
        self.waiter = waiter
        self.core = Ref[CLimit].adopt(new CLimit(maximum, above))

    def wait(self):
        cdef Limit limit = self
        cdef Wait wait
        while limit is not None:
            Py_INCREF(limit.waiter)
            wait = limit.core.get().wait(&limit.waiter.core)
            if wait != Wait.Armed:
                Py_DECREF(limit.waiter)
            if wait != Wait.Room:
                return True
            limit = limit.parent
        return False

    def end_line(self):
        self.core.get().end_line()

    @property
    def maximum(self):
        return self.core.get().maximum()

    @property
    def in_flight(self):
        return self.core.get().in_flight()

    def __repr__(self):
        above = "" if self.parent is None else f", {self.parent!r}"
        return f"{self.in_flight} of {self.maximum}{above}"
