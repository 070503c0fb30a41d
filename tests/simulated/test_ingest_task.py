"""session.ingest_task: rows that other processes have."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import resource_tracker
from typing import Any

import pyarrow as pa
import pytest

from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Session
from cassandra.ingest import IngestError, IngestTask
from cassandra.scan import Sum, close_sessions
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect


@pytest.fixture(scope="module", autouse=True)
def _multiprocessing_keeps_a_process() -> None:
    """And a descriptor for it, from the first process that it spawns on."""
    resource_tracker.ensure_running()


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v bigint)")
    session.cluster.refresh_schema_metadata()
    yield session
    close_sessions()


def rows(first: int, count: int = 100) -> Any:
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(ids, pa.int64())})


def sent(task: IngestTask) -> IngestTask:
    found = pickle.loads(pickle.dumps(task))
    assert isinstance(found, IngestTask)
    return found


def test_processes_write(table: Session) -> None:
    task = table.ingest_task("t", columns=iter(["id", "v"]))
    assert repr(task) == "<IngestTask into ks.t>"
    assert task(rows(0)).rows == sent(task)(rows(100)).rows == 100
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        reports = list(pool.map(task, map(rows, range(200, 800, 100))))
    assert [(report.table, report.rows) for report in reports] == [("ks.t", 100)] * 6
    assert table.scan("ks.t").fold(Sum("v")) == sum(range(800))


def test_frames_leave_their_index_out(table: Session) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": range(10), "v": range(10)}).query("v > 3")
    assert sent(table.ingest_task("ks.t"))(frame).rows == 6


def test_invalid_arguments_and_rows_are_reported(table: Session) -> None:
    with pytest.raises(ValueError, match="on_error"):
        table.ingest_task("ks.t", on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="connect="):
        table.ingest_task("ks.t", connect="connected")  # type: ignore[arg-type]
    far = pa.table({"id": [1, 2, 1 << 40], "v": [1, 2, 3]})
    with pytest.raises(IngestError):
        sent(table.ingest_task("ks.t"))(far)
    report = pickle.loads(pickle.dumps(sent(table.ingest_task("ks.t", on_error="collect"))(far)))
    assert list(report.errors) == [2] and report.rows == 2
    with pytest.raises(TypeError, match=r"dask\.dataframe"):
        table.ingest_task("ks.t").over(far)


def test_credentials_are_not_pickled(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, auth_provider=PlainTextAuthProvider("cassandra", "not-to-be-seen"))
    with pytest.raises(TypeError, match="credentials"):
        pickle.dumps(session.ingest_task("ks.t"))
    task = session.ingest_task("ks.t", credentials=credentials)
    assert b"not-to-be-seen" not in pickle.dumps(task)
    assert sent(task)(rows(0)).rows == 100


def credentials() -> tuple[str, str]:
    return "cassandra", "not-to-be-seen"
