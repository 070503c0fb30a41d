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
from tests.simulated.corpus import NAMES, random_statements, statements

REPLICATION = "replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"


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
        session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}")
        session.execute(f"CREATE KEYSPACE {keyspace} WITH {REPLICATION}")
        session.set_keyspace(keyspace)
    different = []
    for text in statements(name, keyspace):
        simulated, expected = answer(simulation, text), answer(real, text)
        if simulated != expected:
            different.append(f"{text}\n  simulated: {simulated}\n  real:      {expected}")
    real.execute(f"DROP KEYSPACE {keyspace}")
    assert not different, "\n".join(different)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_answers_to_random_statements(seed: int, simulation: Session, real: Session) -> None:
    """After each write the same rows are there, and each read finds the same, or both refuse it alike. What the
    simulation does not claim to know is left out, and so is what makes the server itself fail."""
    keyspace = f"random_{seed}"
    for session in (simulation, real):
        session.execute(f"DROP KEYSPACE IF EXISTS {keyspace}")
        session.execute(f"CREATE KEYSPACE {keyspace} WITH {REPLICATION}")
        session.set_keyspace(keyspace)
        for text in random_statements.SCHEMA:
            session.execute(text)
    maker, refused = random_statements.Maker(seed), 0
    for _ in range(150):
        text = maker.statement()
        simulated = answer(simulation, text, not_supported=None)
        if simulated is None:
            continue
        expected = answer(real, text)
        if expected in ("ReadFailure", "WriteFailure"):
            continue
        assert simulated == expected, text
        refused += simulated == "InvalidRequest"
        if not text.startswith("SELECT"):
            for table in random_statements.TABLES:
                read = f"SELECT * FROM {table}"
                assert answer(simulation, read) == answer(real, read), f"after {text}"
    real.execute(f"DROP KEYSPACE {keyspace}")
    assert 0 < refused < 90


def answer(session: Session, text: str, not_supported: Any = "InvalidRequest") -> Any:
    """What *text* gives, in a form that compares: NaN equals NaN, and of a conditional write only whether it applied
    counts, as ScyllaDB returns the old row too where Cassandra does not. *not_supported* stands for the simulation's
    refusal of what it does not know."""
    try:
        result = session.execute(text)
    except (DriverException, ErrorMessage) as error:
        return not_supported if "not supported by the simulation" in str(error) else type(error).__name__
    rows = result.all()
    if result.column_names and result.column_names[0] == "[applied]":
        return rows[0][0]
    return repr((result.column_names, rows))
