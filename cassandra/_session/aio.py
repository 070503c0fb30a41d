"""The parts of asyncio that the session uses, imported on first use and then called directly.

L5. Delivery of responses to a loop is native: ``transport_parts/asyncio.pxi``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from cassandra._core.transport import adapter_for, adapters, deliver_to, may_wait, new_awaiting, resolve, send_waiting

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop as Loop

__all__ = ["Waiter", "adapters", "deliver_to", "may_wait", "new_awaiting", "resolve", "send_waiting"]

_T = TypeVar("_T", contravariant=True)


class Waiter(Protocol[_T]):
    """The methods of an asyncio future that :func:`resolve` uses."""

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
#: Only for callers that have an asyncio object.
loop_or_none: Callable[[], Loop | None] = _import_asyncio_too


_of_parent: list[object] = []  # in a forked child


def watches_descriptors(loop: Loop) -> bool:
    """True if outcomes are processed on the thread of *loop*, which is the calling thread."""
    return adapter_for(loop).queue is not None


def leave_to_parent() -> None:
    """Drop the loops in a forked child: they are the parent's, and so are their descriptors. Their queues are not even
    freed, which might wait for a thread of the parent."""
    _of_parent.append(list(adapters.values()))
    adapters.clear()
