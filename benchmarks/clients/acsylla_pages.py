"""Pages of 5,000 rows through acsylla, every row turned into a Python object. Argument: the responder's port."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import acsylla

from benchmarks.clients.harness import PAGES, Client, Work, run


async def connect(port: int) -> Any:
    cluster = acsylla.create_cluster(
        ["127.0.0.1"], port=port, protocol_version=4, use_schema=False, monitor_reporting_interval_sec=0
    )
    return await cluster.create_session()


async def fetch(session: Any, statement: Any, form: str) -> list[Any]:
    result = await session.execute(statement)
    return [getattr(row, form)() for row in result]


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    loop = asyncio.new_event_loop()
    session = loop.run_until_complete(connect(int(arguments[0])))
    works = {}
    for name, text in PAGES.items():
        prepared = loop.run_until_complete(session.create_prepared(text))
        statement = prepared.bind(page_size=10_000)
        for form in ("as_named_tuple", "as_tuple"):
            rows = loop.run_until_complete(fetch(session, statement, form))
            assert len(rows) == 5000, len(rows)
            names = {
                "run": loop.run_until_complete,
                "fetch": fetch,
                "session": session,
                "statement": statement,
                "form": form,
            }
            works[f"{name} {form}"] = Work("run(fetch(session, statement, form))", names, whole_process=True)
    yield Client(works)
    loop.run_until_complete(session.close())
    loop.close()


if __name__ == "__main__":
    run("benchmarks.clients.acsylla_pages", make)
