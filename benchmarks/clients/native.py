"""Decoding as a session of fastcql does it: the native decoder, rows as a row factory makes them; and the floor.

Arguments: what to measure (a function below), then the folder of the recordings.
"""

from __future__ import annotations

import contextlib
import marshal
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.messages import COLLECTIONS, VERSION, WIDTHS, Recordings
from cassandra._core.codec import TypeContext, decode_numbers, decode_result
from cassandra._core.transport import Frame
from cassandra._wire.messages.responses import ResultMessage
from cassandra._wire.page_handlers import numpy_columns
from cassandra._wire.rows import decode_page, named_tuple_factory, tuple_factory
from cassandra._wire.types.registry import resolve_custom

MESSAGE = "decode(cls, frame, 0, 4, context, plan, 0, 0, False)"
ROWS = f"{MESSAGE}.page, factory"


def names(data: Recordings, body: str, prepared: str | None = None, factory: Any = tuple_factory) -> dict[str, Any]:
    return {
        "decode": decode_result,
        "rows": decode_page,
        "factory": factory,
        "cls": ResultMessage,
        "frame": Frame(VERSION, 0, 0, 8, data.load(body)),
        "context": TypeContext(resolve_custom),
        "plan": None if prepared is None else data.metadata(prepared),
    }


def small(data: Recordings) -> Client:
    works = {
        "0 rows": Work(f"rows({ROWS})", names(data, "wide5.none.skipped", "wide5")),
        "1x5": Work(f"rows({ROWS})", names(data, "wide5.one.skipped", "wide5")),
        "1x5 named": Work(f"rows({ROWS})", names(data, "wide5.one.skipped", "wide5", named_tuple_factory)),
        "1x5 with metadata": Work(f"rows({ROWS})", names(data, "wide5.one")),
        "VOID": Work(MESSAGE, names(data, "wide5.void")),
    }
    for width in WIDTHS:
        works[f"0 rows of {width}"] = Work(MESSAGE, names(data, f"wide{width}.none.skipped", f"wide{width}"))
    return Client(works)


def pages(data: Recordings) -> Client:
    works = {}
    for shape in ("rows4", "rows5", "rows7"):
        for name, factory in (("tuples", tuple_factory), ("named", named_tuple_factory)):
            works[f"{shape} {name}"] = Work(f"kept = rows({ROWS})", names(data, shape, factory=factory), once=True)
    rows = _made(data, "rows4")
    dumped = marshal.dumps(rows)
    assert marshal.loads(dumped) == rows == eval(f"rows({ROWS})", names(data, "rows4", factory=named_tuple_factory))
    works["rows4 marshal"] = Work("kept = loads(dumped)", {"loads": marshal.loads, "dumped": dumped}, once=True)
    return Client(works)


def collections(data: Recordings) -> Client:
    works = {shape: Work(f"kept = rows({ROWS})", names(data, shape), once=True) for shape in COLLECTIONS}
    for shape in COLLECTIONS:
        dumped = marshal.dumps([tuple(_plain(value) for value in row) for row in _made(data, shape)])
        works[f"{shape} marshal"] = Work("kept = loads(dumped)", {"loads": marshal.loads, "dumped": dumped}, once=True)
    vectors = {"columns": numpy_columns, **names(data, "vector_float")}
    works["vectors to NumPy"] = Work(f"kept = columns({MESSAGE}.page, True)", vectors, once=True)
    codec = eval(f"{MESSAGE}.plan.codecs[0]", names(data, "vector_float"))
    (vector,) = _made(data, "vector_float")[0]
    one = {"numbers": decode_numbers, "codec": codec, "data": codec.encode(vector)}
    assert list(eval("numbers(codec, data)", one)) == vector
    works["a vector to a buffer"] = Work("numbers(codec, data)", one)
    return Client(works)


def _made(data: Recordings, shape: str) -> Any:
    return eval(f"rows({ROWS})", names(data, shape))


def _plain(value: Any) -> Any:
    """What marshal can write: its uuids are bytes, its sets and maps the same as ours are made of."""
    if isinstance(value, list):
        return value
    if hasattr(value, "items"):
        return dict(value.items())
    return [item.bytes for item in value]


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    what, folder = arguments
    yield {"small": small, "pages": pages, "collections": collections}[what](Recordings(folder))


if __name__ == "__main__":
    run("benchmarks.clients.native", make)
