"""Connecting to scripted nodes: contact points, metadata, several sessions, asyncio, failures."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import DriverException, OperationTimedOut, UnresolvableContactPoints
from cassandra._session.cluster import Cluster
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException, DefaultEndPoint, ProtocolVersionUnsupported
from cassandra.policies import DCAwareRoundRobinPolicy, HostDistance, RoundRobinPolicy, WhiteListRoundRobinPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, eventually
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("no_leaks")


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        made.add_table("ks", "t", "k", "v")
        yield made


def test_connect_reads_the_metadata(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points) as cluster:
        session = cluster.connect("ks", wait_for_all_pools=True)
        metadata = cluster.metadata
        assert metadata.cluster_name == "fake"
        assert metadata.partitioner == fake.partitioner
        assert {host.host_id for host in metadata.all_hosts()} == {node.host_id for node in fake.nodes}
        assert {host.rack for host in metadata.all_hosts()} == {"r1", "r2", "r3"}
        assert all(host.is_up and host.release_version == "5.0.6" for host in metadata.all_hosts())
        assert metadata.token_map is not None
        assert len(metadata.token_map.ring) == 3
        assert list(metadata.keyspaces["ks"].tables["t"].columns) == ["k", "v"]
        assert cluster.protocol_version == 5
        assert session.keyspace == "ks"
        assert {host.endpoint for host in session._pools} == {DefaultEndPoint(*point) for point in fake.contact_points}
        assert cluster.endpoints_resolved == [DefaultEndPoint(*point) for point in fake.contact_points]
        assert cluster.get_control_connection_host() in metadata.all_hosts()
        assert set(cluster.sessions) == {session}
        assert len(cluster.get_all_pools()) == 3
        assert len(cluster.get_connection_holders()) == 4
        assert not cluster.is_shard_aware() and cluster.shard_aware_stats() is None


def test_sessions_share_everything(fake: FakeCluster) -> None:
    before = threading.active_count()
    with Cluster(fake.contact_points) as cluster:
        sessions: list[Any] = []
        connecting = [threading.Thread(target=lambda: sessions.append(cluster.connect())) for _ in range(8)]
        for thread in connecting:
            thread.start()
        for thread in connecting:
            thread.join(PATIENCE)
        assert len(sessions) == 8
        assert set(cluster.sessions) == set(sessions)
        asked = sum(node.asked("system.local") for node in fake.nodes)
        assert asked == 1
        sessions.pop().shutdown()
        assert len(cluster.sessions) == 7
        del thread, connecting
        assert (
            threading.active_count() - before < 40
        )  # the scripted servers' threads; ours are 2 workers and the reactor
    assert len(cluster.sessions) == 0


def test_protocol_version_is_negotiated_once(fake: FakeCluster) -> None:
    for node in fake.nodes:
        assert node.server is not None
        node.server.versions = (3, 4)
    with Cluster(fake.contact_points) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert cluster.protocol_version == 4
        assert all(c.protocol_version == 4 for pool in session.get_pools() for c in pool.get_connections())
        assert 5 in [request.version for request in fake.nodes[0].server.requests]  # type: ignore[union-attr]
        assert 5 not in [request.version for request in fake.nodes[1].server.requests]  # type: ignore[union-attr]


def test_a_given_protocol_version_is_not_lowered(fake: FakeCluster) -> None:
    for node in fake.nodes:
        assert node.server is not None
        node.server.versions = (3, 4)
    with pytest.raises(NoHostAvailable) as caught:
        Cluster(fake.contact_points, protocol_version=5).connect()
    assert "protocol version" in str(caught.value)


def test_the_first_contact_point_that_works(fake: FakeCluster) -> None:
    fake.nodes[0].stop()
    with Cluster(fake.contact_points) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        dead = cluster.metadata.get_host(DefaultEndPoint(*fake.nodes[0].address))
        assert dead is not None
        eventually(lambda: dead.is_up is False)
        assert dead not in session._pools
        assert len(session._pools) == 2
        fake.nodes[0].start()
        eventually(lambda: dead.is_up and dead in session._pools)


def test_connect_without_reachable_hosts_raises(fake: FakeCluster) -> None:
    fake.close()
    cluster = Cluster(fake.contact_points)
    with pytest.raises(NoHostAvailable, match="Unable to connect to any servers") as caught:
        cluster.connect()
    assert set(caught.value.errors or ()) == {str(DefaultEndPoint(*point)) for point in fake.contact_points}
    assert all(isinstance(error, OSError) for error in (caught.value.errors or {}).values())
    assert cluster.is_shutdown
    with pytest.raises(DriverException, match="already shut down"):
        cluster.connect()


def test_silent_nodes_are_given_up_in_time(fake: FakeCluster) -> None:
    for node in fake.nodes:
        node.pause()
    started = time.monotonic()
    with pytest.raises(NoHostAvailable) as caught:
        Cluster(fake.contact_points, connect_timeout=0.2).connect()
    assert time.monotonic() - started < PATIENCE
    assert {type(error) for error in (caught.value.errors or {}).values()} == {OperationTimedOut}


def test_a_node_that_refuses_the_queries_is_not_used(fake: FakeCluster) -> None:
    def refuse(node: Any, connection: Any, request: Any, text: str) -> bool:
        if node is fake.nodes[0]:
            connection.answer(request, wire.ERROR, wire.error(0x1001, "too busy"))
        return node is fake.nodes[0]

    fake.on_query = refuse
    with Cluster(fake.contact_points) as cluster:
        cluster.connect()
        assert cluster.get_control_connection_host().endpoint.port == fake.nodes[1].port  # type: ignore[union-attr]


def test_names_that_do_not_resolve() -> None:
    with pytest.raises(UnresolvableContactPoints, match=r"no\.such\.name\.invalid"):
        Cluster(["no.such.name.invalid"]).connect()


def test_an_unknown_keyspace(fake: FakeCluster) -> None:
    def use(node: Any, connection: Any, request: Any, text: str) -> bool:
        if "nope" in text:
            connection.answer(request, wire.ERROR, wire.error(0x2200, "Keyspace 'nope' does not exist"))
        return "nope" in text

    fake.on_query = use
    with Cluster(fake.contact_points) as cluster:
        with pytest.raises(NoHostAvailable, match="using keyspace 'nope'") as caught:
            cluster.connect("nope", wait_for_all_pools=True)
        assert len(caught.value.errors or ()) == 3
        assert len(cluster.sessions) == 0
        assert not cluster.is_shutdown
        cluster.connect("ks", wait_for_all_pools=True)  # the hosts were not taken for down
        assert cluster.connect("").keyspace is None
        assert all(host.is_up for host in cluster.metadata.all_hosts())


def test_ignored_hosts_get_no_pools(fake: FakeCluster) -> None:
    class OnlyOne(RoundRobinPolicy):
        def distance(self, host: Any) -> int:
            return HostDistance.LOCAL if host.endpoint.port == fake.nodes[1].port else HostDistance.IGNORED

    with Cluster(fake.contact_points, load_balancing_policy=OnlyOne()) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert [host.endpoint.port for host in session._pools] == [fake.nodes[1].port]


def test_everything_ignored(fake: FakeCluster) -> None:
    policy = WhiteListRoundRobinPolicy(["10.9.9.9"])
    with Cluster(fake.contact_points, load_balancing_policy=policy) as cluster, pytest.raises(NoHostAvailable):
        cluster.connect()


def test_a_policy_that_does_not_support_the_cluster(fake: FakeCluster) -> None:
    class Picky(RoundRobinPolicy):
        def check_supported(self) -> None:
            raise ValueError("not with this cluster")

    with pytest.raises(NoHostAvailable) as caught:
        Cluster(fake.contact_points, load_balancing_policy=Picky()).connect()
    assert "not with this cluster" in str(caught.value)


def test_without_schema_and_tokens(fake: FakeCluster) -> None:
    options = {"schema_metadata_enabled": False, "token_metadata_enabled": False}
    with Cluster(fake.contact_points, **options) as cluster:
        cluster.connect()
        assert cluster.metadata.keyspaces == {}
        token_map = cluster.metadata.token_map
        assert token_map is not None and token_map.ring == [] and token_map.token_to_host_owner == {}
        assert len(cluster.metadata.all_hosts()) == 3
        assert sum(node.asked("system_schema") for node in fake.nodes) == 0
        assert not any("*" in query for node in fake.nodes for query in node.queries)


def test_peers_v2_is_not_everywhere(fake: FakeCluster) -> None:
    def refuse(node: Any, connection: Any, request: Any, text: str) -> bool:
        if "peers_v2" in text:
            connection.answer(request, wire.ERROR, wire.error(0x2200, "unconfigured table peers_v2"))
        elif "system.peers" in text:
            return False
        return "peers_v2" in text

    fake.on_query = refuse
    with Cluster(fake.contact_points[:1]) as cluster:
        cluster.connect()
        assert len(cluster.metadata.all_hosts()) == 1  # the fake has no rows in the old table
        cluster.refresh_nodes()
        assert fake.nodes[0].asked("system.peers_v2") == 1
        assert fake.nodes[0].asked("FROM system.peers") == 3


def test_incomplete_and_contradictory_rows_are_ignored(fake: FakeCluster, caplog: pytest.LogCaptureFixture) -> None:
    whole = fake.nodes[0].peers()[0]
    fake.extra_peers = [
        {**whole, "host_id": None},
        {**whole, "host_id": fake.nodes[0].host_id, "native_port": 1},
        {**whole, "native_address": None},
        {**whole, "tokens": None},
        {**whole, "rack": None},
        {**whole, "native_port": 99},  # a host id that is there already
    ]
    with caplog.at_level(logging.WARNING, "cassandra.cluster"), Cluster(fake.contact_points) as cluster:
        cluster.connect(wait_for_all_pools=True)
        assert len(cluster.metadata.all_hosts()) == 3
    assert "is ignored" in caplog.text


def test_listeners_hear_of_the_first_hosts(fake: FakeCluster) -> None:
    class Listener:
        def __init__(self) -> None:
            self.heard: list[tuple[str, Any]] = []

        def on_add(self, host: Any) -> None:
            self.heard.append(("add", host))
            raise RuntimeError("a listener's bug hurts nobody")

    listener = Listener()
    with Cluster(fake.contact_points) as cluster:
        cluster.register_listener(listener)
        assert cluster.listeners == {listener}
        cluster.connect()
        assert {event for event, _ in listener.heard} == {"add"}
        assert [host for _, host in listener.heard] == cluster.metadata.all_hosts()
        cluster.unregister_listener(listener)
        with pytest.raises(KeyError):
            cluster.unregister_listener(listener)


def test_adding_a_profile_opens_pools(fake: FakeCluster) -> None:
    class Only(RoundRobinPolicy):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

        def distance(self, host: Any) -> int:
            wanted = host.endpoint.port == fake.nodes[self.number].port
            return HostDistance.LOCAL if wanted else HostDistance.IGNORED

    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(Only(0))}
    with Cluster(fake.contact_points, execution_profiles=profiles) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        assert len(session._pools) == 1
        added = ExecutionProfile(Only(2))
        cluster.add_execution_profile("other", added)
        assert len(session._pools) == 2
        assert len(list(added.load_balancing_policy.make_query_plan())) == 3
        fake.nodes[1].pause()
        with pytest.raises(Exception, match="connection pools"):
            cluster.add_execution_profile("third", ExecutionProfile(Only(1)), pool_wait_timeout=0.05)
        assert "third" in cluster.profile_manager.profiles


def test_remote_hosts_may_get_no_connections(fake: FakeCluster) -> None:
    fake.nodes[2].datacenter = "dc2"
    policy = DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=5)
    for allowed, pools in ((True, 3), (False, 2)):
        with Cluster(fake.contact_points, load_balancing_policy=policy) as cluster:
            cluster.connect_to_remote_hosts = allowed
            assert len(cluster.connect(wait_for_all_pools=True)._pools) == pools


def test_blocking_calls_are_refused_on_the_io_thread(fake: FakeCluster) -> None:
    errors: list[BaseException] = []
    done = threading.Event()

    def block(_: Any) -> None:
        for call in (cluster.connect, cluster.refresh_nodes, session.wait_for_schema_agreement):
            try:
                call()
            except DriverException as error:
                errors.append(error)
        done.set()

    with Cluster(fake.contact_points) as cluster:
        session = cluster.connect()
        future = session.execute_async("SELECT 1")
        future.add_callback(lambda rows: cluster.reactor.call_soon(lambda: block(rows)))
        assert done.wait(PATIENCE)
        assert len(errors) == 3 and all("I/O thread" in str(error) for error in errors)


# ---- asyncio


def test_connect_async(fake: FakeCluster) -> None:
    async def main() -> None:
        async with Cluster(fake.contact_points) as cluster:
            first, second = await asyncio.gather(cluster.connect_async("ks"), cluster.connect_async())
            assert (first.keyspace, second.keyspace) == ("ks", None)
            assert set(cluster.sessions) == {first, second}
            third = await cluster.connect_async(wait_for_all_pools=True)
            assert len(third._pools) == 3
        assert cluster.is_shutdown

    asyncio.run(main())


def test_connect_async_does_not_block_the_loop(fake: FakeCluster) -> None:
    for node in fake.nodes:
        node.pause()

    async def main() -> None:
        cluster = Cluster(fake.contact_points, executor_threads=1)
        connecting = [asyncio.ensure_future(cluster.connect_async()) for _ in range(4)]
        for _ in range(20):
            await asyncio.sleep(0.005)
        assert not any(task.done() for task in connecting)
        connecting[0].cancel()
        for node in fake.nodes:
            node.resume()
        results = await asyncio.gather(*connecting, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert all(session in cluster.sessions for session in results[1:])
        await cluster.shutdown_async()

    asyncio.run(main())


def test_connect_async_fails_as_connect_does(fake: FakeCluster) -> None:
    fake.close()

    async def main() -> None:
        cluster = Cluster(fake.contact_points)
        with pytest.raises(NoHostAvailable):
            await cluster.connect_async()
        with pytest.raises(DriverException, match="already shut down"):
            await cluster.connect_async()

    asyncio.run(main())


def test_a_datacenter_that_is_not_there(fake: FakeCluster) -> None:
    profile = ExecutionProfile(load_balancing_policy=DCAwareRoundRobinPolicy("dc_one"))
    with Cluster(fake.contact_points, execution_profiles={EXEC_PROFILE_DEFAULT: profile}) as cluster:
        with pytest.raises(NoHostAvailable, match=r"ignored by the load balancing policies.*'dc1'") as caught:
            cluster.connect()
        assert set(caught.value.errors) == set(cluster.metadata.all_hosts())


@pytest.mark.parametrize("version", [0, 1, 2, 6, 66])
def test_a_version_that_is_not_spoken_is_refused_by_connect(fake: FakeCluster, version: int) -> None:
    with Cluster(fake.contact_points, protocol_version=version) as cluster:
        assert cluster.protocol_version == version
        with pytest.raises(NoHostAvailable, match=r"this driver supports \[3, 4, 5\]") as caught:
            cluster.connect()
    assert all(isinstance(error, ProtocolVersionUnsupported) for error in caught.value.errors.values())
    assert not any(node.queries for node in fake.nodes)


def test_sessions_follow_the_timestamp_generator_of_the_cluster(fake: FakeCluster) -> None:
    assert Cluster.timestamp_generator is None
    with Cluster(fake.contact_points) as cluster:
        follows, other = cluster.connect(), cluster.connect()
        asked: list[str] = []
        other.timestamp_generator = lambda: asked.append("other") or 1  # type: ignore[func-returns-value]
        follows.execute("SELECT a")
        cluster.timestamp_generator = lambda: asked.append("cluster") or 1  # type: ignore[func-returns-value]
        for session in (follows, other, cluster.connect()):
            session.execute("SELECT a")
        assert asked == ["cluster", "other", "cluster"]


def test_a_host_that_is_not_known_is_told_of(fake: FakeCluster) -> None:
    with Cluster(fake.contact_points) as cluster:
        session = cluster.connect()
        with pytest.raises(NoHostAvailable, match="no host has that address") as caught:
            session.execute("SELECT a", host="10.9.9.9")
        assert {host: type(error) for host, error in caught.value.errors.items()} == {"10.9.9.9": ConnectionException}
