"""Public calls of clusters and sessions beside requests: interrupted by handlers of signals that raise or use the
driver, they leave everything usable."""

from __future__ import annotations

import contextlib
import logging
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.policies import HostStateListener
from cassandra.testing import SimulatedCluster
from tests.interrupts import handlers_raise
from tests.patience import PATIENCE

pytestmark = pytest.mark.long

Connect = Callable[..., Session]
ROUNDS = 150


class Alarm(Exception):
    """Raised by the handler of a signal."""


def raise_alarm() -> None:
    raise Alarm


@contextmanager
def alarms(handle: Callable[[], object], seed: int) -> Iterator[Callable[[], None]]:
    """``alarm()`` has *handle* called by a signal's handler within three milliseconds."""
    moments = random.Random(seed)
    before = signal.signal(signal.SIGALRM, lambda *_: handle())
    try:
        yield lambda: signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.00005, 0.003))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interrupt(call: Callable[[], Any], handle: Callable[[], object], seed: int, rounds: int = ROUNDS) -> None:
    """*call*, again and again, with signals."""
    with handlers_raise(Alarm), alarms(handle, seed) as alarm:
        for _ in range(rounds):
            with contextlib.suppress(Alarm):
                try:
                    alarm()
                    call()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)


def use(session: Session) -> None:
    """Every kind of request works at once."""
    assert session.execute("SELECT key FROM system.local").one().key == "local"
    prepared = session.prepare("SELECT v FROM ks.t WHERE id = ?")
    session.execute("INSERT INTO ks.t (id, v) VALUES (1, 'one')")
    assert session.execute(prepared, (1,)).one().v == "one"
    session.execute("USE ks")
    session.execute("CREATE TABLE IF NOT EXISTS ks.other (id int PRIMARY KEY)")
    session.execute("DROP TABLE ks.other")
    session.cluster.refresh_schema_metadata()
    assert "t" in session.cluster.metadata.keyspaces["ks"].tables


class Listener(HostStateListener):
    """Changes the schema when it hears of a host."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self.took: list[float] = []
        self.heard = threading.Event()

    def on_up(self, host: Any) -> None:
        began = time.monotonic()
        self._act()
        self.took.append(time.monotonic() - began)
        self.heard.set()

    on_down = on_add = on_remove = on_up


@pytest.fixture
def ready(session: Session) -> Session:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    session.execute("INSERT INTO t (id, v) VALUES (1, 'one')")
    return session


CALLS: dict[str, Callable[[Session], object]] = {
    "prepare": lambda session: session.prepare("SELECT v FROM ks.t WHERE id = ?"),
    "prepare on all hosts": lambda session: session.prepare_on_all_hosts("SELECT v FROM ks.t WHERE id = ?", None),
    "connect": lambda session: session.cluster.connect("ks").shutdown(),
    "refresh nodes": lambda session: session.cluster.refresh_nodes(),
    "refresh schema": lambda session: session.cluster.refresh_schema_metadata(),
    "refresh table": lambda session: session.cluster.refresh_table_metadata("ks", "t"),
    "agreement": lambda session: session.wait_for_schema_agreement(5),
    "profile": lambda session: session.cluster.add_execution_profile(object(), session.get_execution_profile("p")),
    "metadata": lambda session: dict(session.cluster.metadata.keyspaces["ks"].tables),
    "pools": lambda session: session.update_created_pools(),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", ["raises", "executes"])
def test_interrupted_calls_leave_everything_usable(
    simulated: SimulatedCluster, connect: Connect, name: str, kind: str
) -> None:
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile

    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
    )
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
    session = connect(
        simulated, "ks", execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(), "p": ExecutionProfile()}
    )
    call = CALLS[name]
    if kind == "raises":
        interrupt(lambda: call(session), raise_alarm, 11)
    else:
        prepared = session.prepare("SELECT v FROM ks.t WHERE id = ?")

        def execute() -> None:
            session.execute(prepared, (1,))
            session.prepare("SELECT id FROM ks.t WHERE id = ?")

        interrupt(lambda: call(session), execute, 12)
    use(session)


def test_sessions_of_interrupted_connects_are_closed(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated)
    received = [session]
    interrupt(lambda: received.append(session.cluster.connect()), raise_alarm, 13, 60)
    deadline = time.monotonic() + PATIENCE
    while len(open_sessions(session.cluster)) > len(received) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(received) < 60 and set(open_sessions(session.cluster)) == set(received)


def open_sessions(cluster: Cluster) -> list[Session]:
    return [session for session in cluster.sessions if not session.is_shutdown]


def test_interrupted_shutdowns_end_and_the_next_call_returns(simulated: SimulatedCluster) -> None:
    def whole_life() -> None:
        cluster = Cluster(simulated.contact_points, port=simulated.port)
        try:
            cluster.connect()
        finally:
            clusters.append(cluster)
            cluster.shutdown()

    clusters: list[Cluster] = []
    interrupt(whole_life, raise_alarm, 14, 40)
    for cluster in clusters:
        cluster.shutdown()
        assert cluster.is_shutdown


def test_a_pool_that_was_interrupted_opens_connections_again(
    simulated: SimulatedCluster, ready: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connections are closed again and again while a caller asks for them."""

    def call() -> None:
        for pool in ready.get_pools():
            for connection in pool.get_connections()[:1]:
                connection.close()
        with contextlib.suppress(Exception):
            ready.execute("SELECT key FROM system.local")

    interrupt(call, raise_alarm, 15, 60)
    deadline = time.monotonic() + PATIENCE
    while min(pool.open_count for pool in ready.get_pools()) < 4 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [pool.open_count for pool in ready.get_pools()] == [4, 4, 4]
    use(ready)


# ---- logging


class Executing(logging.Handler):
    """Executes a request for each record."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._is_inside = threading.local()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if getattr(self._is_inside, "yes", False):
            return
        self._is_inside.yes = True
        try:
            self._session.execute("SELECT key FROM system.local", timeout=5)
            self.records.append(record)
        finally:
            self._is_inside.yes = False


@contextmanager
def handling(handler: logging.Handler, level: int = logging.DEBUG) -> Iterator[None]:
    logger = logging.getLogger("cassandra")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def test_a_log_handler_may_execute_requests(simulated: SimulatedCluster, ready: Session) -> None:
    handler = Executing(ready)
    with handling(handler):
        began = time.monotonic()
        ready.execute("CREATE TABLE logged (id int PRIMARY KEY)")
        for pool in ready.get_pools():
            for connection in pool.get_connections()[:1]:
                connection.close()
        use(ready)
        deadline = time.monotonic() + PATIENCE
        while not handler.records and time.monotonic() < deadline:
            time.sleep(0.01)
        assert handler.records
        assert time.monotonic() - began < 4.0, "a request waited for its own log record"


def test_a_signal_handler_may_execute_while_the_program_logs(ready: Session) -> None:
    """The main thread holds the lock of the log handler, and the driver logs to it meanwhile."""

    class Slow(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name == "cassandra.program":
                signal.setitimer(signal.ITIMER_REAL, 0.005)
                time.sleep(0.05)

    took: list[float] = []

    def execute() -> None:
        began = time.monotonic()
        for pool in ready.get_pools():
            for connection in pool.get_connections()[:1]:
                connection.close()  # the I/O thread says so
        time.sleep(0.01)
        ready.execute("CREATE TABLE IF NOT EXISTS made_in_a_handler (id int PRIMARY KEY)", timeout=5)
        took.append(time.monotonic() - began)

    with handling(Slow()), alarms(execute, 16):
        for _ in range(5):
            logging.getLogger("cassandra.program").warning("the program logs")
    assert took and max(took) < 4.0


def test_records_keep_their_order_thread_and_time(ready: Session, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "cassandra"):
        began = time.time()
        ready.cluster.refresh_schema_metadata()
        for pool in ready.get_pools():
            for connection in pool.get_connections()[:1]:
                connection.defunct(RuntimeError("a test says so"))
        ready.cluster.connect().shutdown()
    theirs = [record for record in caplog.records if record.threadName.startswith("fastcql")]
    assert theirs and all(began - 1 < record.created <= time.time() for record in theirs)
    assert len({record.thread for record in theirs}) >= 1
    for name in {record.threadName for record in theirs}:
        times = [record.created for record in theirs if record.threadName == name]
        assert times == sorted(times)


# ---- workers


@pytest.mark.parametrize("workers", [1, 2])
def test_a_listener_changes_the_schema(simulated: SimulatedCluster, connect: Connect, workers: int) -> None:
    session = connect(simulated, executor_threads=workers)
    session.execute("CREATE KEYSPACE ks2 WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    listener = Listener(lambda: session.execute("CREATE TABLE IF NOT EXISTS ks2.heard (id int PRIMARY KEY)", timeout=9))
    session.cluster.register_listener(listener)
    session.cluster.on_down(session.hosts[0], expect_host_to_be_down=True)
    assert listener.heard.wait(PATIENCE)
    assert max(listener.took) < 5.0, "it waited for itself"


def test_submitted_functions_change_the_schema(simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, executor_threads=1)
    session.execute("CREATE KEYSPACE ks2 WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")

    def change(number: int) -> float:
        began = time.monotonic()
        session.execute(f"CREATE TABLE ks2.t{number} (id int PRIMARY KEY)", timeout=9)
        return time.monotonic() - began

    futures = [session.submit(change, number) for number in range(3)]
    assert max(future.result(PATIENCE) for future in futures) < 5.0
