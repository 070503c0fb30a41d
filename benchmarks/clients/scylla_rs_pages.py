"""Pages of 5,000 rows through scylladb-rs-driver, every row turned into a Python object: a dict; or a
DataFrame of them.

Arguments: the server, and ``frames`` for DataFrames.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from scylla.session_builder import SessionBuilder

from benchmarks.clients.harness import PAGES, Client, Work, contact, run


def connect(server: str) -> Any:
    return SessionBuilder().contact_points([contact(server)]).connect().result()


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    server, *how = arguments
    session = connect(server)
    works = {}
    for name, text in PAGES.items():
        select = session.prepare(text).result().with_page_size(10_000)
        rows = list(session.execute(select).result().iter_current_page())
        assert len(rows) == 5000 and rows[0]["name"].startswith("user-"), rows[:1]
        names = {"execute": session.execute, "select": select}
        rows_of = "list(execute(select).result().iter_current_page())"
        if how:
            import pandas

            names["DataFrame"] = pandas.DataFrame
            works[f"{name} frame"] = Work(f"kept = DataFrame({rows_of})", names, whole_process=True)
        else:
            works[name] = Work(rows_of, names, whole_process=True)
    yield Client(works)


if __name__ == "__main__":
    run("benchmarks.clients.scylla_rs_pages", make)
