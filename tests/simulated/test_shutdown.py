"""The end of a cluster whose peers are silent, and of two hundred clusters one after the other."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import DriverException
from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.connection import ConnectionException
from cassandra.testing import SimulatedCluster
from tests.conftest import Held
from tests.patience import PATIENCE
from tests.servers.certificates import Certificates
from tests.simulated.conftest import eventually

pytestmark = pytest.mark.long

LOST = (NoHostAvailable, ConnectionException, DriverException)
KEY = "SELECT key FROM system.local"

#: The operation that a program waits for when its cluster is shut down.
WAITING: dict[str, Callable[[Session], Any]] = {
    "nothing": lambda session: None,
    "request": lambda session: session.execute(KEY, timeout=None),
    "schema change": lambda session: session.execute("CREATE TABLE ks.t2 (id int PRIMARY KEY)", timeout=None),
    "use": lambda session: session.execute("USE ks", timeout=None),
    "prepare": lambda session: session.prepare(KEY),
    "schema": lambda session: session.cluster.refresh_schema_metadata(),
    "nodes": lambda session: session.cluster.refresh_nodes(),
    "agreement": lambda session: session.wait_for_schema_agreement(PATIENCE),
    "session": lambda session: session.cluster.connect("ks", wait_for_all_pools=True),
    "drain": lambda session: session.cluster.shutdown(drain=10 * PATIENCE),
}


@pytest.fixture
def simulated(no_leaks: None) -> Iterator[SimulatedCluster]:
    with SimulatedCluster(2, 2) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        yield simulated


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[BaseException]]:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except LOST as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors


@pytest.mark.parametrize("waiting", WAITING)
def test_shutdown_does_not_wait_for_silent_peers(
    simulated: SimulatedCluster, waiting: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(simulated.contact_points, port=simulated.port)
    cluster.connect_timeout = cluster.control_connection_timeout = 10 * PATIENCE
    session = cluster.connect(wait_for_all_pools=True)
    for node in simulated.nodes:
        node.pause()
    requests = [session.execute_async(KEY, timeout=None) for _ in range(10)]
    thread, _ = in_thread(lambda: WAITING[waiting](session))
    cluster.shutdown()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    for request in requests:
        with pytest.raises(LOST):
            request.result()
    assert cluster.is_shutdown and session.is_shutdown
    assert "still busy" not in caplog.text
    for node in simulated.nodes:
        node.resume()


@pytest.mark.parametrize("tls", [False, True])
def test_shutdown_does_not_wait_for_a_first_connect_to_silent_peers(
    no_leaks: None, tmp_path: Path, tls: bool, caplog: pytest.LogCaptureFixture
) -> None:
    certificates = Certificates.generate(tmp_path, [])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    with SimulatedCluster(2, 1, ssl_context=context if tls else None) as simulated:
        for node in simulated.nodes:
            node.pause()
        options = {"ssl_context": certificates.context()} if tls else {}
        cluster = Cluster(simulated.contact_points, port=simulated.port, **options)
        cluster.connect_timeout = 10 * PATIENCE
        thread, errors = in_thread(cluster.connect)
        eventually(lambda: cluster.life.reactor is not None and cluster.control_connection._opening is not None)
        cluster.shutdown()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert "shut down" in str(errors[0])
        assert "still busy" not in caplog.text
        errors.clear()


def test_two_hundred_times(simulated: SimulatedCluster) -> None:
    """With unfinished work of programs: requests without a waiter, sessions, a pool that is just being opened."""
    before: Held | None = None
    for turn in range(200):
        cluster = Cluster(simulated.contact_points, port=simulated.port)
        session = cluster.connect(wait_for_all_pools=turn % 2 == 0)
        if turn % 3 == 0:
            for _ in range(10):
                session.execute_async(KEY)
        if turn % 5 == 0:
            simulated.nodes[1].pause()
            session.execute_async(KEY).add_callbacks(len, repr)
            cluster.connect("ks")
        cluster.shutdown(drain=0.02 if turn % 4 == 0 else None)
        simulated.nodes[1].resume()
        assert cluster.is_shutdown and session.is_shutdown
        if turn == 20:
            del cluster, session
            before = settled(simulated)
    del cluster, session
    assert before is not None
    after = settled(simulated)
    assert not after.excess(before), after.excess(before)


def settled(simulated: SimulatedCluster) -> Held:
    """Resources held when the nodes have seen the ends of all connections."""
    eventually(lambda: all(node.connections == 0 for node in simulated.nodes))
    return Held.now()
