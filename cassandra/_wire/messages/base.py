"""Base classes of messages: encoding of request envelopes, decoding of response bodies (L2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

from cassandra._base.constants import Flag
from cassandra._base.objects import public
from cassandra._base.server_errors import _MessageType
from cassandra._core.codec import Reader, encode_envelope

HEADER_SIZE = 9


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
        payload: Mapping[str, bytes | None] | None = None,
        features: Any = None,
    ) -> bytes:
        """Return the whole envelope, with stream id 0, uncompressed. *features* are the negotiated ones, or None."""
        if self.tracing:
            flags |= Flag.TRACING
        return self._encode(version, flags, payload or self.custom_payload, features)

    def _encode(self, version: int, flags: int, payload: Mapping[str, bytes | None] | None, features: Any) -> bytes:
        return encode_envelope(version, flags, self.opcode, self._body(version))

    def _body(self, version: int) -> bytes:
        return b""

    def send_body(self, f: WritableFile, protocol_version: int, protocol_features: Any = None) -> None:
        """Write the body without its custom payload to the file-like *f*."""
        f.write(self._encode(protocol_version, 0, None, protocol_features)[HEADER_SIZE:])


@public("cassandra.protocol")
class ResponseMessage(_MessageType):
    """A message from server to client."""

    stream_id: int | None = None
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
