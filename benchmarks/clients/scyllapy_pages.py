"""Pages of 5,000 rows through scyllapy, every row turned into a Python object: a dict; or a DataFrame of them.

Arguments: the server, and ``frames`` for DataFrames.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import scyllapy

from benchmarks.clients.harness import PAGES, Client, Work, contact, run


async def start(server: str) -> Any:
    session = scyllapy.Scylla([":".join(map(str, contact(server)))])
    await session.startup()
    return session


async def prepare(session: Any, text: str) -> Any:
    return await session.prepare(text)


async def fetch(session: Any, statement: Any) -> Any:
    return (await session.execute(statement)).all()


async def stop(session: Any) -> None:
    await session.shutdown()


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    server, *how = arguments
    loop = asyncio.new_event_loop()
    run_ = loop.run_until_complete
    session = run_(start(server))
    works = {}
    for name, text in PAGES.items():
        statement = run_(prepare(session, text))
        rows = run_(fetch(session, statement))
        assert len(rows) == 5000 and rows[0]["name"].startswith("user-"), rows[:1]
        names = {"run": run_, "fetch": fetch, "session": session, "statement": statement}
        if how:
            import pandas

            names["DataFrame"] = pandas.DataFrame
            works[f"{name} frame"] = Work("DataFrame(run(fetch(session, statement)))", names, whole_process=True)
        else:
            works[name] = Work("run(fetch(session, statement))", names, whole_process=True)
    yield Client(works)
    run_(stop(session))
    loop.close()


if __name__ == "__main__":
    run("benchmarks.clients.scyllapy_pages", make)
