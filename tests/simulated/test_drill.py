"""The clients of the drills at work, on a cluster to which nothing happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.drill.accounts import Moments, Stored, figures
from benchmarks.drill.calls import APPEND, DDL, INSERT, READ, SCAN
from benchmarks.drill.program import Program
from benchmarks.drill.scene import stored
from benchmarks.measure import FASTCQL
from cassandra.cluster import Cluster
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE

KEYSPACE = "drilled"


@pytest.fixture
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(3, 1) as cluster:
        cluster.execute(
            f"CREATE KEYSPACE {KEYSPACE} WITH replication = "
            "{'class': 'NetworkTopologyStrategy', 'replication_factor': 3}"
        )
        cluster.execute(f"CREATE TABLE {KEYSPACE}.points (id int PRIMARY KEY, v text)")
        cluster.execute(f"CREATE TABLE {KEYSPACE}.lists (k int PRIMARY KEY, l list<int>)")
        cluster.execute(f"CREATE TABLE {KEYSPACE}.numbers (id int PRIMARY KEY, v bigint)")
        yield cluster


def orders(simulated: SimulatedCluster) -> dict[str, Any]:
    return {
        "contact_points": list(simulated.contact_points),
        "port": simulated.port,
        "keyspace": KEYSPACE,
        "consistency": "LOCAL_QUORUM",
        "timeout": PATIENCE,
        "translated": {},
        "cycles": 5,
    }


def test_a_client_does_everything_it_is_told_and_says_how_it_went(simulated: SimulatedCluster, tmp_path: Path) -> None:
    program = Program(FASTCQL, "client", tmp_path, orders(simulated))
    try:
        program.wait_ready()
        for command in ("flood 0.2", "ddl 0.2", "fork", "stop"):
            program.command(command)
        report = program.report()
    finally:
        program.close()
    with Cluster(simulated.contact_points, port=simulated.port) as cluster:
        found = figures(report, Moments(), stored(cluster.connect(), KEYSPACE))
    assert found.errors == {} and (found.missing, found.twice, found.left, found.hung) == ([], [], [], 0)
    assert (found.children, found.children_errors) == (30, [])
    assert {call.op for call in report.calls} == {READ, INSERT, APPEND, DDL}
    assert {call.node for call in report.calls} == {0, 1, 2}
    written = Counter(call.number for call in report.calls if call.op in (INSERT, APPEND))
    assert len(written) > 100 and set(written.values()) == {1}


def test_clusters_are_shut_down_with_requests_in_flight(simulated: SimulatedCluster, tmp_path: Path) -> None:
    program = Program(FASTCQL, "cycles", tmp_path, orders(simulated))
    try:
        program.wait_ready()
        report = program.report()
    finally:
        program.close()
    assert {call.worker for call in report.calls} == {"0", "1", "2", "3", "4"}
    assert any(call.error for call in report.calls) and report.left == []
    assert not any(call.hung for call in report.calls)


def test_tables_are_read_until_it_is_told_to_stop(simulated: SimulatedCluster, tmp_path: Path) -> None:
    program = Program(FASTCQL, "scans", tmp_path, orders(simulated))
    try:
        program.wait_ready()
        for command in ("flood 0.2", "stop"):
            program.command(command)
        report = program.report()
    finally:
        program.close()
    found = figures(report, Moments(), Stored((), {}))
    assert found.errors == {} and (found.left, found.hung) == ([], 0)
    assert {call.op for call in report.calls} == {SCAN} and {call.worker for call in report.calls} == {"0", "1"}
