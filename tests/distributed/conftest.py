"""Scans by workers of Dask and Ray, which ``make test-distributed`` installs; elsewhere there is nothing to collect."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

from cassandra.cluster import Cluster, Session
from cassandra.scan import close_sessions
from cassandra.testing import SimulatedCluster

collect_ignore = [
    f"test_{name}.py" for name, module in (("dask", "distributed"), ("ray", "ray")) if not find_spec(module)
]

ROWS = 2000
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """With a table ``ks.t`` of so many rows, on three nodes with tablets."""
    with SimulatedCluster(nodes=3, shards=2) as simulated:
        simulated.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2} "
            "AND tablets = {'initial': 8}"
        )
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v bigint)")
        simulated.execute("CREATE TABLE ks.copy (id int PRIMARY KEY, v bigint)")
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            session = cluster.connect("ks")
            ids = range(ROWS)
            values = [None if i % 10 == 0 else i for i in ids]
            session.ingest("ks.t", pa.table({"id": pa.array(ids, pa.int32()), "v": pa.array(values, pa.int64())}))
            yield session
            close_sessions()


@pytest.fixture(scope="module")
def path() -> Iterator[None]:
    """Workers import the tests, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
        yield
