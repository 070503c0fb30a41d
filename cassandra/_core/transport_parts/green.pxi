# Greenlets of gevent and eventlet that wait for an operation (cassandra/_base/green.py). ``green`` is None without
# them.
#
# While greenlets wait for an operation, the queue of their hub is attached to it, so that an outcome makes the queue's
# descriptor readable and only the hub is called. The hub takes no outcome: it wakes the waiting greenlets, and the
# first of them processes the outcome as a waiting thread would. An end without an outcome (finish) wakes them too.
#
# ``green_waiting`` has the sleepers of the waiting greenlets, by the address of the operation, which each of them
# holds. It is used with the GIL.

from cassandra._base.real import green as _green

cdef object green = _green
cdef dict green_waiting = {}


cdef class _GreenQueue(CompletionQueue):
    """Outcomes for the greenlets of one hub."""

    cdef object loop

    def drain(self):
        if self.process != fork_generation():
            return
        cdef vector[COperation*] operations
        cdef Operation operation
        cdef list ended = []
        self.core.take_all(operations)
        for core in operations:
            operation = <Operation> core.self
            sleepers = get_value(green_waiting, PyLong_FromVoidPtr(<void*> operation), None)
            if sleepers:
                leave_outcomes(operation)
                ended.extend(sleepers)
            else:
                dispatch(operation, self)
        interruption, self.interruption = self.interruption, None
        try:
            for sleeper in ended:
                sleeper.go_on(self.loop)
        except BaseException:  # Ctrl-C: wake all of them, if the hub goes on
            for sleeper in ended:
                sleeper.release()
            raise
        if interruption is not None:
            raise interruption


cdef _GreenQueue green_queue(loop):
    cdef _GreenQueue queue = loop.queue
    if queue is None:
        queue = _GreenQueue()
        queue.loop = loop
        loop.watch(queue.fileno(), queue.drain)
        loop.queue = queue  # before the return: Ctrl-C may come
    return queue


cdef void leave_outcomes(Operation operation) noexcept:
    """Leave outcomes to the waiting greenlets, instead of a dispatch. Takes over a reference."""
    cdef int references = 0
    cdef Ref[CCompletionQueue] queue
    cdef Next next
    cdef DispatchStart begun = operation.core.begin_dispatch(True)
    if begun == DispatchStart.OnDriver:
        dispatch_on_driver(operation)
        return
    if begun == DispatchStart.Here:
        next = operation.core.end_dispatch(&references, &queue)
        drop_references(operation, references)
        if next == Next.Enqueue:
            enqueue(operation, queue)
            return
        if next == Next.Dispatch:
            dispatch_on_driver(operation)
            return
    Py_DECREF(operation)


cdef inline bint greenlets_wait(Operation operation) except -1:
    return len(green_waiting) > 0 and PyLong_FromVoidPtr(<void*> operation) in green_waiting


cdef void wake_greenlets(Operation operation) noexcept:
    """Wake the greenlets: the operation is finished, or its outcomes were passed to another thread."""
    try:
        for sleeper in get_value(green_waiting, PyLong_FromVoidPtr(<void*> operation), ()):
            sleeper.release()
    except BaseException as exception:
        report(exception, operation)


# ---- callbacks: run by a greenlet of the thread that added them, because a function they call could not wait elsewhere

cdef object new_callbacks(loop):
    callbacks = green.Callbacks(loop, _call_back)
    callbacks.hold()
    return callbacks


def _call_back(call, value):
    call_back(call, value)


cdef int hold_callbacks(tuple calls) except -1:
    """Hold the loops of the callbacks of greenlets: the callbacks will be called once more."""
    for function, _, _ in calls:
        if type(function) is green.Callbacks:
            function.hold()
    return 0
