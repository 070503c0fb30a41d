"""The same pages by rows, and by NumPy arrays, by the API that fastcql and scylla-driver share.

Arguments: "named" or "arrays", and the folder of the recordings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.messages import ARGUMENTS, Recordings
from cassandra.protocol import NumpyProtocolHandler


def named(message: Any, factory: Any) -> int:
    return sum(row.score for row in factory(message.column_names, message.parsed_rows) if row.ratio > 500_000)


def arrays(message: Any, factory: Any) -> int:
    found = message.parsed_rows
    return int(found["score"][found["ratio"] > 500_000].sum())


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    what, folder = arguments
    names = Recordings(folder).names("rows5")
    if what == "arrays":
        names["decode"] = NumpyProtocolHandler.decode_message
    names["total"] = {"named": named, "arrays": arrays}[what]
    yield Client({"sum": Work(f"kept = total(decode({ARGUMENTS}, metadata), named_tuple_factory)", names, once=True)})


if __name__ == "__main__":
    run("benchmarks.clients.scan_rows", make)
