# Awaiting: what a task waits for while it awaits a request.
#
# It is what the task's coroutine yields, and behaves like an asyncio future as far as a task asks (one that another kind
# of loop made, too). It differs in how the task goes on: a future has the loop call the task in its next turn, which
# costs more than all else about the answer. Here the reader callback that took the answers from the queue calls the tasks
# itself, when it is through with the answers; each in its own context, as the loop would.
#
# All of it happens on the loop's thread. States: *pending*; *done*, with an outcome; *cancelled*. It leaves *pending* once.

cdef extern from "Python.h":
    int PyContext_Enter(object context) except -1
    int PyContext_Exit(object context) except -1
    object PyContext_CopyCurrent()

cdef extern from *:
    """
    // What a bound function of C is a method of; NULL for anything else.
    static inline PyMethodDef* fastcql_method_of(PyObject* callable) noexcept {
        return PyCFunction_CheckExact(callable) ? reinterpret_cast<PyCFunctionObject*>(callable)->m_ml : nullptr;
    }
    """
    ctypedef struct PyMethodDef:
        const char* ml_name
    PyMethodDef* fastcql_method_of(object callable)

# A task of C asks a future of C for its result in place, and any other by a call of a method whose name it makes first, which
# costs as much as the rest of waking it. It throws the result away, as its coroutine gets it from what it yielded. So tasks
# are woken with a future that is done.
cdef PyMethodDef* _wakes_task = NULL  # the method of tasks that does so, once one was seen; then there is a future
cdef object _done = None


cdef object woken_with(callback, _Awaiting awaiting):
    """What *callback* is called with."""
    cdef PyMethodDef* method = fastcql_method_of(callback)
    if method == NULL:
        return awaiting
    if _wakes_task == NULL:
        learn_what_wakes(method, callback)
    return _done if method == _wakes_task else awaiting


cdef void learn_what_wakes(PyMethodDef* method, callback) noexcept:
    global _wakes_task, _done
    if method.ml_name != b"task_wakeup":
        return
    try:
        import _asyncio

        if not isinstance(callback.__self__, _asyncio.Task):
            return
        done = _asyncio.Future(loop=_NoLoop())
        done.set_result(None)
    except Exception:  # another asyncio than this one: its tasks are called with what they await
        return
    _done = done
    _wakes_task = method


class _NoLoop:
    """Of a future that nobody waits for."""

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
    cdef LoopQueue queue  # by which the loop is told; None if it watches no descriptors
    cdef object outcome
    cdef object callback  # nearly always there is one, the task
    cdef object context
    cdef list more  # others, with their contexts
    cdef object message
    cdef AwaitingState state
    cdef bint is_told  # the outcome is there; it is DONE when the loop has come to it
    cdef public bint _asyncio_future_blocking

    # ---- what tasks ask

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

            raise asyncio.InvalidStateError("The request was not answered yet")
        return self.outcome

    def exception(self):
        self.result()
        return None

    def cancel(self, msg=None):
        if self.state != AWAITING_PENDING:
            self.call_soon()  # those that were not called, as a signal's handler has interrupted that
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

    # ---- what the request tells

    def set_result(self, outcome):
        """It is here."""
        self.keep(outcome)
        self.settle()
        self.call_soon()

    cdef void keep(self, outcome) noexcept:
        """The first outcome counts. Any thread."""
        if not self.is_told:
            self.is_told = True
            self.outcome = outcome

    cdef bint settle(self) noexcept:
        """Whether callbacks are to be called now."""
        if self.state == AWAITING_PENDING:
            self.state = AWAITING_DONE
        return self.state == AWAITING_DONE and self.callback is not None

    cdef list callbacks(self):
        if self.callback is None:
            return []
        return [(self.callback, self.context), *(self.more or ())]

    cdef int call_soon(self) except -1:
        """In the loop's next turn. If the handler of a signal interrupts it, it is done once more."""
        if self.callback is None:
            return 0
        if not self.loop.get_debug():
            self.loop.call_soon(self._call_all)
            return 0
        for callback, context in self.callbacks():  # it wants to know how long each one takes
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
        """It leaves the others before it is called."""
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
        except BaseException as error:  # what a task raises is its own; but anybody may add a callback
            self.loop.call_exception_handler(
                {"message": "A callback of a request that was awaited raised", "exception": error}
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
    """Another object that waits for a request on a loop: one with ``get_loop``, ``done`` and ``set_result``, as an asyncio
    future has. ``set_result`` is called once more if the handler of a signal interrupted it and it is not ``done``."""

    cdef object waiter
    cdef LoopQueue queue
    cdef object outcome
    cdef bint was_interrupted


cdef int go_on(LoopQueue queue) except -1:
    """Call those who were told, who are at the loop's thread. One that the handler of a signal interrupts, and that is not
    a task, is called once more."""
    cdef list going = queue.going
    cdef Py_ssize_t count = len(going)
    cdef _Awaiting awaiting
    cdef _Waiter other
    cdef object debugged = None  # it wants to know how long each one takes
    while count > 0 and going:
        count -= 1
        waiter = going[len(going) - 1]
        if type(waiter) is _Awaiting:  # it leaves in the native step in which its callback does, or when that is scheduled
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
