"""Nodes that announce that they stop (GRACEFUL_DISCONNECT, CEP-59): nothing fails, nothing is reported as a failure."""

from __future__ import annotations

import logging
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.policies import ConstantReconnectionPolicy, ConvictionPolicy, RoundRobinPolicy
from cassandra.testing import SimulatedCluster, SimulatedNode
from cassandra.testing.errors import ProtocolError
from cassandra.testing.faults import Fail, Hold
from tests.simulated.conftest import Connect, eventually, host_of, other_node, with_table

GRACEFUL = "GRACEFUL_DISCONNECT"
OPTIONS: dict[str, Any] = {
    "reconnection_policy": ConstantReconnectionPolicy(0.05),
    "load_balancing_policy": RoundRobinPolicy(),
}


def event(kind: str, rest: bytes = b"") -> bytes:
    return struct.pack(">H", len(kind)) + kind.encode() + rest


@pytest.fixture(params=[(4,), (5,)], ids=["v4", "v5"])
def graceful(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[SimulatedCluster]:
    """Three nodes with two shards each, that announce when they stop."""
    with SimulatedCluster(3, 2, protocol_versions=request.param, graceful_disconnect=True) as simulated:
        with_table(simulated)
        yield simulated


def drained(node: SimulatedNode) -> threading.Thread:
    """The thread that waits until *node* has drained."""
    thread = threading.Thread(target=node.drain, args=(60.0,))
    thread.start()
    return thread


def test_requests_in_flight_end_normally_and_no_new_one_is_sent(graceful: SimulatedCluster, connect: Connect) -> None:
    session = connect(graceful, "ks", **OPTIONS)
    node = other_node(session, graceful)
    host = host_of(session, node)
    insert = session.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    with graceful.inject(Hold(), query="INSERT", node=node.index) as held:
        futures = [session.execute_async(insert, (n, n)) for n in range(30)]
        eventually(lambda: held.hits > 0 and len(graceful.statements("ks.t")) == len(futures))
        waiting = drained(node)
        eventually(lambda: host.is_up is False)
        graceful.clear_requests()
        for n in range(100):
            session.execute(insert, (n, n + 1))
        assert node.index not in {request.node for request in graceful.statements("ks.t")}
        assert waiting.is_alive() and node.connections, "its requests are in flight"
        held.release()
    for future in futures:
        assert future.result().all() == []
    waiting.join(60)
    assert not waiting.is_alive() and node.connections == 0
    node.start()
    eventually(lambda: host.is_up)
    graceful.clear_requests()

    def gets_requests() -> bool:
        session.execute(insert, (1, 1))
        return node.index in {request.node for request in graceful.statements("ks.t")}

    eventually(gets_requests)


def test_the_host_is_not_reported_as_failed(
    graceful: SimulatedCluster, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    convicted: list[Any] = []

    class Remembers(ConvictionPolicy):
        def add_failure(self, connection_exc: BaseException) -> bool:
            convicted.append(connection_exc)
            return True

        def reset(self) -> None:
            pass

    caplog.set_level(logging.INFO, "cassandra")
    session = connect(graceful, "ks", **{**OPTIONS, "reconnection_policy": ConstantReconnectionPolicy(3600)},
                      conviction_policy_factory=Remembers)  # fmt: skip
    other = session.cluster.connect("ks")
    node = other_node(session, graceful)
    host = host_of(session, node)
    down: list[Any] = []
    session.cluster.register_listener(Downs(down))
    node.drain()
    eventually(lambda: host not in session.get_pool_state() and host not in other.get_pool_state())
    eventually(lambda: down == [host])
    assert not convicted
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert f"{host} has announced that it stops" in caplog.text
    assert host.is_up is False
    eventually(host.is_currently_reconnecting)


class Downs:
    """A listener."""

    def __init__(self, down: list[Any]) -> None:
        self.down = down

    def on_down(self, host: Any) -> None:
        self.down.append(host)

    def on_up(self, host: Any) -> None: ...
    def on_add(self, host: Any) -> None: ...
    def on_remove(self, host: Any) -> None: ...


def test_the_control_connection_goes_to_another_node(graceful: SimulatedCluster, connect: Connect) -> None:
    session = connect(graceful, "ks", **OPTIONS)
    control = session.cluster.get_control_connection_host()
    assert control is not None
    node = next(node for node in graceful.nodes if node.host_id == control.host_id)
    node.drain(60)  # ends when all connections are closed, the control connection among them
    now = session.cluster.get_control_connection_host()
    assert now is not None and now is not control
    session.cluster.refresh_schema_metadata()


def test_a_cluster_of_one_node(no_leaks: None, connect: Connect) -> None:
    with SimulatedCluster(1, 2, graceful_disconnect=True) as simulated:
        simulated.execute(
            "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1}"
        )
        simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
        session = connect(simulated, "ks", **OPTIONS)
        (node,) = simulated.nodes
        node.drain(limit=0.5)  # the control connection stays, as there is no other node
        node.start()
        host = host_of(session, node)
        eventually(lambda: host.is_up)
        session.execute("INSERT INTO t (id, v) VALUES (1, 1)")
        session.cluster.shutdown()


def test_only_servers_that_offer_it_are_asked(simulated: SimulatedCluster, connect: Connect) -> None:
    connect(simulated, **OPTIONS)
    registered = [request for request in simulated.requests if request.opcode == "REGISTER"]
    assert len(registered) == 1, "the control connection"


def test_every_connection_registers(graceful: SimulatedCluster, connect: Connect) -> None:
    session = connect(graceful, **OPTIONS)
    eventually(lambda: sum(state["open_count"] for state in session.get_pool_state().values()) == 6)
    assert sum(request.opcode == "REGISTER" for request in graceful.requests) == 6 + 1


def test_a_server_that_rejects_the_registration(graceful: SimulatedCluster, connect: Connect) -> None:
    """As with a protocol version for which it does not have the event."""

    def is_for_it(exchange: Any) -> bool:
        return GRACEFUL.encode() in exchange.frame.body

    graceful.inject(Fail(ProtocolError("Event GRACEFUL_DISCONNECT not valid")), opcode="REGISTER", when=is_for_it)
    session = connect(graceful, "ks", **OPTIONS)
    assert session.execute("SELECT key FROM system.local").one()
    graceful.push_event("STATUS_CHANGE", "DOWN", 0)
    assert session.cluster.get_control_connection_host() is not None


def test_a_connection_that_announces_it_before_it_is_used(graceful: SimulatedCluster, connect: Connect) -> None:
    """The event comes between REGISTER and USE: the connection gets no request."""
    session = connect(graceful, "ks", **OPTIONS)
    node = other_node(session, graceful)
    held = graceful.inject(Hold(executed=False), query="USE", node=node.index)
    node.restart()
    eventually(lambda: held.hits > 0)
    graceful.clear_requests()
    node.push_event(event(GRACEFUL), GRACEFUL)
    held.remove()
    eventually(lambda: host_of(session, node).is_up)
    session.execute("INSERT INTO t (id, v) VALUES (1, 1)")


def test_an_unasked_announcement_is_ignored(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, **OPTIONS)
    before = [connection for pool in session.get_pools() for connection in pool.get_connections()]
    for node in simulated.nodes:
        node.push_event(event(GRACEFUL))
    for _ in range(30):
        session.execute("SELECT key FROM system.local")
    assert all(host.is_up for host in session.cluster.metadata.all_hosts())
    assert not any(connection.is_closed or connection.is_draining for connection in before)


@pytest.mark.parametrize("rest", [b"", b"\0", b"\xff" * 1000, event("now")])
def test_bodies_of_the_announcement(graceful: SimulatedCluster, connect: Connect, rest: bytes) -> None:
    """It has no arguments now, and may have some in the future."""
    session = connect(graceful, "ks", **OPTIONS)
    node = other_node(session, graceful)
    host = host_of(session, node)
    ups: list[Any] = []

    class Ups(Downs):
        def on_up(self, host: Any) -> None:
            ups.append(host)

    down: list[Any] = []
    session.cluster.register_listener(Ups(down))
    node.push_event(event(GRACEFUL, rest), GRACEFUL)
    eventually(lambda: down == [host])
    eventually(lambda: ups == [host])  # it did not stop after all


@pytest.mark.long
def test_rolling_restarts_under_load(no_leaks: None, connect: Connect) -> None:
    """A hundred restarts, while non-idempotent writes are sent: none fails, and each is executed once."""
    with SimulatedCluster(3, 1, graceful_disconnect=True) as simulated:
        with_table(simulated)
        simulated.execute("CREATE TABLE ks.c (id int PRIMARY KEY, n counter)")
        session = connect(simulated, "ks", **OPTIONS)
        count = session.prepare("UPDATE c SET n = n + 1 WHERE id = ?")
        assert not count.is_idempotent
        errors: list[BaseException] = []
        done = [0] * 3
        ended = threading.Event()

        def write(thread: int) -> None:
            while not ended.is_set():
                futures = [session.execute_async(count, (thread,)) for _ in range(10)]
                for future in futures:
                    try:
                        future.result()
                        done[thread] += 1
                    except Exception as error:
                        errors.append(error)
                        return

        threads = [threading.Thread(target=write, args=(number,)) for number in range(len(done))]
        for thread in threads:
            thread.start()
        try:
            for restart in range(100):
                node = simulated.nodes[restart % 3]
                before = sum(done)
                node.drain(60)
                eventually(lambda before=before: sum(done) >= before + 50 or errors)
                node.start()
                host = host_of(session, node)
                eventually(lambda host=host: (host.is_up and host in session.get_pool_state()) or errors)
                if errors:
                    break
        finally:
            ended.set()
            for thread in threads:
                thread.join(60)
        assert not errors
        counted = {row["id"]: row["n"] for row in simulated.execute("SELECT id, n FROM ks.c")}
        assert counted == dict(enumerate(done))
        session.cluster.shutdown()
