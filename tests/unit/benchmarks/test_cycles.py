"""The soak of a thousand clusters, with twenty; and that it would detect leaks."""

from __future__ import annotations

import gc
import logging
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from benchmarks.chaos.left import Left
from benchmarks.soak_cycles import KINDS, NOISE, RESIDENT, Connected, Held, soak, verdicts
from cassandra.cluster import Cluster
from cassandra.testing import SimulatedCluster

OF_THE_WHOLE_PROCESS = {
    "all Python objects",
    "all memory blocks of Python",
    "resident memory",
}  # other tests are in it, too
TABLE = "bench.points (id int PRIMARY KEY, score bigint, name text, ratio double, at timestamp)"


@pytest.fixture
def connected(patient_clusters: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connected]:
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)  # records keep their arguments
    gc.unfreeze()  # an idle worker of an earlier test counts before, as one that replaces it counts afterwards
    with SimulatedCluster(nodes=1, shards=2) as simulated:
        connected = partial(Cluster, simulated.contact_points, port=simulated.port, compression=False)
        with connected() as cluster:
            session = cluster.connect()
            session.execute("CREATE KEYSPACE bench WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1}")
            session.execute(f"CREATE TABLE {TABLE}")
            session.execute("INSERT INTO bench.points (id) VALUES (1)")
        yield connected


def test_twenty_lives_leave_nothing(connected: Connected) -> None:
    found = soak(connected, 20, warm=2 * len(KINDS))
    assert [line for line in found if not line.reached and line.measure not in OF_THE_WHOLE_PROCESS] == []
    assert len(found) == 8


FIRST = Held(
    Left(frozenset(), frozenset({"1 pipe"}), {"channels": 1}), 0, Counter({"cassandra.A": 2}), 1000, 1000, 1 << 20
)


@pytest.mark.parametrize(
    ("what", "grown"),
    [
        ("descriptors", {"left": FIRST.left._replace(descriptors=frozenset({"1 pipe", "2 socket"}))}),
        ("native objects", {"left": FIRST.left._replace(native={"channels": 2})}),
        ("objects of the driver's classes", {"ours": Counter({"cassandra.A": 3})}),
        ("bytes in use of the pool", {"pooled": 64}),
        ("all Python objects", {"objects": 1000 + NOISE + 1}),
        ("all memory blocks of Python", {"blocks": 1000 + NOISE + 1}),
        ("resident memory", {"resident": (1 << 20) + RESIDENT + 1}),
    ],
    ids=["descriptors", "native", "ours", "pooled", "objects", "blocks", "resident"],
)
def test_soak_verdicts_report_each_kind_of_leak(what: str, grown: dict[str, Any]) -> None:
    assert [line.measure for line in verdicts(FIRST, FIRST._replace(**grown), 1) if not line.reached] == [what]
    assert all(line.reached for line in verdicts(FIRST, FIRST, 1))
