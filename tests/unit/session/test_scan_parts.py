"""Parts of a scan: page sizes, batch sizes, Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassandra._scan.pages import PAGE_BYTES, BatchSize, PageSize
from cassandra._scan.scan import SAMPLE, Dictionaries


class Page:
    """So many rows of so many bytes."""

    def __init__(self, rows: int, width: int) -> None:
        self._rows = rows
        self.nbytes = rows * width

    def __len__(self) -> int:
        return self._rows


def after(size: PageSize, *pages: tuple[int, int]) -> int | None:
    for page in pages:
        came: Any = Page(*page)
        size.record(came)
    return size.rows


def test_pages_of_narrow_rows_grow() -> None:
    assert PageSize(5000, 20_000).rows == 5000
    assert after(PageSize(5000, 20_000), (5000, 8)) == 20_000
    assert after(PageSize(5000, 20_000), (5000, 80)) == PAGE_BYTES // 80
    assert after(PageSize(5000, 20_000), (5000, 1000)) == 5000
    assert after(PageSize(5000, 20_000), (0, 8)) == 5000  # says nothing


def test_the_widest_page_decides() -> None:
    assert after(PageSize(5000, 20_000), (5000, 8), (20_000, 100), (20_000, 8)) == PAGE_BYTES // 100


@pytest.mark.parametrize("size", [PageSize(7), PageSize(7, 7), PageSize(None)])
def test_pages_that_were_asked_for_stay(size: PageSize) -> None:
    before = size.rows
    assert after(size, (7, 1), (7, 1)) == before


def test_pages_that_were_too_much_are_small_from_then_on() -> None:
    size = PageSize(5000, 20_000)
    assert after(size, (5000, 8)) == 20_000
    size.shrink()
    assert size.rows == 5000 and after(size, (5000, 8)) == 5000


def test_batches_are_as_large_as_those_before_or_as_there_is_memory() -> None:
    """Were it only the former, wide rows behind narrow ones would take the whole budget with a first page, and each
    batch would end there."""
    size = BatchSize(65_536, 5_000_000)
    narrow, wide, empty = (Page(*of) for of in ((5000, 50), (5000, 10_000), (0, 10)))

    def likely(page: Any) -> int:
        return size.estimate(page)

    assert likely(narrow) == 0, "no batch was measured yet"
    size.record(20_000)
    size.record(100)
    assert (likely(narrow), likely(wide), likely(empty)) == (21_000, 500, 0)
    size.record(70_000)
    assert (likely(narrow), likely(wide)) == (65_536, 500)


# ---- files of Parquet


def test_columns_whose_values_repeat_have_a_dictionary() -> None:
    rows = range(SAMPLE)
    batch = pa.RecordBatch.from_pydict(
        {
            "id": pa.array(rows, pa.int64()),
            "kind": [f"kind {row % 5}" for row in rows],
            "at": pa.array(rows, pa.timestamp("ms", "UTC")),
            "key": pa.array([row.to_bytes(16, "big") for row in rows], pa.uuid()),
            "nothing": pa.nulls(SAMPLE),
            "tags": [["a", "b"] for _ in rows],
            "named": pa.array(["a"] * SAMPLE).dictionary_encode(),
        }
    )
    found = Dictionaries()
    expected = ["kind", "nothing", "tags.list.element", "named"]
    few = ["id", "kind", "at", "key", "nothing", "tags.list.element", "named"]  # few rows do not tell
    assert found.of(batch.slice(0, 100)) == few
    assert found.of(batch) == found.of(batch.slice(0, 100)) == expected
    other = batch.select(["id", "kind"])
    assert found.of(other) == ["kind"]


def test_files_are_as_small_as_their_values_allow(tmp_path: Path) -> None:
    """An encoding for each column: of a column whose values differ a dictionary would be an overhead."""
    batch = pa.RecordBatch.from_pydict({"id": pa.array(range(20_000)), "kind": ["a", "b"] * 10_000})
    pq.write_table(pa.table(batch), tmp_path / "chosen", use_dictionary=Dictionaries().of(batch))
    pq.write_table(pa.table(batch), tmp_path / "all")
    group = pq.ParquetFile(tmp_path / "chosen").metadata.row_group(0)
    assert [group.column(at).has_dictionary_page for at in (0, 1)] == [False, True]
    assert (tmp_path / "chosen").stat().st_size < (tmp_path / "all").stat().st_size
