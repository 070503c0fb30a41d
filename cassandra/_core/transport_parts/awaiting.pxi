# Awaiting: the object that a task yields and waits for while it awaits a request.
#
# It has the methods of an asyncio future that tasks use, also tasks of other kinds of loops. It differs in how the task
# goes on: a future has the loop call the task in the loop's next turn, which costs more than all other steps of a
# response. Here the reader callback that takes the responses from the queue calls the tasks itself, after it has
# processed the responses; each task in its own context, as the loop would.
#
# All of it happens on the loop's thread. States: *pending*; *done*, with an outcome; *cancelled*. It leaves *pending*
# once.

cdef extern from "Python.h":
    int PyContext_Enter(object context) except -1
    int PyContext_Exit(object context) except -1
    object PyContext_CopyCurrent()

# A task implemented in C reads the result of a future implemented in C in place. On any other object it calls a method
# whose name it creates first, which costs as much as all other steps of the wake-up. It discards the result, because
# its coroutine gets it from the object that it yielded. So tasks are woken with a future that is done.
cdef const void* _wakes_task = NULL  # the wake-up method of C tasks, once one was seen; _done is set then
cdef object _done = None


cdef object woken_with(callback, _Awaiting awaiting):
    """Return the argument for *callback*."""
    cdef const void* method = method_of(callback)
    if method == NULL:
        return awaiting
    if _wakes_task == NULL:
        learn_what_wakes(method, callback)
    return _done if method == _wakes_task else awaiting


cdef void learn_what_wakes(const void* method, callback) noexcept:
    global _wakes_task, _done
    if not is_task_wakeup(method):
        return
    try:
        import asyncio

        if not isinstance(callback.__self__, asyncio.Task):
            return
        done = asyncio.Future(loop=_NoLoop())
        done.set_result(None)
    except Exception:  # another asyncio implementation: its tasks are called with the awaited object
        return
    _done = done
    _wakes_task = method


class _NoLoop:
    """The loop of a future that is never awaited."""

    def get_debug(self):
        return False


cdef enum AwaitingState:
    AWAITING_PENDING
    AWAITING_DONE
    AWAITING_CANCELLED


@cython.final
@cython.freelist(128)
cdef class _Awaiting:
    """One ``await`` of a request by a task."""

    cdef readonly object loop
    cdef LoopQueue queue  # notifies the loop; None if the loop watches no descriptors
    cdef object outcome
    cdef object callback  # the task; nearly always the only one
    cdef object context
    cdef list more  # others, with their contexts
    cdef object message
    cdef AwaitingState state
    cdef bint is_told  # the outcome is set; the state becomes DONE on the loop's thread
    cdef public bint _asyncio_future_blocking

    # ---- methods that tasks call

    def get_loop(self):
        return self.loop

    def done(self):
        return self.state != AWAITING_PENDING

    def cancelled(self):
        return self.state == AWAITING_CANCELLED

    def add_done_callback(self, callback, *, context=None):
        if context is None:
            context = PyContext_CopyCurrent()
        if self.state != AWAITING_PENDING:
            self.loop.call_soon(callback, self, context=context)
        elif self.callback is None:
            self.callback = callback
            self.context = context
        else:
            if self.more is None:
                self.more = []
            self.more.append((callback, context))

    def remove_done_callback(self, callback):
        cdef list kept = [entry for entry in self.callbacks() if entry[0] != callback]
        cdef Py_ssize_t removed = len(self.callbacks()) - len(kept)
        self.callback = self.context = self.more = None
        for entry in kept:
            self.add_done_callback(entry[0], context=entry[1])
        return removed

    def result(self):
        if self.state == AWAITING_CANCELLED:
            raise self.cancelled_error()
        if self.state == AWAITING_PENDING:
            import asyncio

            raise asyncio.InvalidStateError("the request has no response yet")
        return self.outcome

    def exception(self):
        self.result()
        return None

    def cancel(self, msg=None):
        if self.state != AWAITING_PENDING:
            self.call_soon()  # those that a signal handler kept from being called
            return False
        self.state = AWAITING_CANCELLED
        self.message = msg
        self.call_soon()
        return True

    cdef object cancelled_error(self):
        import asyncio

        return asyncio.CancelledError() if self.message is None else asyncio.CancelledError(self.message)

    def __await__(self):
        self._asyncio_future_blocking = True
        yield self
        return self.result()

    # ---- methods that the request calls

    def set_result(self, outcome):
        """Set the outcome, on the loop's thread."""
        self.keep(outcome)
        self.settle()
        self.call_soon()

    cdef void keep(self, outcome) noexcept:
        """Store the outcome; only the first one counts. Any thread."""
        if not self.is_told:
            self.is_told = True
            self.outcome = outcome

    cdef bint settle(self) noexcept:
        """Become done if pending. Return True if callbacks have to be called now."""
        if self.state == AWAITING_PENDING:
            self.state = AWAITING_DONE
        return self.state == AWAITING_DONE and self.callback is not None

    cdef list callbacks(self):
        if self.callback is None:
            return []
        return [(self.callback, self.context), *(self.more or ())]

    cdef int call_soon(self) except -1:
        """Call the callbacks in the loop's next turn. Repeated if a signal handler interrupts it."""
        if self.callback is None:
            return 0
        if not self.loop.get_debug():
            self.loop.call_soon(self._call_all)
            return 0
        for callback, context in self.callbacks():  # in debug mode the loop measures each callback
            self.loop.call_soon(callback, self, context=context)
        self.callback = self.context = self.more = None
        return 0

    def _call_all(self):
        try:
            while self.callback is not None:
                self.call_next()
        except BaseException:
            self.call_soon()
            raise

    cdef int call_next(self) except -1:
        """Call the next callback, which is removed before the call."""
        callback, context = self.callback, self.context
        if self.more:
            self.callback, self.context = self.more.pop(0)
        else:
            self.callback = self.context = None
        PyContext_Enter(context)
        try:
            callback(self if self.state == AWAITING_CANCELLED else woken_with(callback, self))
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # a task handles its own exceptions, but other callbacks may be added too
            self.loop.call_exception_handler(
                {"message": "A callback of an awaited request raised an exception", "exception": error}
            )
        finally:
            PyContext_Exit(context)
        return 0


def new_awaiting(loop):
    cdef _Awaiting awaiting = _Awaiting.__new__(_Awaiting)
    awaiting.loop = loop
    awaiting.queue = bridge_to(loop).queue
    return awaiting


@cython.final
cdef class _Waiter:
    """Any other object that waits for a request on a loop; it has ``get_loop``, ``done`` and ``set_result``, as an
    asyncio future has. ``set_result`` is repeated if a signal handler interrupted it and the object is not ``done``."""

    cdef object waiter
    cdef LoopQueue queue
    cdef object outcome
    cdef bint was_interrupted


cdef int go_on(LoopQueue queue) except -1:
    """Call the waiters that were notified, on the loop's thread. A call that a signal handler interrupts is repeated if
    the waiter is not a task."""
    cdef list going = queue.going
    cdef Py_ssize_t count = len(going)
    cdef _Awaiting awaiting
    cdef _Waiter other
    cdef object debugged = None  # in debug mode the loop measures each callback
    while count > 0 and going:
        count -= 1
        waiter = going[len(going) - 1]
        if type(waiter) is _Awaiting:  # removed in the native step that removes its callback
            awaiting = <_Awaiting> waiter
            if awaiting.settle():
                if debugged is None:
                    debugged = bool(awaiting.loop.get_debug())
                if not debugged and awaiting.more is None:
                    going.pop()
                    awaiting.call_next()
                    continue
                awaiting.call_soon()
            going.pop()
            continue
        going.pop()
        other = <_Waiter> waiter
        try:
            if not other.waiter.done():
                other.waiter.set_result(other.outcome)
        except BaseException:
            if not other.was_interrupted:
                other.was_interrupted = True
                going.append(other)
            raise
    return 0
