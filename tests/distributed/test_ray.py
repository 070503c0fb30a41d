"""Scans on Ray, on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

from cassandra.cluster import Session
from cassandra.scan import Sum
from tests.distributed.conftest import ROOT, ROWS
from tests.distributed.totals import LossyFilter

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

TOTAL = sum(i for i in range(ROWS) if i % 10)


@pytest.fixture(scope="module", autouse=True)
def engine(path: None) -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": str(ROOT)}})
    yield
    ray.shutdown()


def test_a_dataset(session: Session) -> None:
    data = session.scan("t").to_ray(tasks=4)
    assert data.sum("v") == TOTAL
    assert data.count() == ROWS
    reports = session.ingest_task("copy").over(data)
    assert len(reports) >= 4 and sum(report.rows for report in reports) == ROWS
    assert session.scan("copy").fold(Sum("v")) == TOTAL


def test_a_worker_is_killed_in_the_middle(session: Session, tmp_path: Path) -> None:
    data = session.scan("t", filter=LossyFilter(tmp_path / "killed")).to_ray(tasks=4)
    assert data.sum("v") == TOTAL
    assert (tmp_path / "killed").exists()
