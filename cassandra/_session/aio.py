"""Bridges from the I/O thread to asyncio loops: one native completion queue and one descriptor per loop.

L5. The registry is weak on the loop: a loop that is gone takes its bridge and descriptor with it. Works with any loop
that has ``add_reader`` (asyncio's selector loops, uvloop).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from cassandra._core.transport import LoopQueue

if TYPE_CHECKING:
    import asyncio

_T = TypeVar("_T")

_bridges: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopQueue] = WeakKeyDictionary()
_lock = threading.Lock()


def queue_of(loop: asyncio.AbstractEventLoop) -> LoopQueue:
    """The completion queue of *loop*, made and registered on first use. Call it on the loop's own thread."""
    queue = _bridges.get(loop)
    if queue is None:
        with _lock:
            queue = LoopQueue()
            loop.add_reader(queue.fileno(), queue.drain)
            _bridges[loop] = queue
    return queue


def resolve(waiter: asyncio.Future[_T], value: _T) -> None:
    """Complete *waiter* from any thread; a loop that was closed in the meantime has nobody left to tell."""
    import asyncio  # whoever awaits has it

    loop = waiter.get_loop()
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        _set(waiter, value)
    elif not loop.is_closed():
        try:
            loop.call_soon_threadsafe(_set, waiter, value)
        except RuntimeError:  # closed between the test and the call
            if not loop.is_closed():
                raise


def _set(waiter: asyncio.Future[_T], value: _T) -> None:
    if not waiter.done():
        waiter.set_result(value)
