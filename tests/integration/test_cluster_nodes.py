"""Three real nodes that stop, die, pause and come back, under load: host states, control connection, requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra import OperationTimedOut
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy, DCAwareRoundRobinPolicy, HostStateListener, TokenAwarePolicy
from tests.integration.conftest import create_keyspace

KEYSPACE = "it_cluster_nodes"
PATIENCE = 150.0  # a node takes its time to start on a busy machine
REQUEST_TIMEOUT = 6.0


def eventually(condition: Callable[[], Any], timeout: float = PATIENCE) -> Any:
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, f"did not come true within {timeout} s"
        time.sleep(0.05)
    return value


class Load:
    """Threads that read and write until told to stop; remembers errors and the longest call."""

    def __init__(self, session: Session, threads: int = 3) -> None:
        self.session = session
        self.errors: list[BaseException] = []
        self.done = 0
        self.longest = 0.0
        self._stop = threading.Event()
        self._insert = session.prepare(f"INSERT INTO {KEYSPACE}.t (k, v) VALUES (?, ?)")
        self._select = session.prepare(f"SELECT v FROM {KEYSPACE}.t WHERE k = ?")
        self._insert.is_idempotent = self._select.is_idempotent = True
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(threads)]

    def _run(self, number: int) -> None:
        key = number
        while not self._stop.is_set():
            key += 10
            started = time.monotonic()
            try:
                self.session.execute(self._insert, (key % 1000, key))
                self.session.execute(self._select, (key % 1000,)).one()
                self.done += 1
            except Exception as error:
                self.errors.append(error)
            self.longest = max(self.longest, time.monotonic() - started)
            time.sleep(0.01)  # the nodes that start again need the processor too

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        self.goes_on()
        return self

    def goes_on(self) -> None:
        """Wait for more successful requests."""
        before = self.done
        eventually(lambda: self.done > before + 20)

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads), "a call hangs"
        assert self.longest < 10 * REQUEST_TIMEOUT


class Heard(HostStateListener):
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def on_up(self, host: Any) -> None:
        self.events.append(("up", host.address))

    def on_down(self, host: Any) -> None:
        self.events.append(("down", host.address))

    def on_add(self, host: Any) -> None:
        self.events.append(("add", host.address))

    def on_remove(self, host: Any) -> None:
        self.events.append(("remove", host.address))


@pytest.fixture(scope="module")
def created(cassandra_three: Any) -> float:
    """Makes the keyspace; when that was."""
    with Cluster(cassandra_three.contact_points, port=cassandra_three.port) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        create_keyspace(session, KEYSPACE, 3)
        session.execute(f"CREATE TABLE {KEYSPACE}.t (k int PRIMARY KEY, v int)", timeout=30)
    return time.monotonic()


def wait_for_commitlog(created: float) -> None:
    """A node that is killed loses the data that it did not write to disk yet, maybe the keyspace: it writes every
    10 s."""
    time.sleep(max(0.0, created + 11 - time.monotonic()))


@pytest.fixture
def session(cassandra_three: Any, created: float) -> Iterator[Session]:
    profile = ExecutionProfile(TokenAwarePolicy(DCAwareRoundRobinPolicy()), request_timeout=REQUEST_TIMEOUT)
    with Cluster(
        cassandra_three.contact_points,
        port=cassandra_three.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(0.5),
        idle_heartbeat_interval=1,
        idle_heartbeat_timeout=1,
    ) as cluster:
        yield cluster.connect(wait_for_all_pools=True)


def host_of(session: Session, node: Any) -> Any:
    return session.cluster.metadata.get_host(node.address)


def control_node(session: Session, server: Any) -> Any:
    host = eventually(session.cluster.get_control_connection_host)
    return next(node for node in server.nodes if node.address == host.address)


def test_the_node_of_the_control_connection_dies_and_comes_back(
    session: Session, cassandra_three: Any, created: float
) -> None:
    wait_for_commitlog(created)
    heard = Heard()
    cluster = session.cluster
    cluster.register_listener(heard)
    node = control_node(session, cassandra_three)
    host = host_of(session, node)
    with Load(session) as load:
        node.kill()
        eventually(lambda: host.is_up is False)
        eventually(lambda: control_node(session, cassandra_three) is not node)
        assert all(other.is_up for other in cluster.metadata.all_hosts() if other is not host)
        load.goes_on()
        cluster.refresh_nodes()
        session.execute(f"CREATE TABLE {KEYSPACE}.while_down (k int PRIMARY KEY)", timeout=30)
        assert "while_down" in cluster.metadata.keyspaces[KEYSPACE].tables
        node.start()
        eventually(lambda: host.is_up and host in session._pools)
        load.goes_on()
    assert all(isinstance(error, (ConnectionException, OperationTimedOut)) for error in load.errors), load.errors
    assert len(load.errors) <= 3 * 2  # at most the requests in flight when it went, and when it came
    assert heard.events == [("down", node.address), ("up", node.address)]


def test_a_paused_node(session: Session, cassandra_three: Any) -> None:
    """It says nothing and breaks no connection: heartbeats notice, requests go elsewhere, no other node goes down."""
    node = control_node(session, cassandra_three)
    host = host_of(session, node)
    with Load(session) as load:
        node.pause()
        eventually(lambda: control_node(session, cassandra_three) is not node)
        eventually(lambda: host not in session._pools or not session._pools[host].open_count)
        load.goes_on()  # the requests that were under way have ended
        errors = len(load.errors)
        load.goes_on()
        assert len(load.errors) == errors
        others = [other for other in session.cluster.metadata.all_hosts() if other is not host]
        assert all(other.is_up for other in others)
        node.resume()
        eventually(lambda: host.is_up and host in session._pools and session._pools[host].open_count)
        load.goes_on()
    assert all(isinstance(error, (ConnectionException, OperationTimedOut)) for error in load.errors), load.errors


def test_shutdown_with_a_paused_node_under_load(session: Session, cassandra_three: Any) -> None:
    node = control_node(session, cassandra_three)
    with Load(session) as load:
        node.pause()
        time.sleep(0.5)
        started = time.monotonic()
        session.cluster.shutdown()
        assert time.monotonic() - started < PATIENCE
    assert load.done


def test_all_nodes_restart(session: Session, cassandra_three: Any, created: float) -> None:
    """The same session serves again; no caller has to connect again."""
    wait_for_commitlog(created)
    for node in cassandra_three.nodes:
        node.kill()
    hosts = session.cluster.metadata.all_hosts()
    eventually(lambda: all(host.is_up is False for host in hosts))
    with pytest.raises(NoHostAvailable):
        session.execute("SELECT key FROM system.local")
    for node in cassandra_three.nodes:
        node.start()
    eventually(lambda: all(host.is_up for host in hosts) and len(session._pools) == 3)
    eventually(lambda: session.cluster.control_connection.connection)
    assert session.execute("SELECT key FROM system.local").one().key == "local"
    session.execute(f"CREATE TABLE {KEYSPACE}.after (k int PRIMARY KEY)", timeout=30)
    assert "after" in session.cluster.metadata.keyspaces[KEYSPACE].tables
