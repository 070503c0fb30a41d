"""Answers received over a local socket by a real channel: from the first byte sent until the last one is delivered."""

from __future__ import annotations

import contextlib
import socket
import struct
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from cassandra._core.transport import Channel, Operation, Reactor

HEADER = struct.Struct(">BBhBI")
REQUEST = HEADER.pack(4, 0, 0, 7, 0)
VOID = struct.pack(">I", 1)
#: How many answers are sent at once, and the length of each.
SHAPES = {"burst": (200, 300), "large": (1, 1 << 20)}
PATIENCE = 60.0


class Handler:
    """Of a channel: only wants to know that it is open."""

    def __init__(self) -> None:
        self.connected = threading.Event()

    def on_connected(self, channel: Channel) -> None:
        self.connected.set()

    def on_event(self, channel: Channel, frame: Any) -> None:
        """There are none."""

    def on_closed(self, channel: Channel, error: BaseException | None) -> None:
        """At the end."""


class Peer:
    """The other end, which answers when it is told to."""

    def __init__(self, channel: Channel, connection: socket.socket) -> None:
        self._channel = channel
        self._connection = connection
        self.send = connection.sendall
        self.operations: list[Operation] = []

    def prepare(self, count: int, size: int) -> bytes:
        """*count* requests, sent and read; their answers."""
        self.operations = [Operation() for _ in range(count)]
        for operation in self.operations:
            self._channel.submit(REQUEST, operation, 0, PATIENCE)
        received = b""
        while len(received) < count * HEADER.size:
            received += self._connection.recv(1 << 16)
        body = VOID.ljust(size, b"x")
        return b"".join(
            HEADER.pack(0x84, 0, stream, 8, size) + body for _, _, stream, _, _ in HEADER.iter_unpack(received)
        )

    def delivered(self) -> None:
        if not all(operation._wait(PATIENCE) for operation in reversed(self.operations)):
            raise TimeoutError("an answer is missing")


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    reactor = Reactor()
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = f"{folder}/socket"
        listener.bind(path)
        listener.listen()
        handler = Handler()
        channel = reactor.connect(socket.AF_UNIX, path, handler, timeout=PATIENCE)
        connection, _ = listener.accept()
        with connection:
            handler.connected.wait(PATIENCE)
            peer = Peer(channel, connection)
            works = {
                name: Work(
                    "send(answers); delivered()",
                    {"prepare": peer.prepare, "send": peer.send, "delivered": peer.delivered, "shape": shape},
                    once=True,
                    whole_process=True,
                    setup="answers = prepare(*shape)",
                )
                for name, shape in SHAPES.items()
            }
            yield Client(works)
        reactor.stop(PATIENCE)


if __name__ == "__main__":
    run("benchmarks.clients.receive", make)
