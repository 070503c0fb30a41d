"""Requests from the main thread while signals come, whose handlers raise, return, and use the driver: by TLS, where
Python runs handlers in the middle of reading an answer, and with LZ4."""

from __future__ import annotations

import os
import random
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cassandra._base.errors import ConnectionException, ConnectionShutdown
from cassandra._net import compression
from cassandra.cluster import Cluster, NoHostAvailable, PreparedStatement, Session
from cassandra.testing import SimulatedCluster
from tests.lz4_libraries import LIBRARIES
from tests.patience import PATIENCE
from tests.servers.certificates import Certificates
from tests.simulated.conftest import Connect

pytestmark = pytest.mark.long

SIGNALS = 1500
SIZES = 0, 1, 100, 1000, 17_000, 60_000  # less and more than a record of TLS holds
MOMENTS = random.Random(11)


class Alarm(Exception):
    """What a handler raises."""


@pytest.fixture(
    params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3, *LIBRARIES], ids=["TLS 1.2", "TLS 1.3", *LIBRARIES]
)
def session(
    request: pytest.FixtureRequest,
    no_leaks: None,
    connect: Connect,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Session]:
    server: dict[str, Any] = {"protocol_versions": (5,)}
    options: dict[str, Any] = {"protocol_version": 5, "compression": "lz4"}
    if request.param in LIBRARIES:
        monkeypatch.setattr(compression, "_lz4", LIBRARIES[request.param])
    else:
        certificates = Certificates.generate(tmp_path, ["127.0.0.1"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = request.param
        context.load_cert_chain(str(certificates.server))
        server, options = {"ssl_context": context}, {"ssl_context": certificates.context(), "compression": False}
    with SimulatedCluster(1, 1, address="127.0.0.1", **server) as simulated:
        session = connect(simulated, **options)
        session.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text)")
        for size in SIZES:
            session.execute("INSERT INTO ks.t (id, v) VALUES (%s, %s)", (size, text_of(size)))
        connections = connections_of(session)
        yield session
        assert connections_of(session) == connections, "none was lost"
        session.cluster.shutdown()


@pytest.fixture
def select(session: Session) -> PreparedStatement:
    return session.prepare("SELECT v FROM ks.t WHERE id = ?")


def text_of(size: int) -> str:
    return "".join(chr(97 + place % 26) for place in range(size))


def leads(session: Session) -> int:
    return int(session.cluster.reactor.stats()["leads"])


def connections_of(session: Session) -> set[int]:
    return {id(connection) for pool in session.get_pools() for connection in pool.get_connections()}


@contextmanager
def handled_by(handler: Callable[[], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda number, frame: handler())
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)


def signal_soon(longest: float = 0.001) -> None:
    signal.setitimer(signal.ITIMER_REAL, MOMENTS.uniform(0.0001, longest))


def read(session: Session, select: PreparedStatement, size: int) -> None:
    assert session.execute(select, (size,)).one().v == text_of(size)


def test_handlers_that_raise(session: Session, select: PreparedStatement) -> None:
    """Each comes out of what the program does just then, and loses nothing."""
    raised, before = 0, leads(session)

    def handler() -> None:
        nonlocal raised
        raised += 1
        raise Alarm(raised)

    with handled_by(handler):
        for number in count(1):
            with pytest.raises(Alarm) as caught:
                signal_soon(0.002 if number % 3 else 0.0005 if number < SIGNALS else 0.1)  # slow machines need longer
                while raised < number:
                    read(session, select, MOMENTS.choice(SIZES))
            assert caught.value.args == (number,)
            if number >= SIGNALS and leads(session) > before:
                break
            assert number < 2 * SIGNALS, "the main thread never polls for itself"
    for size in SIZES:
        read(session, select, size)


@pytest.mark.parametrize("how", ["returns", "uses the driver", "waits for a callback"])
def test_handlers_that_return(session: Session, select: PreparedStatement, how: str) -> None:
    handled = 0

    def by_a_callback() -> None:
        called = threading.Event()
        session.cluster.reactor.call_soon(called.set)
        assert called.wait(PATIENCE)

    others = {
        "uses the driver": lambda: read(session, select, 1000),
        "waits for a callback": by_a_callback,
    }

    def handler() -> None:
        nonlocal handled
        others.get(how, lambda: None)()
        handled += 1

    with handled_by(handler):
        for number in range(1, SIGNALS + 1):
            signal_soon()
            while handled < number:
                read(session, select, MOMENTS.choice(SIZES))


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_handlers_that_fork(session: Session, select: PreparedStatement) -> None:
    """In the child the request is the parent's; nothing of it reaches the connection."""
    children: list[int] = []

    def handler() -> None:
        children.append(os.fork())
        if children[-1] == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(PATIENCE))  # which ends a child that hangs

    with handled_by(handler):
        for number in range(1, 101):
            signal_soon()
            try:
                while len(children) < number:
                    read(session, select, MOMENTS.choice(SIZES))
            except BaseException as error:
                if children and children[-1] == 0:
                    os._exit(0 if isinstance(error, ConnectionShutdown) else 1)
                raise
            if children[-1] == 0:
                os._exit(0)  # between two requests
            assert os.waitpid(children[-1], 0)[1] == 0


def test_handlers_that_shut_down(session: Session, select: PreparedStatement) -> None:
    first = session.cluster
    for _ in range(20):
        cluster = Cluster(["127.0.0.1"], port=first.port, ssl_context=first.ssl_context, compression=first.compression)
        other = cluster.connect()
        query = other.prepare("SELECT v FROM ks.t WHERE id = ?")
        with handled_by(cluster.shutdown), pytest.raises((ConnectionException, NoHostAvailable)):
            signal_soon()
            while True:
                read(other, query, MOMENTS.choice(SIZES))
        assert cluster.is_shutdown
    read(session, select, 1)
