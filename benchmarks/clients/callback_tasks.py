"""Point reads and INSERTs in asyncio tasks through scylla-driver and cassandra-driver, which have no method to await.

Applications wrap a future of the driver: its callbacks, which run on a thread of the driver, end a future of the loop.
Arguments: the server, ``asyncio`` or ``uvloop``, and how many operations make a sample.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import INSERT, POINT, SELECT, Client, contact, run
from benchmarks.clients.tasks import event_loop, works
from cassandra.cluster import Cluster


def awaitable(loop: asyncio.AbstractEventLoop, sent: Any) -> asyncio.Future[Any]:
    """A future of *loop* that ends with the driver's future *sent*."""
    waiter = loop.create_future()

    def succeed(rows: Any) -> None:
        loop.call_soon_threadsafe(waiter.set_result, rows)

    def fail(error: BaseException) -> None:
        loop.call_soon_threadsafe(waiter.set_exception, error)

    sent.add_callbacks(succeed, fail)
    return waiter


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    server, kind, count = arguments
    host, port = contact(server)
    with event_loop(kind) as loop:
        cluster = Cluster([host], port=port, compression=False, protocol_version=4)
        session = cluster.connect()
        select, insert = session.prepare(SELECT), session.prepare(INSERT)
        key = POINT[:1]

        async def read() -> None:
            rows = await awaitable(loop, session.execute_async(select, key))
            assert rows[0] is not None

        async def write() -> None:
            await awaitable(loop, session.execute_async(insert, POINT))

        yield Client(works(loop, {"read": read, "insert": write}, int(count)))
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.callback_tasks", make)
