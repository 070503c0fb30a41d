"""A client of sockets and bytes: what a node sends is looked at, and nothing is done unasked."""

from __future__ import annotations

import socket
import ssl
from types import TracebackType
from typing import NamedTuple

from cassandra.testing import SimulatedNode
from tests.simulated.conftest import DEADLINE

NUMBERS = {
    "ERROR": 0x00, "STARTUP": 0x01, "READY": 0x02, "OPTIONS": 0x05, "SUPPORTED": 0x06, "QUERY": 0x07, "RESULT": 0x08,
    "REGISTER": 0x0B, "EVENT": 0x0C,
}  # fmt: skip
NAMES = {number: name for name, number in NUMBERS.items()}
SILENCE = 0.1


def text(value: str) -> bytes:
    return len(value).to_bytes(2, "big") + value.encode()


class Answer(NamedTuple):
    name: str
    body: bytes

    @property
    def code(self) -> int:
        """Of an ERROR."""
        assert self.name == "ERROR"
        return int.from_bytes(self.body[:4], "big")


class RawClient:
    """A connection to *port* of a node (its plain one by default), with protocol 4."""

    def __init__(self, node: SimulatedNode, port: int | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection((node.address, port or node.port), DEADLINE)
        self.port: int = self.socket.getsockname()[1]
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=node.address)

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, name: str, body: bytes = b"", stream: int = 0) -> None:
        head = b"\x04\0" + stream.to_bytes(2, "big") + bytes([NUMBERS[name]])
        self.socket.sendall(head + len(body).to_bytes(4, "big") + body)

    def receive(self) -> Answer:
        """The next frame; EOFError when there is none."""
        head = self._exactly(9)
        return Answer(NAMES[head[4]], self._exactly(int.from_bytes(head[5:], "big")))

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                raise EOFError(f"the node has closed the connection after {data!r}")
            data += more
        return data

    def exchange(self, name: str, body: bytes = b"") -> Answer:
        self.send(name, body)
        return self.receive()

    def start(self) -> None:
        assert self.exchange("STARTUP", b"\0\1" + text("CQL_VERSION") + text("3.0.0")).name == "READY"

    def register(self, *events: str) -> None:
        assert self.exchange("REGISTER", len(events).to_bytes(2, "big") + b"".join(map(text, events))).name == "READY"

    def query(self, cql: str) -> Answer:
        """QUERY with consistency ONE and no flags."""
        return self.exchange("QUERY", len(cql).to_bytes(4, "big") + cql.encode() + b"\0\1\0")

    def supported(self) -> dict[str, list[str]]:
        body, at = self.exchange("OPTIONS").body, 0

        def number() -> int:
            nonlocal at
            at += 2
            return int.from_bytes(body[at - 2 : at], "big")

        def string() -> str:
            nonlocal at
            length = number()
            at += length
            return body[at - length : at].decode()

        return {string(): [string() for _ in range(number())] for _ in range(number())}

    def is_closed(self) -> bool:
        """Whether the node closes the connection and sends nothing before; a reset raises ConnectionResetError."""
        return self.socket.recv(1) == b""

    def is_silent(self) -> bool:
        """Whether nothing comes for a moment: an answer that should not come may be late, too."""
        self.socket.settimeout(SILENCE)
        try:
            return not self.socket.recv(1)
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(DEADLINE)
