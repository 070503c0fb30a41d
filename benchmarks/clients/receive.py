"""Answers received over a local socket by a real channel: from the first byte sent until the last one is delivered."""

from __future__ import annotations

import contextlib
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

from benchmarks.clients.harness import Client, Work, run
from cassandra._core.transport import Channel, Operation, Reactor
from cassandra.testing._wire import SEGMENT_PAYLOAD, segments

HEADER = struct.Struct(">BBhBI")
VOID = struct.pack(">I", 1)
#: How many answers are sent at once, and the length of each; in protocol 4 and, in segments, 5.
SHAPES = {"burst": (200, 300), "large": (1, 1 << 20)}
SEGMENTED = {f"{name} v5": shape for name, shape in SHAPES.items()}
ALL = SHAPES | SEGMENTED
SEGMENT = 6, 4  # bytes before a payload and behind it
PATIENCE = 60.0


class Handler:
    """Of a channel: only wants to know that it is open, and has it speak its *version*."""

    def __init__(self, version: int) -> None:
        self.connected = threading.Event()
        self._version = version

    def on_connected(self, channel: Channel) -> None:
        channel.set_protocol(self._version)
        if self._version >= 5:
            channel.enable_segments()
        self.connected.set()

    def on_event(self, channel: Channel, frame: Any) -> None:
        """There are none."""

    def on_closed(self, channel: Channel, error: BaseException | None) -> None:
        """At the end."""


class Peer:
    """The other end, which answers when it is told to."""

    def __init__(self, channel: Channel, connection: socket.socket, requests: BinaryIO, version: int) -> None:
        self._channel = channel
        self._version = version
        self._requests = requests
        self.send = connection.sendall
        self.operations: list[Operation] = []

    def prepare(self, count: int, size: int) -> bytes:
        """*count* requests, sent and read; their answers."""
        self.operations = [Operation() for _ in range(count)]
        request = HEADER.pack(self._version, 0, 0, 7, 0)
        for operation in self.operations:
            self._channel.submit(request, operation, 0, PATIENCE)
        body = VOID.ljust(size, b"x")
        received = self._read(count * HEADER.size)
        answers = b"".join(
            HEADER.pack(0x80 | self._version, 0, stream, 8, size) + body
            for _, _, stream, _, _ in HEADER.iter_unpack(received)
        )
        return answers if self._version < 5 else segments(answers, compressed=False)

    def _read(self, size: int) -> bytes:
        """Requests of *size* bytes in all."""
        if self._version < 5:
            return self._requests.read(size)
        before, behind = SEGMENT
        received = b""
        while len(received) < size:
            payload = int.from_bytes(self._requests.read(before)[:3], "little") & SEGMENT_PAYLOAD
            received += self._requests.read(payload + behind)[:payload]
        return received

    def delivered(self) -> None:
        if not all(operation._wait(PATIENCE) for operation in reversed(self.operations)):
            raise TimeoutError("an answer is missing")


@contextlib.contextmanager
def peers(reactor: Reactor) -> Iterator[dict[int, Peer]]:
    """The other ends of two channels, by the version they speak."""
    with contextlib.ExitStack() as stack:
        path = f"{stack.enter_context(tempfile.TemporaryDirectory())}/socket"
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(path)
        listener.listen()
        found = {}
        for version in (4, 5):
            handler = Handler(version)
            channel = reactor.connect(socket.AF_UNIX, path, handler, timeout=PATIENCE)
            connection = stack.enter_context(listener.accept()[0])
            handler.connected.wait(PATIENCE)
            requests = stack.enter_context(connection.makefile("rb"))
            found[version] = Peer(channel, connection, requests, version)
        yield found


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    reactor = Reactor()
    with peers(reactor) as found:
        yield Client({name: work(found[5 if name in SEGMENTED else 4], shape) for name, shape in ALL.items()})
    reactor.stop(PATIENCE)


def work(peer: Peer, shape: tuple[int, int]) -> Work:
    return Work(
        "send(answers); delivered()",
        {"prepare": peer.prepare, "send": peer.send, "delivered": peer.delivered, "shape": shape},
        once=True,
        whole_process=True,
        setup="answers = prepare(*shape)",
    )


if __name__ == "__main__":
    run("benchmarks.clients.receive", make)
