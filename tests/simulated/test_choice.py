"""Choice of replicas by load, and speculative execution by percentile: which node gets how many requests."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra._net import health
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import (
    DCFailoverRoundRobinPolicy,
    PercentileSpeculativeExecutionPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Hold
from tests.simulated.conftest import Connect, eventually

READ = "SELECT v FROM t WHERE k = ?"
ROUNDS = 60


@pytest.fixture
def all_replicas(no_leaks: None) -> Iterator[SimulatedCluster]:
    """Three nodes with two shards, each with a replica of everything."""
    with SimulatedCluster(nodes=3, shards=2) as cluster:
        cluster.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 3} "
            "AND tablets = {'initial': 4}"
        )
        cluster.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
        yield cluster


def profile(**options: Any) -> dict[str, Any]:
    return {"execution_profiles": {EXEC_PROFILE_DEFAULT: ExecutionProfile(request_timeout=60, **options)}}


def reads(simulated: SimulatedCluster) -> Counter[int]:
    """Requests for the table by node."""
    hits: Counter[int] = Counter()
    for (node, _), count in simulated.shard_hits("ks.t").items():
        hits[node] += count
    return hits


def prepared_reads(session: Session) -> Callable[[int], Any]:
    session.prefetch_tablets("ks", "t")
    statement = session.prepare(READ)
    statement.is_idempotent = True
    return lambda key: (statement, (key,))


def held_by_first_node(simulated: SimulatedCluster, session: Session) -> int:
    """Send requests for one row, each after the responses of the other nodes; the first node holds its own. Return how
    many it has got."""
    read, done = prepared_reads(session), []  # type: Any, list[Any]
    with simulated.inject(Hold(), query="FROM t", node=0) as held:
        for number in range(ROUNDS):
            session.execute_async(*read(1)).add_callback(done.append)
            eventually(lambda number=number: len(done) + held.hits == number + 1)  # type: ignore[misc]
        hits = held.hits
    eventually(lambda: len(done) == ROUNDS)
    return hits


class TestChoice:
    def test_a_shard_with_a_request_in_flight_gets_no_other(
        self, all_replicas: SimulatedCluster, connect: Connect
    ) -> None:
        session = connect(all_replicas, "ks", **profile())
        assert held_by_first_node(all_replicas, session) <= 3  # more than one if the others have been slow

    def test_a_node_that_was_silent_is_soon_used_again(
        self, all_replicas: SimulatedCluster, connect: Connect, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The late responses do not make it a slow replica; those of a busy machine may, for a second or two."""
        monkeypatch.setattr(health, "QUIET", 1.0)
        session = connect(all_replicas, "ks", **profile())
        read = prepared_reads(session)
        host = next(one for one in session.hosts if one.address == all_replicas.nodes[0].address)
        all_replicas.nodes[0].pause()
        late = []
        while not host.is_suspect:
            late.append(session.execute_async(*read(1)))
            time.sleep(0.01)
        time.sleep(0.5)
        all_replicas.nodes[0].resume()
        eventually(lambda: not host.is_suspect)
        for request in late:
            request.result()
        deadline = time.monotonic() + 4.0
        while True:
            all_replicas.clear_requests()
            for _ in range(ROUNDS):
                session.execute(*read(1))
            if reads(all_replicas)[0] > ROUNDS / 10:
                break
            assert time.monotonic() < deadline
            time.sleep(0.2)

    def test_it_can_be_switched_off(self, all_replicas: SimulatedCluster, connect: Connect) -> None:
        policy = TokenAwarePolicy(RoundRobinPolicy(), slow_replica_avoidance=False)
        session = connect(all_replicas, "ks", **profile(load_balancing_policy=policy))
        assert held_by_first_node(all_replicas, session) > 5

    def test_without_shuffling_the_order_is_kept(self, all_replicas: SimulatedCluster, connect: Connect) -> None:
        policy = TokenAwarePolicy(RoundRobinPolicy(), shuffle_replicas=False)
        session = connect(all_replicas, "ks", **profile(load_balancing_policy=policy))
        assert held_by_first_node(all_replicas, session) in (0, ROUNDS)

    def test_conditional_statements_keep_the_order(self, all_replicas: SimulatedCluster, connect: Connect) -> None:
        session = connect(all_replicas, "ks", **profile())
        session.prefetch_tablets("ks", "t")
        claim = session.prepare("UPDATE t SET v = 1 WHERE k = ? IF v = 2")
        assert claim.is_lwt()
        all_replicas.clear_requests()
        with all_replicas.inject(Hold(), query="UPDATE t") as held:
            waiting = [session.execute_async(claim, (1,)) for _ in range(ROUNDS)]
            eventually(lambda: held.hits == ROUNDS)
            nodes = {one.node for one in all_replicas.requests if "UPDATE t" in one.query}
        for one in waiting:
            one.result()
        assert len(nodes) == 1


def executed(way: str, session: Session, statement: Any, values: tuple[Any, ...]) -> None:
    if way == "execute":
        session.execute(statement, values)
    elif way == "execute_async":
        session.execute_async(statement, values).result()
    elif way == "await":

        async def wait() -> None:
            await session.execute_async(statement, values)

        asyncio.run(wait())
    else:
        (found,) = execute_concurrent_with_args(session, statement, [values])
        assert found.success


class TestSpeculation:
    @pytest.mark.parametrize("kind", ["prepared", "text"])
    @pytest.mark.parametrize("way", ["execute", "execute_async", "await", "execute_concurrent"])
    def test_a_slow_request_is_sent_to_another_node_too(
        self, all_replicas: SimulatedCluster, connect: Connect, way: str, kind: str
    ) -> None:
        policy = PercentileSpeculativeExecutionPolicy(99)
        session = connect(all_replicas, "ks", **profile(speculative_execution_policy=policy))
        statement: Any = session.prepare(READ)
        values: tuple[Any, ...] = (1,)
        if kind == "text":
            statement, values = SimpleStatement("SELECT v FROM t WHERE k = %s"), (1,)
        statement.is_idempotent = True
        assert policy.delay is None
        for _ in range(120):
            executed("execute", session, statement, values)
        assert policy.delay is not None
        with all_replicas.inject(Hold(), query="FROM t", times=1) as held:
            executed(way, session, statement, values)  # the response that is held would never come
            assert held.hits == 1

    def test_other_statements_are_executed_once(self, all_replicas: SimulatedCluster, connect: Connect) -> None:
        policy = PercentileSpeculativeExecutionPolicy(50)
        session = connect(all_replicas, "ks", **profile(speculative_execution_policy=policy))
        statement = session.prepare(READ)
        for _ in range(150):
            session.execute(statement, (1,))
        assert policy.delay is None  # they are not even recorded
        assert sum(reads(all_replicas).values()) == 150

    @pytest.mark.parametrize("kind", ["prepared", "text"])
    def test_the_budget_is_never_exceeded(self, all_replicas: SimulatedCluster, connect: Connect, kind: str) -> None:
        """All requests are slower than the delay: each would be sent twice."""
        policy = PercentileSpeculativeExecutionPolicy(50, max_attempts=2, budget=0.1)
        session = connect(all_replicas, "ks", **profile(speculative_execution_policy=policy))
        statement: Any = session.prepare(READ)
        values: tuple[Any, ...] = (1,)
        if kind == "text":
            statement, values = SimpleStatement("SELECT v FROM t WHERE k = %s"), (1,)
        statement.is_idempotent = True
        for _ in range(100):
            session.execute(statement, values)
        with all_replicas.inject(Hold(), query="FROM t") as held:
            waiting = [session.execute_async(statement, values) for _ in range(100)]
            eventually(lambda: held.hits >= 100 + 20 - 10)  # the first 100 had some slow ones
        for one in waiting:
            one.result()
        extra = sum(len(one.attempted_hosts) - 1 for one in waiting)
        assert 10 <= extra <= 20

    def test_the_extra_executions_go_elsewhere(self, all_replicas: SimulatedCluster, connect: Connect) -> None:
        policy = PercentileSpeculativeExecutionPolicy(99, budget=1)
        session = connect(all_replicas, "ks", **profile(speculative_execution_policy=policy))
        read = prepared_reads(session)
        for _ in range(100):
            session.execute(*read(1))
        with all_replicas.inject(Hold(), query="FROM t", node=1):
            for _ in range(20):
                future = session.execute_async(*read(1))
                future.result()
                hosts = future.attempted_hosts
                assert len(set(hosts)) == len(hosts) <= 2

    def test_pages_have_their_own(self, all_replicas: SimulatedCluster, connect: Connect) -> None:
        policy = PercentileSpeculativeExecutionPolicy(99, budget=1)
        session = connect(all_replicas, "ks", **profile(speculative_execution_policy=policy))
        for key in range(20):
            all_replicas.execute(f"INSERT INTO ks.t (k, v) VALUES ({key}, 1)")
        every = session.prepare("SELECT k FROM t")
        every.is_idempotent = True
        every.fetch_size = 5
        for _ in range(40):
            assert len(list(session.execute(every))) == 20
        result = session.execute(every)
        with all_replicas.inject(Hold(), query="FROM t", times=1) as held:
            assert len(list(result)) == 20
            assert held.hits == 1

    def test_its_parameters_are_checked(self) -> None:
        for name, wrong in [
            ("percentile", 0),
            ("percentile", 100),
            ("max_attempts", 0),
            ("budget", 0),
            ("budget", 1.1),
        ]:
            with pytest.raises(ValueError, match=name):
                PercentileSpeculativeExecutionPolicy(**{name: wrong})  # type: ignore[arg-type]


def coordinator(session: Session, statement: Any) -> Any:
    return session.execute(statement, (1,)).response_future.coordinator_host


class TestFailover:
    def test_a_datacenter_that_refuses_connections(self, no_leaks: None, connect: Connect) -> None:
        with SimulatedCluster(nodes=4, shards=1, dcs=("dc1", "dc2")) as simulated:
            simulated.execute(
                "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 2, 'dc2': 2}"
            )
            simulated.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
            policy = DCFailoverRoundRobinPolicy("dc1", ["dc2"], recovery_time=0)
            session = connect(simulated, "ks", **profile(load_balancing_policy=TokenAwarePolicy(policy)))
            anywhere, local = session.prepare(READ), session.prepare(READ + " ")
            anywhere.consistency_level = ConsistencyLevel.ONE
            local.consistency_level = ConsistencyLevel.LOCAL_QUORUM
            for statement in (anywhere, local):
                result = session.execute(statement, (1,))
                assert result.response_future.coordinator_host.datacenter == "dc1"
            for node in simulated.nodes[::2]:
                node.stop()
            eventually(lambda: policy.active_dc == "dc2")
            result = session.execute(anywhere, (1,))
            assert result.response_future.coordinator_host.datacenter == "dc2"
            with pytest.raises(NoHostAvailable, match="LOCAL_QUORUM does not allow another"):
                session.execute(local, (1,))
            for node in simulated.nodes[::2]:
                node.start()
            eventually(lambda: policy.active_dc == "dc1")
            for statement in (anywhere, local):
                eventually(lambda statement=statement: coordinator(session, statement).datacenter == "dc1")
