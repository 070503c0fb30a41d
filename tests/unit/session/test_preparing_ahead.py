"""Statements are prepared on a host that has come up: which, in which order, how fast; on a clock of the test's own."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import DriverException
from cassandra._core.routing import LastUse
from cassandra._net import backoff
from cassandra._session import prepared as prepared_module
from cassandra._session.prepared import PreparedRegistry, Reprepare
from cassandra.cqltypes import Int32Type
from cassandra.query import BatchStatement, PreparedStatement
from tests.unit.session.harness import Answer, Lab, Lost, Sent, error, prepared, rows, string, unprepared

PREPARE, EXECUTE = 9, 10

pytestmark = pytest.mark.usefixtures("as_driver_thread")


class Server:
    """The host of a :class:`Lab`, statements that were used at times of the test, and a cluster as ``Reprepare`` needs
    it. Its clock goes on when its timers run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, version: int = 4, **options: Any) -> None:
        self.now = 10_000.0
        monkeypatch.setattr(backoff, "monotonic", lambda: self.now)
        monkeypatch.setattr(prepared_module, "monotonic", lambda: self.now)
        self.lab = Lab(protocol_version=version)
        self.host = self.lab.hosts[0]
        self.registry = PreparedRegistry()
        self.statements: list[PreparedStatement] = []
        self.cluster: Any = SimpleNamespace(
            **{
                "prepared": self.registry,
                "reactor": self.lab.reactor,
                "sessions": [self.lab.session],
                "control_timeout": 2.0,
                "is_shutdown": False,
                "reprepare_rate": 10.0,
                "reprepare_window": 300.0,
                **options,
            }
        )
        self.moments: list[float] = []
        self.delays: list[float] = []

    def prepare(self, name: str, age: float = 0.0, keyspace: str | None = None) -> PreparedStatement:
        """A statement that was executed *age* seconds ago."""
        text = f"SELECT n FROM tbl WHERE k = ? AND name = '{name}'"
        specs = [("ks", "tbl", "k", Int32Type)]
        made = PreparedStatement(specs, name.encode(), [0], text, keyspace, 4, None, None)
        made._last_use = LastUse(self.now - age)
        made._registry = self.registry
        self.registry.add(made.query_id, made)
        self.statements.append(made)
        return made

    @property
    def preparing(self) -> list[Sent]:
        return [sent for sent in self.lab[0].sent if sent.opcode == PREPARE]

    @property
    def names(self) -> list[str]:
        """Of the statements that the host got, in order."""
        return [sent.body.split(b"name = '")[1].split(b"'")[0].decode() for sent in self.preparing]

    def begin(self) -> Reprepare:
        return Reprepare(self.cluster, self.host)

    def step(self) -> bool:
        """Let the time pass until the next timer. False if there is none."""
        timers = self.lab.reactor.timers
        waiting = [timer for timer in timers if not timer.cancelled]
        if not waiting:
            return False
        first = min(waiting, key=lambda timer: timer.delay)
        timers.remove(first)
        self.now += first.delay
        self.delays.append(first.delay)
        first.callback()
        return True

    def run(self, answer: Callable[[str], Answer | Lost] | None = None) -> None:
        """Until nothing more is prepared; the host answers each PREPARE at once."""
        answered = len(self.preparing)
        while self.step():
            for sent, name in list(zip(self.preparing, self.names, strict=True))[answered:]:
                answered += 1
                self.moments.append(self.now)
                self.lab[0].answer(prepared(name.encode()) if answer is None else answer(name), sent)


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Server]]:
    yield lambda *args, **options: Server(monkeypatch, *args, **options)


# ---- which, and in which order


def test_the_last_used_ones_first(make: Callable[..., Server]) -> None:
    server = make()
    for name, age in (("old", 200.0), ("new", 1.0), ("forgotten", 301.0), ("middle", 50.0)):
        server.prepare(name, age)
    server.begin()
    server.run()
    assert server.names == ["new", "middle", "old"], "and none that was not used in the last minutes"
    assert server.registry.ahead == {}


def test_all_of_them_without_a_window(make: Callable[..., Server]) -> None:
    server = make(reprepare_window=None)
    server.prepare("very old", 1e6 / 200)
    server.prepare("new")
    server.begin()
    server.run()
    assert server.names == ["new", "very old"]


def test_copies_count_as_one(make: Callable[..., Server]) -> None:
    """They have one id; the last use of any of them counts."""
    server = make()
    server.prepare("a", 5.0)
    server.prepare("twice", 100.0)
    server.prepare("twice", 1.0)
    server.begin()
    server.run()
    assert server.names == ["twice", "a"]


def test_executing_is_a_use(make: Callable[..., Server]) -> None:
    """By any way of executing: compiled, by a message, in a batch."""
    lab = Lab()
    lab[0].script = [prepared()]
    statement = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
    ways: list[Callable[[], Any]] = [
        lambda: lab.session.execute_async(statement, (1,)),
        lambda: lab.session.execute_async(statement.bind((1,))),
        lambda: lab.session.execute_async(statement, (1,), timeout=3),
        lambda: lab.session.execute_async(statement, (1,), custom_payload={"a": b"b"}),
        lambda: lab.session.execute_async(BatchStatement().add(statement, (1,))),
    ]
    for way in ways:
        statement._last_use = use = LastUse(0.0)
        statement._discard_plans()
        before = monotonic()
        way()
        assert use.at >= before, way


def test_one_that_the_program_has_dropped_is_skipped(make: Callable[..., Server]) -> None:
    server = make()
    server.prepare("first", 1.0)
    server.prepare("dropped", 2.0)
    server.prepare("last", 3.0)
    server.begin()
    server.step()
    server.lab[0].answer(prepared(b"first"), server.preparing[0])
    del server.statements[1]
    server.run()
    assert server.names == ["first", "last"]


def test_outdated_ones_are_not_prepared(make: Callable[..., Server]) -> None:
    """The host would take their values for values of other types."""
    server = make()
    server.prepare("good")
    server.prepare("outdated")._outdated = "'k' is of type text"
    server.begin()
    server.run()
    assert server.names == ["good"]


# ---- how fast


@pytest.mark.parametrize("rate", [1.0, 10.0, 100.0])
def test_at_most_the_rate(make: Callable[..., Server], rate: float) -> None:
    server = make(reprepare_rate=rate)
    for number in range(200):
        server.prepare(f"s{number}")
    server.begin()
    server.run()
    assert len(server.moments) == 200
    distances = [later - earlier for earlier, later in zip(server.moments, server.moments[1:], strict=False)]
    assert all(distance >= 1.0 / rate - 1e-9 for distance in distances[1:])
    assert len({round(distance, 9) for distance in distances}) > 100, "at random, so that clients do not stay in step"


def test_the_first_one_at_a_random_moment(make: Callable[..., Server]) -> None:
    firsts = []
    for _ in range(30):
        server = make(reprepare_rate=2.0)
        server.prepare("s")
        server.begin()
        server.run()
        firsts.append(server.delays[0])
    assert all(0.0 <= first <= 0.5 for first in firsts) and max(firsts) - min(firsts) > 0.1


def test_one_at_a_time(make: Callable[..., Server]) -> None:
    """A host that is slow gets no more of them meanwhile."""
    server = make(reprepare_rate=None)
    for number in range(5):
        server.prepare(f"s{number}")
    server.begin()
    while server.step():
        pass
    assert len(server.preparing) == 1
    server.lab[0].answer(prepared(server.names[0].encode()), server.preparing[0])
    while server.step():
        pass
    assert len(server.preparing) == 2


def test_many_clients(make: Callable[..., Server]) -> None:
    """Forty with 50 statements each: all of them together do not exceed the rate of one times their number, and begin
    at different moments."""
    moments: list[float] = []
    for _ in range(40):
        server = make(reprepare_rate=10.0)
        for number in range(50):
            server.prepare(f"s{number}")
        begun = server.now
        server.begin()
        server.run()
        moments += [moment - begun for moment in server.moments]
    in_first = sum(moment < 0.1 for moment in moments)
    assert in_first <= 40 * 2, "they do not come at once"
    for start in range(5):
        assert sum(start <= moment < start + 1 for moment in moments) <= 40 * 11


# ---- with requests


def request_for(server: Server, statement: PreparedStatement) -> Any:
    """A request that the host told UNPREPARED."""
    future = server.lab.session.execute_async(statement, (1,))
    sent = [one for one in server.lab[0].sent if one.opcode == EXECUTE][-1]
    server.lab[0].answer(unprepared(statement.query_id), sent)
    future._on_outcome()
    return future


def test_a_request_does_not_wait_for_the_others(make: Callable[..., Server]) -> None:
    server = make()
    for number in range(100):
        server.prepare(f"s{number}", age=float(number))
    server.begin()
    future = request_for(server, server.statements[99])
    assert server.names == ["s99"], "its own statement, at once"
    server.lab[0].answer(prepared(b"s99"), server.preparing[0])
    server.lab[0].answer(rows(7))
    assert future.result().one().n == 7
    server.run()
    assert server.names.count("s99") == 1 and len(server.names) == 100, "not prepared ahead any more"


def test_requests_join_one_that_is_prepared_ahead(make: Callable[..., Server]) -> None:
    server = make()
    statement = server.prepare("s")
    server.begin()
    server.step()
    futures = [request_for(server, statement) for _ in range(3)]
    assert server.names == ["s"], "one PREPARE for all"
    server.lab[0].script = [rows(1), rows(2), rows(3)]
    server.lab[0].answer(prepared(b"s"), server.preparing[0])
    assert [future.result().one().n for future in futures] == [1, 2, 3]


# ---- faults


def test_a_statement_that_fails_does_not_stop_the_others(
    make: Callable[..., Server], caplog: pytest.LogCaptureFixture
) -> None:
    server = make()
    for number in range(4):
        server.prepare(f"s{number}", age=float(number))
    answers = {"s0": error(0x2200, "no such table"), "s2": Lost(sent=True)}
    server.begin()
    server.run(lambda name: answers.get(name, prepared(name.encode())))
    assert server.names == ["s0", "s1", "s2", "s3"]
    assert "2 statements could not be prepared" in caplog.text


def test_one_whose_table_has_other_types_is_not_prepared(
    make: Callable[..., Server], caplog: pytest.LogCaptureFixture
) -> None:
    """As soon as the host has its id, it executes requests with values of the old types."""
    server = make()
    statement = server.prepare("s")
    server.lab[0].columns = {"k": "text"}
    server.begin()
    server.step()
    assert len(server.preparing) == 1 and server.preparing[0].body.endswith(b"' "), "under another id, to compare"
    body = struct.pack(">iH", 4, 5) + b"other" + struct.pack(">iiiH", 1, 1, 1, 0)
    body += string("ks") + string("tbl") + string("k") + struct.pack(">H", 13) + struct.pack(">ii", 4, 0)
    server.lab[0].answer(Answer(8, body), server.preparing[0])
    assert len(server.preparing) == 1
    server.run()
    assert "where it was int" in caplog.text
    with pytest.raises(DriverException, match="prepare it again"):
        server.lab.session.execute(statement, (1,))


def test_it_ends_with_the_host(make: Callable[..., Server]) -> None:
    server = make()
    for number in range(4):
        server.prepare(f"s{number}")
    reprepare = server.begin()
    server.step()
    server.lab[0].answer(prepared(server.names[0].encode()), server.preparing[0])
    reprepare.cancel()
    server.run()
    assert len(server.preparing) == 1 and server.registry.ahead == {}


def test_it_ends_with_the_pool(make: Callable[..., Server]) -> None:
    server = make()
    server.prepare("a")
    server.prepare("b")
    server.lab.pools[server.host].gone = True
    server.begin()
    server.run()
    assert server.preparing == [] and server.registry.ahead == {}


@pytest.mark.parametrize(("version", "expected"), [(4, ["plain"]), (5, ["plain", "other"])])
def test_only_in_its_own_keyspace(make: Callable[..., Server], version: int, expected: list[str]) -> None:
    """Before protocol 5 that of the connection is part of the id: another session's would be of no use."""
    server = make(version)
    server.prepare("plain", 1.0)
    server.prepare("other", 2.0, keyspace="elsewhere")
    server.begin()
    server.run(lambda name: prepared(name.encode(), metadata_id=b"m" if version == 5 else None))
    assert server.names == expected
