"""Sources of session.ingest and ingest_async: each is looked at once, opened once, and read once."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.ipc
import pyarrow.parquet
import pytest

from cassandra.cluster import Session
from cassandra.ingest import IngestReport
from cassandra.testing import SimulatedCluster

ROWS = 25


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Session:
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
    session.cluster.refresh_schema_metadata()
    return session


@pytest.fixture(scope="module", autouse=True)
def threads_of_libraries() -> None:
    """Libraries keep descriptors of threads that they start with the first query."""
    pl.LazyFrame({"id": [1]}).collect()
    query().fetchall()


def rows() -> pa.Table:
    return pa.table({"id": pa.array(range(ROWS), pa.int32()), "v": [f"v{i}" for i in range(ROWS)]})


def all_there(simulated: SimulatedCluster) -> bool:
    found = {row["id"]: row["v"] for row in simulated.execute("SELECT id, v FROM ks.t")}
    return found == {i: f"v{i}" for i in range(ROWS)}


def blocking(session: Session, data: Any, **options: Any) -> IngestReport:
    return session.ingest("ks.t", data, **options)


def awaiting(session: Session, data: Any, **options: Any) -> IngestReport:
    return asyncio.run(session.ingest_async("ks.t", data, **options))


@pytest.fixture(params=[blocking, awaiting], ids=["blocking", "awaiting"])
def ingest(request: pytest.FixtureRequest) -> Callable[..., IngestReport]:
    found: Callable[..., IngestReport] = request.param
    return found


def parquet(folder: Path) -> Path:
    path = folder / "rows.parquet"
    pa.parquet.write_table(rows(), path, row_group_size=10)
    return path


def ipc_file() -> Any:
    buffer = io.BytesIO()
    with pa.ipc.new_file(buffer, rows().schema) as writer:
        writer.write_table(rows(), max_chunksize=10)
    return pa.ipc.open_file(pa.py_buffer(buffer.getvalue()))


def ipc_stream() -> Any:
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, rows().schema) as writer:
        writer.write_table(rows(), max_chunksize=10)
    return pa.ipc.open_stream(pa.py_buffer(buffer.getvalue()))


def generator() -> Iterator[Any]:
    yield from rows().to_batches(max_chunksize=10)


def query() -> Any:
    return duckdb.connect().sql(f"SELECT range::INT AS id, 'v' || range AS v FROM range({ROWS})")


SOURCES: dict[str, Callable[[Path], Any]] = {
    "table": lambda _: rows(),
    "record batch": lambda _: rows().to_batches()[0],
    "reader": lambda _: rows().to_reader(10),
    "dataset": lambda folder: pa.dataset.dataset(parquet(folder)),
    "dataset in memory": lambda _: pa.dataset.dataset(rows()),
    "scanner": lambda folder: pa.dataset.dataset(parquet(folder)).scanner(batch_size=7),
    "batches of a dataset": lambda folder: pa.dataset.dataset(parquet(folder)).to_batches(),
    "Parquet file": lambda folder: pa.parquet.ParquetFile(parquet(folder)),
    "IPC file": lambda _: ipc_file(),
    "IPC stream": lambda _: ipc_stream(),
    "pandas": lambda _: rows().to_pandas(),
    "polars": lambda _: pl.from_arrow(rows()),
    "polars, lazy": lambda _: pl.from_arrow(rows()).lazy(),  # type: ignore[union-attr]
    "duckdb": lambda _: query(),
    "reader of duckdb": lambda _: query().to_arrow_reader(10),
    "generator": lambda _: generator(),
    "list of frames": lambda _: [pl.from_arrow(rows()[:5]), rows()[5:20].to_pandas(), rows()[20:]],
    "lazy frames": lambda _: (pl.from_arrow(rows()[i : i + 5]).lazy() for i in range(0, ROWS, 5)),  # type: ignore[union-attr]
    "queries": lambda _: (part for part in [query()]),
    "arrays": lambda _: {"id": np.arange(ROWS, dtype=np.int32), "v": [f"v{i}" for i in range(ROWS)]},
    "columns of frames": lambda _: {"id": pl.Series(range(ROWS)), "v": pd.Series([f"v{i}" for i in range(ROWS)])},
}


@pytest.mark.parametrize("progress", [None, True], ids=["", "bar"])
def test_rows_of_each_kind_of_source(
    table: Session,
    simulated: SimulatedCluster,
    ingest: Callable[..., IngestReport],
    progress: bool | None,
    tmp_path: Path,
) -> None:
    for name, source in SOURCES.items():
        table.execute("TRUNCATE ks.t")
        assert ingest(table, source(tmp_path), progress=progress).rows == ROWS, name
        assert all_there(simulated), name


class Closed:
    """Refuses to be measured, tested or iterated, and to be opened twice, as a query that runs each time."""

    def __init__(self, data: Any, method: str) -> None:
        self._data = data
        self._method = method
        self.opened = 0

    def __getattr__(self, name: str) -> Any:
        if name != self._method:
            raise AttributeError(name)
        return self._open

    def _open(self, *_: Any) -> Any:
        self.opened += 1
        assert self.opened == 1
        return getattr(self._data, self._method)()

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError("the query runs once more")

    __len__ = __bool__ = __iter__ = __contains__ = __getitem__ = _refuse
    shape = property(_refuse)


@pytest.mark.parametrize("progress", [None, True])
@pytest.mark.parametrize("method", ["__arrow_c_stream__", "__arrow_c_array__"])
def test_a_source_is_opened_once(
    table: Session, simulated: SimulatedCluster, ingest: Callable[..., IngestReport], method: str, progress: Any
) -> None:
    source = Closed(rows().to_batches()[0], method)
    assert ingest(table, source, progress=progress).rows == ROWS
    assert source.opened == 1 and all_there(simulated)


def test_a_query_of_duckdb_runs_once(table: Session, ingest: Callable[..., IngestReport]) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE SEQUENCE drawn")
    relation = connection.sql(f"SELECT nextval('drawn')::INT AS id, 'x' AS v FROM range({ROWS})")
    assert ingest(table, relation, progress=lambda report: None).rows == ROWS
    assert connection.sql("SELECT nextval('drawn')").fetchall() == [(ROWS + 1,)]


def test_a_query_that_fails_in_the_middle(table: Session, ingest: Callable[..., IngestReport]) -> None:
    """The connection is free again for another query."""
    connection = duckdb.connect()
    relation = connection.sql(
        "SELECT CASE WHEN range > 50000 THEN error('broken') ELSE range::INT END AS id FROM range(60000)"
    )
    with pytest.raises(Exception, match="broken"):
        ingest(table, relation)
    assert connection.sql("SELECT 1").fetchall() == [(1,)]


def test_an_asynchronous_source_of_streams(table: Session, simulated: SimulatedCluster) -> None:
    async def queries() -> AsyncIterator[Any]:
        yield query()

    assert awaiting(table, queries()).rows == ROWS
    assert all_there(simulated)


def test_objects_without_rows(table: Session, ingest: Callable[..., IngestReport]) -> None:
    for data in (b"rows", 7, None, object()):
        with pytest.raises(TypeError, match="data must have __arrow_c_stream__"):
            ingest(table, data)
    for data in ([7], [b"rows"], np.arange(5)):
        with pytest.raises(TypeError, match="got an item of type"):
            ingest(table, data)
