"""Host states: the effects of connections and events on them, and events that have none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from cassandra import InvalidRequest
from cassandra._session.cluster import Cluster
from cassandra.connection import ConnectionException, DefaultEndPoint
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConvictionPolicy,
    HostDistance,
    HostStateListener,
    RoundRobinPolicy,
)
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("no_leaks")


class Heard(HostStateListener):
    """Events in order, as (event, host id number)."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    def _note(self, event: str, host: Any) -> None:
        self.events.append((event, host.host_id.int))

    def on_up(self, host: Any) -> None:
        self._note("up", host)

    def on_down(self, host: Any) -> None:
        self._note("down", host)

    def on_add(self, host: Any) -> None:
        self._note("add", host)

    def on_remove(self, host: Any) -> None:
        self._note("remove", host)

    def take(self) -> list[tuple[str, int]]:
        events, self.events = self.events, []
        return events


class Scene:
    """Three nodes, a cluster without delays, a session on all nodes, and a listener."""

    def __init__(self, fake: FakeCluster, **options: Any) -> None:
        self.fake = fake
        given = {
            "reconnection_policy": ConstantReconnectionPolicy(0.05),
            "load_balancing_policy": RoundRobinPolicy(),
            "status_event_refresh_window": 0,
            "topology_event_refresh_window": 0,
            "schema_event_refresh_window": 0,
        }
        self.cluster = Cluster(fake.contact_points, **{**given, **options})
        self.session = self.cluster.connect(wait_for_all_pools=True)
        self.heard = Heard()
        self.cluster.register_listener(self.heard)

    def host(self, node: FakeNode) -> Any:
        host = self.cluster.metadata.get_host_by_host_id(node.host_id)
        assert host is not None
        return host

    def settle(self) -> None:
        """Everything posted so far has happened."""
        self.cluster.control_connection.strand.call(lambda: None)
        self.cluster.membership.strand.call(lambda: None)
        self.cluster.host_listeners.wait_for_delivery(PATIENCE)

    def planned(self) -> set[Any]:
        return set(self.cluster.load_balancing_policy.make_query_plan())


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        yield made


@pytest.fixture
def scene(fake: FakeCluster) -> Iterator[Scene]:
    made = Scene(fake)
    yield made
    made.cluster.shutdown()


def test_a_node_that_stops_goes_down_and_comes_back(scene: Scene) -> None:
    node = scene.fake.nodes[1]
    host = scene.host(node)
    node.stop()
    eventually(lambda: host.is_up is False)
    scene.settle()
    assert scene.heard.take() == [("down", 2)]
    assert host not in scene.session._pools
    assert host not in scene.planned()
    assert host.is_currently_reconnecting()
    node.start()
    eventually(lambda: host.is_up)
    scene.settle()
    assert scene.heard.take() == [("up", 2)]
    assert host in scene.session._pools
    assert host in scene.planned()
    assert not host.is_currently_reconnecting()


def test_a_cut_connection_does_not_take_the_host_down(scene: Scene) -> None:
    node = scene.fake.nodes[1]
    host = scene.host(node)
    pool = scene.session._pools[host]
    before = pool.get_connections()
    node.drop_connections()
    eventually(lambda: pool.open_count and pool.get_connections() != before)
    scene.settle()
    assert host.is_up
    assert scene.heard.take() == []
    assert scene.session._pools[host] is pool


def test_an_up_event_is_acted_on_at_once(fake: FakeCluster) -> None:
    scene = Scene(fake, reconnection_policy=ConstantReconnectionPolicy(3600))
    with scene.cluster:
        node = fake.nodes[2]
        host = scene.host(node)
        node.stop()
        eventually(lambda: host.is_up is False)
        node.start()
        fake.push("STATUS_CHANGE", "UP", node.address)
        eventually(lambda: host.is_up and host in scene.session._pools)


def test_an_up_event_that_comes_too_early(fake: FakeCluster) -> None:
    scene = Scene(fake, reconnection_policy=ConstantReconnectionPolicy(0.02))
    with scene.cluster:
        node = fake.nodes[2]
        host = scene.host(node)
        node.stop()
        eventually(lambda: host.is_up is False)
        for _ in range(5):
            fake.push("STATUS_CHANGE", "UP", node.address)
        scene.settle()
        assert host.is_up is False
        node.start()
        eventually(lambda: host.is_up and host in scene.session._pools)
        scene.settle()
        assert scene.heard.take() == [("down", 3), ("up", 3)]


def test_a_stale_up_event_leaves_a_working_pool_alone(scene: Scene) -> None:
    node = scene.fake.nodes[1]
    host = scene.host(node)
    pool = scene.session._pools[host]
    connection = pool.get_connections()[0]
    scene.fake.push("STATUS_CHANGE", "UP", node.address)
    eventually(lambda: scene.heard or True)
    scene.settle()
    assert scene.session._pools[host] is pool
    assert pool.get_connections() == [connection] and not connection.is_closed
    assert scene.heard.take() == []


def test_a_down_event_about_a_host_that_answers_is_not_believed(scene: Scene) -> None:
    node = scene.fake.nodes[1]
    host = scene.host(node)
    pool = scene.session._pools[host]
    node.server.requests.clear()  # type: ignore[union-attr]
    scene.fake.push("STATUS_CHANGE", "DOWN", node.address)
    eventually(lambda: 0x05 in node.server.opcodes)  # type: ignore[union-attr]  # asked for a sign of life
    scene.settle()
    assert host.is_up
    assert scene.session._pools[host] is pool and pool.open_count == 1
    assert scene.heard.take() == []


def test_a_down_event_about_a_host_that_is_silent(fake: FakeCluster) -> None:
    scene = Scene(fake)
    with scene.cluster:
        scene.cluster.idle_heartbeat_timeout = 0.1
        node = fake.nodes[1]
        host = scene.host(node)
        node.pause()
        fake.push("STATUS_CHANGE", "DOWN", node.address)
        eventually(lambda: host.is_up is False or not scene.session._pools[host].open_count)
        node.resume()
        fake.push("STATUS_CHANGE", "UP", node.address)
        eventually(lambda: host.is_up and host in scene.session._pools and scene.session._pools[host].open_count)


def test_events_about_strangers_refresh_the_node_list(scene: Scene) -> None:
    before = sum(node.asked("system.peers") for node in scene.fake.nodes)
    scene.fake.push("STATUS_CHANGE", "DOWN", ("127.9.9.9", 1))
    scene.settle()
    assert sum(node.asked("system.peers") for node in scene.fake.nodes) == before
    scene.fake.push("STATUS_CHANGE", "UP", ("127.9.9.9", 1))
    eventually(lambda: sum(node.asked("system.peers") for node in scene.fake.nodes) > before)


def test_a_negative_window_ignores_status_events(fake: FakeCluster) -> None:
    scene = Scene(fake, status_event_refresh_window=-1, reconnection_policy=ConstantReconnectionPolicy(3600))
    with scene.cluster:
        host = scene.host(fake.nodes[1])
        fake.nodes[1].stop()
        eventually(lambda: host.is_up is False)
        fake.nodes[1].start()
        fake.push("STATUS_CHANGE", "UP", fake.nodes[1].address)
        scene.settle()
        assert host.is_up is False


def test_a_host_every_policy_ignores_follows_events(fake: FakeCluster) -> None:
    class Ignoring(RoundRobinPolicy):
        def distance(self, host: Any) -> int:
            return HostDistance.IGNORED if host.host_id == fake.nodes[2].host_id else HostDistance.LOCAL

    scene = Scene(fake, load_balancing_policy=Ignoring())
    with scene.cluster:
        node = fake.nodes[2]
        host = scene.host(node)
        connections = node.connections
        fake.push("STATUS_CHANGE", "DOWN", node.address)
        eventually(lambda: host.is_up is False)
        assert not host.is_currently_reconnecting()
        fake.push("STATUS_CHANGE", "UP", node.address)
        eventually(lambda: host.is_up)
        scene.settle()
        assert scene.heard.take() == [("down", 3), ("up", 3)]
        assert node.connections == connections
        assert host not in scene.session._pools


def test_all_nodes_restart(scene: Scene) -> None:
    for node in scene.fake.nodes:
        node.stop()
    hosts = scene.cluster.metadata.all_hosts()
    eventually(lambda: all(host.is_up is False for host in hosts))
    eventually(lambda: scene.cluster.control_connection.connection is None)
    for node in scene.fake.nodes:
        node.start()
    eventually(lambda: all(host.is_up for host in hosts) and len(scene.session._pools) == 3)
    eventually(lambda: scene.cluster.control_connection.connection is not None)


def test_reconnection_skips_its_schedule_while_no_node_is_up(
    fake: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The last node that goes down hurries those that wait already; sessions have all pools again."""
    scene = Scene(fake, reconnection_policy=ConstantReconnectionPolicy(600))
    try:
        other = scene.cluster.connect(wait_for_all_pools=True)
        for node in fake.nodes:
            node.stop()
            eventually(lambda node=node: scene.host(node).is_up is False)
        eventually(lambda: "No host is up" in caplog.text)
        for node in fake.nodes:
            node.start()
        eventually(lambda: len(scene.session._pools) == len(other._pools) == 3)
        eventually(lambda: all(scene.host(node).is_up for node in fake.nodes))
        assert caplog.text.count("No host is up") == caplog.text.count("the outage has lasted") == 1
        eventually(lambda: scene.cluster.control_connection.connection is not None)
    finally:
        scene.cluster.shutdown()


def test_an_outage_that_lasts_is_told_of_again(
    fake: FakeCluster, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cassandra._session.hosts.membership.OUTAGE_LOG_INTERVAL", 0.05)
    scene = Scene(fake)
    try:
        for node in fake.nodes:
            node.stop()
        eventually(lambda: "No host has been up for" in caplog.text)
    finally:
        scene.cluster.shutdown()


def test_losing_the_control_connection_marks_no_host_down(scene: Scene) -> None:
    control = scene.cluster.control_connection
    before = control.connection
    assert before is not None
    before.close()
    eventually(lambda: control.connection not in (None, before))
    scene.settle()
    assert all(host.is_up for host in scene.cluster.metadata.all_hosts())
    assert scene.heard.take() == []


# ---- hosts that come, go, move and are replaced


def test_a_new_node(scene: Scene) -> None:
    node = scene.fake.add_node()
    scene.fake.push("TOPOLOGY_CHANGE", "NEW_NODE", node.address)
    host = eventually(lambda: scene.cluster.metadata.get_host_by_host_id(node.host_id))
    eventually(lambda: host.is_up and host in scene.session._pools)
    scene.settle()
    assert scene.heard.take() == [("add", 4)]
    assert host in scene.planned()
    assert len(scene.cluster.metadata.token_map.ring) == 4  # type: ignore[union-attr]


def test_a_new_node_that_does_not_let_us_in_yet(scene: Scene) -> None:
    node = scene.fake.add_node()
    node.stop()
    scene.fake.push("TOPOLOGY_CHANGE", "NEW_NODE", node.address)
    host = eventually(lambda: scene.cluster.metadata.get_host_by_host_id(node.host_id))
    eventually(lambda: host.is_up is False)
    scene.settle()
    assert host not in scene.planned()
    node.start()
    eventually(lambda: host.is_up and host in scene.session._pools)
    scene.settle()
    assert scene.heard.take() == [("add", 4), ("down", 4), ("up", 4)]


def test_a_node_that_leaves(scene: Scene) -> None:
    node = scene.fake.nodes[2]
    host = scene.host(node)
    node.listed = False
    scene.fake.push("TOPOLOGY_CHANGE", "REMOVED_NODE", node.address)
    eventually(lambda: scene.cluster.metadata.get_host_by_host_id(node.host_id) is None)
    scene.settle()
    assert scene.heard.take() == [("remove", 3)]
    assert host not in scene.session._pools and host not in scene.planned()
    assert not host.is_currently_reconnecting()
    assert len(scene.cluster.metadata.token_map.ring) == 2  # type: ignore[union-attr]


def test_the_node_of_the_control_connection_leaves(scene: Scene) -> None:
    control = scene.cluster.control_connection
    leaving = next(node for node in scene.fake.nodes if node.port == control.connection.endpoint.port)  # type: ignore[union-attr]
    leaving.listed = False
    leaving.stop()
    eventually(lambda: scene.cluster.metadata.get_host_by_host_id(leaving.host_id) is None)
    eventually(lambda: control.connection is not None and control.connection.endpoint.port != leaving.port)
    assert len(scene.cluster.metadata.all_hosts()) == 2


def test_a_node_with_an_incomplete_row_is_kept(scene: Scene) -> None:
    node = scene.fake.nodes[2]
    host = scene.host(node)
    row = next(row for row in scene.fake.nodes[0].peers() if row["host_id"] == node.host_id)
    node.listed = False
    scene.fake.extra_peers = [{**row, "rack": None}]
    scene.cluster.refresh_nodes()
    assert scene.host(node) is host and host.is_up
    assert host in scene.session._pools
    assert len(scene.cluster.metadata.token_map.ring) == 3  # type: ignore[union-attr]


def test_a_replaced_node_at_the_same_address(scene: Scene) -> None:
    """The pool to the address works: it must serve until the new one is open, and no late event may hurt it."""
    node = scene.fake.nodes[1]
    old = scene.host(node)
    node.host_id = UUID(int=77)
    scene.cluster.refresh_nodes()
    new = scene.host(node)
    assert new is not old and new == old
    assert scene.session._pools[old].open_count
    eventually(lambda: new.is_up and scene.session._pools[new].host is new)
    scene.fake.push("STATUS_CHANGE", "UP", node.address)
    scene.fake.push("STATUS_CHANGE", "DOWN", node.address)
    scene.fake.push("STATUS_CHANGE", "UP", node.address)
    scene.settle()
    eventually(lambda: scene.session._pools[new].open_count)
    assert new.is_up
    assert next(host for host in scene.session._pools if host == new) is new
    assert [event for event in scene.heard.take() if event[0] != "up"] == [("remove", 2), ("add", 77)]
    assert next(host for host in scene.planned() if host == new) is new


def test_a_node_that_was_down_is_replaced_at_the_same_address(scene: Scene) -> None:
    node = scene.fake.nodes[1]
    old = scene.host(node)
    node.stop()
    eventually(lambda: old.is_up is False)
    node.host_id = UUID(int=77)
    node.start()
    scene.cluster.refresh_nodes()
    new = scene.host(node)
    eventually(lambda: new.is_up and new in scene.session._pools)
    assert not old.is_currently_reconnecting()
    assert len(scene.cluster.metadata.all_hosts()) == 3


def test_a_node_that_moves(scene: Scene) -> None:
    """Restarted with another address: the host id says that it is the same one."""
    node = scene.fake.nodes[1]
    host = scene.host(node)
    node.stop()
    eventually(lambda: host.is_up is False)
    moved = FakeNode(scene.fake, 1)
    scene.fake.nodes[1] = moved
    scene.cluster.refresh_nodes()
    assert host.endpoint == DefaultEndPoint(*moved.address)
    eventually(lambda: host.is_up and host in scene.session._pools)
    assert scene.host(moved) is host
    assert scene.cluster.metadata.get_host(host.endpoint) is host
    assert scene.cluster.metadata.get_host(DefaultEndPoint(*node.address)) is None
    scene.settle()
    assert scene.heard.take() == [("down", 2), ("up", 2)]


def test_two_nodes_that_swap_addresses(scene: Scene) -> None:
    first, second = scene.fake.nodes[1:]
    hosts = scene.host(first), scene.host(second)
    for node in (first, second):
        node.stop()
    eventually(lambda: all(host.is_up is False for host in hosts))
    first.host_id, second.host_id = second.host_id, first.host_id
    for node in (first, second):
        node.start()
    scene.cluster.refresh_nodes()
    eventually(lambda: all(host.is_up and host in scene.session._pools for host in hosts))
    assert scene.host(first) is hosts[1] and hosts[1].endpoint.port == first.port
    assert scene.host(second) is hosts[0] and hosts[0].endpoint.port == second.port
    assert len(scene.planned()) == 3


def test_a_contact_point_that_works_is_not_exchanged_for_the_advertised_address(scene: Scene) -> None:
    node = scene.fake.nodes[1]
    host = scene.host(node)
    pool = scene.session._pools[host]
    node.listed = False
    row = {**scene.fake.nodes[0].peers()[0], "host_id": node.host_id, "native_port": 1, "rack": "r2"}
    scene.fake.extra_peers = [row]
    scene.cluster.refresh_nodes()
    assert host.endpoint.port == node.port
    assert scene.session._pools[host] is pool and host.is_up


def test_a_host_that_cannot_be_reached_is_tried_where_the_nodes_say_it_is(scene: Scene) -> None:
    node = scene.fake.nodes[1]
    host = scene.host(node)
    elsewhere = FakeNode(scene.fake, 1)  # the same host id
    node.listed = False
    row = {**elsewhere._row(), "peer": "127.0.0.1", "native_address": "127.0.0.1", "native_port": elsewhere.port}
    scene.fake.extra_peers = [row]
    scene.cluster.refresh_nodes()
    assert host.endpoint.port == node.port  # it works there
    node.stop()
    eventually(lambda: host.endpoint.port == elsewhere.port and host.is_up)
    eventually(lambda: host in scene.session._pools)
    elsewhere.stop()


def test_a_node_that_changes_its_rack(scene: Scene) -> None:
    node = scene.fake.nodes[1]
    host = scene.host(node)
    node.rack = "r9"
    scene.cluster.refresh_nodes()
    assert host.rack == "r9"
    assert host.is_up and host in scene.session._pools and host in scene.planned()


# ---- by hand


def test_adding_and_removing_a_host_by_hand(scene: Scene) -> None:
    node = scene.fake.add_node()
    node.listed = False
    endpoint = DefaultEndPoint(*node.address)
    host, new = scene.cluster.add_host(endpoint, "dc1", "r4", refresh_nodes=False, host_id=node.host_id)
    assert new and scene.cluster.add_host(endpoint, host_id=node.host_id) == (host, False)
    eventually(lambda: host.is_up and host in scene.session._pools)
    scene.cluster.remove_host(host)
    assert host not in scene.session._pools and scene.cluster.metadata.get_host(endpoint) is None
    scene.cluster.remove_host(None)


def test_on_down_and_on_up_by_hand(scene: Scene) -> None:
    host = scene.host(scene.fake.nodes[1])
    scene.cluster.on_down(host, False)
    scene.settle()
    assert host.is_up  # its connections are open
    scene.cluster.on_down(host, False, expect_host_to_be_down=True)
    eventually(lambda: ("down", 2) in scene.heard.events)
    scene.cluster.on_up(host)
    eventually(lambda: host.is_up and host in scene.session._pools)


# ---- conviction


def test_an_answer_does_not_convict(scene: Scene) -> None:
    host = scene.host(scene.fake.nodes[1])
    assert scene.cluster.signal_connection_failure(host, InvalidRequest("no such keyspace"), False) is False
    assert host.is_up


def test_the_conviction_policy_decides(fake: FakeCluster) -> None:
    class Lenient(ConvictionPolicy):
        def add_failure(self, connection_exc: BaseException) -> bool:
            return False

        def reset(self) -> None:
            pass

    scene = Scene(fake, conviction_policy_factory=Lenient)
    with scene.cluster:
        host = scene.host(fake.nodes[1])
        assert scene.cluster.signal_connection_failure(host, ConnectionException("x"), False) is False
        fake.nodes[1].stop()
        eventually(lambda: not scene.session._pools[host].open_count)
        scene.settle()
        assert host.is_up  # the pool goes on trying
        fake.nodes[1].start()
        eventually(lambda: scene.session._pools[host].open_count)


def test_failures_are_counted(fake: FakeCluster) -> None:
    scene = Scene(fake, metrics_enabled=True)
    with scene.cluster as cluster:
        assert cluster.metrics is not None
        assert (cluster.metrics.known_hosts, cluster.metrics.connected_to) == (3, 3)
        assert cluster.metrics.open_connections == 3
        host = scene.host(fake.nodes[1])
        fake.nodes[1].stop()
        eventually(lambda: host.is_up is False)
        assert cluster.metrics.connection_errors >= 1
        assert cluster.metrics.connected_to == 2


def test_listeners_may_use_the_cluster(scene: Scene) -> None:
    done = threading.Event()

    class Busy(Heard):
        def on_down(self, host: Any) -> None:
            scene.cluster.refresh_nodes()
            scene.cluster.connect().shutdown()
            done.set()

    scene.cluster.register_listener(Busy())
    scene.fake.nodes[1].stop()
    assert done.wait(PATIENCE)


def test_policies_must_not_refresh(fake: FakeCluster) -> None:
    errors: list[BaseException] = []

    class Refreshing(RoundRobinPolicy):
        def on_down(self, host: Any) -> None:
            try:
                scene.cluster.refresh_nodes()
            except Exception as error:
                errors.append(error)
            super().on_down(host)

    scene = Scene(fake, load_balancing_policy=Refreshing())
    with scene.cluster:
        fake.nodes[1].stop()
        eventually(lambda: errors)
        assert "load balancing" in str(errors[0])
