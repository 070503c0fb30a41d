# Answer: what a page came to, as it is kept.
#
# The results of many requests at a time are many objects that lie about until somebody looks at them, and to the garbage
# collector that would be a third of the cost of the requests. Nobody has a reference to anything in a result, and nothing
# in it leads back to it, before he has looked at its rows or set an attribute of it: only from then on may it be in a
# cycle, and is the collector told of it.

cdef extern from "Python.h":
    void PyObject_GC_Track(object untracked)
    void PyObject_GC_UnTrack(object tracked)
    bint PyObject_GC_IsTracked(object found)
    int PyObject_GenericSetAttr(object owner, object name, object value) except -1


cdef frozenset ATOMIC = frozenset((int, str, bytes, float, bool, type(None)))


cdef bint holds_only_values(values) noexcept:
    """Whether *values* lead to nothing else, so that whoever has them is in no cycle by them."""
    if type(values) is not tuple:
        return values is None
    for value in <tuple> values:
        if type(value) not in ATOMIC:
            return False
    return True


cdef class Answer:
    """What a page came to, as ResultSet keeps it."""

    cdef object future
    cdef object rows
    cdef readonly Flight _flight
    cdef public object _plan
    cdef public object _paging_state
    cdef public object _beside

    @classmethod
    def _of(cls, future, tuple outcome not None):
        """The page that *future* has come to."""
        cdef Answer made = new_object(cls)
        rows, _, came, _ = outcome
        made.future = future
        made._plan, made._paging_state, made._beside = came
        if type(rows) is list:
            made.rows = rows
        else:
            made._set_current_rows(rows)
        return made

    cdef void keep_unseen(self) noexcept:
        """Nobody has seen it yet."""
        if type(self.rows) is list:
            PyObject_GC_UnTrack(self.rows)
        PyObject_GC_UnTrack(self)

    cdef void seen(self) noexcept:
        if not PyObject_GC_IsTracked(self):
            PyObject_GC_Track(self)
        if type(self.rows) is list and not PyObject_GC_IsTracked(self.rows):
            PyObject_GC_Track(self.rows)

    @property
    def _current_rows(self):
        self.seen()
        return self.rows

    @_current_rows.setter
    def _current_rows(self, rows):
        self.rows = rows

    @property
    def response_future(self):
        if self.future is None and self._flight is not None:
            self.seen()
            self.future = self._future_of(self._flight)
        return self.future

    @response_future.setter
    def response_future(self, future):
        self.future = future

    def __setattr__(self, name, value):
        self.seen()
        PyObject_GenericSetAttr(self, name, value)

    def _future_of(self, Flight flight):
        """Override. The future of a request that had none."""
        raise NotImplementedError
