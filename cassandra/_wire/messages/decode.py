"""Decoding of a response frame to its message (L2), for all responses except rows that a session decodes itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra._base.constants import Flag, Opcode
from cassandra._base.errors import ProtocolError
from cassandra._base.server_errors import _MessageType
from cassandra._core.codec import Reader, ResultPlan, TypeContext, decode_result
from cassandra._core.transport import Frame
from cassandra._wire.messages.auth import AuthChallengeMessage, AuthenticateMessage, AuthSuccessMessage
from cassandra._wire.messages.errors import read_error
from cassandra._wire.messages.events import EventMessage
from cassandra._wire.messages.results import ReadyMessage, ResultMessage, SupportedMessage

Decompress = Callable[[Any], bytes]

_PREFIX_FLAGS = Flag.TRACING | Flag.WARNING | Flag.CUSTOM_PAYLOAD
_DECODERS: dict[int, Callable[[Reader, int], Any]] = {
    Opcode.READY: ReadyMessage.recv_body,
    Opcode.AUTHENTICATE: AuthenticateMessage.recv_body,
    Opcode.SUPPORTED: SupportedMessage.recv_body,
    Opcode.EVENT: EventMessage.recv_body,
    Opcode.AUTH_CHALLENGE: AuthChallengeMessage.recv_body,
    Opcode.AUTH_SUCCESS: AuthSuccessMessage.recv_body,
}
_NAMES = {value: name for name, value in vars(Opcode).items() if not name.startswith("_")}


def decode_response(
    frame: Frame,
    context: TypeContext,
    *,
    decompress: Decompress | None = None,
    plan: ResultPlan | None = None,
    metadata_ids: bool = False,
    lwt_mask: int = 0,
    rate_limit_error: int | None = None,
    result_class: type[ResultMessage] = ResultMessage,
) -> Any:
    """Return the message of *frame*. An ERROR is returned, not raised. Raise ProtocolError for a malformed body.

    *decompress* is for compressed bodies of protocol 3 and 4; *plan* is for rows that come without metadata.
    """
    opcode = frame.opcode
    body, flags = _plain_body(frame, decompress)
    try:
        if opcode == Opcode.RESULT:
            return decode_result(
                result_class,
                body,
                flags,
                frame.version,
                context,
                plan,
                stream_id=frame.stream,
                lwt_mask=lwt_mask,
                metadata_ids=metadata_ids,
            )
        if opcode not in _NAMES:
            raise ProtocolError("unknown opcode")
        return _decode_other(opcode, Reader(body), flags, frame, rate_limit_error)
    except (ProtocolError, ValueError) as error:
        name = _NAMES.get(opcode, f"0x{opcode:02x}")
        raise ProtocolError(f"malformed {name} message: {error}") from error


def _plain_body(frame: Frame, decompress: Decompress | None) -> tuple[Any, int]:
    """Return the uncompressed body and the remaining flags. Protocol 5 compresses segments; its envelope flag is
    ignored."""
    flags = frame.flags
    if not flags & Flag.COMPRESSED or frame.version >= 5:
        return frame, flags
    if decompress is None:
        raise ProtocolError("compressed message on a connection without compression")
    return decompress(frame), flags & ~Flag.COMPRESSED


def _decode_other(opcode: int, reader: Reader, flags: int, frame: Frame, rate_limit_error: int | None) -> _MessageType:
    prefix = read_prefix(reader, flags)
    message: Any
    if opcode == Opcode.ERROR:
        message = read_error(reader, frame.version, rate_limit_error)
    elif (decode := _DECODERS.get(opcode)) is not None:
        message = decode(reader, frame.version)
    else:
        raise ProtocolError("the server sent a request opcode")
    message.stream_id = frame.stream
    set_prefix(message, prefix)
    return message  # type: ignore[no-any-return]


def set_prefix(message: Any, prefix: tuple[Any, list[str] | None, dict[str, bytes | None] | None] | None) -> None:
    """Set the prefix fields of *message*. Missing fields are not assigned, as every class has None as their default."""
    if prefix is None:
        return
    for name, value in zip(("trace_id", "warnings", "custom_payload"), prefix, strict=True):
        if value is not None:
            setattr(message, name, value)


def read_prefix(reader: Reader, flags: int) -> tuple[Any, list[str] | None, dict[str, bytes | None] | None] | None:
    """Return tracing id, warnings and custom payload, which precede the message itself; None without any."""
    if not flags & _PREFIX_FLAGS:
        return None
    trace_id = reader.uuid() if flags & Flag.TRACING else None
    warnings = reader.string_list() if flags & Flag.WARNING else None
    return trace_id, warnings, reader.bytes_map() if flags & Flag.CUSTOM_PAYLOAD else None
