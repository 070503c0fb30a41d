"""The simulation answers CQL as a real server does: the same rows in the same order, the same class of error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import DriverException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.protocol import ErrorMessage
from cassandra.query import tuple_factory
from cassandra.testing import SimulatedCluster
from tests.servers import ServerCluster
from tests.simulated.corpus import NAMES, statements


@pytest.fixture(scope="module")
def real(cassandra_node: ServerCluster) -> Iterator[Session]:
    yield from _session(cassandra_node.contact_points, cassandra_node.port)


@pytest.fixture(scope="module")
def simulation() -> Iterator[Session]:
    with SimulatedCluster(1, 2) as simulated:
        yield from _session(simulated.contact_points, simulated.port)


def _session(contact_points: list[str], port: int) -> Iterator[Session]:
    profile = ExecutionProfile(row_factory=tuple_factory, request_timeout=60)
    profiles = {EXEC_PROFILE_DEFAULT: profile}
    with Cluster(contact_points, port=port, execution_profiles=profiles, protocol_version=4) as cluster:
        yield cluster.connect()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_answers(name: str, simulation: Session, real: Session) -> None:
    keyspace = f"alike_{name}"
    for session in (simulation, real):
        replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
        session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}")
        session.execute(f"CREATE KEYSPACE {keyspace} WITH replication = {replication}")
        session.set_keyspace(keyspace)
    different = []
    for text in statements(name, keyspace):
        simulated, expected = answer(simulation, text), answer(real, text)
        if simulated != expected:
            different.append(f"{text}\n  simulated: {simulated}\n  real:      {expected}")
    real.execute(f"DROP KEYSPACE {keyspace}")
    assert not different, "\n".join(different)


def answer(session: Session, text: str) -> Any:
    """What *text* gives, in a form that compares: NaN equals NaN, and of a conditional write only whether it applied
    counts, as ScyllaDB returns the old row too where Cassandra does not."""
    try:
        result = session.execute(text)
    except (DriverException, ErrorMessage) as error:
        return type(error).__name__
    rows = result.all()
    if result.column_names and result.column_names[0] == "[applied]":
        return rows[0][0]
    return repr((result.column_names, rows))
