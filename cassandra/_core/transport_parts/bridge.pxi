# Bridges to asyncio loops, as far as every awaited request needs them; _session/background/aio.py makes and ends them.

cdef object _loop_or_none = None


cdef int find_asyncio() except -1:
    global _loop_or_none
    if _loop_or_none is None:
        import asyncio

        _loop_or_none = asyncio._get_running_loop
    return 0


@cython.final
cdef class Bridge:
    """How answers get to a loop, and what it sends at the end of its turn."""

    cdef readonly object loop
    cdef readonly LoopQueue queue
    cdef readonly list unsent

    def __init__(self, loop, LoopQueue queue):
        self.loop = loop
        self.queue = queue
        self.unsent = []


bridges = {}
cdef dict _bridges = bridges


cdef inline Bridge bridge_of(loop):
    return _bridges.get(PyLong_FromVoidPtr(<void*> loop))


cdef bint waits_in_turn(reactor) except -1:
    """Whether what is submitted now is sent together with the rest of this turn of a loop. That is for fewer system
    calls only: what waits is sent soon whatever becomes of the loop, see cpp/transport/unsent.h."""
    cdef Bridge bridge
    if not _bridges:
        return False
    find_asyncio()
    loop = _loop_or_none()
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


def may_wait(connection):
    return waits_in_turn(connection.reactor)


def send_waiting():
    if not _bridges:
        return
    find_asyncio()
    cdef Bridge bridge = bridge_of(_loop_or_none())
    if bridge is not None and bridge.unsent:
        _send_unsent(bridge.unsent)


def _send_unsent(list unsent not None):
    reactors = list(unsent)
    unsent.clear()  # what is submitted from here on is scheduled anew
    for reactor in reactors:
        reactor.send_unsent()


def resolve(waiter, value):
    find_asyncio()
    loop = waiter.get_loop()
    if loop is _loop_or_none():
        if not waiter.done():
            waiter.set_result(value)
    elif not loop.is_closed():
        try:
            loop.call_soon_threadsafe(_set_result, waiter, value)
        except RuntimeError:  # closed between the test and the call
            if not loop.is_closed():
                raise


def _set_result(waiter, value):
    if not waiter.done():
        waiter.set_result(value)
