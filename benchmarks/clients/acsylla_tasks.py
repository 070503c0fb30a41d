"""Point reads and INSERTs through acsylla: alone and by a hundred tasks. Arguments: the server, ``asyncio``
or ``uvloop``, and how many operations make a sample."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator

from benchmarks.clients.acsylla_pages import connect
from benchmarks.clients.harness import INSERT, POINT, SELECT, Client, run
from benchmarks.clients.tasks import event_loop, works


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    server, kind, count = arguments
    with event_loop(kind) as loop:
        session = loop.run_until_complete(connect(server))
        select = loop.run_until_complete(session.create_prepared(SELECT))
        insert = loop.run_until_complete(session.create_prepared(INSERT))
        key = POINT[:1]
        at = datetime.datetime.fromtimestamp(POINT[-1] / 1000, datetime.timezone.utc)
        point = *POINT[:-1], at

        async def read() -> None:
            result = await session.execute(select.bind(key))
            row = result.first().as_dict()
            assert row is not None

        async def write() -> None:
            await session.execute(insert.bind(point))

        yield Client(works(loop, {"read": read, "insert": write}, int(count)))
        loop.run_until_complete(session.close())


if __name__ == "__main__":
    run("benchmarks.clients.acsylla_tasks", make)
