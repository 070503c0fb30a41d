"""One client's connection to a simulated node: bytes in, frames out."""

from __future__ import annotations

import socket
import ssl
import struct
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from cassandra.testing import _compression
from cassandra.testing import _wire as wire
from cassandra.testing._reactor import READ, WRITE, Reactor
from cassandra.testing._wire import BadVersion, Frame, FrameBuffer
from cassandra.testing.errors import CqlError, ProtocolError

CHUNK = 1 << 16
BLOCKED = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
EVENT_STREAM = -1
RESET = struct.pack("ii", 1, 0)  # on, 0 seconds: close() sends RST


@dataclass
class Response:
    """A response before it is framed."""

    opcode: int
    body: bytes = b""
    tracing: UUID | None = None
    warnings: tuple[str, ...] = ()
    payload: dict[str, bytes] = field(default_factory=dict)

    def frame(self, version: int, stream: int) -> Frame:
        flags, prefix = 0, b""
        if self.tracing is not None:
            flags |= wire.TRACING
            prefix += self.tracing.bytes
        if self.warnings and version >= 4:
            flags |= wire.WARNING
            prefix += wire.string_list(self.warnings)
        if self.payload and version >= 4:
            flags |= wire.PAYLOAD
            prefix += wire.bytes_map(self.payload)
        return Frame(version, flags, stream, self.opcode, prefix + self.body)


class Host(Protocol):
    """Interface of the node for its connections."""

    versions: tuple[int, ...]

    @property
    def reactor(self) -> Reactor: ...
    @property
    def shards(self) -> int: ...

    def received(self, connection: Connection, frame: Frame) -> None: ...
    def closed(self, connection: Connection) -> None: ...


@dataclass
class ClientState:
    """Options negotiated with a client, and its state."""

    version: int = 4
    options: dict[str, str] = field(default_factory=dict)
    keyspace: str | None = None
    events: set[str] = field(default_factory=set)
    user: str | None = None
    started: bool = False
    ready: bool = False

    def has(self, extension: str) -> bool:
        return extension in self.options


class Connection:
    """A connection on the server side. Belongs to its reactor's thread."""

    def __init__(self, sock: socket.socket, node: Host, shard: int, number: int, by_port: bool = False) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        self.sock = sock
        self.node = node
        self.shard = shard
        self.number = number
        self.by_port = by_port  # True if it was made to a shard-aware port
        self.peer: tuple[str, int] = sock.getpeername()[:2]
        self.state = ClientState()
        self.open = True
        self._in = FrameBuffer(node.versions)
        self._out = bytearray()
        self._segments = False
        self._compression: str | None = None
        self._paused = False
        self._kept = False
        self._watch()

    @property
    def encrypted(self) -> bool:
        return isinstance(self.sock, ssl.SSLSocket)

    def translate(self, port: int) -> None:
        """Set the shard of the client port *port*, on a shard-aware port."""
        if self.by_port:
            self.shard = port % self.node.shards

    @property
    def control(self) -> bool:
        """True if the client registered for events here."""
        return bool(self.state.events)

    # -- reading

    def pause(self, paused: bool) -> None:
        """Pause or continue reading and writing."""
        self._paused = paused
        self._watch()
        if not paused:
            self.process()
            if self.encrypted:
                self._receive()  # data already decoded by TLS makes no socket readable

    def keep_waiting(self, waits: bool = True) -> None:
        """Hold or continue the handling of requests."""
        self._kept = waits
        if not waits:
            self.process()

    def _watch(self) -> None:
        if self.open:
            events = 0 if self._paused else READ | (WRITE if self._out else 0)
            self.node.reactor.watch(self.sock, events, self._on_events)

    def _on_events(self, events: int) -> None:
        if events & WRITE:
            self._flush()
        if events & READ and self.open:
            self._receive()

    def _receive(self) -> None:
        while self.open and not self._paused:
            try:
                data = self.sock.recv(CHUNK)
            except BLOCKED:
                return
            except OSError:
                data = b""
            if not data:
                self.close()
                return
            self._in.feed(data)
            self.process()
            if not isinstance(self.sock, ssl.SSLSocket) or not self.sock.pending():
                return

    def process(self) -> None:
        """Handle every whole frame received so far."""
        try:
            while self.open and not self._paused and not self._kept and (frame := self._in.next()) is not None:
                self.state.version = frame.version
                self.node.received(self, frame)
        except BadVersion as error:
            self._refuse(error, error.stream, max(self.node.versions))
        except ProtocolError as error:
            self._refuse(error, 0, self.state.version)

    def _refuse(self, error: CqlError, stream: int, version: int) -> None:
        self.send(Response(wire.NUMBERS["ERROR"], error.body(version)), stream, version)
        self.close()

    # -- negotiated options

    def use_compression(self, name: str | None) -> None:
        self._compression = name
        self._in.compression = name

    def use_segments(self) -> None:
        """Use segments from now on, in both directions (protocol 5, after the response to STARTUP)."""
        self._segments = True
        self._in.use_segments()

    # -- writing

    def send(self, response: Response, stream: int, version: int | None = None) -> None:
        version = version or self.state.version
        self.send_raw(self.encode(response.frame(version, stream)))

    def encode(self, frame: Frame) -> bytes:
        """Return a frame as bytes in the negotiated format."""
        if self._segments:
            return wire.segments(frame.encode(), self._compression is not None)
        if self._compression is not None and frame.body and frame.opcode not in (0x02, 0x06):
            body = _compression.compress_frame(self._compression, frame.body)
            frame = Frame(frame.version, frame.flags | wire.COMPRESSED, frame.stream, frame.opcode, body)
        return frame.encode()

    def send_raw(self, data: bytes) -> None:
        if self.open:
            self._out += data
            if not self._paused:
                self._flush()

    def _flush(self) -> None:
        try:
            while self._out:
                del self._out[: self.sock.send(self._out)]
        except BLOCKED:
            pass
        except OSError:
            self.close()
            return
        self._watch()

    def close(self, reset: bool = False) -> None:
        if self.open:
            self.open = False
            self.node.reactor.watch(self.sock, 0, self._on_events)
            if reset:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.sock.close()
            self.node.closed(self)
