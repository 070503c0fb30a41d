"""INSERTs of vectors of 768 elements through scylladb-rs-driver, by a hundred tasks.

Arguments: the server, and the rows of a sample.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchmarks.clients.harness import Client, run
from benchmarks.clients.scylla_rs_pages import connect
from benchmarks.clients.tasks import event_loop, works
from benchmarks.clients.vectors import INSERT, lists, rows_of


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    server, count = arguments[0], int(arguments[1])
    with event_loop("asyncio") as loop:
        session = connect(server)
        insert = session.prepare(INSERT).result()
        rows = rows_of(lists(), count)
        following = iter(rows)

        async def write() -> None:
            nonlocal following
            row = next(following, None)
            if row is None:
                following = iter(rows)
                row = next(following)
            await session.execute(insert, row)

        loop.run_until_complete(write())
        yield Client(works(loop, {"lists": write}, count))


if __name__ == "__main__":
    run("benchmarks.clients.scylla_rs_vectors", make)
