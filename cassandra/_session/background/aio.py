"""Bridges from the I/O thread to asyncio loops: one native completion queue and one descriptor per loop.

L5. ``bridges`` is weak on the loops: one that is gone takes its bridge and its descriptor with it, and one that is
closed but kept loses them when the next loop gets its own. A loop without ``add_reader`` (Windows' proactor) has no
descriptor: its requests are concluded on the I/O thread, and each wakes the loop by itself.

asyncio is imported when it is first needed, and then called without looking for it each time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import ref

from cassandra._core.transport import Bridge, LoopQueue, bridges, may_wait, resolve, send_waiting

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop as Loop

    from cassandra._core.transport import Operation

__all__ = ["Waiter", "bridges", "deliver_to", "may_wait", "resolve", "send_waiting"]

_T = TypeVar("_T", contravariant=True)


class Waiter(Protocol[_T]):
    """What :func:`resolve` needs of an asyncio future."""

    def get_loop(self) -> Loop: ...
    def done(self) -> bool: ...
    def set_result(self, value: _T, /) -> None: ...


def _import_asyncio() -> Loop:
    global running_loop, loop_or_none
    import asyncio

    running_loop, loop_or_none = asyncio.get_running_loop, asyncio._get_running_loop
    return running_loop()


def _import_asyncio_too() -> Loop | None:
    import asyncio

    return asyncio._get_running_loop()


running_loop: Callable[[], Loop] = _import_asyncio
#: Only for those who have something of asyncio in hand.
loop_or_none: Callable[[], Loop | None] = _import_asyncio_too


_of_parent: list[object] = []  # in a forked child


def deliver_to(loop: Loop, operation: Operation) -> None:
    """Have the outcomes of *operation* processed on the thread of *loop*. For the first time on that thread itself."""
    bridge = bridges.get(id(loop)) or _open(loop)
    if bridge.queue is None:
        operation._set_eager()
    else:
        operation._attach(bridge.queue)


def watches_descriptors(loop: Loop) -> bool:
    """Whether outcomes are processed on the thread of *loop*, which this is."""
    return (bridges.get(id(loop)) or _open(loop)).queue is not None


def _open(loop: Loop) -> Bridge:
    key = id(loop)
    queue: LoopQueue | None = LoopQueue()
    assert queue is not None
    try:
        # In a context of its own, or that of the first request would live as long as the loop, and be everybody's.
        Context().run(loop.add_reader, queue.fileno(), queue.drain)
    except NotImplementedError:
        queue = None
    bridge = Bridge(ref(loop, partial(_forget, key)), queue)
    bridges[key] = bridge
    _close_the_closed()
    return bridge


def _forget(key: int, _: Any) -> None:
    bridges.pop(key, None)


def _close_the_closed() -> None:
    """What waits in the queue of a loop that was closed is processed here: somebody else may wait for it too."""
    for key, bridge in list(bridges.items()):
        loop, queue = bridge.loop(), bridge.queue
        if loop is not None and loop.is_closed() and bridges.pop(key, None) is not None and queue is not None:
            queue.close()


def leave_to_parent() -> None:
    """In a forked child: the loops are the parent's, and so are their descriptors. Their queues are not even freed,
    which might have to wait for a thread of the parent."""
    _of_parent.append(list(bridges.values()))
    bridges.clear()
