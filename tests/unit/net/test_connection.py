"""An open connection: requests, failures, keyspaces, events, and the effects of malformed answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from cassandra._base import errors, server_errors
from cassandra._core.transport import CLOSED, PROTOCOL, TIMED_OUT, Failure, Operation
from cassandra._net.connection import Connection, LibevConnection
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.exchange import failure_error, run_blocking
from cassandra._net.options import ConnectionOptions
from cassandra._wire.handlers import ProtocolHandler
from cassandra._wire.messages.requests import OptionsMessage, PrepareMessage, QueryMessage
from cassandra._wire.messages.responses import EventMessage, ResultMessage, SupportedMessage
from tests.fakes import wire
from tests.fakes.scripted import Script, ScriptedConnection, ScriptedServer
from tests.patience import PATIENCE, eventually
from tests.unit.net.reactors import made_reactor

QUERY = QueryMessage("q", 1)


class Net:
    """A reactor and a server, and connections between them."""

    def __init__(self) -> None:
        self.reactor = made_reactor()
        self.script: Script | None = None
        self.server = ScriptedServer(lambda connection, request: self.script and self.script(connection, request))

    def connect(
        self, cls: type[Connection] = Connection, callbacks: dict[str, Any] | None = None, **options: Any
    ) -> Any:
        return cls.factory(
            DefaultEndPoint(self.server.host, self.server.port),
            PATIENCE,
            reactor=self.reactor,
            options=ConnectionOptions(connect_timeout=PATIENCE, **options),
            **(callbacks or {}),
        )

    @property
    def peer(self) -> ScriptedConnection:
        """The server's side of the last connection."""
        return self.server.connections[-1]

    def close(self) -> None:
        self.server.close()
        assert self.reactor.stop(PATIENCE)
        del self.reactor


@pytest.fixture
def net(no_leaks: None) -> Iterator[Net]:
    net = Net()
    yield net
    net.close()


class Call:
    """A callback that waits to be called, once."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._called = threading.Event()

    def __call__(self, *args: Any) -> None:
        self.calls.append(args)
        self._called.set()

    def wait(self) -> Any:
        """The arguments of the one call; the argument, if it is one."""
        assert self._called.wait(PATIENCE), "was not called"
        time.sleep(0.02)
        assert len(self.calls) == 1, self.calls
        return self.calls[0][0] if len(self.calls[0]) == 1 else self.calls[0]


def silent(connection: ScriptedConnection, request: wire.Envelope) -> bool:
    """Never answers QUERY."""
    return request.opcode == wire.QUERY


# ---- requests


@pytest.mark.parametrize("version", [3, 4, 5])
def test_requests(net: Net, version: int) -> None:
    connection = net.connect(protocol_version=version)
    assert connection.request(QUERY, PATIENCE).kind == 1
    assert isinstance(connection.request(OptionsMessage(), PATIENCE), SupportedMessage)
    assert connection.wait_for_response(PrepareMessage("q")).kind == 1
    answered = Call()
    connection.request_async(QUERY, answered, PATIENCE)
    assert isinstance(answered.wait(), ResultMessage)


def test_server_errors_become_the_users(net: Net) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            connection.answer(request, wire.ERROR, wire.error(0x2200, "unknown table"))
            return True
        return None

    net.script = script
    connection = net.connect()
    with pytest.raises(errors.InvalidRequest, match="unknown table"):
        connection.request(QUERY, PATIENCE)
    answered = Call()
    connection.request_async(QUERY, answered, PATIENCE)
    assert isinstance(answered.wait(), server_errors.InvalidRequestException), "the message itself"
    assert not connection.is_closed


def test_no_answer_in_time(net: Net) -> None:
    """The stream stays taken until the late answer, which no other request gets."""
    late: list[wire.Envelope] = []

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY and not late:
            late.append(request)
            return True
        return None

    net.script = script
    connection = net.connect()
    with pytest.raises(errors.OperationTimedOut, match="no answer within 0") as caught:
        connection.request(QUERY, 0.05)
    assert caught.value.maybe_executed is True
    assert connection.orphaned == 1 and connection.waiting == 0
    assert connection.request(OptionsMessage(), PATIENCE)
    net.peer.answer(late[0], wire.RESULT, wire.int32(1))
    eventually(lambda: connection.orphaned == 0)
    assert connection.request(QUERY, PATIENCE).kind == 1


def test_async_time_out(net: Net) -> None:
    net.script = silent
    connection = net.connect()
    answered = Call()
    connection.request_async(QUERY, answered, 0.05)
    assert isinstance(answered.wait(), errors.OperationTimedOut)


def test_given_up(net: Net) -> None:
    net.script = silent
    connection = net.connect()
    operation = Operation()
    stream = connection.submit(QUERY.encode(5), operation, 0, PATIENCE)
    assert connection.orphan(stream, operation)
    assert not connection.orphan(stream, operation)
    assert operation._take() is None


def test_lost_in_flight(net: Net) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            connection.close()
            return True
        return None

    net.script = script
    closed = Call()
    connection = net.connect(callbacks={"on_closed": closed})
    with pytest.raises(errors.ConnectionShutdown, match=f"Connection to {connection.endpoint} was closed") as caught:
        connection.request(QUERY, PATIENCE)
    assert caught.value.maybe_executed is True
    assert caught.value.endpoint == connection.endpoint
    assert closed.wait() == (connection, connection.last_error)
    assert connection.is_defunct and "(defunct)" in repr(connection)


def test_closed_by_us(net: Net) -> None:
    net.script = silent
    closed, answered = Call(), Call()
    connection = net.connect(callbacks={"on_closed": closed})
    connection.request_async(QUERY, answered, PATIENCE)
    connection.close()
    connection.close()
    assert isinstance(answered.wait(), errors.ConnectionShutdown)
    assert closed.wait() == (connection, None)
    assert connection.is_closed and not connection.is_defunct
    with pytest.raises(errors.ConnectionShutdown):
        connection.request(QUERY, PATIENCE)
    refused = Call()
    connection.request_async(QUERY, refused, PATIENCE)
    assert isinstance(refused.wait(), errors.ConnectionShutdown)
    connection.defunct(RuntimeError("too late"))
    assert connection.last_error is None


def test_defunct(net: Net) -> None:
    net.script = silent
    connection = net.connect()
    answered = Call()
    connection.request_async(QUERY, answered, PATIENCE)
    reason = errors.ConnectionException("no heartbeat", connection.endpoint)
    connection.defunct(reason)
    error = answered.wait()
    assert isinstance(error, errors.ConnectionShutdown)
    assert "no heartbeat" in str(error) and error.__cause__ is reason
    assert connection.last_error is reason and connection.is_defunct


def test_busy(net: Net) -> None:
    net.script = silent
    connection = net.connect(max_requests=2)
    frame = QUERY.encode(connection.protocol_version)
    for _ in range(2):
        connection.submit(frame, Operation())
    with pytest.raises(errors.ConnectionBusy):
        connection.submit(frame, Operation())
    connection.request_async(QUERY, Call(), PATIENCE)  # the driver's own are not limited
    assert connection.in_flight == 3
    assert connection.orphaned_threshold == 1 and not connection.orphaned_threshold_reached
    assert ConnectionOptions().max_requests * 3 // 4 == 24576


def test_draining(net: Net) -> None:
    """No further request is accepted; those in flight end, and the driver's own are not concerned."""
    held: list[tuple[ScriptedConnection, wire.Envelope]] = []

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            held.append((connection, request))
            return True
        return False

    net.script = script
    connection = net.connect()
    frame = QUERY.encode(connection.protocol_version)
    operation = Operation()
    connection.submit(frame, operation, 0, PATIENCE)
    eventually(lambda: held)
    for _ in range(2):
        connection.drain()
    for later in (False, True):
        with pytest.raises(errors.ConnectionShutdown, match="being closed"):
            connection.submit(frame, Operation(), 0, PATIENCE, later)
    assert connection.waiting == 1 and not connection.is_closed
    assert isinstance(connection.request(OptionsMessage(), PATIENCE), SupportedMessage)
    peer, request = held[0]
    peer.answer(request, wire.RESULT, wire.int32(1))
    eventually(lambda: connection.waiting == 0)
    outcome = operation._take()
    assert outcome is not None and not isinstance(outcome[1], Failure)


def test_not_open_yet() -> None:
    reactor = made_reactor()
    connection = Connection(reactor, DefaultEndPoint("10.0.0.1"), ConnectionOptions())
    with pytest.raises(errors.ConnectionShutdown, match="not open"):
        connection.request(QUERY, 1)
    assert connection.is_closed and (connection.in_flight, connection.orphaned, connection.idle_seconds) == (0, 0, 0.0)
    assert (connection.host, connection.port) == ("10.0.0.1", 9042)
    connection.close()
    connection.defunct(RuntimeError())
    reactor.stop(5)


def test_blocking_on_the_io_thread_is_refused(net: Net) -> None:
    connection = net.connect()
    outcome = Call()

    def run() -> None:
        for call in (lambda: connection.request(QUERY, 1), lambda: connection.set_keyspace_blocking("k")):
            with pytest.raises(errors.ConnectionException, match="I/O thread"):
                call()
        outcome(True)

    net.reactor.call_soon(run)
    assert outcome.wait() is True


def test_only_long_bodies_are_compressed(net: Net, lz4_library: str) -> None:
    seen: list[int] = []

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        seen.append(len(request.body))
        return None

    net.script = script
    connection = net.connect(protocol_version=4, compression="lz4")
    before = connection.channel.bytes_sent
    connection.request(QueryMessage("SELECT " + "x" * 100_000, 1), PATIENCE)
    assert seen[-1] > 100_000
    assert connection.channel.bytes_sent - before < 2_000


def test_custom_handlers(net: Net, lz4_library: str) -> None:
    class Handler(ProtocolHandler):
        seen: list[Any] = []

        @classmethod
        def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
            cls.seen.append(args)
            return super().decode_message(*args, **kwargs)

    connection = net.connect(protocol_version=4, compression="lz4")
    operation = Operation()
    connection.submit(QUERY.encode(4), operation, 0, PATIENCE)
    assert operation._wait(PATIENCE)
    outcome = operation._take()
    assert outcome is not None
    message = connection.decode_with(Handler, outcome[1])
    assert message.kind == 1
    seen = Handler.seen.pop()  # a free-threaded Python 3.13 never frees the class
    assert seen[0] == 4 and seen[2] is connection.context


# ---- malformed answers


@pytest.mark.parametrize(
    ("opcode", "body"),
    [
        (wire.RESULT, b"\0\0"),
        (wire.RESULT, wire.int32(77)),
        (wire.ERROR, b"\0"),
        (wire.SUPPORTED, b"\0\1"),
        (wire.QUERY, b"\0\1"),
        (0x77, b""),
    ],
)
def test_malformed_bodies_fail_their_request(
    net: Net, opcode: int, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            connection.answer(request, opcode, body)
            return True
        if request.opcode == wire.PREPARE:
            prepares.append(request)
        return request.opcode == wire.PREPARE

    prepares: list[wire.Envelope] = []
    net.script = script
    caplog.set_level("DEBUG", "cassandra.connection")
    connection = net.connect()
    waiting = Call()
    connection.request_async(PrepareMessage("q"), waiting, PATIENCE)
    for _ in range(5):
        with pytest.raises(errors.ProtocolError, match=r"malformed \w+ message"):
            connection.request(QUERY, PATIENCE)
    assert eventually(lambda: bool(prepares))
    net.peer.answer(prepares[0], wire.RESULT, wire.int32(1))
    assert isinstance(waiting.wait(), ResultMessage)
    assert not connection.is_closed and connection.last_error is None and connection.in_flight == 0
    assert isinstance(connection.request(OptionsMessage(), PATIENCE), SupportedMessage)
    told = [record.levelname for record in caplog.records if "after a malformed message" in record.getMessage()]
    assert told == ["WARNING"] + ["DEBUG"] * 4


@pytest.mark.parametrize(
    ("opcode", "body"),
    [(wire.RESULT, wire.int32(3)), (wire.RESULT, wire.int32(3) + b"\0\5ks"), (wire.ERROR, b"\0"), (wire.RESULT, b"")],
)
def test_an_unreadable_answer_to_use_closes_the_connection(net: Net, opcode: int, body: bytes) -> None:
    """Which keyspace it uses is not known."""

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            connection.answer(request, opcode, body)
        return request.opcode == wire.QUERY

    net.script = script
    connection, done = net.connect(), Call()
    connection.set_keyspace_async("ks", done)
    assert isinstance(done.wait()[1], errors.ProtocolError)
    assert connection.is_defunct and connection.keyspace is None


def test_an_answer_that_sets_a_keyspace_and_is_cut_short(net: Net) -> None:
    """Also if the request that it answers is not known."""
    net.script = lambda connection, request: (
        request.opcode == wire.QUERY and (connection.answer(request, wire.RESULT, wire.int32(3) + b"\0") or True)
    )
    connection = net.connect()
    with pytest.raises(errors.ProtocolError):
        connection.request(QUERY, PATIENCE)
    assert connection.is_defunct


@pytest.mark.parametrize(
    "body",
    [
        b"",
        wire.string("NO SUCH EVENT"),
        wire.string("STATUS_CHANGE"),
        wire.string("STATUS_CHANGE") + wire.string("UP") + b"\x05abcde" + wire.int32(1),
        wire.string("TOPOLOGY_CHANGE") + wire.string("NEW_NODE") + b"\x04\x7f",
        wire.string("SCHEMA_CHANGE") + b"\0\2\xff\xfe",
        wire.string("SCHEMA_CHANGE") + wire.string("CREATED") + wire.string("FUNCTION") + wire.string("ks") + b"\0\1",
    ],
    ids=repr,
)
def test_malformed_events_cost_themselves(net: Net, body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    seen = Call()
    connection = net.connect(callbacks={"on_event": seen})
    for flags in (0, wire.WARNING, wire.PAYLOAD | wire.TRACING, wire.COMPRESSED):
        net.peer.send(wire.EVENT, body, -1, flags)
    net.peer.send(wire.EVENT, wire.string("STATUS_CHANGE") + wire.string("UP") + wire.inet("10.0.0.1", 9042), -1)
    assert seen.wait()[1].event_args["address"] == ("10.0.0.1", 9042)
    assert not connection.is_closed
    assert sum(record.levelname == "WARNING" for record in caplog.records) == 1


@pytest.mark.parametrize("version", [3, 4, 5])
def test_whole_bodies_of_noise(net: Net, version: int) -> None:
    """The connection goes on after bodies of any content, with any header."""
    random = Random(version)

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode != wire.QUERY:
            return None
        kind = random.choice([0, 1, 2, 4, 5, 77])
        body = random.choice([b"", wire.int32(kind)]) + random.randbytes(random.choice([0, 1, 4, 9, 40, 3000]))
        if body[:4] == wire.int32(3):
            body = b""
        opcode = random.choice([*range(0x0C), *range(0x0D, 0x14), 0x42, 0xFF])
        connection.answer(request, opcode, body, random.choice([0, 0, 1, 2, 4, 8, 14, 15, 0xF0]))
        return True

    net.script = script
    connection = net.connect(protocol_version=version)
    unreadable = 0
    for _ in range(600):
        answer = Call()
        connection.request_async(QUERY, answer, PATIENCE)
        assert answer._called.wait(PATIENCE)
        unreadable += isinstance(answer.calls[0][0], errors.ProtocolError)
        assert not connection.is_closed and connection.in_flight == 0
    assert unreadable > 300
    net.script = None
    assert connection.request(QUERY, PATIENCE).kind == 1


@pytest.mark.parametrize("stream", [5, 3000])
def test_answers_on_unused_streams_close_the_connection(net: Net, stream: int) -> None:
    closed = Call()
    connection = net.connect(callbacks={"on_closed": closed})
    net.peer.send(wire.RESULT, wire.int32(1), stream)
    assert isinstance(closed.wait()[1], errors.ProtocolError)
    assert connection.is_defunct


def test_damaged_segments_close_the_connection(net: Net) -> None:
    closed = Call()
    net.connect(callbacks={"on_closed": closed}, protocol_version=5)
    net.peer.send_raw(bytes(64))
    connection, error = closed.wait()
    assert isinstance(error, errors.CrcMismatchException) and connection.last_error is error
    assert "CRC24" in str(error) and error.endpoint == connection.endpoint


# ---- keyspaces


def test_set_keyspace(net: Net) -> None:
    connection = net.connect()
    done = Call()
    connection.set_keyspace_async('My"Ks', done)
    assert done.wait() == (connection, None)
    assert connection.keyspace == net.peer.keyspace == 'My"Ks'
    before = len(net.server.requests)
    connection.set_keyspace_blocking('My"Ks')
    connection.set_keyspace_blocking(None)
    assert len(net.server.requests) == before, "nothing to do"
    connection.set_keyspace_blocking("other")
    assert connection.keyspace == "other"


def test_the_last_use_wins(net: Net) -> None:
    """One after the other, although a server may run them in any order."""
    open_requests: list[wire.Envelope] = []
    overlapping: list[int] = []

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY:
            open_requests.append(request)
            overlapping.append(len(open_requests))
            time.sleep(0.01)
            connection.default(request)
            open_requests.remove(request)
            return True
        return None

    net.script = script
    connection = net.connect()
    calls = [Call() for _ in range(5)]
    for number, call in enumerate(calls):
        connection.set_keyspace_async(f"k{number}", call)
    assert [call.wait() for call in calls] == [(connection, None)] * 5
    assert connection.keyspace == net.peer.keyspace == "k4"
    assert set(overlapping) == {1}


def test_use_that_fails(net: Net) -> None:
    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode == wire.QUERY and b"nope" in request.body:
            connection.answer(request, wire.ERROR, wire.error(0x2200, "no such keyspace"))
            return True
        return None

    net.script = script
    connection = net.connect(keyspace="good")
    with pytest.raises(errors.InvalidRequest, match="no such keyspace"):
        connection.set_keyspace_blocking("nope")
    assert connection.keyspace == "good"
    connection.set_keyspace_blocking("better")
    net.script = silent
    done = Call()
    connection.set_keyspace_async("lost", done)
    net.server.drop_connections()
    assert isinstance(done.wait()[1], errors.ConnectionShutdown)


def test_a_use_from_the_callback_of_a_use(net: Net) -> None:
    """Each is sent once, and each callback is called once."""
    connection = net.connect()
    outcomes: list[tuple[str, Any]] = []
    done = threading.Event()

    def second(_: Connection, error: BaseException | None) -> None:
        outcomes.append(("second", error))
        connection.set_keyspace_async("second", third)  # nothing to do any more

    def third(_: Connection, error: BaseException | None) -> None:
        outcomes.append(("third", error))
        done.set()

    connection.set_keyspace_async("first", lambda one, error: connection.set_keyspace_async("second", second))
    assert done.wait(30)
    connection.set_keyspace_blocking("last")
    assert outcomes == [("second", None), ("third", None)]
    asked = [wire.read_long_string(r.body) for r in net.server.requests if r.opcode == wire.QUERY]
    assert asked == ['USE "first"', 'USE "second"', 'USE "last"']


@pytest.mark.parametrize("answer", ["none", "server error", "another result", "malformed"])
def test_a_use_that_ends_unclearly_closes_the_connection(net: Net, answer: str) -> None:
    """Otherwise requests would run in an unknown keyspace."""

    def script(connection: ScriptedConnection, request: wire.Envelope) -> Any:
        if request.opcode != wire.QUERY:
            return None
        if answer == "server error":
            connection.answer(request, wire.ERROR, wire.error(0x0000, "broken"))
        elif answer == "another result":
            connection.answer(request, wire.RESULT, wire.int32(1))
        elif answer == "malformed":
            connection.answer(request, wire.RESULT, wire.int32(3))
        return True

    net.script = script
    connection = net.connect()
    call = Call()
    connection.set_keyspace_async("ks", call, 0.05 if answer == "none" else 30.0)
    _, error = call.wait()
    expected = {"none": errors.OperationTimedOut, "server error": server_errors.ServerError}
    assert isinstance(error, expected.get(answer, errors.ProtocolError))
    assert connection.is_closed and connection.is_defunct and connection.keyspace is None
    after = Call()
    connection.set_keyspace_async("ks", after)
    assert isinstance(after.wait()[1], errors.ConnectionShutdown)


# ---- events


def test_events(net: Net) -> None:
    heard, watched = Call(), Call()
    connection = net.connect(callbacks={"on_event": heard}, register_events=("STATUS_CHANGE",))
    connection.register_watcher("STATUS_CHANGE", watched, PATIENCE)
    net.peer.send(wire.EVENT, wire.string("STATUS_CHANGE") + wire.string("UP") + wire.inet("10.0.0.1", 9042), -1)
    args = {"change_type": "UP", "address": ("10.0.0.1", 9042)}
    assert heard.wait() == (connection, EventMessage("STATUS_CHANGE", args))
    assert watched.wait() == args


def test_a_callback_that_fails_keeps_the_connection(net: Net, caplog: pytest.LogCaptureFixture) -> None:
    def on_event(connection: Connection, event: EventMessage) -> None:
        raise RuntimeError("mine")

    connection = net.connect(callbacks={"on_event": on_event})
    net.peer.send(wire.EVENT, wire.string("STATUS_CHANGE") + wire.string("UP") + wire.inet("10.0.0.1", 9042), -1)
    assert connection.request(QUERY, PATIENCE)
    assert "A callback failed" in caplog.text


# ---- pieces


def test_names_of_the_incumbent(net: Net) -> None:
    connection = net.connect(LibevConnection)
    assert type(connection) is LibevConnection and isinstance(connection, Connection)
    assert type(connection).__module__ == "cassandra.io.libevreactor"


def test_failures_as_exceptions() -> None:
    endpoint = DefaultEndPoint("10.0.0.1")
    timed_out = failure_error(Failure(TIMED_OUT, "no response in time", True, 1.5), endpoint)
    assert isinstance(timed_out, errors.OperationTimedOut)
    assert (timed_out.last_host, timed_out.timeout, timed_out.maybe_executed) == (endpoint, 1.5, True)
    cause = OSError(104, "Connection reset by peer")
    lost = failure_error(Failure(CLOSED, "recv: Connection reset by peer", False, 0.1, cause), endpoint)
    assert isinstance(lost, errors.ConnectionShutdown)
    assert (lost.__cause__, lost.maybe_executed, lost.endpoint) == (cause, False, endpoint)
    broken = failure_error(Failure(PROTOCOL, "bad header", True, 0.1), endpoint)
    assert isinstance(broken, errors.ProtocolError) and "10.0.0.1:9042: bad header" in str(broken)


def test_blocking_calls_deliver_their_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    done = Call()
    error = ValueError("x")

    def fail() -> None:
        raise error

    run_blocking(fail, done)
    assert done.wait() == (None, error)

    class NoThreads(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading, "Thread", NoThreads)
    refused: list[Any] = []
    run_blocking(fail, lambda result, error: refused.append(error))
    assert isinstance(refused[0], RuntimeError)
