# ``Bridge``: the adapter of an asyncio loop, with one completion queue and one descriptor per loop.
#
# ``bridges`` refers to loops weakly: with a loop that is gone its adapter and descriptor go too, and those of a loop
# that is closed but still referenced go when the next loop gets its own. A loop without ``add_reader`` (Windows'
# proactor) has no descriptor: its requests are concluded on the I/O thread, and each wakes the loop by itself.

@cython.final
cdef class Bridge:
    """Delivers responses to a loop, and has the reactors to flush at the end of the loop's turn."""

    cdef readonly object loop
    cdef readonly LoopQueue queue
    cdef readonly list unsent

    def __init__(self, loop, LoopQueue queue):
        self.loop = loop
        self.queue = queue
        self.unsent = []


bridges = {}
cdef dict _bridges = bridges


cdef Bridge find_bridge(loop):
    return _bridges.get(PyLong_FromVoidPtr(<void*> loop))


cdef inline Bridge bridge_of(loop):
    if fastcql_turn.loop == <PyObject*> loop and fastcql_turn.bridge != NULL:
        if fastcql_turn.process == fork_generation():
            return <Bridge> fastcql_turn.bridge
    return find_bridge(loop)


cdef bint waits_in_turn(reactor) except -1:
    """True if a request submitted now is sent together with the rest of this turn of a loop. This only saves system
    calls: a coalesced request is sent soon regardless of the loop's next steps, see cpp/transport/unsent.h."""
    cdef Bridge bridge
    if not _bridges:
        return False
    loop = loop_here()
    if loop is None:
        return False
    bridge = bridge_of(loop)
    if bridge is None:
        return False
    if reactor not in bridge.unsent:
        if not bridge.unsent:
            loop.call_soon(_send_unsent, bridge.unsent)
        bridge.unsent.append(reactor)
    return True


def may_wait(ConnectionBase connection not None):
    return waits_in_turn(connection.reactor)


cpdef object send_waiting():
    cdef Bridge bridge
    if not _bridges:
        return None
    bridge = bridge_of(loop_here())
    if bridge is not None and bridge.unsent:
        _send_unsent(bridge.unsent)


def _send_unsent(list unsent not None):
    reactors = list(unsent)
    unsent.clear()  # requests submitted from here on schedule another call
    for reactor in reactors:
        reactor.send_unsent()


cdef inline object waiter_of(waiter):
    return (<_Waiter> waiter).waiter if type(waiter) is _Waiter else waiter


cdef inline LoopQueue queue_of(waiter):
    return (<_Awaiting> waiter).queue if type(waiter) is _Awaiting else (<_Waiter> waiter).queue


cdef bint all_have_queues(tuple waiters) noexcept:
    """True if all of them can be notified natively."""
    cdef LoopQueue queue
    for waiter in waiters:
        queue = queue_of(waiter)
        if queue is None or queue.is_of_parent():
            return False
    return True


cdef tuple tell_all(tuple waiters, outcome, LoopQueue here):
    """Notify the waiters natively. Return those that have no queue."""
    cdef LoopQueue queue
    cdef tuple others = ()
    for waiter in waiters:
        queue = queue_of(waiter)
        if queue is None or queue.is_of_parent():
            others = (*others, waiter)
        else:
            queue.tell(waiter, outcome, here)
    return others


cdef bint all_of_loop(tuple waiters, LoopQueue queue) except -1:
    for waiter in waiters:
        if queue_of(waiter) is not queue:
            return False
    return True


def resolve(waiter, value):
    cdef LoopQueue queue
    if type(waiter) is _Awaiting:
        queue = (<_Awaiting> waiter).queue
        if queue is not None and not queue.is_of_parent():  # one native step; drain() handles new entries
            queue.tell(waiter, value, queue if fastcql_turn.loop == <PyObject*> (<_Awaiting> waiter).loop else None)
            if (<_Awaiting> waiter).loop.is_closed():  # tested last: entries of the queue would keep the loop alive
                close_the_closed()
            return
    tell(waiter, value)


cdef int tell(waiter, value) except -1:
    """Notify *waiter* by a call of its loop."""
    if type(waiter) is _Waiter:
        waiter = (<_Waiter> waiter).waiter
    loop = (<_Awaiting> waiter).loop if type(waiter) is _Awaiting else waiter.get_loop()
    if loop is loop_here():
        if not waiter.done():
            waiter.set_result(value)
    elif not loop.is_closed():
        try:
            loop.call_soon_threadsafe(_set_result, waiter, value)
        except RuntimeError:  # closed between the test and the call
            if not loop.is_closed():
                raise
    return 0


def _set_result(waiter, value):
    if not waiter.done():
        waiter.set_result(value)


# ---- creation

def deliver_to(loop, Operation operation not None):
    attach_to(loop, operation)


cdef int attach_to(loop, Operation operation) except -1:
    cdef Bridge bridge = bridge_of(loop)
    if bridge is None:
        bridge = open_bridge(loop)
    if bridge.queue is None:
        operation.set_eager()
    else:
        operation.attach(bridge.queue)
    return 0


cpdef Bridge bridge_to(loop):
    cdef Bridge bridge = bridge_of(loop)
    return open_bridge(loop) if bridge is None else bridge


cdef Bridge open_bridge(loop):
    import contextvars
    import weakref

    key = id(loop)
    queue = LoopQueue()
    try:
        # In a new context: else the context of the first request would live as long as the loop, and apply to all.
        contextvars.Context().run(loop.add_reader, queue.fileno(), queue.drain)
    except NotImplementedError:
        queue = None
    except BaseException:  # raised by a signal handler
        loop.remove_reader(queue.fileno())
        raise

    def forget(_):
        _bridges.pop(key, None)

    bridge = Bridge(weakref.ref(loop, forget), queue)
    _bridges[key] = bridge
    close_the_closed()
    return bridge


cdef int close_the_closed() except -1:
    """Process the operations in the queues of closed loops here: they may have waiters elsewhere."""
    cdef Bridge bridge
    for key, found in _bridges.copy().items():  # list() of items may collect garbage, which forgets loops
        bridge = found
        loop = bridge.loop()
        if loop is not None and loop.is_closed() and _bridges.pop(key, None) is not None and bridge.queue is not None:
            bridge.queue.close()
            bridge.queue.forget_told()
    return 0


def _close_the_closed():
    """On the I/O thread, after another thread notified waiters of a loop: the queue's entries keep a closed loop
    alive."""
    close_the_closed()


cdef void look_at_loops(Reactor reactor) noexcept:
    Py_INCREF(_close_the_closed)
    if reactor.core.foreign() or not reactor.core.call_soon(<void*> _close_the_closed):
        Py_DECREF(_close_the_closed)
