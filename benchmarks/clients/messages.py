"""Decoding messages by the API that fastcql and scylla-driver share: ``ProtocolHandler.decode_message``.

Arguments: what to measure (a function below), then the folder of the recordings.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from cassandra.protocol import ProtocolHandler, ResultMessage
from cassandra.protocol_features import ProtocolFeatures
from cassandra.query import named_tuple_factory

VERSION, RESULT = 4, ResultMessage.opcode
WIDTHS = (5, 10, 20, 50)
COLLECTIONS = ("list_int", "map_text_int", "set_uuid", "vector_float")
LIVE = 20_000
ARGUMENTS = "4, features, types, 0, 0, opcode, body, None"


class Recordings:
    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def names(self, body: str, prepared: str | None = None) -> dict[str, Any]:
        """The names of a statement that decodes *body*, as an answer to what *prepared* is the PREPARED answer of."""
        return {
            "decode": ProtocolHandler.decode_message,
            "features": ProtocolFeatures(),
            "types": user_types(),
            "opcode": RESULT,
            "body": self.load(body),
            "metadata": None if prepared is None else self.metadata(prepared),
            "named_tuple_factory": named_tuple_factory,
        }

    def load(self, name: str) -> bytes:
        return gzip.decompress((self._folder / f"{name}.body.gz").read_bytes())

    def metadata(self, name: str) -> Any:
        """The result metadata of a PREPARED answer, as each driver keeps it with a prepared statement."""
        message = decode(self.load(f"{name}.prepared"))
        return getattr(message, "plan", None) or message.column_metadata


def user_types() -> Any:
    """What a session of this driver passes to a handler as the user types it knows."""
    try:
        codec = importlib.import_module("cassandra._core.codec")
    except ImportError:  # scylla-driver
        return {}
    return codec.TypeContext(importlib.import_module("cassandra._wire.types.registry").resolve_custom)


def decode(body: bytes, metadata: Any = None) -> Any:
    return ProtocolHandler.decode_message(VERSION, ProtocolFeatures(), {}, 0, 0, RESULT, body, None, metadata)


def small(data: Recordings) -> Client:
    """Answers of no row and of one, with metadata and without, and VOID; rows as tuples."""
    read = f"decode({ARGUMENTS}, metadata).parsed_rows"
    works = {
        "0 rows": Work(read, data.names("wide5.none.skipped", "wide5")),
        "1x5": Work(read, data.names("wide5.one.skipped", "wide5")),
        "1x5 with metadata": Work(read, data.names("wide5.one")),
        "VOID": Work(f"decode({ARGUMENTS}, metadata)", data.names("wide5.void")),
    }
    for width in WIDTHS:
        names = data.names(f"wide{width}.none.skipped", f"wide{width}")
        works[f"0 rows of {width}"] = Work(f"decode({ARGUMENTS}, metadata)", names)
        works[f"names and types of {width}"] = Work(
            "message.column_names; message.column_types", {"message": decode(names["body"], names["metadata"])}
        )
    return Client(works)


def pages(data: Recordings) -> Client:
    """5,000 rows to tuples and to named tuples."""
    works = {}
    for shape in ("rows4", "rows5", "rows7"):
        names = data.names(shape)
        assert len(decode(names["body"]).parsed_rows) == 5000
        works[f"{shape} tuples"] = Work(f"kept = decode({ARGUMENTS}, metadata).parsed_rows", names, once=True)
        works[f"{shape} named"] = Work(
            f"message = decode({ARGUMENTS}, metadata); "
            "kept = named_tuple_factory(message.column_names, message.parsed_rows)",
            names,
            once=True,
        )
    return Client(works)


def collections(data: Recordings) -> Client:
    """Rows of one collection each, to tuples."""
    works = {}
    for shape in COLLECTIONS:
        names = data.names(shape)
        assert len(decode(names["body"]).parsed_rows[0]) == 1
        works[shape] = Work(f"kept = decode({ARGUMENTS}, metadata).parsed_rows", names, once=True)
    return Client(works)


def memory(data: Recordings) -> Client:
    """What one live message without rows takes: its part of many, and pympler's view of one."""
    deep_size: Any = importlib.import_module("pympler.asizeof").asizeof

    names = data.names("wide5.none.skipped", "wide5")
    body, metadata = names["body"], names["metadata"]
    kept: list[Any] = [None] * LIVE
    for i in range(100):
        kept[i] = decode(body, metadata)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for i in range(LIVE):
        kept[i] = decode(body, metadata)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Client({}, {"marginal": (after - before) / LIVE, "pympler": deep_size(decode(body, metadata))})


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    what, folder = arguments
    yield {"small": small, "pages": pages, "collections": collections, "memory": memory}[what](Recordings(folder))


if __name__ == "__main__":
    run("benchmarks.clients.messages", make)
