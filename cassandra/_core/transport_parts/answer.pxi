# Answer: what a page came to, as it is kept; and how callbacks are told.

cdef object UNMADE = _UnmadeRows


cdef inline object opened(rows):
    """*rows*, made if nobody asked for them yet."""
    return rows.rows() if type(rows) is UNMADE else rows


cdef class Answer:
    """What a page came to, as ResultSet keeps it."""

    cdef object future
    cdef object rows  # a list, what a user's factory made, or UnmadeRows until somebody asks
    cdef public object _kept  # the page, as bytes or as it is; None when it is gone or never was
    cdef readonly Flight _flight
    cdef public object _plan
    cdef public object _paging_state
    cdef public object _beside
    cdef public object _page_iter  # over its rows; None until they are iterated
    cdef public object _fetching  # the number of the next page while it is asked for
    cdef public object _ahead  # when it was asked for, if no thread waited for it then
    cdef public bint _turned  # to a later page

    @classmethod
    def _of(cls, future, tuple outcome not None):
        """The page that *future* has come to."""
        return answer_of(cls, future, outcome)

    @property
    def _current_rows(self):
        if type(self.rows) is UNMADE:
            self.rows = self.rows.rows()
        return self.rows

    @_current_rows.setter
    def _current_rows(self, rows):
        self.rows = rows

    @property
    def _unopened(self):
        """The rows as they are."""
        return self.rows

    @property
    def response_future(self):
        if self.future is None and self._flight is not None:
            self.future = self._future_of(self._flight)
        return self.future

    @response_future.setter
    def response_future(self, future):
        self.future = future

    def _turn(self, rows, tuple came not None, page_iter):
        """To another page: *rows*, what *came* with them, and an iterator over them. One native section."""
        self._page_iter = page_iter
        self.rows = rows
        self._plan = came[0]
        self._paging_state = came[1]
        self._beside = came[2]
        self._kept = came[3]
        self._fetching = self._ahead = None
        self._turned = True

    cpdef object _future_of(self, Flight flight):
        raise NotImplementedError

    cpdef object _go_ahead(self):
        raise NotImplementedError

    cpdef bint _turn_page(self) except -1:
        raise NotImplementedError

    cpdef object _turn_to_rows(self, result):
        raise NotImplementedError


cdef extern from "Python.h":
    PyObject* PyIter_Next(object iterator) except? NULL


@cython.final
cdef class RowsOfPages:
    """The rows of page after page of *result*. What asking for a page raises, or the handler of a signal meanwhile, leaves it
    where it was: it goes on from there when it is asked again."""

    cdef Answer result
    cdef object page
    cdef int taken  # of the page: no row, one, or more
    cdef bint ended

    def __init__(self, Answer result not None):
        self.result = result
        self.page = iter(result._page_iter or ())  # PyIter_Next takes nothing but an iterator

    def __iter__(self):
        return self

    def __next__(self):
        cdef PyObject* row
        while not self.ended:
            if self.taken == 1:  # a program that wants the first row alone asks for no more
                self.result._go_ahead()
                self.taken = 2
            row = PyIter_Next(self.page)
            if row != NULL:
                if self.taken == 0:
                    self.taken = 1
                return own(row)
            self.turn()
        raise StopIteration

    cdef int turn(self) except -1:
        cdef bint last = False
        if self.taken == 0:  # it is empty
            self.result._go_ahead()
            self.taken = 2
        if self.result._page_iter is self.page:  # else another iterator has turned the page already
            last = not self.result._turn_page()
        page = self.result._page_iter
        if last:
            self.ended = True
        else:
            self.page = iter(() if page is None else page)
            self.taken = 0
        return 0


cdef inline object own(PyObject* new):
    """A new reference as an object."""
    cdef object owned = <object> new
    Py_DECREF(owned)
    return owned


cdef object answer_of(kind, future, tuple outcome):
    cdef Answer made = <Answer> new_object(kind)
    rows = outcome[0]
    cdef tuple came = <tuple> outcome[2]
    made.future = future
    made._plan = came[0]
    made._paging_state = came[1]
    made._beside = came[2]
    made._kept = came[3]
    if type(rows) is list or type(rows) is UNMADE:
        made.rows = rows
    elif rows is None:
        made.rows = []
    else:
        made._turn_to_rows(rows)
    return made


cdef int tell_rows(tuple calls, unmade) except -1:
    try:
        rows = unmade.rows()
    except Exception as error:
        from cassandra._base.logs import get_logger

        get_logger("cassandra.cluster").error("The rows of a request cannot be read: %s", error)
        return 0
    for call in calls:
        call_back(call, rows)
    return 0


cdef int call_back(tuple call, value, bint here=False) except -1:
    """Call a callback of a request. What it raises is logged; *here*, on the thread of a caller, interruptions by the
    handlers of signals come out."""
    function, args, kwargs = call
    try:
        function(value, *args, **kwargs)
    except BaseException as error:  # CancelledError and SystemExit too
        if here and not isinstance(error, Exception):
            raise
        from cassandra._base.logs import get_logger

        get_logger("cassandra.cluster").exception("A callback of a request raised: %r", function)
    return 0


# What applications get: ``ResultSet``; and who raises the exception of an outcome to a thread, and to a task.
cdef object result_type = None, raise_waited = None, raise_awaited = None


def set_result_type(type kind not None, raise_outcome, raise_error):
    global result_type, raise_waited, raise_awaited
    result_type, raise_waited, raise_awaited = kind, raise_outcome, raise_error


cdef tuple outcome_of(request):
    """The outcome of *request*, which is waited for; its exception, raised."""
    cdef tuple outcome = (<Request?> request).settled()
    if outcome[1] is not None:
        raise_waited(outcome)
    return outcome


cdef object rows_of(tuple outcome):
    """The rows of *outcome*."""
    return opened(outcome[0])
