"""Pages to instances of a program's own classes, by fastcql: 5,000 rows of five columns.

Argument: the folder of the recordings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import make_dataclass
from typing import Any

import attrs
import msgspec

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.messages import Recordings
from benchmarks.clients.native import MESSAGE, ROWS, names
from cassandra._wire.rows import named_tuple_factory
from cassandra.query import class_row

SHAPE = "rows5"


def classes(columns: Iterable[str]) -> dict[str, Any]:
    fields: list[Any] = [(name, object) for name in columns]
    post = {"__post_init__": lambda self: None}
    return {
        "dataclass": make_dataclass("Plain", fields),
        "slots dataclass": make_dataclass("Slots", fields, slots=True),
        "frozen dataclass": make_dataclass("Frozen", fields, frozen=True),
        "msgspec": msgspec.defstruct("Struct", fields),
        "attrs": attrs.make_class("Attrs", {name: attrs.field() for name, _ in fields}, slots=True),
        "dataclass with __post_init__": make_dataclass("Post", fields, namespace=post),
    }


def pages(data: Recordings) -> Client:
    given = names(data, SHAPE, factory=named_tuple_factory)
    plan = eval(f"{MESSAGE}.plan", given)
    works = {"named tuples": Work(f"kept = rows({ROWS})", given, once=True)}
    for name, cls in classes(plan.names).items():
        works[name] = Work(f"kept = rows({ROWS})", {**given, "factory": class_row(cls)}, once=True)
    return Client(works)


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    (folder,) = arguments
    yield pages(Recordings(folder))


if __name__ == "__main__":
    run("benchmarks.clients.class_rows", make)
