"""Fixtures: a simulated cluster, sessions, and threads that take turns as often as they can."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from cassandra.cluster import Session
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect, _patient_with_silence, connect, session, simulated

__all__ = ["Connect", "_patient_with_silence", "connect", "session", "simulated"]


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """With the GIL, every gap between two steps is found as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


ROWS = 200


@pytest.fixture
def table(simulated: SimulatedCluster, session: Session) -> Session:
    """The session; in its keyspace is a table ``t`` with :data:`ROWS` rows, whose ``v`` is ``id * 7``."""
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
    rows = "".join(f"INSERT INTO ks.t (id, v) VALUES ({number}, {number * 7}); " for number in range(ROWS))
    simulated.execute(f"BEGIN UNLOGGED BATCH {rows} APPLY BATCH")
    session.cluster.refresh_schema_metadata()
    return session
