# Answer: the result of a page; and the calls of callbacks.

cdef object LAZY_ROWS = _LazyRows


cdef inline object decoded_rows(rows):
    """Return *rows*, decoded if they are not decoded yet."""
    return rows.rows() if type(rows) is LAZY_ROWS else rows


cdef class Answer:
    """The result of a page. ResultSet derives from it. Several threads may use it: rows and page are read and replaced
    in critical sections, see request.pxi."""

    cdef object future
    cdef object rows  # a list, the return value of the user's row factory, or LazyRows until they are read
    cdef public object _kept  # retained form of the page; None if it is gone or was not retained
    cdef readonly InFlightRequest _request
    cdef public object _plan
    cdef public object _paging_state
    cdef public object _extras
    cdef public object _page_iter  # over its rows; None until they are iterated
    cdef public object _fetching  # the number of the next page while it is requested
    cdef public object _ahead  # time of that request if no thread waited for it then
    cdef public bint _turned  # the result is at a later page

    @classmethod
    def _of(cls, future, tuple outcome not None):
        """Return the page that *future* has received."""
        return answer_of(cls, future, outcome)

    @property
    def _current_rows(self):
        return self.current_rows()

    cdef object current_rows(self):
        rows = self.undecoded_rows()
        if type(rows) is not LAZY_ROWS:
            return rows
        opened = rows.rows()
        with cython.critical_section(self):
            if self.rows is rows:
                self.rows = opened
        return opened

    @_current_rows.setter
    def _current_rows(self, rows):
        with cython.critical_section(self):
            before, self.rows = self.rows, rows

    cdef object undecoded_rows(self):
        with cython.critical_section(self):
            return self.rows

    @property
    def _undecoded_rows(self):
        """The rows, or their LazyRows."""
        return self.undecoded_rows()

    @property
    def response_future(self):
        with cython.critical_section(self):
            future = self.future
        if future is not None or self._request is None:
            return future
        made = self._future_of(self._request)
        with cython.critical_section(self):
            if self.future is None:  # two threads may make one at the same time
                self.future = made
            return self.future

    @response_future.setter
    def response_future(self, future):
        with cython.critical_section(self):
            before, self.future = self.future, future

    def _turn(self, number, before, rows, tuple page_info not None, page_iter):
        """Go to the requested page *number*: *rows*, the extras *page_info*, and an iterator over the rows. Do nothing
        if another thread has turned the page; nor, unless *before* is None, if that is not the iterator any more."""
        plan, paging_state, extras, kept = page_info
        with cython.critical_section(self):
            if self._fetching is not number or (before is not None and self._page_iter is not before):
                return
            old_iter, self._page_iter = self._page_iter, page_iter
            old_rows, self.rows = self.rows, rows
            old_plan, self._plan = self._plan, plan
            old_paging_state, self._paging_state = self._paging_state, paging_state
            old_extras, self._extras = self._extras, extras
            old_kept, self._kept = self._kept, kept
            fetching, self._fetching = self._fetching, None
            ahead, self._ahead = self._ahead, None
            self._turned = True

    def _begin_page(self):
        """Begin to iterate over the current page."""
        cdef bint begun = False
        while not begun:
            rows = self.current_rows()
            page_iter = iter(rows or ())
            with cython.critical_section(self):
                begun = self.rows is rows  # else another thread has turned the page
                if begun:
                    before, self._page_iter = self._page_iter, page_iter

    def _end_page(self, page_iter):
        """Drop the rows of the last page, to which *page_iter* belongs."""
        cdef list none = []
        with cython.critical_section(self):
            if self._page_iter is page_iter and self._paging_state is None:
                before, self.rows = self.rows, none

    def _not_requested(self, number):
        """Forget the request of page *number*."""
        with cython.critical_section(self):
            if self._fetching is number:
                self._fetching = None
                ahead, self._ahead = self._ahead, None

    cdef object page_iter(self):
        with cython.critical_section(self):
            return self._page_iter

    cpdef object _future_of(self, InFlightRequest request):
        raise NotImplementedError

    cpdef object _go_ahead(self):
        raise NotImplementedError

    cpdef bint _turn_page(self, page) except -1:
        raise NotImplementedError

    cpdef object _turn_to_rows(self, result):
        raise NotImplementedError


cdef extern from "Python.h":
    PyObject* PyIter_Next(object iterator) except? NULL


@cython.final
cdef class RowsOfPages:
    """The rows of all pages of *result*, one after another. An exception of a page request, or of a signal handler
    during it, leaves the position unchanged: the next call goes on from there."""

    cdef Answer result
    cdef object page
    cdef int taken  # of the page: 0 is no row, 1 is one, 2 is more
    cdef bint ended

    def __init__(self, Answer result not None):
        self.result = result
        self.page = iter(result.page_iter() or ())  # PyIter_Next requires an iterator

    def __iter__(self):
        return self

    def __next__(self):
        cdef PyObject* row
        cdef int taken
        cdef bint ended
        while True:
            page = None  # the one before is not freed in the section
            with cython.critical_section(self):
                page, taken, ended = self.page, self.taken, self.ended
            if ended:
                raise StopIteration
            if taken == 1:  # no request ahead for a caller that reads only the first row
                self.result._go_ahead()
                self.note(page, 2)
            row = PyIter_Next(page)
            if row != NULL:
                if taken == 0:
                    self.note(page, 1)
                return adopt(row)
            self.turn(page, taken)

    cdef void note(self, page, int taken) noexcept:
        with cython.critical_section(self):
            if self.page is page and self.taken < taken:
                self.taken = taken

    cdef int turn(self, page, int taken) except -1:
        """Go past *page*, of which *taken* was read, unless another thread did."""
        cdef bint last = False
        if taken == 0:  # an empty page
            self.result._go_ahead()
            self.note(page, 2)
        if self.result.page_iter() is page:  # else another iterator has turned the page already
            last = not self.result._turn_page(page)
        if last:
            with cython.critical_section(self):
                self.ended = True
            return 0
        rows = self.result.page_iter()
        following = iter(() if rows is None else rows)
        with cython.critical_section(self):
            if self.page is page:
                self.page = following
                self.taken = 0
        return 0


cdef inline object adopt(PyObject* new):
    """Take over a new reference and return it as an object."""
    cdef object owned = <object> new
    Py_DECREF(owned)
    return owned


cdef object answer_of(kind, future, tuple outcome):
    cdef Answer made = <Answer> new_object(kind, ())
    rows = outcome[0]
    cdef tuple page_info = <tuple> outcome[2]
    made.future = future
    made._plan = page_info[0]
    made._paging_state = page_info[1]
    made._extras = page_info[2]
    made._kept = page_info[3]
    if type(rows) is list or type(rows) is LAZY_ROWS:
        made.rows = rows
    elif rows is None:
        made.rows = []
    else:
        made._turn_to_rows(rows)
    return made


cdef int call_with_rows(tuple calls, lazy_rows) except -1:
    try:
        rows = lazy_rows.rows()
    except Exception as error:
        from cassandra._base.logs import get_logger

        get_logger("cassandra.cluster").error("The rows of a request cannot be decoded: %s", error)
        return 0
    for call in calls:
        call_back(call, rows)
    return 0


cdef int call_back(tuple call, value, bint here=False) except -1:
    """Call a callback of a request. Its exceptions are logged. *here* is true on the thread of a caller: interruptions
    by signal handlers are raised there."""
    function, args, kwargs = call
    try:
        function(value, *args, **kwargs)
    except BaseException as error:  # CancelledError and SystemExit too
        if here and not isinstance(error, Exception):
            raise
        from cassandra._base.logs import get_logger

        get_logger("cassandra.cluster").exception("A callback of a request raised an exception: %r", function)
    return 0


# The type of results for applications, ``ResultSet``; the functions that raise the exception of an outcome to a thread,
# and to a task; and the function that adds the statement to an exception.
cdef object result_type = None, raise_waited = None, raise_awaited = None, note_failure = None


def set_result_type(type kind not None, raise_outcome, raise_error, note_error):
    global result_type, raise_waited, raise_awaited, note_failure
    result_type, raise_waited, raise_awaited, note_failure = kind, raise_outcome, raise_error, note_error
    set_await(kind, not_awaitable)


cdef object not_awaitable(result):
    """Called by an ``await`` of a result, which has no ``__await__``: other libraries look for that."""
    raise TypeError(
        "a ResultSet cannot be awaited: execute() has waited for the response and blocked the event loop meanwhile; "
        "use `await session.execute_async(...)`"
    )


cdef tuple outcome_of(request):
    """Wait for the outcome of *request* and return it, or raise its exception."""
    cdef tuple outcome = (<Request?> request).await_outcome()
    if outcome[1] is not None:
        raise_waited(outcome)
    return outcome


cdef object rows_of(tuple outcome):
    """Return the rows of *outcome*."""
    return decoded_rows(outcome[0])


cdef tuple page_of(result):
    cdef Answer page = <Answer?> result
    with cython.critical_section(page):
        plan = page._plan
    return page.current_rows(), plan


cdef int set_row_factory(future, row_factory) except -1:
    (<Request?> future).row_factory = row_factory
    return 0
