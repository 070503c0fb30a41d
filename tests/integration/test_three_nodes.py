"""Three nodes: who serves a request, who takes over, and how shutting down behaves when a node is mute."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel, OperationTimedOut, Unavailable
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    FallthroughRetryPolicy,
    HostFilterPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
)
from cassandra.query import BatchStatement, SimpleStatement
from tests.integration.conftest import Connect, create_keyspace
from tests.patience import PATIENCE, eventually

KEYS = range(60)


def wait_for(condition: Callable[[], Any], within: float = 3 * PATIENCE) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(cassandra_three: Any) -> Iterator[Cluster]:
    profiles = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(),
        "round robin": ExecutionProfile(RoundRobinPolicy()),
        "all": ExecutionProfile(consistency_level=ConsistencyLevel.ALL),
        "quorum": ExecutionProfile(consistency_level=ConsistencyLevel.QUORUM),
        "all, no retry": ExecutionProfile(
            consistency_level=ConsistencyLevel.ALL, retry_policy=FallthroughRetryPolicy()
        ),
    }
    with Cluster(
        cassandra_three.contact_points[:1],
        port=cassandra_three.port,
        execution_profiles=profiles,
        reconnection_policy=ConstantReconnectionPolicy(0.3, None),
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(cluster: Cluster) -> Session:
    session = cluster.connect(wait_for_all_pools=True)
    for factor in (1, 2, 3):
        name = f"it_three_{factor}"
        create_keyspace(session, name, factor)
        session.execute(f"CREATE TABLE {name}.kv (k int PRIMARY KEY, v int)")
    session.set_keyspace("it_three_1")
    insert = session.prepare("INSERT INTO it_three_1.kv (k, v) VALUES (?, ?)")
    for key in KEYS:
        session.execute(insert, (key, key))
    return session


def coordinators(session: Session, count: int, *args: Any, **kwargs: Any) -> Counter[str]:
    seen: Counter[str] = Counter()
    for _ in range(count):
        future = session.execute_async(*args, **kwargs)
        future.result()
        seen[future.coordinator_host.address] += 1  # type: ignore[union-attr]
    return seen


class TestTopology:
    def test_one_contact_point_finds_all(self, session: Session, cassandra_three: Any) -> None:
        hosts = session.cluster.metadata.all_hosts()
        assert sorted(host.address for host in hosts) == cassandra_three.contact_points
        assert all(host.is_up for host in hosts)
        assert len({host.host_id for host in hosts}) == 3
        assert {host.release_version for host in hosts} == {"5.0.6"}
        assert len(session.get_pools()) == 3

    def test_replicas(self, session: Session) -> None:
        metadata = session.cluster.metadata
        for factor in (1, 2, 3):
            for key in KEYS:
                replicas = metadata.get_replicas(f"it_three_{factor}", key.to_bytes(4, "big"))
                assert len(set(replicas)) == factor


class TestRouting:
    def test_every_node_serves(self, session: Session, cassandra_three: Any) -> None:
        seen = coordinators(session, 30, "SELECT key FROM system.local", execution_profile="round robin")
        assert seen == dict.fromkeys(cassandra_three.contact_points, 10)

    def test_token_aware_requests_go_to_the_replica(self, session: Session) -> None:
        select = session.prepare("SELECT v FROM it_three_1.kv WHERE k = ?")
        used = set()
        for key in KEYS:
            bound = select.bind((key,))
            future = session.execute_async(bound)
            assert future.result().one() == (key,)
            (replica,) = session.cluster.metadata.get_replicas("it_three_1", bound.routing_key)
            assert future.coordinator_host == replica
            used.add(replica)
        assert len(used) == 3

    def test_the_server_agrees(self, session: Session) -> None:
        """A trace tells who took part. With one replica and the right coordinator that is one node."""
        select = session.prepare("SELECT v FROM it_three_1.kv WHERE k = ?")
        for key in range(8):
            future = session.execute_async(select, (key,), trace=True)
            future.result()
            trace = future.get_query_trace(max_wait=10)
            assert {event.source for event in trace.events} == {future.coordinator_host.address}
        elsewhere = 0
        for key in range(8):
            future = session.execute_async(select, (key,), trace=True, execution_profile="round robin")
            future.result()
            elsewhere += len({event.source for event in future.get_query_trace(max_wait=10).events}) > 1
        assert elsewhere > 0

    def test_two_replicas(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO it_three_2.kv (k, v) VALUES (?, ?)")
        for key in KEYS:
            bound = insert.bind((key, key))
            replicas = set(session.cluster.metadata.get_replicas("it_three_2", bound.routing_key))
            seen = coordinators(session, 6, bound)
            assert set(seen) <= {host.address for host in replicas}

    def test_replicas_share_the_load(self, session: Session, cassandra_three: Any) -> None:
        """A replica that was slow a moment ago, on a busy machine, is chosen again some seconds later."""
        select = session.prepare("SELECT v FROM it_three_3.kv WHERE k = ?")
        replicas = set(cassandra_three.contact_points)
        assert eventually(lambda: replicas == set(coordinators(session, 60, select, (1,))))

    def test_simple_statements_with_routing_key(self, session: Session) -> None:
        for key in KEYS:
            statement = SimpleStatement(
                f"SELECT v FROM it_three_1.kv WHERE k = {key}",
                routing_key=key.to_bytes(4, "big"),
                keyspace="it_three_1",
            )
            future = session.execute_async(statement)
            future.result()
            assert [future.coordinator_host] == session.cluster.metadata.get_replicas(
                "it_three_1", key.to_bytes(4, "big")
            )

    def test_batches_follow_their_first_statement(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO it_three_1.kv (k, v) VALUES (?, ?)")
        for key in KEYS:
            batch = BatchStatement().add("INSERT INTO it_three_1.kv (k, v) VALUES (1000, 1)").add(insert, (key, key))
            future = session.execute_async(batch)
            future.result()
            assert [future.coordinator_host] == session.cluster.metadata.get_replicas(
                "it_three_1", key.to_bytes(4, "big")
            )

    def test_lightweight_transactions_prefer_one_replica(self, session: Session) -> None:
        """Only if the server marks them (ScyllaDB does); anyway they work."""
        insert = session.prepare("INSERT INTO it_three_3.kv (k, v) VALUES (?, ?) IF NOT EXISTS")
        assert session.execute(insert, (5000, 1)).was_applied is True
        assert session.execute(insert, (5000, 1)).was_applied is False

    def test_pinned_to_each_host(self, session: Session) -> None:
        for host in session.cluster.metadata.all_hosts():
            rows = session.execute("SELECT rpc_address FROM system.local", host=host)
            assert rows.one().rpc_address == host.address


class TestPolicies:
    def connect(self, cluster_to: Connect, server: Any, policy: Any) -> Session:
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
        return cluster_to(server, execution_profiles=profiles).connect(wait_for_all_pools=True)

    def test_white_list(self, cluster_to: Connect, cassandra_three: Any) -> None:
        allowed = cassandra_three.contact_points[1]
        session = self.connect(cluster_to, cassandra_three, WhiteListRoundRobinPolicy([allowed]))
        assert [pool.host.address for pool in session.get_pools()] == [allowed]
        assert set(coordinators(session, 10, "SELECT key FROM system.local")) == {allowed}

    def test_host_filter(self, cluster_to: Connect, cassandra_three: Any) -> None:
        banned = cassandra_three.contact_points[2]
        policy = HostFilterPolicy(RoundRobinPolicy(), lambda host: host.address != banned)
        session = self.connect(cluster_to, cassandra_three, policy)
        assert set(coordinators(session, 20, "SELECT key FROM system.local")) == set(cassandra_three.contact_points[:2])

    def test_own_policy(self, cluster_to: Connect, cassandra_three: Any) -> None:
        class Last(RoundRobinPolicy):
            def make_query_plan(self, working_keyspace: Any = None, query: Any = None) -> Any:
                return iter(sorted(super().make_query_plan(working_keyspace, query), reverse=True))

        session = self.connect(cluster_to, cassandra_three, Last())
        last = cassandra_three.contact_points[2]
        assert set(coordinators(session, 10, "SELECT key FROM system.local")) == {last}

    def test_an_unknown_datacenter(self, cluster_to: Connect, cassandra_three: Any) -> None:
        with pytest.raises((NoHostAvailable, ValueError)):
            self.connect(
                cluster_to, cassandra_three, TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc="nowhere"))
            ).execute("SELECT key FROM system.local")


class TestPreparing:
    def test_on_all_hosts_ahead(self, session: Session) -> None:
        select = session.prepare("SELECT v, k FROM it_three_3.kv WHERE k = ?")
        for host in session.cluster.metadata.all_hosts():
            future = session.execute_async(select, (1,), host=host)
            future.result()
            assert future.attempted_hosts == [host]

    def test_on_one_host_and_then_where_it_is_needed(self, cluster_to: Connect, cassandra_three: Any) -> None:
        cluster = cluster_to(cassandra_three, prepare_on_all_hosts=False)
        session = cluster.connect("it_three_3", wait_for_all_pools=True)
        select = session.prepare(f"SELECT v, k AS k{time.time_ns()} FROM kv WHERE k = ?")
        attempts = []
        for host in cluster.metadata.all_hosts():
            future = session.execute_async(select, (1,), host=host)
            future.result()
            attempts.append(len(future.attempted_hosts))
        assert sorted(attempts) == [1, 2, 2]  # EXECUTE, or one before and one after PREPARE


class TestConsistency:
    @pytest.mark.parametrize("profile", ["all", "quorum"])
    def test_with_all_nodes(self, session: Session, profile: str) -> None:
        session.execute("INSERT INTO it_three_3.kv (k, v) VALUES (1, 1)", execution_profile=profile)
        assert session.execute("SELECT v FROM it_three_3.kv WHERE k = 1", execution_profile=profile).one() == (1,)

    def test_a_schema_change_is_everywhere_when_it_returns(self, session: Session) -> None:
        for number in range(3):
            session.execute(f"CREATE TABLE it_three_3.agreed{number} (k int PRIMARY KEY)")
            for host in session.cluster.metadata.all_hosts():
                assert session.execute(f"SELECT * FROM it_three_3.agreed{number}", host=host).one() is None


class TestMuteNode:
    """SIGSTOP: connections stay open, nothing is answered."""

    def test_requests_to_it_time_out(self, session: Session, cassandra_three: Any) -> None:
        node = cassandra_three.nodes[2]
        host = session.cluster.metadata.get_host(node.address, node.port)
        node.pause()
        begin = time.monotonic()
        with pytest.raises(OperationTimedOut) as caught:
            session.execute("SELECT key FROM system.local", host=host, timeout=0.5)
        assert 0.5 <= time.monotonic() - begin < PATIENCE
        assert caught.value.last_host == host
        node.resume()
        assert session.execute("SELECT key FROM system.local", host=host, timeout=30).one()

    def test_speculative_execution_goes_around_it(self, cluster_to: Connect, cassandra_three: Any) -> None:
        profile = ExecutionProfile(
            RoundRobinPolicy(), speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.05, 2)
        )
        cluster = cluster_to(
            cassandra_three, contact_points=cassandra_three.contact_points[:1],
            execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        )  # fmt: skip
        session = cluster.connect(wait_for_all_pools=True)
        cassandra_three.nodes[2].pause()
        statement = SimpleStatement("SELECT key FROM system.local", is_idempotent=True)
        used = Counter()
        for _ in range(30):
            future = session.execute_async(statement, timeout=PATIENCE)
            future.result()
            used[len(future.attempted_hosts)] += 1
            assert future.coordinator_host.address != cassandra_three.nodes[2].address
        assert used[2] >= 5
        cassandra_three.nodes[2].resume()

    def test_shutdown_is_quick(self, cassandra_three: Any, no_leaks: None) -> None:
        """With a mute node, and with requests in flight to it."""
        cluster = Cluster(cassandra_three.contact_points[:1], port=cassandra_three.port)
        session = cluster.connect(wait_for_all_pools=True)
        node = cassandra_three.nodes[1]
        host = cluster.metadata.get_host(node.address, node.port)
        node.pause()
        futures = [session.execute_async("SELECT key FROM system.local", host=host, timeout=None) for _ in range(50)]
        begin = time.monotonic()
        cluster.shutdown()
        assert time.monotonic() - begin < PATIENCE
        for future in futures:
            with pytest.raises(Exception, match=r"(?i)clos|shut|host"):
                future.result()
        node.resume()

    def test_connecting_with_a_mute_contact_point(self, cluster_to: Connect, cassandra_three: Any) -> None:
        cassandra_three.nodes[0].pause()
        begin = time.monotonic()
        session = cluster_to(cassandra_three, connect_timeout=1, control_connection_timeout=1).connect()
        assert session.execute("SELECT key FROM system.local", timeout=30).one()
        assert time.monotonic() - begin < 3 * PATIENCE
        cassandra_three.nodes[0].resume()


def test_a_node_stops_and_comes_back(session: Session, cassandra_three: Any) -> None:
    """It goes down, others serve, the right errors come; then it is used again. The one with the control connection."""
    cluster = session.cluster
    control = cluster.get_control_connection_host()
    node = next(node for node in cassandra_three.nodes if node.address == control.address)
    select = session.prepare("SELECT v FROM it_three_3.kv WHERE k = ?")
    select.is_idempotent = True
    session.execute("INSERT INTO it_three_3.kv (k, v) VALUES (7, 7)", execution_profile="all")

    node.stop()
    wait_for(lambda: control.is_up is False)
    assert node.address not in coordinators(session, 30, select, (7,))
    others = set(cassandra_three.contact_points) - {node.address}
    wait_for(lambda: set(coordinators(session, 30, select, (7,))) == others)  # one that was slow is chosen again later
    with pytest.raises(Unavailable) as caught:
        session.execute(select, (7,), execution_profile="all, no retry")
    assert (caught.value.required_replicas, caught.value.alive_replicas) == (3, 2)
    assert session.execute(select, (7,), execution_profile="quorum").one() == (7,)
    wait_for(lambda: cluster.get_control_connection_host() not in (None, control))
    session.execute("CREATE TABLE it_three_3.while_down (k int PRIMARY KEY)")
    assert "while_down" in cluster.metadata.keyspaces["it_three_3"].tables
    assert len(cluster.metadata.all_hosts()) == 3

    node.start()
    wait_for(lambda: control.is_up is True)
    wait_for(lambda: node.address in coordinators(session, 10, select, (7,)))
    wait_for(lambda: len([pool for pool in session.get_pools() if pool.open_count]) == 3)
    cassandra_three.wait_for_ring()
    assert session.execute(select, (7,), host=control, timeout=30).one() == (7,)
