"""Models of five columns: what the API of fastcql and scylla-driver have in common; and awaiting, which only one has.

Argument: the responder's port.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from benchmarks.clients.harness import POINT, Client, Work, run
from benchmarks.clients.start import PROCESSES, fresh
from benchmarks.clients.tasks import works as tasks_of
from cassandra.cluster import Cluster
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery

CREATES = 50  # of a batch
SAVES = 500  # of a sample, as UPDATES
ROWS = 1000  # of the table of ordinary models
TASKS = 1000  # requests of a sample
UPDATES = 500  # the same: with two, reading the clock would be a part of the figure
UPDATE = f"for _ in range({UPDATES // 2}): point.update(score=1); point.update(score=2)"
SELECT = 'SELECT "score", "name", "ratio", "at" FROM bench.points WHERE "id" = ?'


class Point(Model):
    __keyspace__ = "bench"
    __table_name__ = "points"
    id = columns.Integer(primary_key=True)
    score = columns.BigInt()
    name = columns.Text()
    ratio = columns.Double()
    at = columns.DateTime()


class Page(Model):
    __keyspace__ = "bench"
    __table_name__ = "pages7"
    id = columns.Integer(primary_key=True)
    part = columns.Integer()
    name = columns.Text()
    score = columns.BigInt()
    ratio = columns.Double()


class Ordinary(Model):
    """As models of applications are: values of several classes, and a list."""

    __keyspace__ = "bench"
    __table_name__ = "ordinary"
    id = columns.Integer(primary_key=True)
    name = columns.Text()
    ratio = columns.Double()
    at = columns.DateTime()
    tags = columns.List(columns.Text)


VALUES = dict(zip(("id", "score", "name", "ratio"), POINT, strict=False), at=datetime(2023, 11, 14, 22, 13, 20))
ORDINARY = {"id": 1, "name": "point 1", "ratio": 1 / 3, "at": VALUES["at"], "tags": ["red", "green", "blue"]}
SAVE = f"for _ in range({SAVES // 2}): one.name = 'a'; one.save(); one.name = 'b'; one.save()"
IMPORT = """
import time
import cassandra.cluster
begun = time.process_time()
import cassandra.cqlengine.models
print(time.process_time() - begun)
"""
FIELDS = ["id", "part", "name", "score", "ratio"]
PAGES = f"SELECT {', '.join(FIELDS)} FROM bench.pages7"


def batch() -> None:
    with BatchQuery() as writes:
        for number in range(CREATES):
            Point.batch(writes).create(**{**VALUES, "id": number})


def ordinary_batch() -> None:
    with BatchQuery() as writes:
        for number in range(CREATES):
            Ordinary.batch(writes).create(**{**ORDINARY, "id": number})


def ordinary_works() -> dict[str, Work]:
    names = {"Ordinary": Ordinary, "ORDINARY": ORDINARY, "batch": ordinary_batch, "one": Ordinary.create(**ORDINARY)}
    found = {
        "ordinary get": Work("Ordinary.get(id=1)", names, whole_process=True),
        "ordinary create": Work("Ordinary.create(**ORDINARY)", names, whole_process=True),
        "ordinary save": Work(SAVE, names, whole_process=True, per=SAVES),
        "ordinary batch": Work("batch()", names, whole_process=True, per=CREATES),
        "ordinary iterate": Work("for row in Ordinary.objects: row.name", names, whole_process=True, per=ROWS),
    }
    assert Ordinary.get(id=1).tags == ORDINARY["tags"] and len(Ordinary.objects) == ROWS
    return found


def works() -> dict[str, Work]:
    point = Point.create(**VALUES)
    names = {"Point": Point, "Page": Page, "VALUES": VALUES, "FIELDS": FIELDS, "batch": batch, "point": point}
    found = {
        "get": Work("Point.get(id=1)", names, whole_process=True),
        "create": Work("Point.create(**VALUES)", names, whole_process=True),
        "update": Work(UPDATE, names, whole_process=True, per=UPDATES),
        "batch": Work("batch()", names, whole_process=True),
        "iterate": Work("for row in Page.objects.only(FIELDS): pass", names, whole_process=True),
        "read": Work("row = Page.objects.only(FIELDS)[:]\nfor one in row: one.name", names, whole_process=True),
    }
    assert Point.get(id=1).name == "point 1" and len(Page.objects.only(FIELDS)) == 5000
    return found


def awaited(session: Any, loop: asyncio.AbstractEventLoop) -> dict[str, Work]:
    """A hundred tasks, by the mapper and without it."""
    statement = session.prepare(SELECT)

    async def by_session() -> object:
        return (await session.execute_async(statement, (1,))).one()

    async def by_model() -> object:
        return await Point.aget(id=1)  # type: ignore[attr-defined,unused-ignore]

    return tasks_of(loop, {"aget": by_model, "execute_async": by_session}, TASKS)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    cluster = Cluster(["127.0.0.1"], port=int(arguments[0]), compression=False, protocol_version=4)
    loop = asyncio.new_event_loop()
    try:
        plain, session = cluster.connect(), cluster.connect()
        for one in (plain, session):
            one.default_fetch_size = None  # all rows are one recorded answer
        connection.set_session(session)
        found = {**works(), **ordinary_works()}
        pages = {"execute": plain.execute, "pages": plain.prepare(PAGES)}
        found["named tuples"] = Work("for row in execute(pages): pass", pages, whole_process=True)
        if hasattr(Point, "aget"):
            found.update(awaited(plain, loop))
        fresh(IMPORT)  # compiles
        yield Client(found, {"import": min(fresh(IMPORT)[0][0] for _ in range(PROCESSES))})
    finally:
        loop.close()
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.mapper", make)
