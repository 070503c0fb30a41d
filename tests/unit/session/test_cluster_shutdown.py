"""The end: bounded, idempotent, from anywhere, leaving nothing."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra import DriverException
from cassandra._session.cluster import Cluster
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.policies import RoundRobinPolicy
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster, eventually
from tests.patience import PATIENCE

pytestmark = [pytest.mark.long, pytest.mark.versions, pytest.mark.usefixtures("no_leaks")]

BOUND = PATIENCE  # far above the duration of each of these; other ways to end them take far longer
ROOT = Path(__file__).parents[3]


@pytest.fixture
def fake() -> Iterator[FakeCluster]:
    with FakeCluster(3) as made:
        yield made


def connected(fake: FakeCluster, **options: Any) -> tuple[Cluster, Any]:
    cluster = Cluster(fake.contact_points, load_balancing_policy=RoundRobinPolicy(), **options)
    return cluster, cluster.connect(wait_for_all_pools=True)


def within(action: Any) -> None:
    started = time.monotonic()
    action()
    assert time.monotonic() - started < BOUND


def never_answer(node: Any, connection: Any, request: Any, text: str) -> bool:
    return text.startswith("SELECT slow")


def test_twice_and_from_many_threads(fake: FakeCluster) -> None:
    cluster, session = connected(fake)
    threads = [threading.Thread(target=cluster.shutdown) for _ in range(10)]
    for thread in threads:
        thread.start()
    within(cluster.shutdown)
    assert cluster.is_shutdown and session.is_shutdown
    for thread in threads:
        thread.join(BOUND)
    assert not any(thread.is_alive() for thread in threads)
    within(cluster.shutdown)
    with pytest.raises(DriverException, match="already shut down"):
        cluster.connect()


def test_requests_in_flight_fail(fake: FakeCluster) -> None:
    fake.on_query = never_answer
    cluster, session = connected(fake)
    futures = [session.execute_async("SELECT slow", timeout=None) for _ in range(30)]
    errors: list[Any] = []
    for future in futures:
        future.add_errback(errors.append)
    within(cluster.shutdown)
    for future in futures:
        with pytest.raises((NoHostAvailable, DriverException, ConnectionException)):
            future.result()
    eventually(lambda: len(errors) == 30)
    with pytest.raises((NoHostAvailable, DriverException)):
        session.execute("SELECT 1")


def test_with_paused_nodes(fake: FakeCluster) -> None:
    cluster, session = connected(fake)
    for node in fake.nodes:
        node.pause()
    future = session.execute_async("SELECT slow", timeout=None)

    def refresh() -> None:
        with pytest.raises(DriverException):
            cluster.refresh_nodes()

    refreshing = threading.Thread(target=refresh)
    refreshing.start()
    eventually(lambda: cluster.control_connection.strand._owner is not None)
    within(cluster.shutdown)
    refreshing.join(BOUND)
    assert not refreshing.is_alive()
    with pytest.raises((NoHostAvailable, DriverException, ConnectionException)):
        future.result()


def test_while_connecting_to_a_silent_node(fake: FakeCluster) -> None:
    for node in fake.nodes:
        node.pause()
    cluster = Cluster(fake.contact_points, connect_timeout=600)
    errors: list[BaseException] = []

    def connect() -> None:
        try:
            cluster.connect()
        except Exception as error:
            errors.append(error)

    connecting = threading.Thread(target=connect)
    connecting.start()
    eventually(lambda: cluster.control_connection._opening is not None)
    within(cluster.shutdown)
    connecting.join(BOUND)
    assert not connecting.is_alive()
    assert len(errors) == 1


def test_from_a_callback_on_the_io_thread(fake: FakeCluster) -> None:
    cluster, session = connected(fake)
    done = threading.Event()

    def stop(_: Any) -> None:
        cluster.shutdown()
        cluster.shutdown()
        done.set()

    session.execute_async("SELECT 1").add_callback(stop)
    assert done.wait(BOUND)
    assert cluster.is_shutdown
    within(cluster.shutdown)


def test_from_a_listener_and_from_submitted_work(fake: FakeCluster) -> None:
    cluster, session = connected(fake)
    cluster.register_listener(type("L", (), {"on_down": lambda self, host: cluster.shutdown()})())
    fake.nodes[1].stop()
    eventually(lambda: cluster.is_shutdown)
    within(cluster.shutdown)
    other, _ = connected(fake)
    within(lambda: other.submit(other.shutdown).result(BOUND))
    assert other.submit(int).cancelled()
    del session


def test_from_a_finaliser(fake: FakeCluster) -> None:
    cluster, _ = connected(fake)

    class Owner:
        def __init__(self) -> None:
            self.cluster = cluster
            self.myself = self  # a cycle: collected by any thread that allocates next

        def __del__(self) -> None:
            self.cluster.shutdown()

    Owner()
    gc.collect()
    eventually(lambda: cluster.is_shutdown)


def test_sessions_closed_before(fake: FakeCluster) -> None:
    cluster, session = connected(fake)
    session.shutdown()
    session.shutdown()
    assert len(cluster.sessions) == 0
    again = cluster.connect()
    within(cluster.shutdown)
    assert again.is_shutdown


def test_dropped_sessions_are_let_go(fake: FakeCluster) -> None:
    cluster, session = connected(fake)
    for _ in range(3):
        cluster.connect().shutdown()
    del session
    gc.collect()
    within(cluster.shutdown)


def test_shutdown_async(fake: FakeCluster) -> None:
    async def main() -> None:
        before = threading.active_count()
        cluster = Cluster(fake.contact_points)
        await cluster.connect_async()
        started = time.monotonic()
        await asyncio.gather(cluster.shutdown_async(), cluster.shutdown_async())
        assert time.monotonic() - started < BOUND
        assert before >= 1

    asyncio.run(main())
    eventually(lambda: not any(thread.name.startswith("fastcql") for thread in threading.enumerate()))


def test_many_connects_and_shutdowns(fake: FakeCluster) -> None:
    for _ in range(30):
        cluster, _ = connected(fake)
        cluster.shutdown()


@pytest.mark.parametrize("ending", ["", "import os; os.kill(os.getpid(), 2)", "raise SystemExit(0)", "session = None"])
def test_the_interpreter_exits(fake: FakeCluster, ending: str) -> None:
    """Without a shutdown, with requests in flight: in bounded time, without a crash and without noise."""
    fake.on_query = never_answer
    script = (
        "import sys; from cassandra._session.cluster import Cluster\n"
        f"cluster = Cluster({fake.contact_points!r}); session = cluster.connect()\n"
        "future = session.execute_async('SELECT slow', timeout=None)\n"
        f"future.add_callbacks(print, lambda error: None)\n{ending}\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    if "kill" in ending:
        assert "KeyboardInterrupt" in ran.stderr
    else:
        assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.usefixtures("as_driver_thread")
def test_events_after_the_end_do_nothing(fake: FakeCluster) -> None:
    cluster, _ = connected(fake)
    control = cluster.control_connection
    cluster.shutdown()
    host = cluster.metadata.all_hosts()[0]
    control.events.nodes_changed(0)
    cluster.signal_connection_failure(host, OSError("x"), False)
    cluster.on_up(host)
    cluster.on_down(host, False)
    control.reconnect()
    control.on_up(host)
    assert control.connection is None
    with pytest.raises(DriverException):
        _ = cluster.reactor


def test_a_server_that_goes_on_talking(fake: FakeCluster) -> None:
    """Answers and events that arrive during the shutdown cause no error."""
    stop = threading.Event()

    def talk() -> None:
        while not stop.is_set():
            fake.push("SCHEMA_CHANGE", "UPDATED", "TABLE", "ks", "t")
            fake.push("STATUS_CHANGE", "UP", fake.nodes[0].address)

    talking = threading.Thread(target=talk)
    talking.start()
    try:
        for _ in range(5):
            cluster, _ = connected(fake, schema_event_refresh_window=0, status_event_refresh_window=0)
            within(cluster.shutdown)
    finally:
        stop.set()
        talking.join(BOUND)
    assert wire.EVENT == 0x0C


def test_shut_down_by_user_code_while_connecting(fake: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control connection is there, the rest of the start finds nothing any more."""
    cluster = Cluster(fake.contact_points)
    connect = cluster.control_connection.connect

    def connect_and_end() -> None:
        connect()
        cluster.shutdown()

    monkeypatch.setattr(cluster.control_connection, "connect", connect_and_end)
    with pytest.raises(DriverException, match="shut down"):
        cluster.connect()
    cluster.shutdown()
