"""Requests of clients, decoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cassandra.testing import _wire as wire
from cassandra.testing._wire import Frame, Reader, WireValue
from cassandra.testing.errors import CONSISTENCIES, ProtocolError

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
