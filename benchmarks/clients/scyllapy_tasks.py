"""Point reads and INSERTs through scyllapy: alone and by a hundred tasks. Arguments: the server, ``asyncio``
or ``uvloop``, and how many operations make a sample."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from typing import Any

import scyllapy

from benchmarks.clients.harness import INSERT, POINT, SELECT, Client, contact, run
from benchmarks.clients.tasks import event_loop, works

KEY = [POINT[0]]
ROW = [POINT[0], scyllapy.extra_types.BigInt(POINT[1]), POINT[2], scyllapy.extra_types.Double(POINT[3])]
AT = datetime.datetime.fromtimestamp(POINT[4] / 1e3, datetime.timezone.utc)


async def start(server: str) -> tuple[Any, Any, Any]:
    """The session and both statements; its methods want a running loop even to be called."""
    session = scyllapy.Scylla([":".join(map(str, contact(server)))])
    await session.startup()
    return session, await session.prepare(SELECT), await session.prepare(INSERT)


async def stop(session: Any) -> None:
    await session.shutdown()


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    server, kind, count = arguments
    with event_loop(kind) as loop:
        session, select, insert = loop.run_until_complete(start(server))
        row = [*ROW, AT]

        async def read() -> None:
            result = await session.execute(select, KEY)
            assert result.first() is not None

        async def write() -> None:
            await session.execute(insert, row)

        yield Client(works(loop, {"read": read, "insert": write}, int(count)))
        loop.run_until_complete(stop(session))


if __name__ == "__main__":
    run("benchmarks.clients.scyllapy_tasks", make)
