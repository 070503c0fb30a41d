"""A CQL proxy in front of one real server that can drop, hold, forge and cut, message by message.

It understands protocol 3 and 4 without TLS; clients connect with ``protocol_version=4``. Rules are asked for every
message of their direction until one gives a verdict::

    proxy.on_request = lambda message: DROP if message.opcode == QUERY and b"secret" in message.body else PASS
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.patience import PATIENCE, eventually

ERROR, STARTUP, OPTIONS, QUERY, RESULT, PREPARE, EXECUTE, REGISTER, BATCH = 0, 1, 5, 7, 8, 9, 10, 11, 13

HEADER = struct.Struct(">BBhBI")


@dataclass(frozen=True)
class Message:
    """One envelope, and the proxied connection it travels on."""

    link: Link
    version: int
    flags: int
    stream: int
    opcode: int
    body: bytes

    def wire(self) -> bytes:
        return HEADER.pack(self.version, self.flags, self.stream, self.opcode, len(self.body)) + self.body

    def answer(self, opcode: int, body: bytes) -> bytes:
        """A forged response to this request."""
        return HEADER.pack(self.version | 0x80, 0, self.stream, opcode, len(body)) + body

    def error(self, code: int, text: str, more: bytes = b"") -> Forge:
        """Answer with an ERROR instead of the server."""
        encoded = text.encode()
        return Forge(self.answer(ERROR, struct.pack(">iH", code, len(encoded)) + encoded + more))


@dataclass(frozen=True)
class Verdict:
    """The handling of a message."""

    name: str


@dataclass(frozen=True)
class Forge:
    """These bytes go to the client; the message itself goes nowhere."""

    data: bytes


PASS, DROP, HOLD, CUT = Verdict("pass"), Verdict("drop"), Verdict("hold"), Verdict("cut")

Rule = Callable[[Message], "Verdict | Forge"]


def passing(message: Message) -> Verdict:
    return PASS


@dataclass(eq=False)
class Link:
    """One connection through the proxy."""

    client: socket.socket
    server: socket.socket
    number: int
    registered: bool = False  # it gets events: the control connection
    held: list[tuple[socket.socket, bytes]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, target: socket.socket, data: bytes) -> None:
        with self.lock:
            target.sendall(data)

    def release(self) -> None:
        """Send the held messages, in order."""
        held, self.held = self.held, []
        for target, data in held:
            self.send(target, data)

    def cut(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class FaultProxy:
    """Listens on a free port of 127.0.0.1; a context manager."""

    contact_points = ("127.0.0.1",)

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.on_request: Rule = passing
        self.on_response: Rule = passing
        self.requests: list[Message] = []
        self.links: list[Link] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._closed = False

    def __enter__(self) -> FaultProxy:
        self._spawn(self._accept)
        return self

    def __exit__(self, *exc: object) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(PATIENCE)  # it accepts no more connections
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(PATIENCE)
        for link in self.links:
            link.client.close()
            link.server.close()

    def cut(self) -> None:
        """Close every connection."""
        for link in list(self.links):
            link.cut()

    def wait_held(self, count: int = 1) -> None:
        """Until rules hold that many messages."""
        eventually(lambda: sum(len(link.held) for link in list(self.links)) >= count)

    def release(self) -> None:
        """Send everything that rules held."""
        for link in list(self.links):
            link.release()

    def seen(self, opcode: int, part: bytes = b"") -> list[Message]:
        """Requests that came so far, of *opcode* and with *part* in their body."""
        return [message for message in list(self.requests) if message.opcode == opcode and part in message.body]

    # ---- threads

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True, name="proxy")
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self.target)
            except OSError:
                client.close()
                continue
            link = Link(client, server, len(self.links))
            self.links.append(link)
            if self._closed:
                link.cut()
            self._spawn(self._forward, link, client, server, True)
            self._spawn(self._forward, link, server, client, False)

    def _forward(self, link: Link, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with contextlib.suppress(OSError):
            for message in _messages(link, source):
                if is_request:
                    self.requests.append(message)
                    link.registered |= message.opcode == REGISTER
                verdict = (self.on_request if is_request else self.on_response)(message)
                if isinstance(verdict, Forge):
                    link.send(link.client, verdict.data)
                elif verdict is PASS:
                    link.send(target, message.wire())
                elif verdict is HOLD:
                    link.held.append((target, message.wire()))
                elif verdict is CUT:
                    break
        link.cut()


def _messages(link: Link, source: socket.socket) -> Iterator[Message]:
    with source.makefile("rb") as stream:
        while len(header := stream.read(HEADER.size)) == HEADER.size:
            version, flags, number, opcode, length = HEADER.unpack(header)
            body = stream.read(length)
            if len(body) < length:
                return
            yield Message(link, version, flags, number, opcode, body)
