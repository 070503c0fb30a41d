"""Channels against small servers: connecting, requests, streams, timeouts, malformed answers."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cassandra._base.errors import ConnectionBusy, ConnectionShutdown, ProtocolError
from cassandra._core.transport import CLOSED, PROTOCOL, TIMED_OUT, Failure, Frame, Operation, Reactor
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope
from tests.unit.core.transport_client import (
    TIMEOUT,
    Handler,
    Recorder,
    answer_of,
    ask,
    connect,
    echo,
    eventually,
    failure_of,
    on_reactor,
    request,
    running_reactor,
    silent,
    void,
)

pytestmark = pytest.mark.usefixtures("no_leaks")


@pytest.fixture(params=["epoll", "poll"])
def reactor(request: pytest.FixtureRequest) -> Iterator[Reactor]:
    with running_reactor(request.param) as reactor:
        yield reactor


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(echo) as server:
        yield server


def test_request_and_answer(reactor: Reactor, server: ScriptedServer) -> None:
    channel, handler = connect(reactor, server.address)
    assert not channel.closed and channel.reactor is reactor
    assert channel.getpeername() == server.address
    assert channel.getsockname()[0] == "127.0.0.1"
    operation = Operation()
    stream = channel.submit(request(b"hello"), operation, 5, TIMEOUT)
    assert operation._wait(TIMEOUT)
    attempt, frame = operation._take() or pytest.fail("no outcome")
    assert isinstance(frame, Frame)
    assert (attempt, frame.version, frame.flags, frame.stream, frame.opcode) == (5, 4, 0, stream, wire.RESULT)
    assert bytes(memoryview(frame)) == void(b"hello") and len(frame) == 9
    assert operation._take() is None
    assert channel.bytes_sent == 14 and channel.bytes_received == 18
    assert channel.idle_seconds < TIMEOUT
    assert channel.in_flight == channel.orphaned == 0
    channel.close()
    assert handler.error is None
    assert channel.closed


def test_the_stream_of_the_frame_is_overwritten_in_a_copy(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    frame = Envelope(4, 0, 77, wire.QUERY, b"x").pack()
    operations = [Operation() for _ in range(3)]
    streams = [channel.submit(frame, operation) for operation in operations]
    for operation in operations:
        answer_of(operation)
    assert frame[2:4] == wire.short(77)
    assert sorted(streams) == sorted(request.stream for request in server.requests)


def test_frames_that_are_none_are_refused(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    for bad in (b"", b"\x04\0\0\0\x07\0\0\0", request(b"abc")[:-1], request(b"abc") + b"x"):
        with pytest.raises(ValueError, match="header of 9 bytes"):
            channel.submit(bad, Operation())
    with pytest.raises(TypeError):
        channel.submit(bytearray(request()), Operation())  # type: ignore[arg-type]
    assert channel.in_flight == 0


def test_answers_out_of_order(reactor: Reactor) -> None:
    waiting: list[Envelope] = []

    def shuffle(connection: ScriptedConnection, incoming: Envelope) -> bool:
        waiting.append(incoming)
        if len(waiting) == 500:
            random.Random(1).shuffle(waiting)
            for one in waiting:
                echo(connection, one)
        return True

    with ScriptedServer(shuffle) as server:
        channel, _ = connect(reactor, server.address)
        operations = [ask(channel, str(number).encode()) for number in range(500)]
        assert [answer_of(operation) for operation in operations] == [str(n).encode() for n in range(500)]


def test_answers_that_come_byte_by_byte(reactor: Reactor) -> None:
    def dribble(connection: ScriptedConnection, incoming: Envelope) -> bool:
        for byte in Envelope(0x84, 0, incoming.stream, wire.RESULT, void(incoming.body)).pack():
            connection.send_raw(bytes([byte]))
        return True

    with ScriptedServer(dribble) as server:
        channel, _ = connect(reactor, server.address)
        for text in (b"", b"a", b"0123456789" * 20):
            assert answer_of(ask(channel, text)) == text


def test_large_bodies(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    for size in (16_000, 17_000, 131_072, 3_000_000):
        body = random.Random(size).randbytes(size)
        assert answer_of(ask(channel, body)) == body


def test_connect_refused(reactor: Reactor) -> None:
    with socket.socket() as deaf:  # no other socket gets its port
        deaf.bind(("127.0.0.1", 0))
        handler = Handler()
        channel = reactor.connect(socket.AF_INET, deaf.getsockname(), handler, timeout=TIMEOUT)
        assert isinstance(handler.error, ConnectionRefusedError)
    assert "connect" in str(handler.error) and channel.closed
    with pytest.raises(ConnectionShutdown):
        channel.submit(request(), Operation())
    with pytest.raises(OSError, match="closed"):
        channel.getpeername()


def test_connect_timeout(reactor: Reactor) -> None:
    """A listener with a full backlog answers no SYN."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        handlers = [Handler() for _ in range(4)]
        for handler in handlers:
            reactor.connect(socket.AF_INET, listener.getsockname(), handler, timeout=0.2)
        error = handlers[-1].error
        assert isinstance(error, TimeoutError) and "timed out" in str(error)


def test_a_request_times_out_before_the_connection_is_there(reactor: Reactor) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            channel = reactor.connect(socket.AF_INET, listener.getsockname(), Handler(), timeout=TIMEOUT)
        operation = ask(channel, timeout=0.05)
        failure = failure_of(operation)
        assert (failure.kind, failure.sent) == (TIMED_OUT, False)
        assert failure.elapsed < TIMEOUT / 2 and channel.in_flight == 0


def test_unix_sockets(reactor: Reactor, tmp_path: Path) -> None:
    path = str(tmp_path / "cql.sock")
    with ScriptedServer(echo, unix_path=path):
        for spelling in (path, path.encode()):
            handler = Handler()
            channel = reactor.connect(socket.AF_UNIX, spelling, handler, timeout=TIMEOUT)
            assert handler.connected.wait(TIMEOUT)
            assert answer_of(ask(channel, b"unix")) == b"unix"
            assert channel.getpeername() == path
    handler = Handler()
    reactor.connect(socket.AF_UNIX, str(tmp_path / "none"), handler, timeout=TIMEOUT)
    assert isinstance(handler.error, FileNotFoundError)


@pytest.mark.parametrize(
    ("family", "address"),
    [
        (socket.AF_INET, ("localhost", 9042)),
        (socket.AF_INET, ("::1", 9042)),
        (socket.AF_INET6, ("127.0.0.1", 9042)),
        (socket.AF_UNIX, "x" * 200),
    ],
)
def test_addresses_that_are_not_numeric(reactor: Reactor, family: int, address: Any) -> None:
    with pytest.raises(ValueError):
        reactor.connect(family, address, Handler(), timeout=1)


def test_socket_options_and_local_address(reactor: Reactor, server: ScriptedServer) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.77.1", 0))  # an address that nothing else on this machine connects from
        local = probe.getsockname()
    channel, _ = connect(
        reactor,
        server.address,
        sockopts=[(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.SOL_SOCKET, socket.SO_RCVBUF, b"\0\x40\0\0")],
        local_address=local,
    )
    assert channel.getsockname() == local
    assert answer_of(ask(channel, b"x")) == b"x"
    handler = Handler()
    reactor.connect(socket.AF_INET, server.address, handler, timeout=TIMEOUT, sockopts=[(9999, 9999, 1)])
    assert isinstance(handler.error, OSError) and "setsockopt" in str(handler.error)


def test_all_streams_in_use(reactor: Reactor) -> None:
    with ScriptedServer(silent) as server:
        channel, _ = connect(reactor, server.address)
        operation = Recorder()
        frame = request()
        streams = {channel.submit(frame, operation, number) for number in range(32768)}
        assert streams == set(range(32768)) and channel.in_flight == 32768
        with pytest.raises(ConnectionBusy, match="32768 requests in flight"):
            channel.submit(frame, operation)
        assert channel.in_flight == 32768
        channel.close()
        assert eventually(lambda: len(operation.outcomes) == 32768)
        assert {attempt for attempt, _ in operation.outcomes} == streams


def test_max_requests(reactor: Reactor) -> None:
    with ScriptedServer(silent) as server:
        channel, _ = connect(reactor, server.address)
        assert channel.max_requests == 32768
        channel.max_requests = 3
        operations = [ask(channel) for _ in range(3)]
        with pytest.raises(ConnectionBusy, match="3 requests in flight, 0 orphaned, 3 allowed"):
            ask(channel)
        for wrong in (0, 32769):
            with pytest.raises(ValueError):
                channel.max_requests = wrong
        channel.close(ValueError("enough"))
        for operation in operations:
            failure = failure_of(operation)
            assert (failure.kind, failure.message, failure.sent) == (CLOSED, "enough", True)
            assert isinstance(failure.cause, ValueError)


def test_timeout_then_late_answer(reactor: Reactor) -> None:
    held: list[Envelope] = []
    connections: list[ScriptedConnection] = []

    def hold_first(connection: ScriptedConnection, incoming: Envelope) -> bool:
        connections.append(connection)
        if incoming.body == b"slow":
            held.append(incoming)
            return True
        return echo(connection, incoming)

    with ScriptedServer(hold_first) as server:
        channel, _ = connect(reactor, server.address)
        slow = Operation()
        stream = channel.submit(request(b"slow"), slow, 2, 0.05)
        assert slow._wait(TIMEOUT)
        attempt, failure = slow._take() or pytest.fail("no outcome")
        assert isinstance(failure, Failure)
        assert (attempt, failure.kind, failure.sent, failure.cause) == (2, TIMED_OUT, True, None)
        assert failure.elapsed >= 0.05
        assert channel.orphaned == 1 and channel.in_flight == 1
        for number in range(50):
            operation = Operation()
            assert channel.submit(request(b"next"), operation) != stream, number
            assert answer_of(operation) == b"next"
        echo(connections[0], held[0])
        assert eventually(lambda: channel.orphaned == 0)
        operation = Operation()
        assert channel.submit(request(b"again"), operation) == stream
        assert answer_of(operation) == b"again"
        assert slow._take() is None


def test_orphan(reactor: Reactor) -> None:
    release = threading.Event()

    def late(connection: ScriptedConnection, incoming: Envelope) -> bool:
        release.wait(TIMEOUT)
        return echo(connection, incoming)

    with ScriptedServer(late) as server:
        channel, _ = connect(reactor, server.address)
        operation, other = Operation(), Operation()
        stream = channel.submit(request(b"given up"), operation, 1)
        assert not channel.orphan(stream, other, 1), "another request"
        assert not channel.orphan(stream, operation, 2), "another attempt"
        assert not channel.orphan(stream + 1, operation, 1) and not channel.orphan(-5, operation, 1)
        assert channel.orphan(stream, operation, 1)
        assert not channel.orphan(stream, operation, 1)
        assert channel.orphaned == 1
        release.set()
        assert answer_of(ask(channel, b"next")) == b"next"
        assert eventually(lambda: channel.orphaned == 0)
        assert operation._take() is None


def test_events(reactor: Reactor) -> None:
    def push(connection: ScriptedConnection, incoming: Envelope) -> bool:
        connection.version = 4
        connection.send(wire.EVENT, b"news", -1)
        return echo(connection, incoming)

    with ScriptedServer(push) as server:
        channel, handler = connect(reactor, server.address)
        answer_of(ask(channel))
        assert eventually(lambda: handler.events)
        assert bytes(memoryview(handler.events[0])) == b"news" and handler.events[0].stream == -1


def header(opcode: int = wire.RESULT, stream: int = 0, version: int = 0x84, length: int = 0) -> bytes:
    return bytes([version, 0]) + wire.short(stream & 0xFFFF) + bytes([opcode]) + wire.int32(length)


MALFORMED = {
    "not a frame": (b"\xff" * 40, "version 127"),
    "tls": (b"\x15\x03\x03\x00\x02\x02\x28\x00\x00\x00", "TLS"),
    "http": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
    "a request": (header(version=0x04), "not a response header"),
    "negative length": (header(length=-2), "negative length -2"),
    "unknown stream": (header(stream=4711), "stream 4711, which has no request"),
    "an error on an unknown stream": (
        header(wire.ERROR, stream=4711, length=22) + wire.int32(10) + wire.string("too many clients"),
        "stream 4711, which has no request; it is an error: too many clients",
    ),
    "an error with warnings and a trace": (
        bytes([0x84, 0x0A])
        + header(wire.ERROR, stream=-1, length=33)[2:]
        + bytes(16)
        + wire.short(1)
        + wire.string("slow")
        + wire.int32(10)
        + wire.string("ow!"),
        "error of the connection: ow!",
    ),
    "an error that is cut off": (
        header(wire.ERROR, stream=4711, length=6) + wire.int32(10) + wire.short(9),
        "it is an error: no message",
    ),
    "another version": (header(version=0x83), "version 3 on a connection of version 4"),
    "result on stream -1": (header(stream=-1), "stream -1"),
    "event on a request's stream": (header(opcode=wire.EVENT), "opcode 0x0c on stream 0"),
    "error of the connection": (
        header(opcode=wire.ERROR, stream=-1, length=10) + wire.int32(10) + wire.string("oops"),
        "oops",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_answers_close_their_connection_only(reactor: Reactor, server: ScriptedServer, name: str) -> None:
    sample, expected = MALFORMED[name]

    def spoil(connection: ScriptedConnection, incoming: Envelope) -> bool:
        if incoming.body == b"spoil":
            connection.send_raw(sample)
        return True

    def set_rules(channel: Any) -> None:
        channel.set_protocol(4, 1_000_000)

    bad_handler = Handler()
    bad_handler.when_connected = set_rules
    with ScriptedServer(spoil) as bad_server:
        good, good_handler = connect(reactor, server.address)
        bad, _ = connect(reactor, bad_server.address, bad_handler)
        operations = [ask(bad, b"first"), ask(bad, b"spoil")]
        for operation in operations:
            failure = failure_of(operation)
            assert failure.kind == PROTOCOL and failure.sent
            assert expected in failure.message
            assert failure.cause is bad_handler.error
        assert isinstance(bad_handler.error, ProtocolError) and expected in str(bad_handler.error)
        assert answer_of(ask(good, b"fine")) == b"fine" and not good_handler.closed.is_set()


@pytest.mark.parametrize("opcode", [wire.QUERY, 0x77])
def test_an_unknown_opcode_is_a_message_of_its_request(reactor: Reactor, opcode: int) -> None:
    """The stream is in step. Before the protocol version is known the peer may be anything."""

    def script(connection: ScriptedConnection, incoming: Envelope) -> bool:
        if incoming.body == b"odd":
            connection.send_raw(header(opcode, incoming.stream, length=7) + void(b"abc"))
            return True
        return echo(connection, incoming)

    handler = Handler()
    handler.when_connected = lambda channel: channel.set_protocol(4)
    with ScriptedServer(script) as server:
        channel, _ = connect(reactor, server.address, handler)
        odd, good = ask(channel, b"odd"), ask(channel, b"good")
        assert answer_of(odd) == b"abc" and answer_of(good) == b"good"
        unknown, _ = connect(reactor, server.address)
        assert f"invalid opcode of a response: 0x{opcode:02x}" in failure_of(ask(unknown, b"odd")).message


@pytest.mark.parametrize("excess", [1, 200_000, 30 << 20])
def test_a_body_beyond_the_limit_is_skipped(reactor: Reactor, excess: int) -> None:
    limit = 1 << 20
    sizes = {b"large": limit + excess, b"limit": limit}

    def script(connection: ScriptedConnection, incoming: Envelope) -> bool:
        connection.send(wire.RESULT, bytes(sizes.get(incoming.body, 3)), incoming.stream, version=4)
        return True

    handler = Handler()
    handler.when_connected = lambda channel: channel.set_protocol(4, limit)
    with ScriptedServer(script) as server:
        channel, _ = connect(reactor, server.address, handler)
        requests = [ask(channel, body) for body in (b"one", b"large", b"two", b"limit", b"large", b"three")]
        frames = []
        for operation in requests:
            assert operation._wait(TIMEOUT)
            outcome = operation._take()
            assert outcome is not None and isinstance(outcome[1], Frame)
            frames.append(outcome[1])
        assert [frame.skipped for frame in frames] == [0, limit + excess, 0, 0, limit + excess, 0]
        assert [len(frame) for frame in frames] == [3, 0, 3, limit, 0, 3]
        assert [bytes(frames[index]) for index in (1, 3)] == [b"", bytes(limit)]
        assert reactor.pool.stats().peak < 4 << 20


def test_closed_by_the_server(reactor: Reactor) -> None:
    def hang_up(connection: ScriptedConnection, incoming: Envelope) -> bool:
        if incoming.body == b"answer":
            echo(connection, incoming)
        else:
            connection.close()
        return True

    with ScriptedServer(hang_up) as server:
        channel, handler = connect(reactor, server.address)
        answered = ask(channel, b"answer")
        assert answer_of(answered) == b"answer"
        cut = ask(channel, b"cut")
        failure = failure_of(cut)
        assert failure.kind == CLOSED and failure.sent
        assert isinstance(handler.error, ConnectionShutdown | ConnectionError)
        assert failure.cause is handler.error


def test_close_with_an_error_reaches_everyone(reactor: Reactor) -> None:
    with ScriptedServer(silent) as server:
        channel, handler = connect(reactor, server.address)
        operations = [ask(channel) for _ in range(10)]
        error = RuntimeError("because")
        channel.close(error)
        channel.close(ValueError("too late"))
        assert handler.error is error
        for operation in operations:
            assert failure_of(operation).cause is error
        with pytest.raises(ConnectionShutdown):
            ask(channel)


def test_an_exception_in_a_handler_closes_the_channel(reactor: Reactor, server: ScriptedServer) -> None:
    def fail(channel: Any) -> None:
        raise KeyError("handler")

    handler = Handler()
    handler.when_connected = fail
    reactor.connect(socket.AF_INET, server.address, handler, timeout=TIMEOUT)
    assert isinstance(handler.error, KeyError)


def test_requests_while_connecting(reactor: Reactor, server: ScriptedServer) -> None:
    handler = Handler()
    channel = reactor.connect(socket.AF_INET, server.address, handler, timeout=TIMEOUT)
    assert answer_of(ask(channel, b"early")) == b"early"


def test_a_request_that_was_not_sent_says_so(reactor: Reactor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        channel, _ = connect(reactor, listener.getsockname())
        big = [ask(channel, bytes(4_000_000)) for _ in range(8)]
        small = ask(channel, b"never")
        channel.close()
        assert failure_of(big[0]).sent
        assert not failure_of(small).sent and not failure_of(big[-1]).sent


def test_protocol_settings_belong_to_the_io_thread(reactor: Reactor, server: ScriptedServer) -> None:
    channel, _ = connect(reactor, server.address)
    with pytest.raises(RuntimeError, match="I/O thread"):
        channel.set_protocol(4)
    with pytest.raises(RuntimeError, match="I/O thread"):
        channel.enable_segments()
    on_reactor(reactor, lambda: channel.set_protocol(4, 1000))
    assert answer_of(ask(channel, b"x")) == b"x"


def test_channels_and_timers_are_made_by_the_reactor() -> None:
    from cassandra._core.transport import Channel, Timer

    for cls in (Channel, Timer):
        with pytest.raises(TypeError, match="made by Reactor"):
            cls()
