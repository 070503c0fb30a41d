"""Requests at SERIAL and LOCAL_SERIAL: which replica coordinates them, and what retries leave as it is."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RetryPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.query import SimpleStatement
from cassandra.testing import Request, SimulatedCluster, errors
from cassandra.testing.faults import Fail
from tests.simulated.conftest import eventually

SELECT = "SELECT * FROM ks.t WHERE k = "
LEVELS = (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL)
NAMES = ConsistencyLevel.value_to_name
Asking = Callable[[Session, int], None]


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(4, 1, seed=1) as cluster, Cluster(cluster.contact_points, port=cluster.port) as client:
        session = client.connect()
        session.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 3} "
            "AND tablets = {'enabled': false}"
        )
        session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
        yield cluster


def connected(simulated: SimulatedCluster, level: int, retry: RetryPolicy | None = None) -> Cluster:
    policy = TokenAwarePolicy(RoundRobinPolicy(), slow_replica_avoidance=False)  # at random, on a busy machine too
    profile = ExecutionProfile(policy, retry_policy=retry, consistency_level=level)
    return Cluster(simulated.contact_points, port=simulated.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile})


def opened(cluster: Cluster) -> Session:
    """A session with a connection to each node."""
    session = cluster.connect("ks")
    eventually(
        lambda: (
            all(pool["open_count"] for pool in session.get_pool_state().values()) and len(session.get_pool_state()) == 4
        )
    )
    return session


def asked(simulated: SimulatedCluster) -> list[Request]:
    """The requests for the table, those that failed too."""
    return [request for request in simulated.requests if "ks.t" in request.query and request.opcode != "PREPARE"]


def prepared(session: Session, level: int) -> None:
    select = session.prepare(f"{SELECT}?")
    select.consistency_level = level
    for _ in range(30):
        session.execute(select, (7,))


def of_the_profile(session: Session, level: int) -> None:
    select = session.prepare(f"{SELECT}?")
    for _ in range(30):
        session.execute(select, (7,))


def bound(session: Session, level: int) -> None:
    for _ in range(30):
        statement = session.prepare(f"{SELECT}?").bind((7,))
        statement.consistency_level = level
        session.execute(statement)


def text(session: Session, level: int) -> None:
    key = (7).to_bytes(4, "big")
    for _ in range(30):
        session.execute(SimpleStatement(f"{SELECT}7", consistency_level=level, routing_key=key, keyspace="ks"))


def text_of_the_profile(session: Session, level: int) -> None:
    key = (7).to_bytes(4, "big")
    for _ in range(30):
        session.execute(SimpleStatement(f"{SELECT}7", routing_key=key, keyspace="ks"))


def concurrently(session: Session, level: int) -> None:
    select = session.prepare(f"{SELECT}?")
    select.consistency_level = level
    execute_concurrent_with_args(session, select, [(7,)] * 30)


def traced(session: Session, level: int) -> None:
    select = session.prepare(f"{SELECT}?")
    for _ in range(30):
        session.execute(select, (7,), custom_payload={"x": b"y"})


@pytest.mark.parametrize("level", LEVELS, ids=NAMES.__getitem__)
@pytest.mark.parametrize(
    "ask",
    [prepared, of_the_profile, bound, text, text_of_the_profile, concurrently, traced],
    ids=lambda ask: ask.__name__,
)
def test_serial_reads_ask_one_replica(simulated: SimulatedCluster, ask: Asking, level: int) -> None:
    with connected(simulated, level) as cluster:
        session = opened(cluster)
        simulated.clear_requests()
        ask(session, level)
        nodes = Counter(request.node for request in asked(simulated))
    assert sorted(nodes.values()) == [30]


@pytest.mark.parametrize("ask", [prepared, text], ids=lambda ask: ask.__name__)
def test_other_reads_ask_all_replicas(simulated: SimulatedCluster, ask: Asking) -> None:
    with connected(simulated, ConsistencyLevel.ONE) as cluster:
        session = opened(cluster)
        simulated.clear_requests()
        ask(session, ConsistencyLevel.QUORUM)
        assert len({request.node for request in asked(simulated)}) == 3


@pytest.mark.parametrize("level", LEVELS, ids=NAMES.__getitem__)
def test_plans_asked_by_programs_keep_the_order(simulated: SimulatedCluster, level: int) -> None:
    with connected(simulated, ConsistencyLevel.ONE) as cluster:
        cluster.connect()
        policy: Any = cluster.profile_manager.default.load_balancing_policy
        statement = SimpleStatement("", consistency_level=level, routing_key=b"\0\0\0\7", keyspace="ks")
        assert len({tuple(policy.make_query_plan("ks", statement))[:3] for _ in range(20)}) == 1


class Lowers(RetryPolicy):
    def __init__(self, level: int) -> None:
        self.level = level

    def on_unavailable(self, *args: Any, retry_num: int, **kwargs: Any) -> Any:
        return (self.RETRY, self.level) if retry_num < 2 else (self.RETHROW, None)


@pytest.mark.parametrize("wanted", [ConsistencyLevel.ONE, ConsistencyLevel.LOCAL_SERIAL], ids=NAMES.__getitem__)
@pytest.mark.parametrize("ask", [prepared, text], ids=lambda ask: ask.__name__)
def test_retries_keep_the_serial_level(
    simulated: SimulatedCluster, ask: Asking, wanted: int, caplog: pytest.LogCaptureFixture
) -> None:
    class LowersOnce(Lowers):
        """Of its own class, as the log has one warning for each."""

    level = ConsistencyLevel.SERIAL
    with connected(simulated, level, LowersOnce(wanted)) as cluster, caplog.at_level(logging.WARNING, "cassandra"):
        session = opened(cluster)
        simulated.clear_requests()
        opcode = "EXECUTE" if ask is prepared else "QUERY"
        simulated.inject(Fail(errors.Unavailable(consistency="SERIAL")), query="ks.t", opcode=opcode, times=2)
        ask(session, level)
        simulated.clear_faults()
        levels = [request.consistency for request in asked(simulated)]
    assert set(levels) == {NAMES[level]} and len(levels) == 32
    said = [record.getMessage() for record in caplog.records if "LowersOnce" in record.getMessage()]
    assert len(said) == 1 and "SERIAL" in said[0] and NAMES[wanted] in said[0]


def test_retries_at_other_levels_go_by_the_policy(simulated: SimulatedCluster) -> None:
    with connected(simulated, ConsistencyLevel.QUORUM, Lowers(ConsistencyLevel.ONE)) as cluster:
        session = opened(cluster)
        simulated.clear_requests()
        simulated.inject(Fail(errors.Unavailable(consistency="QUORUM")), query="ks.t", times=1)
        session.execute(f"{SELECT}7")
        simulated.clear_faults()
        levels = [request.consistency for request in asked(simulated)]
    assert levels == ["QUORUM", "ONE"]
