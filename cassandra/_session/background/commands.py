"""Commands of sessions and clusters: those of ``_base/threads.py``, also for tasks of an asyncio loop.

L5. No state of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from cassandra._base.process import catch_up
from cassandra._base.threads import Command, command, run, submit

from . import aio

__all__ = ["Command", "command", "run", "run_async", "submit"]

T = TypeVar("T")


async def run_async(fn: Callable[..., T], *args: Any, undo: Callable[[T], object] | None = None) -> T:
    """Do as :func:`run`, for a task of an asyncio loop. If the task is cancelled the command continues."""
    catch_up()
    waiter = aio.new_awaiting(aio.running_loop())
    command = Command(fn, args, lambda: aio.resolve(waiter, None), undo)
    try:
        command.start()
        await waiter
        return command.outcome()
    except BaseException as error:
        if error is not command.error:
            command.leave()
        raise
