"""Waiting on an asyncio loop for what blocks: the same steps as elsewhere, each on a thread that may block.

L5. The loop's thread waits for nothing: also not for threads to start, which the I/O thread does instead.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from types import coroutine
from typing import TYPE_CHECKING, TypeVar

from cassandra._base.errors import ConnectionShutdown, DriverException, copy_to_raise
from cassandra._base.real import Future, threading

from ..background import aio

if TYPE_CHECKING:
    import asyncio

    from cassandra._core.transport import Reactor

    from .life import Life

T = TypeVar("T")


async def shutdown(life: Life, drain: float) -> None:
    """Body of :meth:`Cluster.shutdown_async`; when it returns the threads are gone. Cancelled, it goes on."""
    if life.has_stopped:
        return
    if life.has_no_threads:
        life.stop()
        return
    if drain:
        life.begin_drain()
    await on_a_thread(life.reactor, lambda: life.stop(drain=drain))


async def on_a_thread(reactor: Reactor | None, call: Callable[[], None]) -> None:
    """*call*, which may block, on a thread of its own; it goes on when the task is cancelled. Starting a thread may
    take a moment, too: the I/O thread of *reactor* does that."""
    ended: Future[None] = Future()

    def run() -> None:
        try:
            call()
        except BaseException as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    thread = threading.Thread(target=run, name="fastcql-shutdown", daemon=True)

    def start() -> None:
        try:
            thread.start()
        except RuntimeError as error:  # out of threads
            ended.set_exception(error)

    if not _soon(reactor, start):
        start()
    await result_of(ended)
    while thread.is_alive():  # it has nothing left to do
        await _turn()


async def result_of(future: Future[T]) -> T:
    """The future's result; cancelling the task leaves the work alone, others may wait for it too."""
    if not future.done():
        waiter: asyncio.Future[None] = aio.running_loop().create_future()
        future.add_done_callback(lambda _: aio.resolve(waiter, None))
        await waiter
    if future.cancelled():
        raise DriverException("The cluster was shut down")
    error = future.exception()
    if error is not None:
        raise copy_to_raise(error, result_of.__code__)
    return future.result()


async def on_io_thread(reactor: Reactor, step: Callable[[], None]) -> None:
    """Run *step* there; if that thread ended, nothing happens."""
    waiter: asyncio.Future[None] = aio.running_loop().create_future()

    def run() -> None:
        try:
            step()
        finally:
            aio.resolve(waiter, None)

    if _soon(reactor, run):
        await waiter


def _soon(reactor: Reactor | None, step: Callable[[], None]) -> bool:
    """Have *step* run on the I/O thread. False if there is none."""
    if reactor is None:
        return False
    try:
        reactor.call_soon(step)
    except (RuntimeError, ConnectionShutdown):  # it was stopped
        return False
    return True


@coroutine
def _turn() -> Generator[None, None, None]:
    """The loop has its turn."""
    yield
