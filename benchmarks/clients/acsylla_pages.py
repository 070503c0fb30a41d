"""Pages of 5,000 rows through acsylla, every row turned into a Python object; or a DataFrame of
tuples.

Arguments: the server, and ``frames`` for DataFrames."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import acsylla

from benchmarks.clients.harness import PAGES, Client, Work, contact, run


async def connect(server: str) -> Any:
    host, port = contact(server)
    cluster = acsylla.create_cluster(
        [host], port=port, protocol_version=4, use_schema=False, monitor_reporting_interval_sec=0
    )
    return await cluster.create_session()


async def fetch(session: Any, statement: Any, form: str) -> list[Any]:
    result = await session.execute(statement)
    return [getattr(row, form)() for row in result]


async def frame(session: Any, statement: Any) -> Any:
    import pandas

    result = await session.execute(statement)
    columns = [result.columns_names()[number] for number in range(result.column_count())]
    return pandas.DataFrame([row.as_tuple() for row in result], columns=columns)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    loop = asyncio.new_event_loop()
    server, *how = arguments
    session = loop.run_until_complete(connect(server))
    works = {}
    for name, text in PAGES.items():
        prepared = loop.run_until_complete(session.create_prepared(text))
        statement = prepared.bind(page_size=10_000)
        if how:
            assert len(loop.run_until_complete(frame(session, statement))) == 5000
            names = {"run": loop.run_until_complete, "frame": frame, "session": session, "statement": statement}
            works[f"{name} frame"] = Work("kept = run(frame(session, statement))", names, whole_process=True)
            continue
        for form in ("as_named_tuple", "as_tuple", "as_dict"):
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
