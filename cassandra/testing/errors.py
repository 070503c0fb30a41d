"""Error responses of a simulated node; also used by :class:`~cassandra.testing.faults.Fail`.

Each is an ERROR response of the native protocol: a code, a message, and the fields of the specification::

    error = Unavailable(consistency="QUORUM", required=2, alive=1)
    cluster.inject(Fail(error), query="INSERT", times=1)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

CONSISTENCIES = (
    "ANY", "ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "SERIAL", "LOCAL_SERIAL", "LOCAL_ONE",
)  # fmt: skip


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def _consistency(name: str) -> bytes:
    return struct.pack(">H", CONSISTENCIES.index(name.upper()))


@dataclass
class CqlError(Exception):
    """A server's error with only a code and a message."""

    message: str = "simulated"  #: Message of the error.
    code: int = 0x0000  #: Code of the error.

    CODE: ClassVar[int] = 0x0000  #: Code of this kind of error.

    def __post_init__(self) -> None:
        super().__init__(self.message)
        self.code = self.code or type(self).CODE

    def fields(self, version: int) -> bytes:
        """Return the fields after code and message in a protocol of *version*."""
        return b""

    def body(self, version: int) -> bytes:
        """Return the details in the body of the response."""
        return struct.pack(">i", self.code) + _string(self.message) + self.fields(version)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), dict(vars(self))))

    __hash__ = Exception.__hash__


def _rebuild(cls: type[CqlError], state: dict[str, object]) -> CqlError:
    error = cls.__new__(cls)
    vars(error).update(state)
    return error


class ServerError(CqlError):
    """An unexpected error."""

    CODE = 0x0000


class ProtocolError(CqlError):
    """The client violated the protocol."""

    CODE = 0x000A


class BadCredentials(CqlError):
    """User name or password is invalid."""

    CODE = 0x0100


class Overloaded(CqlError):
    """The coordinator is overloaded."""

    CODE = 0x1001


class Bootstrapping(CqlError):
    """The coordinator is not ready yet."""

    CODE = 0x1002


class TruncateError(CqlError):
    """A TRUNCATE failed."""

    CODE = 0x1003


class SyntaxError(CqlError):
    """The statement is not valid CQL."""

    CODE = 0x2000


class Unauthorized(CqlError):
    """The user lacks the permission."""

    CODE = 0x2100


class InvalidRequest(CqlError):
    """The statement is valid CQL, but cannot be executed."""

    CODE = 0x2200


class ConfigError(CqlError):
    """The statement requests an invalid configuration."""

    CODE = 0x2300


class NotSupported(InvalidRequest):
    """CQL that the simulation does not support, although a real server may."""

    def __init__(self, what: str) -> None:
        super().__init__(f"not supported by the simulation: {what}")


@dataclass
class Unavailable(CqlError):
    """Not enough replicas are alive."""

    consistency: str = "ONE"  #: The consistency level of the request.
    required: int = 1  #: Number of replicas that must be alive.
    alive: int = 0  #: Number of replicas that are alive.

    CODE = 0x1000
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        return _consistency(self.consistency) + struct.pack(">ii", self.required, self.alive)


@dataclass
class WriteTimeout(CqlError):
    """Replicas did not acknowledge a write in time."""

    consistency: str = "ONE"  #: Consistency level.
    received: int = 0  #: Number of replicas that have responded.
    required: int = 1  #: Number of replicas that must respond.
    write_type: str = "SIMPLE"  #: Kind of the write, a :class:`WriteType`.
    contentions: int = 0  #: Number of lost races of a conditional write.

    CODE = 0x1100
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        data = _consistency(self.consistency) + struct.pack(">ii", self.received, self.required)
        tail = struct.pack(">H", self.contentions) if version >= 5 and self.write_type == "CAS" else b""
        return data + _string(self.write_type) + tail


@dataclass
class ReadTimeout(CqlError):
    """Replicas did not respond to a read in time."""

    consistency: str = "ONE"  #: Consistency level.
    received: int = 0  #: Number of replicas that have responded.
    required: int = 1  #: Number of replicas that must respond.
    data_present: bool = False  #: True if the replica asked for data has responded.

    CODE = 0x1200
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        return _consistency(self.consistency) + struct.pack(">iiB", self.received, self.required, self.data_present)


def _failures(reasons: Sequence[tuple[bytes, int]], version: int) -> bytes:
    """Return the number of failures; since protocol 5 with the address (packed) and the reason of each."""
    data = struct.pack(">i", len(reasons))
    if version >= 5:
        data += b"".join(struct.pack(">B", len(address)) + address + struct.pack(">H", why) for address, why in reasons)
    return data


@dataclass
class ReadFailure(CqlError):
    """Replicas failed to read."""

    consistency: str = "ONE"  #: Consistency level.
    received: int = 0  #: Number of replicas that have responded.
    required: int = 1  #: Number of replicas that must respond.
    #: Error codes by address of the replicas that failed.
    reasons: Sequence[tuple[bytes, int]] = ((b"\x7f\x00\x00\x01", 0),)
    data_present: bool = False  #: True if the replica asked for data has responded.

    CODE = 0x1300
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        data = _consistency(self.consistency) + struct.pack(">ii", self.received, self.required)
        return data + _failures(self.reasons, version) + struct.pack(">B", self.data_present)


@dataclass
class WriteFailure(CqlError):
    """Replicas failed to write."""

    consistency: str = "ONE"  #: Consistency level.
    received: int = 0  #: Number of replicas that have responded.
    required: int = 1  #: Number of replicas that must respond.
    #: Error codes by address of the replicas that failed.
    reasons: Sequence[tuple[bytes, int]] = ((b"\x7f\x00\x00\x01", 0),)
    write_type: str = "SIMPLE"  #: Kind of the write, a :class:`WriteType`.

    CODE = 0x1500
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        data = _consistency(self.consistency) + struct.pack(">ii", self.received, self.required)
        return data + _failures(self.reasons, version) + _string(self.write_type)


@dataclass
class FunctionFailure(CqlError):
    """A function raised."""

    keyspace: str = ""  #: Keyspace of the function.
    function: str = ""  #: Name of the function.
    arg_types: Sequence[str] = ()  #: CQL types of its arguments.

    CODE = 0x1400
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        types = struct.pack(">H", len(self.arg_types)) + b"".join(map(_string, self.arg_types))
        return _string(self.keyspace) + _string(self.function) + types


class CdcWriteFailure(CqlError):
    """The CDC log could not be written."""

    CODE = 0x1600


@dataclass
class CasWriteUnknown(CqlError):
    """The result of a conditional write is unknown."""

    consistency: str = "SERIAL"  #: Consistency level.
    received: int = 0  #: Number of replicas that have responded.
    required: int = 1  #: Number of replicas that must respond.

    CODE = 0x1700
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        return _consistency(self.consistency) + struct.pack(">ii", self.received, self.required)


@dataclass
class AlreadyExists(CqlError):
    """The keyspace or table exists already (*table* is empty for a keyspace)."""

    keyspace: str = ""  #: Name of the keyspace.
    table: str = ""  #: Name of the table; empty if the keyspace itself exists.

    CODE = 0x2400
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        return _string(self.keyspace) + _string(self.table)


@dataclass
class Unprepared(CqlError):
    """The prepared statement is unknown to the node."""

    statement_id: bytes = field(default=b"")  #: Id of the statement.

    CODE = 0x2500
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        return struct.pack(">H", len(self.statement_id)) + self.statement_id


@dataclass
class RateLimit(CqlError):
    """Too many requests for one partition; a CONFIG_ERROR for clients without ScyllaDB's extension."""

    write: bool = True  #: True for a write.
    by_coordinator: bool = False  #: True if the coordinator rejected it.

    CODE = 0x4321  # the code that the simulation announces in SUPPORTED
    __hash__ = Exception.__hash__

    def fields(self, version: int) -> bytes:
        return struct.pack(">BB", self.write, self.by_coordinator)
