"""Pages of 5,000 rows through scylladb-rs-driver, every row turned into a Python object: a dict.

Argument: the responder's port.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from scylla.session_builder import SessionBuilder

from benchmarks.clients.harness import PAGES, Client, Work, run


def connect(port: int) -> Any:
    return SessionBuilder().contact_points([("127.0.0.1", port)]).connect().result()


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    session = connect(int(arguments[0]))
    works = {}
    for name, text in PAGES.items():
        select = session.prepare(text).result().with_page_size(10_000)
        rows = list(session.execute(select).result().iter_current_page())
        assert len(rows) == 5000 and rows[0]["name"].startswith("user-"), rows[:1]
        names = {"execute": session.execute, "select": select}
        works[name] = Work("list(execute(select).result().iter_current_page())", names, whole_process=True)
    yield Client(works)


if __name__ == "__main__":
    run("benchmarks.clients.scylla_rs_pages", make)
