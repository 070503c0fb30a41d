# Answer: what a page came to, as it is kept.

cdef class Answer:
    """What a page came to, as ResultSet keeps it."""

    cdef object future
    cdef public object _current_rows
    cdef readonly Flight _flight
    cdef public object _plan
    cdef public object _paging_state
    cdef public object _beside

    @classmethod
    def _of(cls, future, tuple outcome not None):
        """The page that *future* has come to."""
        return answer_of(cls, future, outcome)

    @property
    def response_future(self):
        if self.future is None and self._flight is not None:
            self.future = self._future_of(self._flight)
        return self.future

    @response_future.setter
    def response_future(self, future):
        self.future = future

    def _future_of(self, Flight flight):
        """Override. The future of a request that had none."""
        raise NotImplementedError


cdef object answer_of(kind, future, tuple outcome):
    cdef Answer made = <Answer> new_object(kind)
    rows = outcome[0]
    cdef tuple came = <tuple> outcome[2]
    made.future = future
    made._plan = came[0]
    made._paging_state = came[1]
    made._beside = came[2]
    if type(rows) is list:
        made._current_rows = rows
    elif rows is None:
        made._current_rows = []
    else:
        made._turn_to_rows(rows)
    return made
