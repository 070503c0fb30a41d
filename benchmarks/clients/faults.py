"""Page faults per page of rows in the steady state of a fresh process, and what is resident after it was idle.

Arguments: rows, columns, bytes of a value. What a process did before decides on what malloc keeps, so each page has a
process of its own.
"""

from __future__ import annotations

import contextlib
import gc
import resource
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.clients.harness import Client, run
from cassandra.protocol import ProtocolHandler

PAGES = 20
IDLE = 60  # seconds at most


def body(rows: int, columns: int, size: int) -> bytes:
    parts = [struct.pack(">iii", 2, 1, columns), b"\0\2ks\0\1t"]
    parts += [b"\0\3c%02d" % number + struct.pack(">H", 3) for number in range(columns)]
    cell = struct.pack(">i", size) + b"x" * size
    return b"".join([*parts, struct.pack(">i", rows), *[cell] * (rows * columns)])


def read(page: bytes) -> None:
    message = ProtocolHandler.decode_message(4, None, {}, 0, 0, 8, page, None, None)
    assert message.parsed_rows


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    page = body(*map(int, arguments))
    before = resident()
    for _ in range(PAGES):
        read(page)
    faults, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.thread_time()
    for _ in range(PAGES):
        read(page)
    took = (time.thread_time() - start) / PAGES
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    gc.collect()  # frees the tuples that Python keeps for new ones, and with them the arenas that they are in
    end = time.monotonic() + IDLE
    while resident() - before > len(page) // 8 and time.monotonic() < end:
        time.sleep(0.5)
    yield Client({}, {"faults": faults / PAGES, "page": took, "left": max(0, resident() - before) / len(page)})


if __name__ == "__main__":
    run("benchmarks.clients.faults", make)
