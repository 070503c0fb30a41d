"""Requests of a session, messages of authentication, and the base classes of messages (L2).

A request encodes its envelope, a response decodes its body. Sessions encode their requests directly with the codec;
these classes produce the same bytes for the handshake, the control connection, protocol handlers and users.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

from cassandra._base.constants import Flag, Opcode
from cassandra._base.errors import UnsupportedOperation, encoding_secret
from cassandra._base.objects import public
from cassandra._base.randomness import getrandbits
from cassandra._base.server_errors import _MessageType
from cassandra._core.codec import (
    Bound,
    Reader,
    Writer,
    encode_batch,
    encode_envelope,
    encode_execute,
    encode_parameters,
    encode_prepare,
    encode_query,
)

HEADER_SIZE = 9

#: Metadata id for a statement that was prepared without one. It differs from the server's id, so the server sends the
#: metadata and the id with the result.
NO_METADATA = b""

Payload = Mapping[str, bytes | None] | None


# ---- base classes


class ReadableFile(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class WritableFile(Protocol):
    def write(self, data: bytes, /) -> object: ...


@public("cassandra.protocol")
class RequestMessage(_MessageType):
    """A message from client to server."""

    def encode(
        self,
        version: int,
        *,
        flags: int = 0,
        payload: Payload = None,
        features: Any = None,
    ) -> bytes:
        """Return the whole envelope, with stream id 0, uncompressed. *features* are the negotiated ones, or None."""
        if self.tracing:
            flags |= Flag.TRACING
        return self._encode(version, flags, payload or self.custom_payload, features)

    def _encode(self, version: int, flags: int, payload: Payload, features: Any) -> bytes:
        return encode_envelope(version, flags, self.opcode, self._body(version))

    def _body(self, version: int) -> bytes:
        return b""

    def send_body(self, f: WritableFile, protocol_version: int, protocol_features: Any = None) -> None:
        """Write the body without its custom payload to the file-like *f*."""
        f.write(self._encode(protocol_version, 0, None, protocol_features)[HEADER_SIZE:])


@public("cassandra.protocol")
class ResponseMessage(_MessageType):
    """A message from server to client."""

    stream_id: int | None = None  #: Stream id of the frame.
    _fields: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        """True for a message of the same class with the same content."""
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]


def as_reader(source: Reader | ReadableFile) -> Reader:
    """Return a Reader over the rest of a file-like object; a Reader is returned unchanged."""
    return source if isinstance(source, Reader) else Reader(source.read())


# ---- messages of authentication


@public("cassandra.protocol")
class AuthenticateMessage(ResponseMessage):
    """The server requires authentication; *authenticator* is the class name of its authenticator."""

    opcode = Opcode.AUTHENTICATE
    name = "AUTHENTICATE"
    _fields = ("authenticator",)

    def __init__(self, authenticator: str) -> None:
        self.authenticator = authenticator  #: Class name of the server's authenticator.

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> AuthenticateMessage:
        """Return the message in the body *f*."""
        return cls(as_reader(f).string())


@public("cassandra.protocol")
class CredentialsMessage(RequestMessage):
    """Credentials of protocol 1. It can be created, not sent: no supported protocol version has it."""

    opcode = 0x04
    name = "CREDENTIALS"

    def __init__(self, creds: dict[str, str]) -> None:
        self.creds = creds  #: The credentials, a dict.

    def _body(self, version: int) -> bytes:
        raise UnsupportedOperation(f"CREDENTIALS exists in protocol 1 only: use AUTH_RESPONSE in protocol {version}")

    def __repr__(self) -> str:
        return "<CredentialsMessage(...)>"


@public("cassandra.protocol")
class AuthChallengeMessage(ResponseMessage):
    """The server continues the authentication with a challenge."""

    opcode = Opcode.AUTH_CHALLENGE
    name = "AUTH_CHALLENGE"
    _fields = ("challenge",)

    def __init__(self, challenge: bytes | None) -> None:
        self.challenge = challenge  #: The challenge, as bytes.

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> AuthChallengeMessage:
        """Return the message in the body *f*."""
        return cls(as_reader(f).bytes())


@public("cassandra.protocol")
class AuthResponseMessage(RequestMessage):
    """The client's token. It is a secret: ``repr`` does not show it."""

    opcode = Opcode.AUTH_RESPONSE
    name = "AUTH_RESPONSE"

    def __init__(self, response: bytes | str | None) -> None:
        self.response = response  #: The response, as bytes.

    def _body(self, version: int) -> bytes:
        writer = Writer()
        token = self.response
        writer.bytes(encoding_secret(token.encode) if isinstance(token, str) else token)
        return writer.getvalue()

    def __repr__(self) -> str:
        return "<AuthResponseMessage(...)>"


@public("cassandra.protocol")
class AuthSuccessMessage(ResponseMessage):
    """The client is authenticated."""

    opcode = Opcode.AUTH_SUCCESS
    name = "AUTH_SUCCESS"
    _fields = ("token",)

    def __init__(self, token: bytes | None) -> None:
        self.token = token  #: Final data of the authenticator, as bytes.

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> AuthSuccessMessage:
        """Return the message in the body *f*."""
        return cls(as_reader(f).bytes())


# ---- requests of a session


@public("cassandra.protocol")
class StartupMessage(RequestMessage):
    """Starts a connection and sets its options."""

    opcode = Opcode.STARTUP
    name = "STARTUP"
    KNOWN_OPTION_KEYS: Final = {"CQL_VERSION", "COMPRESSION", "NO_COMPACT"}  #: Names of the options.

    def __init__(self, cqlversion: str, options: Mapping[str, str]) -> None:
        self.cqlversion = cqlversion  #: Version of CQL.
        self.options = options  #: Options, a dict.

    def _body(self, version: int) -> bytes:
        writer = Writer()
        writer.string_map({**self.options, "CQL_VERSION": self.cqlversion})
        return writer.getvalue()


@public("cassandra.protocol")
class OptionsMessage(RequestMessage):
    """Requests the options that the server supports. Also used as heartbeat."""

    opcode = Opcode.OPTIONS
    name = "OPTIONS"


@public("cassandra.protocol")
class RegisterMessage(RequestMessage):
    """Subscribes the connection to events."""

    opcode = Opcode.REGISTER
    name = "REGISTER"

    def __init__(self, event_list: Sequence[str]) -> None:
        self.event_list = event_list  #: Types of the events.

    def _body(self, version: int) -> bytes:
        writer = Writer()
        writer.string_list(list(self.event_list))
        return writer.getvalue()


@public("cassandra.protocol")
class PrepareMessage(RequestMessage):
    """Prepares a statement."""

    opcode = Opcode.PREPARE
    name = "PREPARE"

    def __init__(self, query: str, keyspace: str | None = None) -> None:
        self.query = query  #: Text of the statement.
        self.keyspace = keyspace  #: Keyspace of the statement; None for that of the connection.

    def _encode(self, version: int, flags: int, payload: Payload, features: Any) -> bytes:
        return encode_prepare(version, self.query, flags=flags, payload=payload, keyspace=self.keyspace)


def _named(parameters: Any) -> tuple[list[str] | None, Any]:
    """Return the names of *parameters*, None for those by position, and the values."""
    return (list(parameters), list(parameters.values())) if isinstance(parameters, Mapping) else (None, parameters)


@public("cassandra.protocol")
class _QueryMessage(RequestMessage):
    """Base class of QUERY and EXECUTE."""

    continuous_paging_options: Any = None  #: Without effect.

    def __init__(
        self,
        query_params: Sequence[Any] | Mapping[str, Any] | Bound | None,
        consistency_level: int,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = None,
        paging_state: bytes | None = None,
        timestamp: int | None = None,
        skip_meta: bool = False,
        continuous_paging_options: Any = None,
        keyspace: str | None = None,
    ) -> None:
        if continuous_paging_options is not None:
            raise UnsupportedOperation("continuous paging is an extension of DataStax Enterprise")
        self.query_params = query_params  #: Values of the markers.
        self.consistency_level = consistency_level  #: Consistency level.
        self.serial_consistency_level = serial_consistency_level  #: Serial consistency level; None without.
        self.fetch_size = fetch_size  #: Rows of a page; None for no paging.
        self.paging_state = paging_state  #: Begin after this position; None: at the first row.
        self.timestamp = timestamp  #: Write time in microseconds since 1970; None leaves it to the coordinator.
        self.skip_meta = skip_meta  #: True asks for no metadata of columns.
        self.keyspace = keyspace  #: Keyspace of the statement; None for that of the connection.

    def _options(self) -> dict[str, Any]:
        return {
            "skip_metadata": self.skip_meta,
            "page_size": self.fetch_size or None,
            "paging_state": self.paging_state,
            "serial_consistency": self.serial_consistency_level,
            "timestamp": self.timestamp,
            "keyspace": self.keyspace,
        }

    def _write_query_params(self, f: WritableFile, protocol_version: int) -> None:
        """Write consistency level, flags, values and options (section 4.1.4 of the protocol) to *f*."""
        names, values = _named(self.query_params)
        level = self.consistency_level
        f.write(encode_parameters(protocol_version, level, values=values, names=names, **self._options()))


@public("cassandra.protocol")
class QueryMessage(_QueryMessage):
    """A statement as text, with encoded values if any: a sequence, or a mapping by name."""

    opcode = Opcode.QUERY
    name = "QUERY"

    def __init__(
        self,
        query: str,
        consistency_level: int,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = None,
        paging_state: bytes | None = None,
        timestamp: int | None = None,
        continuous_paging_options: Any = None,
        keyspace: str | None = None,
        query_params: Sequence[Any] | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            query_params,
            consistency_level,
            serial_consistency_level,
            fetch_size,
            paging_state,
            timestamp,
            False,
            continuous_paging_options,
            keyspace,
        )
        self.query = query  #: Text of the statement.

    def _encode(self, version: int, flags: int, payload: Payload, features: Any) -> bytes:
        names, values = _named(self.query_params)
        return encode_query(
            version,
            self.query,
            self.consistency_level,
            values=values,
            names=names,
            flags=flags,
            payload=payload,
            **self._options(),
        )


@public("cassandra.protocol")
class ExecuteMessage(_QueryMessage):
    """A prepared statement by id, with its values: encoded ones, or a ``Bound``."""

    opcode = Opcode.EXECUTE
    name = "EXECUTE"

    def __init__(
        self,
        query_id: bytes,
        query_params: Sequence[Any] | Bound | None,
        consistency_level: int,
        serial_consistency_level: int | None = None,
        fetch_size: int | None = None,
        paging_state: bytes | None = None,
        timestamp: int | None = None,
        skip_meta: bool = False,
        continuous_paging_options: Any = None,
        result_metadata_id: bytes | None = None,
        tablet_version_block: int | None = None,
    ) -> None:
        super().__init__(
            query_params,
            consistency_level,
            serial_consistency_level,
            fetch_size,
            paging_state,
            timestamp,
            skip_meta,
            continuous_paging_options,
        )
        self.query_id = query_id  #: Id of the prepared statement.
        self.result_metadata_id = result_metadata_id  #: Id of the metadata of its columns; None below protocol 5.
        self.tablet_version_block = tablet_version_block  #: What the client knows of tablets (ScyllaDB).

    def _encode(self, version: int, flags: int, payload: Payload, features: Any) -> bytes:
        with_id = version >= 5 or getattr(features, "use_metadata_id", False)
        envelope = encode_execute(
            version,
            self.query_id,
            self.consistency_level,
            self.query_params,  # type: ignore[arg-type]
            result_metadata_id=(self.result_metadata_id or NO_METADATA) if with_id else None,
            flags=flags,
            payload=payload,
            **self._options(),
        )
        if getattr(features, "tablets_routing_v2", False):
            block = self.tablet_version_block
            envelope = append_to_body(
                envelope, bytes([getrandbits(8) if block is None else block])
            )  # random if unknown
        return envelope


@public("cassandra.protocol")
class BatchMessage(RequestMessage):
    """A batch of statements. *queries*: (is prepared, text or id, encoded values) each."""

    opcode = Opcode.BATCH
    name = "BATCH"
    continuous_paging_options: Any = None  #: Without effect.

    def __init__(
        self,
        batch_type: Any,
        queries: Sequence[tuple[bool, Any, Any]],
        consistency_level: int,
        serial_consistency_level: int | None = None,
        timestamp: int | None = None,
        keyspace: str | None = None,
    ) -> None:
        self.batch_type = batch_type  #: Kind of the batch.
        self.queries = queries  #: Statements with their values.
        self.consistency_level = consistency_level  #: Consistency level.
        self.serial_consistency_level = serial_consistency_level  #: Serial consistency level; None without.
        self.timestamp = timestamp  #: Write time in microseconds since 1970; None leaves it to the coordinator.
        self.keyspace = keyspace  #: Keyspace of the statements; None for that of the connection.

    def _encode(self, version: int, flags: int, payload: Payload, features: Any) -> bytes:
        return encode_batch(
            version,
            getattr(self.batch_type, "value", self.batch_type),
            self.queries,
            self.consistency_level,
            flags=flags,
            payload=payload,
            serial_consistency=self.serial_consistency_level,
            timestamp=self.timestamp,
            keyspace=self.keyspace,
        )


@public("cassandra.protocol")
class ReviseRequestMessage(RequestMessage):
    """Flow control of DataStax Enterprise's continuous paging. Kept for compatibility; it cannot be sent."""

    class RevisionType:
        """Kinds of changes."""

        PAGING_CANCEL: Final = 1
        PAGING_BACKPRESSURE: Final = 2

    opcode = 0xFF
    name = "REVISE_REQUEST"

    def __init__(self, op_type: int, op_id: int, next_pages: int = 0) -> None:
        self.op_type = op_type  #: Kind of the change.
        self.op_id = op_id  #: Id of the operation.
        self.next_pages = next_pages  #: Number of further pages.

    def send_body(self, f: WritableFile, protocol_version: int, protocol_features: Any = None) -> None:
        raise UnsupportedOperation("continuous paging is an extension of DataStax Enterprise")

    def _encode(self, version: int, flags: int, payload: Payload, features: Any) -> bytes:
        raise UnsupportedOperation("continuous paging is an extension of DataStax Enterprise")


def append_to_body(envelope: bytes, more: bytes) -> bytes:
    """Return *envelope* with *more* appended to its body."""
    length = len(envelope) - HEADER_SIZE + len(more)
    return b"".join((envelope[:5], struct.pack(">I", length), envelope[HEADER_SIZE:], more))
