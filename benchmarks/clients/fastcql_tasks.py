"""``await session.execute_async(…)``: alone and by a hundred tasks. Arguments: the server, ``asyncio`` or
``uvloop``, and how many operations make a sample."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks.clients.harness import INSERT, POINT, SELECT, Client, contact, run
from benchmarks.clients.tasks import event_loop, works
from cassandra.cluster import Cluster


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    server, kind, count = arguments
    with event_loop(kind) as loop:
        host, port = contact(server)
        cluster = Cluster([host], port=port, compression=False, protocol_version=4)
        session = loop.run_until_complete(cluster.connect_async())
        select = loop.run_until_complete(session.prepare_async(SELECT))
        insert = loop.run_until_complete(session.prepare_async(INSERT))
        key = POINT[:1]

        async def read() -> None:
            result = await session.execute_async(select, key)
            row = result.one()
            assert row is not None

        async def write() -> None:
            await session.execute_async(insert, POINT)

        yield Client(works(loop, {"read": read, "insert": write}, int(count)))
        loop.run_until_complete(cluster.shutdown_async())


if __name__ == "__main__":
    run("benchmarks.clients.fastcql_tasks", make)
