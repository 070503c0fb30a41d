"""Any bytes from a server, in pieces of any size: each request ends once, with its own answer or a failure."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassandra._core.transport import Channel, Failure, Frame, Operation, Reactor
from tests.fakes import wire
from tests.fakes.wire import Envelope, Segments
from tests.unit.core.transport_client import TIMEOUT, Handler, on_reactor, outcome_of, request, running_reactor, void

REQUESTS = 4
FIXTURES = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


class Pieces:
    """A listener whose connections read so many bytes of requests, send given pieces, and then close."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.pieces: list[bytes] = []
        self.expected = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            with sock, contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                expected = self.expected
                while expected > 0 and (data := sock.recv(expected)):
                    expected -= len(data)
                for piece in self.pieces:
                    sock.sendall(piece)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(65536):
                    pass

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(TIMEOUT)


@pytest.fixture(scope="module")
def reactor() -> Iterator[Reactor]:
    with running_reactor() as reactor:
        yield reactor


@pytest.fixture(scope="module")
def server() -> Iterator[Pieces]:
    server = Pieces()
    yield server
    server.close()


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted({place % (len(stream) + 1) for place in places}), len(stream)]
    return [stream[a:b] for a, b in itertools.pairwise(edges) if a < b]


def exchange(reactor: Reactor, server: Pieces, pieces: list[bytes], *, segments: bool = False) -> list[Frame | Failure]:
    """The outcomes of the requests."""
    server.pieces = pieces
    server.expected = REQUESTS * len(request()) + (10 if segments else 0)  # one segment around all
    handler = Handler()
    if segments:
        handler.when_connected = lambda channel: channel.enable_segments()
    channel: Channel = reactor.connect(socket.AF_INET, server.address, handler, timeout=TIMEOUT)
    assert handler.connected.wait(TIMEOUT)
    operations = [Operation() for _ in range(REQUESTS)]
    on_reactor(reactor, lambda: [channel.submit(request(), operation) for operation in operations])
    outcomes = [outcome_of(operation) for operation in operations]
    channel.close()
    assert handler.closed.wait(TIMEOUT)
    assert all(operation._take() is None for operation in operations)
    return outcomes


bodies = st.lists(st.binary(max_size=300), min_size=REQUESTS, max_size=REQUESTS)
places = st.lists(st.integers(0, 5000), max_size=12)
order = st.permutations(range(REQUESTS))


def answers(contents: list[bytes], sequence: list[int]) -> bytes:
    return b"".join(Envelope(0x84, 0, i, wire.RESULT, void(contents[i])).pack() for i in sequence)


@FIXTURES
@given(contents=bodies, sequence=order, where=places)
def test_frames_split_anywhere(
    reactor: Reactor, server: Pieces, contents: list[bytes], sequence: list[int], where: list[int]
) -> None:
    outcomes = exchange(reactor, server, cut(answers(contents, sequence), where))
    for content, outcome in zip(contents, outcomes, strict=True):
        assert isinstance(outcome, Frame) and bytes(memoryview(outcome)) == void(content)


@FIXTURES
@given(
    contents=bodies,
    sequence=order,
    where=places,
    spoiled=st.lists(st.tuples(st.integers(0, 5000), st.binary(max_size=3)), min_size=1, max_size=3),
)
def test_spoiled_frames(
    reactor: Reactor,
    server: Pieces,
    contents: list[bytes],
    sequence: list[int],
    where: list[int],
    spoiled: list[tuple[int, bytes]],
) -> None:
    stream = answers(contents, sequence)
    for place, replacement in spoiled:
        at = place % len(stream)
        stream = stream[:at] + replacement + stream[at + 1 :]
    for outcome in exchange(reactor, server, cut(stream, where)):
        assert isinstance(outcome, Frame | Failure)
        if isinstance(outcome, Frame):
            assert len(bytes(memoryview(outcome))) == len(outcome)


@FIXTURES
@given(noise=st.binary(min_size=1, max_size=400), where=places)
def test_noise(reactor: Reactor, server: Pieces, noise: bytes, where: list[int]) -> None:
    for outcome in exchange(reactor, server, cut(noise, where)):
        assert isinstance(outcome, Frame | Failure)


@FIXTURES
@given(contents=bodies, sequence=order, where=places, spoiled=st.lists(st.integers(0, 5000), max_size=2))
def test_segments(
    reactor: Reactor, server: Pieces, contents: list[bytes], sequence: list[int], where: list[int], spoiled: list[int]
) -> None:
    """A flipped bit is always noticed."""
    stream = Segments().pack(answers(contents, sequence))
    for place in spoiled:
        at = place % len(stream)
        stream = stream[:at] + bytes([stream[at] ^ (1 << place % 8)]) + stream[at + 1 :]
    intact = stream == Segments().pack(answers(contents, sequence))
    for content, outcome in zip(contents, exchange(reactor, server, cut(stream, where), segments=True), strict=True):
        if intact:
            assert isinstance(outcome, Frame) and bytes(memoryview(outcome)) == void(content)
        else:
            assert isinstance(outcome, Failure)
