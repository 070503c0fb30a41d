# Greenlets of gevent and eventlet that wait for an operation (cassandra/_base/green.py); None of it without them.
#
# While greenlets wait for an operation, the queue of their hub is attached to it, so that an outcome makes the queue's
# descriptor readable and nobody but the hub is called. The hub takes nothing: it wakes those who wait, and the first of
# them processes the outcome as a thread would that had waited. What ends in another way (finish) wakes them too.
#
# ``green_waiting`` has the sleepers of those who wait, by the address of the operation, which each of them holds. Who has
# the GIL touches it.

from cassandra._base.real import green as _green

cdef object green = _green
cdef dict green_waiting = {}


cdef class _GreenQueue(LoopQueue):
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
            sleepers = green_waiting.get(PyLong_FromVoidPtr(<void*> operation))
            if sleepers:
                leave_outcomes(operation)
                ended.extend(sleepers)
            else:
                dispatch(operation, self)
        interruption, self.interruption = self.interruption, None
        try:
            for sleeper in ended:
                sleeper.go_on(self.loop)
        except BaseException:  # Ctrl-C: nobody must be forgotten, if the hub goes on
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
        loop.queue = queue  # now: Ctrl-C may come before
    return queue


cdef void leave_outcomes(Operation operation) noexcept:
    """In the place of a dispatch: somebody will take them. Takes over a reference."""
    cdef int references = 0
    cdef Ref[CLoopQueue] queue
    cdef Next next
    cdef Begun begun = operation.core.begin_dispatch(True)
    if begun == Begun.Elsewhere:
        dispatch_on_driver(operation)
        return
    if begun == Begun.Here:
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
    """It is finished, or somebody else was called for its outcomes."""
    try:
        for sleeper in green_waiting.get(PyLong_FromVoidPtr(<void*> operation), ()):
            sleeper.release()
    except BaseException as exception:
        report(exception, operation)


# ---- callbacks: a greenlet of the thread that added them runs them, or what they call could not wait

cdef object new_callbacks(loop):
    callbacks = green.Callbacks(loop, _call_back)
    callbacks.hold()
    return callbacks


def _call_back(call, value):
    call_back(call, value)


cdef int hold_callbacks(tuple calls) except -1:
    """They are called once more."""
    for function, _, _ in calls:
        if type(function) is green.Callbacks:
            function.hold()
    return 0
