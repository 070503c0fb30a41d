"""Columns as a session of fastcql makes them: recorded answers into Arrow, beside the tuples that rows would be.

Arguments: the measurement (a function below), then the folder of the recordings.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import struct
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.messages import Recordings
from benchmarks.clients.native import ROWS, names
from cassandra._core.codec import Result, ResultPlan, RowsPage, TypeContext, decode_result, scalar
from cassandra._core.columns import ColumnBuilder, ColumnPlan, decode
from cassandra._core.memory import MemoryPool
from cassandra._wire.rows import tuple_factory

PAGES, GROWN, BLOB, WARM = 64, 256, 0x03, 1000
SHAPES = ("rows5", "list_int", "map_text_int", "udt", "vector_float")
UDTS, UDT, INT, BIGINT, DOUBLE, TEXT = 1000, 0x30, 0x09, 0x02, 0x07, 0x0D


class Bodies(Recordings):
    """Recorded, but for user types, which are made as section 4.2.5.2 of the protocol says."""

    def load(self, name: str) -> bytes:
        return udts() if name == "udt" else super().load(name)


def udts() -> bytes:
    """A page of a user type (street text, number int, position bigint, height double), one per row."""
    fields = [(b"street", TEXT), (b"number", INT), (b"position", BIGINT), (b"height", DOUBLE)]
    kind = struct.pack(">H", UDT) + _short(b"bench") + _short(b"address") + struct.pack(">H", len(fields))
    kind += b"".join(_short(name) + struct.pack(">H", code) for name, code in fields)
    head = struct.pack(">iii", 2, 1, 1) + _short(b"bench") + _short(b"t") + _short(b"items") + kind
    rows = []
    for number in range(UDTS):
        values = (
            b"street %d" % number,
            struct.pack(">i", number),
            struct.pack(">q", number << 33),
            struct.pack(">d", 1 / 3),
        )
        rows.append(_long(b"".join(map(_long, values))))
    return head + struct.pack(">i", UDTS) + b"".join(rows)


def _short(text: bytes) -> bytes:
    return struct.pack(">H", len(text)) + text


def _long(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def page_of(data: Recordings, shape: str, prepared: str | None = None) -> RowsPage:
    page: RowsPage = eval("decode(cls, frame, 0, 4, context, plan, 0, 0, False).page", names(data, shape, prepared))
    return page


def plan_of(page: RowsPage, pool: MemoryPool) -> ColumnPlan:
    return ColumnPlan([(name, codec) for _, _, name, codec in page.plan.specs], pool)


def coalesced(plan: ColumnPlan, pages: list[RowsPage]) -> Any:
    builder = ColumnBuilder(plan, sum(map(len, pages)))
    for page in pages:
        builder.append(page)
    return builder.finish()


def decoding(data: Recordings) -> Client:
    pool = MemoryPool(1 << 30, retain_bytes=1 << 29)
    works, facts = {}, {}
    for shape in SHAPES:
        page = page_of(data, shape)
        plan = plan_of(page, pool)
        works[shape] = Work("kept = decode(plan, page)", {"decode": decode, "plan": plan, "page": page}, once=True)
        works[f"{shape} tuples"] = Work(f"kept = rows({ROWS})", names(data, shape, factory=tuple_factory), once=True)
        facts[f"{shape} bytes"] = float(page.nbytes)
        facts[f"{shape} kept"] = float(decode(plan, page).nbytes)
        facts[f"{shape} rows"] = float(len(page))
    one = page_of(data, "wide5.one.skipped", "wide5")
    works["1x5"] = Work("decode(plan, page)", {"decode": decode, "plan": plan_of(one, pool), "page": one})
    pages = [page_of(data, "rows5") for _ in range(PAGES)]
    shared = {"plan": plan_of(pages[0], pool), "pages": pages, "decode": decode, "coalesced": coalesced}
    works["pages"] = Work("kept = [decode(plan, page) for page in pages]", shared, once=True)
    works["coalesced"] = Work("kept = coalesced(plan, pages)", shared, once=True)
    works["grown"] = Work("kept = grow()", {"grow": growing(pool)}, once=True)  # warm from the second time on
    return Client(works, facts)


def cold(data: Recordings) -> Client:
    """The first growth of a process; and fresh memory in huge pages, of the same size, written once."""
    spent = {"grown cold": 0.0, "fresh memory": 0.0}
    grow = growing(MemoryPool(2 << 30, retain_bytes=0))
    for name, work in (("grown cold", grow), ("fresh memory", fresh)):
        begun = time.thread_time()
        kept = work()
        spent[name] = time.thread_time() - begun
        del kept
    return Client({}, spent)


def fresh() -> Any:
    memory = mmap.mmap(-1, GROWN << 21, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(memory)), 1, len(memory))
    return memory


def warm(data: Recordings, times: str = "1") -> Client:
    """Decode the same page again and again: for counts of system calls."""
    page = page_of(data, "rows5")
    plan = plan_of(page, MemoryPool(1 << 30))
    return Client(
        {
            "pages": Work(
                f"for _ in range({WARM * int(times)}): decode(plan, page)",
                {"decode": decode, "plan": plan, "page": page},
            )
        }
    )


def growing(pool: MemoryPool) -> Any:
    """A buffer of 512 MiB, of pages of 2 MiB each, without knowing how many will come."""
    plan = ResultPlan([("ks", "t", "b", scalar(BLOB))])
    cells = b"".join(struct.pack(">i", 1 << 16) + bytes(1 << 16) for _ in range(32))
    page = decode_result(Result, struct.pack(">iiii", 2, 4, 1, 32) + cells, 0, 4, TypeContext(), plan).page
    assert page is not None
    columns = plan_of(page, pool)

    def grow() -> Any:
        builder = ColumnBuilder(columns)
        for _ in range(GROWN):
            builder.append(page)
        return builder.finish()

    return grow


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    what, folder, *more = arguments
    yield globals()[what](Bodies(folder), *more)


if __name__ == "__main__":
    run("benchmarks.clients.columns", make)
