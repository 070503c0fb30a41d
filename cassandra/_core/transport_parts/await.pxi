# What a task waits for: ``await`` of a request, and of its application's result.


cdef enum AwaitState:
    AWAIT_BEGINS
    AWAIT_PASSES  # yields to the loop once
    AWAIT_WAITS
    AWAIT_ENDED


@cython.final
@cython.freelist(128)
cdef class _Awaitable:
    """One ``await`` of a request. A task that is cancelled meanwhile gives the page up, unless it has other waiters. It
    ends with the outcome, or, *as_result*, with the application's result.

    An object and not a generator: one that is closed by the garbage collector would read the exception that was handled
    when it was resumed, which may be gone."""

    cdef Request request
    cdef _Awaiting waiter
    cdef bint as_result
    cdef AwaitState state
    cdef object result

    def __iter__(self):
        return self

    def __await__(self):
        return self

    def __next__(self):
        waiter = self.advance()
        if waiter is not self:
            return waiter
        stop_with(self.result)
        raise StopIteration  # set above; without a traceback, which would cost a tenth of the await

    def send(self, value):
        return self.__next__()

    def throw(self, kind, value=None, trace=None):
        error = kind() if value is None and isinstance(kind, type) else kind if value is None else value
        self.close()
        raise error

    def close(self):
        cdef bint waits = self.state == AWAIT_WAITS
        self.state = AWAIT_ENDED
        if waits:  # cancelled, or the loop ended and the coroutine with it
            self.request._leave(self.waiter)

    cdef object advance(self):
        """Return the object that the task has to wait for; this object itself at the end, with the result."""
        cdef Request request = self.request
        cdef AwaitState state = self.state
        cdef _Awaiting waiter
        if state == AWAIT_ENDED:
            self.result = None
            return self
        if state == AWAIT_WAITS:
            return self.end(self.waiter.result())
        if state == AWAIT_BEGINS and request.is_attached() and not (self.as_result and request.is_concluded()):
            request.take_plain(None)  # the loop that it was queued for may have ended
            if request.is_concluded():
                self.state = AWAIT_PASSES  # the loop runs other callbacks, also if pages arrive fast
                return None
        if not request.is_concluded():
            waiter = _Awaiting.__new__(_Awaiting)
            waiter.loop = running_loop()
            with cython.critical_section(request):
                request.attached = True
            if request.join(waiter.loop, waiter) is None:
                waiter._asyncio_future_blocking = True
                self.waiter = waiter
                self.state = AWAIT_WAITS
                return waiter
        return self.end(request.outcome())

    cdef object end(self, outcome):
        self.state = AWAIT_ENDED
        self.result = self.request.task_result(outcome) if self.as_result else outcome
        return self


cdef _Awaitable awaitable(Request request, bint as_result):
    cdef _Awaitable made = _Awaitable.__new__(_Awaitable)
    made.request = request
    made.as_result = as_result
    made.state = AWAIT_BEGINS
    return made
