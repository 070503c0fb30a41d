"""One of three nodes stands still under load: who notices, and how much fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from tests.integration.conftest import create_keyspace
from tests.patience import PATIENCE, eventually

TIMEOUT = 10.0  # of a request: none that fails before has waited for the node
THREADS = 8
PACE = 0.03


class Load:
    """Reads and writes from some threads, a few hundred a second."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._read = session.prepare("SELECT v FROM kv WHERE k = ?")
        self._read.is_idempotent = True
        self._write = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(THREADS)]
        self.successes = 0
        self.reads_failed: list[BaseException] = []
        self.writes_failed: list[BaseException] = []

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads), "a call hangs"

    def goes_on(self, count: int = 200) -> None:
        goal = self.successes + count
        eventually(lambda: self.successes >= goal)

    def _run(self, key: int) -> None:
        while not self._over.wait(PACE):
            key += THREADS
            reads = bool(key // THREADS % 4)
            try:
                if reads:
                    self._session.execute(self._read, (key % 1000,))
                else:
                    self._session.execute(self._write, (key % 1000, key))
                self.successes += 1
            except Exception as error:
                (self.reads_failed if reads else self.writes_failed).append(error)


@pytest.fixture
def session(cassandra_three: Any, no_leaks: None) -> Iterator[Session]:
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.LOCAL_QUORUM, request_timeout=TIMEOUT)
    with Cluster(
        cassandra_three.contact_points,
        port=cassandra_three.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        # on a busy machine a test takes long: the silent node is given up when the test says so
        connect_timeout=3 * PATIENCE,
        idle_heartbeat_interval=6 * PATIENCE,
        idle_heartbeat_timeout=3 * PATIENCE,
    ) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        create_keyspace(session, "it_silent", 3)
        session.set_keyspace("it_silent")
        session.execute("CREATE TABLE kv (k int PRIMARY KEY, v int)")
        yield session


def test_a_stopped_node_is_felt_for_a_moment(session: Session, cassandra_three: Any) -> None:
    node = cassandra_three.nodes[-1]
    host = session.cluster.metadata.get_host(node.address, node.port)
    with Load(session) as load:
        load.goes_on()
        node.pause()
        eventually(lambda: host.is_suspect)
        load.goes_on(300)  # though as many threads as there were writes to it still wait
        assert host.is_suspect and host.is_up
        node.resume()
        eventually(lambda: not host.is_suspect)
        load.goes_on()
        eventually(lambda: _serves(session, host))
        assert load.reads_failed == []  # idempotent ones went elsewhere
        assert len(load.writes_failed) <= THREADS
    assert host.is_up


def test_a_node_that_stays_silent_is_down(session: Session, cassandra_three: Any) -> None:
    session.cluster.connect_timeout = 5.0
    session.cluster.idle_heartbeat_interval = session.cluster.idle_heartbeat_timeout = 4.0
    node = cassandra_three.nodes[-1]
    host = session.cluster.metadata.get_host(node.address, node.port)
    session.on_down(host)
    eventually(lambda: session.update_created_pools() is not None and host in session._pools)
    with Load(session) as load:
        load.goes_on()
        node.pause()
        begin = time.monotonic()
        eventually(lambda: host.is_up is False)
        assert time.monotonic() - begin < PATIENCE
        load.goes_on()
        node.resume()
        eventually(lambda: host.is_up and _serves(session, host))


def _serves(session: Session, host: Any) -> bool:
    future = session.execute_async("SELECT key FROM system.local")
    future.result()
    return future.coordinator_host is host
