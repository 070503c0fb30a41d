"""One client's connection to a simulated node: bytes in, frames out.

Requests are decoded here. Responses are framed, also with other page breaks than those of the node.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import UUID

from cassandra.testing import _wire as wire
from cassandra.testing._reactor import READ, WRITE, Reactor
from cassandra.testing._wire import BadVersion, Frame, FrameBuffer, Reader, WireValue
from cassandra.testing.errors import CONSISTENCIES, CqlError, ProtocolError

CHUNK = 1 << 16
BLOCKED = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
EVENT_STREAM = -1
CLUSTER_EVENTS = ("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE", "CLIENT_ROUTES_CHANGE")
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
        """True if the client registered for events about the cluster here."""
        return any(kind in CLUSTER_EVENTS for kind in self.state.events)

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
            body = wire.compress_frame(self._compression, frame.body)
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


# ---- decoding of requests

EMPTY_STATE = b"sim-empty"  # begins the paging state of an empty page


def empty_state(asked: bytes) -> bytes:
    """Return the paging state of an empty page instead of the one at *asked*: a different one each time, as of a server
    that reads on without finding rows. Four bytes count the empty pages; the state of the real page follows."""
    if not asked.startswith(EMPTY_STATE):
        return EMPTY_STATE + bytes(4) + asked
    head = len(EMPTY_STATE)
    number = int.from_bytes(asked[head : head + 4], "big") + 1
    return EMPTY_STATE + number.to_bytes(4, "big") + asked[head + 4 :]


def behind_empty_pages(state: bytes) -> bytes:
    """Return the state of the page after the empty pages; any other state unchanged."""
    return state[len(EMPTY_STATE) + 4 :] if state.startswith(EMPTY_STATE) else state


BATCH_KINDS = ("LOGGED", "UNLOGGED", "COUNTER")


@dataclass
class Parameters:
    """Parameters of QUERY, EXECUTE and BATCH."""

    consistency: str = "ONE"
    values: Sequence[WireValue] = ()
    names: Sequence[str] | None = None
    skip_metadata: bool = False
    page_size: int = 0
    paging_state: bytes | None = None
    serial_consistency: str | None = None
    timestamp: int | None = None
    keyspace: str | None = None
    now_in_seconds: int | None = None


@dataclass
class BatchPart:
    """A statement of a BATCH: its text or its id."""

    text: str | None
    id: bytes | None
    values: Sequence[WireValue]


@dataclass
class Message:
    """A QUERY, PREPARE, EXECUTE or BATCH."""

    text: str = ""
    id: bytes = b""
    metadata_id: bytes | None = None
    keyspace: str | None = None  # of PREPARE
    parameters: Parameters = field(default_factory=Parameters)
    kind: str = "LOGGED"
    parts: Sequence[BatchPart] = ()
    version_block: int | None = None  # of tablets routing v2


def reader_of(frame: Frame) -> Reader:
    """Return a reader of the body after the custom payload."""
    reader = Reader(frame.body)
    if frame.flags & wire.PAYLOAD:
        if frame.version < 4:
            raise ProtocolError("custom payloads need protocol 4")
        reader.bytes_map()
    return reader


def read_message(frame: Frame, metadata_id: bool, version_block: bool) -> Message:
    """Decode a request. Raise ProtocolError. *metadata_id* and *version_block* are negotiated extensions."""
    reader, name = reader_of(frame), wire.OPCODES[frame.opcode]
    if name == "QUERY":
        message = Message(reader.long_string(), parameters=_parameters(reader, frame.version))
    elif name == "PREPARE":
        message = Message(reader.long_string())
        if frame.version >= 5 and reader.int32() & 0x01:
            message.keyspace = reader.string()
    elif name == "EXECUTE":
        message = Message(id=reader.short_bytes())
        if metadata_id:
            message.metadata_id = reader.short_bytes()
        message.parameters = _parameters(reader, frame.version)
        if version_block:
            message.version_block = reader.byte()
    else:
        message = _batch(reader, frame.version)
    if reader.left:
        raise ProtocolError(f"{reader.left} bytes are left after {name}")
    return message


def _consistency(reader: Reader) -> str:
    number = reader.short()
    if number >= len(CONSISTENCIES):
        raise ProtocolError(f"Unknown code {number} for a consistency level")
    return CONSISTENCIES[number]


def _values(reader: Reader, names: list[str] | None, version: int) -> list[WireValue]:
    values: list[WireValue] = []
    for _ in range(reader.short()):
        if names is not None:
            names.append(reader.string())
        value = reader.value()
        if value is wire.UNSET and version < 4:
            raise ProtocolError("unset values need protocol 4")
        values.append(value)
    return values


def _parameters(reader: Reader, version: int) -> Parameters:
    found = Parameters(_consistency(reader))
    flags = reader.int32() if version >= 5 else reader.byte()
    if flags & 0x01:
        names: list[str] | None = [] if flags & 0x40 else None
        found.values = _values(reader, names, version)
        found.names = names
    found.skip_metadata = bool(flags & 0x02)
    if flags & 0x04:
        found.page_size = max(0, reader.int32())
    if flags & 0x08:
        found.paging_state = reader.bytes_()
    _common(reader, flags, found)
    return found


def _common(reader: Reader, flags: int, found: Parameters) -> None:
    if flags & 0x10:
        found.serial_consistency = _consistency(reader)
        if found.serial_consistency not in ("SERIAL", "LOCAL_SERIAL"):
            raise ProtocolError(
                "Invalid consistency level for conditional update. Must be one of SERIAL or LOCAL_SERIAL"
            )
    if flags & 0x20:
        found.timestamp = reader.int64()
    if flags & 0x80:
        found.keyspace = reader.string()
    if flags & 0x100:
        found.now_in_seconds = reader.int32()


def _batch(reader: Reader, version: int) -> Message:
    kind = reader.byte()
    if kind >= len(BATCH_KINDS):
        raise ProtocolError(f"Invalid BATCH message type {kind}")
    parts = []
    for _ in range(reader.short()):
        if reader.byte() == 0:
            text, statement_id = reader.long_string(), None
        else:
            text, statement_id = None, reader.short_bytes()
        parts.append(BatchPart(text, statement_id, _values(reader, None, version)))
    found = Parameters(_consistency(reader))
    flags = reader.int32() if version >= 5 else reader.byte()
    if flags & 0x40:
        raise ProtocolError("named values are not supported in batches")
    _common(reader, flags, found)
    return Message(kind=BATCH_KINDS[kind], parts=parts, parameters=found)


def paging_state_of(frame: Frame) -> bytes | None:
    """Return the paging state of a QUERY or an EXECUTE."""
    reader, name = reader_of(frame), wire.OPCODES[frame.opcode]
    if name == "QUERY":
        reader.long_string()
    elif name == "EXECUTE":
        reader.short_bytes()
        try:
            return _parameters(reader, frame.version).paging_state
        except ProtocolError:  # then the id of the metadata precedes
            reader = reader_of(frame)
            reader.short_bytes(), reader.short_bytes()
    else:
        return None
    return _parameters(reader, frame.version).paging_state


# ---- other page breaks

ROWS = wire.int32(2)


def is_rows(response: Response) -> bool:
    return response.opcode == wire.NUMBERS["RESULT"] and response.body.startswith(ROWS)


def empty_page(body: bytes, state: bytes) -> bytes:
    """Return a ROWS body without its rows, with *state* as its paging state; other bodies unchanged."""
    reader = Reader(body)
    if reader.int32() != 2:
        return body
    flags, columns = reader.int32(), reader.int32()
    if flags & 0x02:
        reader.bytes_()
    changed = reader.take(2 + int.from_bytes(reader.data[reader.at : reader.at + 2], "big")) if flags & 0x08 else b""
    start = reader.at
    if flags & 0x04 == 0:
        _skip_specs(reader, flags, columns)
    specs = body[start : reader.at]
    head = wire.int32(2) + wire.int32(flags | 0x02) + wire.int32(columns) + wire.bytes_(state)
    return head + changed + specs + wire.int32(0)


def _skip_specs(reader: Reader, flags: int, columns: int) -> None:
    if flags & 0x01:
        reader.string(), reader.string()
    for _ in range(columns):
        if not flags & 0x01:
            reader.string(), reader.string()
        reader.string()
        _skip_option(reader)


def _skip_option(reader: Reader) -> None:
    number = reader.short()
    if number == 0x00:
        reader.string()
    elif number in (0x20, 0x22):
        _skip_option(reader)
    elif number == 0x21:
        _skip_option(reader)
        _skip_option(reader)
    elif number == 0x30:
        reader.string(), reader.string()
        for _ in range(reader.short()):
            reader.string()
            _skip_option(reader)
    elif number == 0x31:
        for _ in range(reader.short()):
            _skip_option(reader)
