"""Point reads and INSERTs through scylladb-rs-driver: alone and by a hundred tasks, and synchronously, one by one.

Arguments: the server, ``asyncio`` or ``uvloop``, and how many operations make a sample. It has nothing like
``execute_concurrent``: many at once are tasks.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator

from benchmarks.clients.harness import INSERT, POINT, SELECT, Client, Work, each, run
from benchmarks.clients.scylla_rs_pages import connect
from benchmarks.clients.tasks import event_loop, works

LATENCIES = 1000


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    server, kind, count = arguments
    with event_loop(kind) as loop:
        session = connect(server)
        select, insert = session.prepare(SELECT).result(), session.prepare(INSERT).result()
        key = POINT[:1]
        at = datetime.datetime.fromtimestamp(POINT[-1] / 1000, datetime.timezone.utc)
        point = (*POINT[:-1], at)

        async def read() -> None:
            result = await session.execute(select, key)
            row = next(iter(result.iter_current_page()))
            assert row is not None

        async def write() -> None:
            await session.execute(insert, point)

        def read_now() -> None:
            next(iter(session.execute(select, key).result().iter_current_page()))

        def write_now() -> None:
            session.execute(insert, point).result()

        names = {"execute": session.execute, "select": select, "insert": insert, "key": key, "point": point}
        sync = {
            "sync read": Work(
                "next(iter(execute(select, key).result().iter_current_page()))",
                names,
                whole_process=True,
                latencies=lambda: each(read_now, LATENCIES),
            ),
            "sync insert": Work(
                "execute(insert, point).result()",
                names,
                whole_process=True,
                latencies=lambda: each(write_now, LATENCIES),
            ),
        }
        yield Client({**works(loop, {"read": read, "insert": write}, int(count)), **sync})


if __name__ == "__main__":
    run("benchmarks.clients.scylla_rs_tasks", make)
