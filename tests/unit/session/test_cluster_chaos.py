"""Random trouble, and then peace: after any faults the driver must come to rest connected to every node."""

from __future__ import annotations

import random
import threading
import time
from typing import Any
from uuid import UUID, uuid4

import pytest

from cassandra import DriverException
from cassandra._session.cluster import Cluster
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy
from tests.fakes.nodes import FakeCluster, FakeNode, eventually
from tests.patience import PATIENCE

pytestmark = [pytest.mark.long, pytest.mark.versions, pytest.mark.usefixtures("no_leaks")]


class Trouble:
    """One random thing at a time."""

    def __init__(self, fake: FakeCluster, cluster: Cluster, seed: int) -> None:
        self.fake = fake
        self.cluster = cluster
        self.random = random.Random(seed)
        self.next_id = 100

    def make(self) -> None:
        node = self.random.choice(self.fake.nodes)
        step = self.random.choice(
            [
                self.bounce,
                self.bounce,
                self.cut,
                self.say_up,
                self.say_up,
                self.say_down,
                self.say_changed,
                self.replace,
                self.relist,
                self.pause,
                self.change_schema,
                self.cut_control,
            ]
        )
        step(node)

    def bounce(self, node: FakeNode) -> None:
        if node.server is None:
            node.start()
        else:
            node.stop()

    def cut(self, node: FakeNode) -> None:
        if node.server is not None:
            node.drop_connections()

    def say_up(self, node: FakeNode) -> None:
        self.fake.push("STATUS_CHANGE", "UP", node.address)

    def say_down(self, node: FakeNode) -> None:
        self.fake.push("STATUS_CHANGE", "DOWN", node.address)

    def say_changed(self, node: FakeNode) -> None:
        self.fake.push("TOPOLOGY_CHANGE", self.random.choice(["NEW_NODE", "REMOVED_NODE", "MOVED_NODE"]), node.address)

    def replace(self, node: FakeNode) -> None:
        self.next_id += 1
        node.host_id = UUID(int=self.next_id)
        self.say_changed(node)

    def relist(self, node: FakeNode) -> None:
        node.listed = not node.listed
        self.say_changed(node)

    def pause(self, node: FakeNode) -> None:
        if node.paused.is_set():
            node.pause()
        else:
            node.resume()

    def change_schema(self, node: FakeNode) -> None:
        self.fake.schema_version = uuid4()
        self.fake.push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")

    def cut_control(self, node: FakeNode) -> None:
        connection = self.cluster.control_connection.connection
        if connection is not None:
            connection.close()

    def end(self) -> None:
        """Time limits end, too, for new connections: any further delay is the machine's."""
        for node in self.fake.nodes:
            node.listed = True
            node.resume()
            node.start()
        self.cluster.connect_timeout = self.cluster.control_connection_timeout = PATIENCE
        self.cluster.idle_heartbeat_timeout = PATIENCE


@pytest.mark.parametrize("seed", range(6))
def test_trouble_ends(seed: int) -> None:
    with FakeCluster(4) as fake:
        fake.add_table("ks", "t", "k")
        cluster = Cluster(
            fake.contact_points,
            load_balancing_policy=RoundRobinPolicy(),
            reconnection_policy=ConstantReconnectionPolicy(0.05),
            idle_heartbeat_interval=0.2,
            idle_heartbeat_timeout=0.2,
            status_event_refresh_window=0.02,
            topology_event_refresh_window=0.02,
            schema_event_refresh_window=0.02,
            max_schema_agreement_wait=0.2,
        )
        with cluster:
            session = cluster.connect()
            cluster.connect_timeout = cluster.control_connection_timeout = 0.5
            stop = threading.Event()

            def ask() -> None:
                while not stop.is_set():
                    try:
                        session.execute("SELECT 1", timeout=0.3)
                    except Exception:
                        time.sleep(0.01)

            asking = threading.Thread(target=ask)
            asking.start()
            trouble = Trouble(fake, cluster, seed)
            for _ in range(60):
                trouble.make()
                time.sleep(trouble.random.choice([0, 0, 0.01, 0.05]))
            trouble.end()

            def rests() -> Any:
                """Every node is known by its id, up, and has a pool of its own; the control connection is there."""
                hosts = cluster.metadata.all_hosts()
                if {host.host_id for host in hosts} != {node.host_id for node in fake.nodes}:
                    cluster.control_connection.refresh_nodes_soon()
                    time.sleep(0.05)
                    return False
                pools = session._pools
                return (
                    cluster.control_connection.connection is not None
                    and all(host.is_up for host in hosts)
                    and len(pools) == len(hosts)
                    and all(pools[host].open_count and pools[host].host is host for host in hosts)
                    and set(cluster.load_balancing_policy.make_query_plan()) == set(hosts)
                )

            try:
                eventually(rests)
            finally:
                stop.set()
                asking.join(PATIENCE)
            assert not asking.is_alive()

            def works() -> bool:
                """Heartbeats that were sent in troubled times may still cut a connection."""
                try:
                    session.execute("SELECT 1")
                    cluster.refresh_schema_metadata(max_schema_agreement_wait=0)
                except (DriverException, ConnectionException):
                    return False
                return rests() and not any(host.is_currently_reconnecting() for host in cluster.metadata.all_hosts())

            eventually(works)
            assert "t" in cluster.metadata.keyspaces["ks"].tables
