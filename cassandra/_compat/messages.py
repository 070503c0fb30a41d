"""The registry of message classes by opcode of scylla-driver's ``cassandra.protocol``, and message classes of programs
that encode their own bodies (L6)."""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterator, Mapping
from typing import Any

from cassandra._base.constants import Flag, ProtocolVersion
from cassandra._base.objects import public
from cassandra._base.server_errors import ERROR_CLASSES, ErrorMessage
from cassandra._core.codec import Writer, encode_envelope
from cassandra._wire.messages import requests, responses
from cassandra._wire.messages.requests import RequestMessage

CUSTOM_TYPE = responses.ResultMessage.type_codes[0]

#: Flags of QUERY and EXECUTE, and (the last ones) of PREPARE and of DSE's paging.
_VALUES_FLAG, _SKIP_METADATA_FLAG, _PAGE_SIZE_FLAG, _WITH_PAGING_STATE_FLAG = 1, 2, 4, 8
_WITH_SERIAL_CONSISTENCY_FLAG, _PROTOCOL_TIMESTAMP_FLAG, _NAMES_FOR_VALUES_FLAG, _WITH_KEYSPACE_FLAG = 16, 32, 64, 128
_PREPARED_WITH_KEYSPACE_FLAG = 1
_PAGE_SIZE_BYTES_FLAG, _PAGING_OPTIONS_FLAG = 1 << 30, 1 << 31

_message_types_by_opcode: dict[int, Any] = {
    message.opcode: message
    for message in (
        ErrorMessage,
        requests.StartupMessage,
        responses.ReadyMessage,
        requests.AuthenticateMessage,
        requests.CredentialsMessage,
        requests.OptionsMessage,
        responses.SupportedMessage,
        requests.QueryMessage,
        responses.ResultMessage,
        requests.PrepareMessage,
        requests.ExecuteMessage,
        requests.RegisterMessage,
        responses.EventMessage,
        requests.BatchMessage,
        requests.AuthChallengeMessage,
        requests.AuthResponseMessage,
        requests.AuthSuccessMessage,
        requests.ReviseRequestMessage,
    )
}


@public("cassandra.protocol")
def register_class(cls: Any) -> None:
    """Register a message class under its opcode. Sessions use ``ProtocolHandler.message_types_by_opcode`` instead."""
    _message_types_by_opcode[cls.opcode] = cls


@public("cassandra.protocol")
def get_registered_classes() -> dict[int, Any]:
    """Return a copy of the registry."""
    return dict(_message_types_by_opcode)


@public("cassandra.protocol")
class _RegisterMessageType(type):
    """Metaclass of message classes: registers classes without a leading underscore."""

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        super().__init__(name, bases, dct)
        if not name.startswith("_"):
            register_class(cls)


@public("cassandra.protocol")
class ErrorMessageSubclass(_RegisterMessageType):
    """Metaclass of error messages: registers each under its code, so that the server's error is an instance of it."""

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        type.__init__(cls, name, bases, dct)
        code = dct.get("error_code")
        if code is not None:
            ERROR_CLASSES[code] = cls  # type: ignore[assignment]


def _get_params(message_obj: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public attributes of a message with their values."""
    for name, value in vars(message_obj).items():
        if not name.startswith("_") and not callable(value):
            yield name, value


def _metadata_id_negotiated(protocol_version: int, protocol_features: Any) -> bool:
    """True if responses to EXECUTE contain a metadata id."""
    return protocol_version >= 5 or bool(getattr(protocol_features, "use_metadata_id", False))


def encode_by_body(cls: Any) -> None:
    """Make *cls*, a message class of a program, encode its body with ``send_body``."""
    if "encode" not in cls.__dict__:
        positional = [
            parameter
            for parameter in inspect.signature(cls.send_body).parameters.values()
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY
        ]
        takes_features = len(positional) > 3 or positional[-1].kind is inspect.Parameter.VAR_POSITIONAL
        cls.encode = _encode_with_features if takes_features else _encode


def _encode(
    self: Any,
    version: int,
    *,
    flags: int = 0,
    payload: Mapping[str, bytes | None] | None = None,
    features: Any = None,
    beside: tuple[Any, ...] = (),
) -> bytes:
    """Return the whole envelope, as ``RequestMessage.encode`` does."""
    body = io.BytesIO()
    payload = payload or self.custom_payload
    if payload:
        flags |= Flag.CUSTOM_PAYLOAD
        writer = Writer()
        writer.bytes_map(payload)
        body.write(writer.getvalue())
    if self.tracing:
        flags |= Flag.TRACING
    self.send_body(body, version, *beside)
    return encode_envelope(version, flags, self.opcode, body.getvalue())


def _encode_with_features(self: Any, version: int, *, features: Any = None, **kwargs: Any) -> bytes:
    return _encode(self, version, beside=(features,), **kwargs)


def _write_fields(message: Any, file: Any, version: int, features: Any, sizes: list[int]) -> None:
    """Write the body of *message*: fields of these *sizes* with separate calls, and the rest with another one."""
    body = io.BytesIO()
    RequestMessage.send_body(message, body, version, features)
    body.seek(0)
    for size in sizes:
        file.write(body.read(size))
    rest = body.read()
    if rest:
        file.write(rest)


class QueryMessage:
    """Aliases of ``cassandra.protocol.QueryMessage``."""

    def send_body(self: Any, f: Any, protocol_version: int, protocol_features: Any = None) -> None:
        """Write the body to *f*, field by field, as tests of programs check the calls."""
        flags = 4 if ProtocolVersion.uses_int_query_flags(protocol_version) else 1
        sizes = [4, len(self.query.encode()), 2, flags]
        before = self.query_params, self.fetch_size, self.paging_state, self.serial_consistency_level, self.timestamp
        if self.keyspace and not any(value is not None for value in before):
            sizes += [2]
        _write_fields(self, f, protocol_version, protocol_features, sizes)


class PrepareMessage:
    """Aliases of ``cassandra.protocol.PrepareMessage``."""

    def send_body(self: Any, f: Any, protocol_version: int, protocol_features: Any = None) -> None:
        """Write the body to *f*, field by field, as tests of programs check the calls."""
        sizes = [4, len(self.query.encode())]
        if ProtocolVersion.uses_prepare_flags(protocol_version):
            sizes += [4] + [2] * bool(self.keyspace)
        _write_fields(self, f, protocol_version, protocol_features, sizes)
