"""Room for record batches follows their pages, for any number of rows asked for and any number of columns."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from cassandra.cluster import ResultSet
from cassandra.columns import ArrowStream
from cassandra.memory import MemoryPool
from tests.unit.session.harness import RESULT, Answer, Lab, string, value

WIDE = 1100
MIB = 1 << 20
INT, BOOLEAN, DOUBLE, UUID, TEXT, DECIMAL, VARINT = 0x09, 0x04, 0x07, 0x0C, 0x0D, 0x06, 0x0E
CELLS = {
    INT: b"\0\0\0\1",
    BOOLEAN: b"\1",
    DOUBLE: bytes(8),
    UUID: bytes(range(16)),
    TEXT: b"some text of a cell",
    DECIMAL: b"\0\0\0\2\x7b",
    VARINT: b"\x7b",
}


def page(kinds: list[int], rows: int, state: bytes | None) -> Answer:
    metadata = struct.pack(">ii", 1 if state is None else 3, len(kinds)) + (b"" if state is None else value(state))
    metadata += string("ks") + string("tbl")
    metadata += b"".join(string(f"c{i}") + struct.pack(">H", kind) for i, kind in enumerate(kinds))
    body = struct.pack(">i", rows) + b"".join(map(value, (CELLS[kind] for kind in kinds))) * rows
    return Answer(RESULT, struct.pack(">i", 2) + metadata + body)


class Pages:
    """Results of *count* pages of *rows* rows each, in a pool of its own."""

    def __init__(self) -> None:
        self.pool = MemoryPool(1 << 30)

    def result(self, kinds: list[int], rows: int, count: int = 3) -> ResultSet:
        lab = Lab()
        lab.session.cluster.memory_pool = self.pool
        lab[0].script = [page(kinds, rows, b"%d" % i if i < count - 1 else None) for i in range(count)]
        return lab.session.execute("SELECT * FROM tbl")


@pytest.fixture
def pages() -> Iterator[Pages]:
    made = Pages()
    yield made
    assert made.pool.stats().in_use == 0


def rows_of(stream: ArrowStream) -> list[int]:
    return [pa.record_batch(batch).num_rows for batch in stream]


@pytest.mark.parametrize("target", [1, 20, 21, 10**8, 2**31, 2**60, 2**62, 2**63 - 1, 2**63, 10**30])
@pytest.mark.parametrize("kind", [INT, BOOLEAN, UUID, TEXT, DECIMAL, VARINT])
def test_any_number_of_rows_may_be_asked_for(pages: Pages, kind: int, target: int) -> None:
    result = pages.result([kind, kind], rows=20)
    assert sum(rows_of(result.arrow(target_rows=target))) == 60
    assert pages.pool.stats().peak < MIB


@pytest.mark.parametrize("options", [{}, {"target_rows": 10**8}], ids=["default", "many"])
@pytest.mark.parametrize("kind", [BOOLEAN, DOUBLE, UUID, TEXT])
def test_wide_tables_take_only_the_memory_of_their_rows(pages: Pages, kind: int, options: dict[str, Any]) -> None:
    result = pages.result([kind] * WIDE, rows=10, count=2)
    assert rows_of(result.arrow(**options)) == [20]
    assert pages.pool.stats().peak < 8 * MIB


def test_a_finished_batch_holds_its_rows(pages: Pages) -> None:
    (batch,) = pages.result([UUID] * WIDE, rows=10, count=2).arrow()
    assert batch.nbytes < WIDE * 20 * 16 + WIDE * 4096
    assert pages.pool.stats().in_use < 8 * MIB


def test_batches_of_many_rows_end_at_a_quarter_of_a_gigabyte(pages: Pages) -> None:
    result = pages.result([DOUBLE, UUID], rows=5000, count=40)
    assert rows_of(result.arrow(target_rows=10**12)) == [200_000]
    assert pages.pool.stats().peak < 64 * MIB
