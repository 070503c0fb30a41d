"""Byte filters: TLS through ssl.MemoryBIO as the network layer does it, and filters that fail."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Iterator

import pytest

from cassandra._base.errors import ConnectionShutdown
from cassandra._core.transport import Reactor
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope
from tests.unit.core.transport_client import (
    TIMEOUT,
    Handler,
    answer_of,
    ask,
    connect,
    echo,
    eventually,
    failure_of,
    running_reactor,
)

pytestmark = pytest.mark.usefixtures("no_leaks")


class Flip:
    """Inverts every byte, once the server sent its greeting."""

    def __init__(self) -> None:
        self.established = False
        self.fail: str = ""

    def _check(self, step: str) -> None:
        if self.fail == step:
            raise ssl.SSLError(f"broken {step}")

    def start(self) -> bytes:
        self._check("start")
        return b""

    def receive(self, data: bytes) -> tuple[bytes, bytes, BaseException | None]:
        self._check("receive")
        assert data
        answer = b""
        if not self.established:
            assert data.startswith(b"!")
            self.established = True
            data, answer = data[1:], b"?"
        return self.send(data) if data else b"", answer, None

    def send(self, plaintext: bytes) -> bytes:
        self._check("send")
        return bytes(byte ^ 0xFF for byte in plaintext)

    def eof(self) -> None:
        self._check("eof")

    def shutdown(self) -> bytes:
        self._check("shutdown")
        return b""


class FlippedServer:
    """A server for it: greets, waits for the answer, echoes."""

    def __init__(self, greet: bool = True, after: bytes = b"") -> None:
        self.greet = greet
        self.after = after  # each answer, in the same write
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.sockets: list[socket.socket] = []
        self.closing = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(sock)
            if self.closing:
                return
            if self.greet:
                with contextlib.suppress(OSError):
                    self.serve(sock)

    def serve(self, sock: socket.socket) -> None:
        sock.sendall(b"!")
        if sock.recv(1) != b"?":
            return
        while data := sock.recv(65536):
            plain = bytes(byte ^ 0xFF for byte in data)
            answer = b"\x84\0" + plain[2:4] + b"\x08" + plain[5:9] + b"\0\0\0\1" + plain[13:]
            sock.sendall(bytes(byte ^ 0xFF for byte in answer) + self.after)

    def __enter__(self) -> FlippedServer:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.closing = True
        self.listener.shutdown(socket.SHUT_RDWR)
        for sock in list(self.sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(TIMEOUT)
        self.listener.close()
        for sock in self.sockets:  # all of them: no thread accepts any more
            sock.close()


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    with running_reactor() as reactor:
        yield reactor


def test_bytes_go_through_the_filter(reactor: Reactor) -> None:
    with FlippedServer() as server:
        channel, _ = connect(reactor, server.address, byte_filter=Flip())
        for text in (b"", b"one", b"two" * 100):
            assert answer_of(ask(channel, b"\0\0\0\0" + text)) == text
        channel.close()


@pytest.mark.parametrize("step", ["start", "receive", "send", "eof"])
def test_an_error_of_the_filter_closes_the_channel(reactor: Reactor, step: str) -> None:
    with FlippedServer() as server:
        byte_filter = Flip()
        handler = Handler()
        if step in ("start", "receive"):
            byte_filter.fail = step
            channel = reactor.connect(socket.AF_INET, server.address, handler, timeout=TIMEOUT, byte_filter=byte_filter)
        else:
            channel, handler = connect(reactor, server.address, byte_filter=byte_filter)
            byte_filter.fail = step
            if step == "send":
                assert failure_of(ask(channel)).message == "broken send" or handler.error
            else:
                server.sockets[0].shutdown(socket.SHUT_WR)
        assert isinstance(handler.error, ssl.SSLError) and f"broken {step}" in str(handler.error)
        assert channel.closed


def test_the_handshake_of_a_filter_times_out(reactor: Reactor) -> None:
    with FlippedServer(greet=False) as server:
        handler = Handler()
        reactor.connect(socket.AF_INET, server.address, handler, timeout=0.1, byte_filter=Flip())
        assert isinstance(handler.error, TimeoutError) and not handler.connected.is_set()


def test_an_orderly_end(reactor: Reactor) -> None:
    with FlippedServer() as server:
        _, handler = connect(reactor, server.address, byte_filter=Flip())
        server.sockets[0].shutdown(socket.SHUT_WR)
        assert isinstance(handler.error, ConnectionShutdown)


def test_the_filter_sees_data_received_before_a_reset(reactor: Reactor) -> None:
    """Such as the alert that says why."""

    class Alert(Flip):
        def start(self) -> bytes:
            started.set()
            return b""

        def receive(self, data: bytes) -> tuple[bytes, bytes, BaseException | None]:
            if b"ALERT" in data:
                raise ssl.SSLError("told why")
            return super().receive(data)

    for _ in range(20):
        with FlippedServer(greet=False) as server:
            started = threading.Event()
            handler = Handler()
            reactor.connect(socket.AF_INET, server.address, handler, timeout=TIMEOUT, byte_filter=Alert())
            assert started.wait(TIMEOUT) and eventually(lambda: server.sockets)
            sock = server.sockets[0]
            sock.sendall(b"ALERT")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
            assert "told why" in str(handler.error)


def test_answers_received_before_a_filter_error_are_delivered(reactor: Reactor) -> None:
    """The answer is good, even with damaged data after it in the same bytes."""

    class Damaged(Flip):
        def receive(self, data: bytes) -> tuple[bytes, bytes, BaseException | None]:
            good, damage, _ = data.partition(b"DAMAGE")
            plaintext, answer, _ = super().receive(good)
            return plaintext, answer, ssl.SSLError("bad record") if damage else None

    with FlippedServer(after=b"DAMAGE") as server:
        channel, handler = connect(reactor, server.address, byte_filter=Damaged())
        assert answer_of(ask(channel, b"\0\0\0\0good")) == b"good"
        assert "bad record" in str(handler.error)
        assert channel.closed


def test_a_filter_must_return_bytes(reactor: Reactor) -> None:
    class Wrong(Flip):
        def start(self) -> bytes:
            return "text"  # type: ignore[return-value]

    with FlippedServer() as server:
        handler = Handler()
        reactor.connect(socket.AF_INET, server.address, handler, timeout=TIMEOUT, byte_filter=Wrong())
        assert isinstance(handler.error, TypeError)


def test_events_and_errors_come_through(reactor: Reactor) -> None:
    """A plaintext server where a filter expects its greeting: the filter's own complaint is the error."""

    def shout(connection: ScriptedConnection, incoming: Envelope) -> bool:
        return echo(connection, incoming)

    class Talkative(Flip):
        def start(self) -> bytes:
            return b"\x04\0\0\0\x07\0\0\0\0"

    with ScriptedServer(shout) as server:
        handler = Handler()
        reactor.connect(socket.AF_INET, server.address, handler, timeout=TIMEOUT, byte_filter=Talkative())
        assert isinstance(handler.error, AssertionError)
