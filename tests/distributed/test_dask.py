"""Scans on Dask: a LocalCluster of two processes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pyarrow as pa
import pytest
from distributed import Client, LocalCluster

from cassandra.cluster import Cluster, Session
from cassandra.scan import Count, GroupBy, ScanTask, Sum
from tests.distributed.conftest import ROWS
from tests.distributed.totals import Lossy, LossyFilter

TOTAL = sum(i for i in range(ROWS) if i % 10)


@pytest.fixture(scope="module")
def client(path: None) -> Iterator[Any]:
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_a_fold(session: Session, client: Any) -> None:
    scan = session.scan("t")
    executor = client.get_executor()
    for reducer in (Count(), Sum("v"), GroupBy("v", n=Count())):
        assert scan.fold(reducer, executor=executor, tasks=8) == scan.fold(reducer)
    began = time.monotonic()
    scan.fold(Sum("v"), executor=executor, tasks=32)
    print(f"\nan empty task takes {(time.monotonic() - began) / 32 * 1000:.1f} ms")


def test_a_worker_is_killed_in_the_middle(session: Session, client: Any, tmp_path: Path) -> None:
    reducer = Lossy("v", tmp_path / "killed")
    assert session.scan("t").fold(reducer, executor=client.get_executor(), tasks=8) == TOTAL
    assert (tmp_path / "killed").exists()
    frame = session.scan("t", filter=LossyFilter(tmp_path / "again")).to_dask(tasks=4)
    assert frame.v.sum().compute() == TOTAL
    assert (tmp_path / "again").exists()


def test_tasks_where_their_rows_are(session: Session, client: Any) -> None:
    """As Dask can be told, where its workers run beside the nodes."""
    reducer = Sum("v")
    futures = [
        client.submit(ScanTask.run, task, workers=list(task.hosts), allow_other_workers=True, pure=False)
        for task in session.scan("t").tasks(reducer, tasks=4)
    ]
    accs = client.gather(futures)
    total = accs[0]
    for acc in accs[1:]:
        total = reducer.combine(total, acc)
    assert reducer.finish(total) == TOTAL


def test_rows_that_are_refused(session: Session, client: Any) -> None:
    frame = session.scan("t").to_dask(tasks=2).assign(more=1)
    with pytest.raises(ValueError, match="more"):
        session.ingest_task("copy").over(frame)


def test_a_frame(session: Session, client: Any) -> None:
    frame = session.scan("t").to_dask(tasks=5)
    assert frame.npartitions >= 5 and list(frame.columns) == ["id", "v"]
    assert frame.v.sum().compute() == TOTAL
    assert len(frame) == ROWS and frame.v.isna().sum().compute() == ROWS / 10
    reports = session.ingest_task("copy").over(frame)
    assert len(reports) == frame.npartitions and sum(report.rows for report in reports) == ROWS
    assert session.scan("copy").fold(Sum("v")) == TOTAL


def test_a_real_server(cassandra_node: Any, client: Any) -> None:
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
        session = cluster.connect()
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        session.execute(f"CREATE KEYSPACE on_dask WITH replication = {replication}")
        session.execute("CREATE TABLE on_dask.t (id int PRIMARY KEY, v bigint)")
        session.execute("CREATE TABLE on_dask.copy (id int PRIMARY KEY, v bigint)")
        session.set_keyspace("on_dask")
        ids = range(ROWS)
        session.ingest("t", pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(ids, pa.int64())}))
        scan = session.scan("t")
        for options in ({}, {"deterministic": True}):
            assert scan.fold(Sum("v"), executor=client.get_executor(), tasks=8, **options) == sum(ids)
        reports = session.ingest_task("copy").over(scan.to_dask(tasks=4))
        assert sum(report.rows for report in reports) == ROWS
        assert session.scan("copy").fold(Sum("v")) == sum(ids)
