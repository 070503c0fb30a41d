# The end of a page: its steps after the outcome was set, and errors that no program asks for. See request.pxi.

# Default of ``_ending`` for new requests, which is called instead of ``_end``: ``(request, page, result, error,
# page_info)``.
cdef object default_ending = None


def set_default_ending(ending):
    global default_ending
    default_ending = ending


def has_default_ending():
    return default_ending is not None


@cython.final
@cython.freelist(64)
cdef class _PageEnd:
    """The steps that are left at the end of a page; the I/O thread calls it."""

    cdef Request request
    cdef tuple outcome
    cdef tuple waiters  # of loops that have no queue
    cdef double elapsed
    cdef Tracked tracked  # of the request
    cdef bint is_counted  # by the caller that has concluded it: only the tracker gets it
    cdef Attempt answered  # the attempt that a tracked page ended by, if that was not reported yet
    cdef tuple timers
    cdef tuple calls
    cdef Attempt first
    cdef tuple others

    def __call__(self):
        self.request.finish_page(self)


@cython.final
cdef class _UnretrievedError:
    """Logs the error of a request that is freed before a program has asked for its outcome."""

    cdef object error  # None: it was asked for

    def __del__(self):
        if self.error is not None:
            from cassandra._base.logs import unretrieved_errors

            unretrieved_errors.log(self.error)


cdef bint post(Reactor reactor, step) noexcept:
    """Have the I/O thread call *step*, natively. Return False if the reactor was stopped."""
    Py_INCREF(step)
    if reactor.core.call_soon(<void*> step):
        return True
    Py_DECREF(step)
    return False
