"""asyncio, as far as the session needs it, imported when it is first needed and then called without looking for it.

L5. How answers get to a loop is native: ``transport_parts/bridge.pxi``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from cassandra._core.transport import bridge_to, bridges, deliver_to, may_wait, new_awaiting, resolve, send_waiting

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop as Loop

__all__ = ["Waiter", "bridges", "deliver_to", "may_wait", "new_awaiting", "resolve", "send_waiting"]

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


def watches_descriptors(loop: Loop) -> bool:
    """Whether outcomes are processed on the thread of *loop*, which this is."""
    return bridge_to(loop).queue is not None


def leave_to_parent() -> None:
    """In a forked child: the loops are the parent's, and so are their descriptors. Their queues are not even freed,
    which might have to wait for a thread of the parent."""
    _of_parent.append(list(bridges.values()))
    bridges.clear()
