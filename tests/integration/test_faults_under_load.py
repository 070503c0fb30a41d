"""Nodes pause, die, stop and restart under load. No call hangs, no write is executed twice, nothing acknowledged is
lost, scans of a whole table do not fail and give the same sum, nothing leaks.

Writers append numbers to lists: an append that was executed twice shows as a number that is there twice. A counter must
not be higher than the increments that were executed or may have been. Both are not idempotent, so the driver may send
each of them once only.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from cassandra import ConsistencyLevel, DriverException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionException
from cassandra.policies import ConstantReconnectionPolicy
from cassandra.protocol import ErrorMessage
from cassandra.scan import Sum
from tests.integration.conftest import create_keyspace

TIMEOUT = 3.0  # of a request
PATIENCE = 20 * TIMEOUT  # a call that takes longer hung
EXPECTED = (DriverException, ConnectionException, NoHostAvailable, ErrorMessage)
LISTS = 40
ROWS, PAGE = 2000, 50  # of the table that is scanned
PACE = 0.03  # seconds a worker rests: the servers need the processor to come back


@dataclass
class Load:
    """Keeps a session busy from threads, callbacks and an asyncio loop at once."""

    session: Session
    stop: threading.Event = field(default_factory=threading.Event)
    acknowledged: set[int] = field(default_factory=set)
    increments: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    successes: int = 0
    slowest: float = 0.0
    scans: int = 0
    broken: list[BaseException] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        prepare = self.session.prepare
        self.append = prepare("UPDATE lists SET l = l + ? WHERE k = ?")
        self.increment = prepare("UPDATE counts SET c = c + 1 WHERE k = ?")
        self.read = prepare("SELECT l FROM lists WHERE k = ?")
        self.read.is_idempotent = True
        self.scan = self.session.scan("it_faults.numbers", columns=["v"], page_size=PAGE, pushdown="never")
        self.scan.fold(Sum("v"))  # which prepares it: that alone wants a node at once
        self._threads = [
            *(threading.Thread(target=self._run, args=(work,)) for work in (self._appends,) * 3),
            threading.Thread(target=self._run, args=(self._counts,)),
            threading.Thread(target=self._run, args=(self._reads,)),
            threading.Thread(target=self._run, args=(self._scans,)),
            threading.Thread(target=self._run, args=(self._by_callbacks,)),
            threading.Thread(target=self._run, args=(lambda: asyncio.run(self._by_await()),)),
        ]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(PATIENCE * 2)
        assert not [thread for thread in self._threads if thread.is_alive()], "a call hangs"

    def progress(self, count: int = 100, within: float = 300.0) -> None:
        """Wait for *count* more successes: the application goes on."""
        goal, deadline = self.successes + count, time.monotonic() + within
        while self.successes < goal:
            assert time.monotonic() < deadline, f"no progress: {self.errors}"
            assert not self.broken, self.broken
            time.sleep(0.02)

    # ---- the work

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.broken.append(error)

    def _number(self) -> int:
        with self._lock:
            return next(self._numbers)

    def _note(self, begin: float, error: BaseException | None, number: int | None = None) -> None:
        took = time.monotonic() - begin
        with self._lock:
            self.slowest = max(self.slowest, took)
            if error is None:
                self.successes += 1
                if number is not None:
                    self.acknowledged.add(number)
            else:
                self.errors[type(error).__name__] += 1
        if error is not None and not isinstance(error, EXPECTED):
            raise error

    def _try(self, statement: Any, values: Any, number: int | None = None) -> BaseException | None:
        begin, failed = time.monotonic(), None
        try:
            self.session.execute(statement, values)
        except EXPECTED as error:
            failed = error
        self._note(begin, failed, number)
        return failed

    def _appends(self) -> None:
        while not self.stop.is_set():
            number = self._number()
            self._try(self.append, ([number], number % LISTS), number)
            self.stop.wait(PACE)

    def _counts(self) -> None:
        while not self.stop.is_set():
            error = self._try(self.increment, (1,))
            if error is None:
                self.increments["executed"] += 1
            else:
                self.increments["unknown"] += getattr(error, "maybe_executed", None) is not False
            self.stop.wait(PACE)

    def _reads(self) -> None:
        key = 0
        while not self.stop.is_set():
            key += 1
            self._try(self.read, (key % LISTS,))
            self.stop.wait(PACE)

    def _scans(self) -> None:
        while not self.stop.is_set():
            assert self.scan.fold(Sum("v")) == sum(range(ROWS))
            self.scans += 1
            self.stop.wait(PACE)

    def _by_callbacks(self) -> None:
        while not self.stop.is_set():
            done = threading.Semaphore(0)

            def finished(value: Any, begin: float, number: int, ok: bool, done: threading.Semaphore = done) -> None:
                self._note(begin, None if ok else value, number if ok else None)
                done.release()

            for _ in range(10):
                number, begin = self._number(), time.monotonic()
                future = self.session.execute_async(self.append, ([number], number % LISTS))
                future.add_callbacks(finished, finished, (begin, number, True), None, (begin, number, False))
            for _ in range(10):
                assert done.acquire(timeout=PATIENCE), "a callback never came"
            self.stop.wait(5 * PACE)

    async def _by_await(self) -> None:
        async def one() -> None:
            number, begin, failed = self._number(), time.monotonic(), None
            try:
                await asyncio.wait_for(
                    _awaited(self.session.execute_async(self.append, ([number], number % LISTS))), 60
                )
            except EXPECTED as error:
                failed = error
            self._note(begin, failed, number)

        while not self.stop.is_set():
            await asyncio.gather(*(one() for _ in range(10)))
            await asyncio.sleep(5 * PACE)


async def _awaited(future: Any) -> Any:
    return await future


@pytest.fixture
def session(cassandra_three: Any, no_leaks: None) -> Iterator[Session]:
    profile = ExecutionProfile(consistency_level=ConsistencyLevel.QUORUM, request_timeout=TIMEOUT)
    with Cluster(
        cassandra_three.contact_points,
        port=cassandra_three.port,
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(0.3, None),
    ) as cluster:
        session = cluster.connect(wait_for_all_pools=True)
        create_keyspace(session, "it_faults", 3)
        session.set_keyspace("it_faults")
        session.execute("CREATE TABLE lists (k int PRIMARY KEY, l list<int>)")
        session.execute("CREATE TABLE counts (k int PRIMARY KEY, c counter)")
        session.execute("CREATE TABLE numbers (k int PRIMARY KEY, v bigint)")
        insert = session.prepare("INSERT INTO numbers (k, v) VALUES (?, ?)")
        insert.consistency_level = ConsistencyLevel.ALL  # a scan reads one replica
        execute_concurrent_with_args(session, insert, ((number, number) for number in range(ROWS)))
        yield session


def check(load: Load, session: Session) -> None:
    """The servers have the acknowledged writes, plus at most writes of unknown outcome, each once."""
    stored: Counter[int] = Counter()
    for row in session.execute("SELECT l FROM lists", timeout=30):
        stored.update(row.l or ())
    twice = {number: count for number, count in stored.items() if count > 1}
    assert not twice, f"executed twice: {twice}"
    lost = load.acknowledged - set(stored)
    assert not lost, f"acknowledged and lost: {lost}"
    counted = session.execute("SELECT c FROM counts WHERE k = 1", timeout=30).one().c
    # Only from above: a node that is killed may lose its last counts, and no driver can help that.
    assert 0 < counted <= load.increments["executed"] + load.increments["unknown"]
    assert load.slowest < PATIENCE, f"a call took {load.slowest:.1f} s"
    assert load.scans > 0
    assert not load.broken, load.broken


def up_again(session: Session, server: Any) -> None:
    deadline = time.monotonic() + 300
    host = session.cluster.metadata.get_host(server.address, server.port)
    while not (host.is_up and any(pool.host == host and pool.open_count for pool in session.get_pools())):
        assert time.monotonic() < deadline, f"{host} was not used again"
        time.sleep(0.05)


def test_pause_kill_stop_restart(session: Session, cassandra_three: Any) -> None:
    _, second, third = cassandra_three.nodes
    with Load(session) as load:
        load.progress()

        second.pause()
        time.sleep(TIMEOUT * 1.2)
        load.progress(20)
        second.resume()
        load.progress()

        third.kill()
        load.progress()
        third.start()
        up_again(session, third)
        load.progress()

        control = session.cluster.get_control_connection_host()
        node = next(node for node in cassandra_three.nodes if node.address == control.address)
        node.stop()
        load.progress()
        node.start()
        up_again(session, node)
        load.progress()
    cassandra_three.wait_for_ring()
    check(load, session)
    assert len(session.cluster.metadata.all_hosts()) == 3
    assert session.cluster.get_control_connection_host() is not None


def test_connections_are_cut(session: Session, cassandra_three: Any) -> None:
    """Again and again, on every node, while requests are under way."""
    with Load(session) as load:
        load.progress()
        cuts = 0
        while cuts < 20 or not load.errors:
            cuts += 1
            assert cuts < 1000, "the cuts hit no request"
            for pool in session.get_pools():
                for connection in pool.get_connections():
                    connection.defunct(ConnectionException("cut by the test"))
            time.sleep(0.1)
        load.progress()
    check(load, session)


def test_shutdown_in_the_middle(cassandra_three: Any, no_leaks: None) -> None:
    """Requests in flight end with an error, at once; nothing is left behind."""
    cluster = Cluster(cassandra_three.contact_points, port=cassandra_three.port)
    session = cluster.connect(wait_for_all_pools=True)
    select = session.prepare("SELECT key FROM system.local")
    outcomes: Counter[str] = Counter()

    def work() -> None:
        while True:
            try:
                session.execute(select, timeout=TIMEOUT)
            except EXPECTED as error:
                outcomes[type(error).__name__] += 1
                return

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    begin = time.monotonic()
    cluster.shutdown()
    for thread in threads:
        thread.join(PATIENCE)
    assert time.monotonic() - begin < PATIENCE
    assert not [thread for thread in threads if thread.is_alive()]
    assert sum(outcomes.values()) == 8
