"""Messages of authentication during the handshake (L2)."""

from __future__ import annotations

from typing import Any

from cassandra._base.constants import Opcode
from cassandra._base.errors import UnsupportedOperation
from cassandra._base.objects import public
from cassandra._core.codec import Reader, Writer
from cassandra._wire.messages.base import ReadableFile, RequestMessage, ResponseMessage, as_reader


@public("cassandra.protocol")
class AuthenticateMessage(ResponseMessage):
    """The server requires authentication; *authenticator* is the class name of its authenticator."""

    opcode = Opcode.AUTHENTICATE
    name = "AUTHENTICATE"
    _fields = ("authenticator",)

    def __init__(self, authenticator: str) -> None:
        self.authenticator = authenticator

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> AuthenticateMessage:
        return cls(as_reader(f).string())


@public("cassandra.protocol")
class CredentialsMessage(RequestMessage):
    """Credentials of protocol 1. It can be created, not sent: no supported protocol version has it."""

    opcode = 0x04
    name = "CREDENTIALS"

    def __init__(self, creds: dict[str, str]) -> None:
        self.creds = creds

    def _body(self, version: int) -> bytes:
        raise UnsupportedOperation(f"CREDENTIALS exists in protocol 1 only: use AUTH_RESPONSE in protocol {version}")

    def __repr__(self) -> str:
        return "<CredentialsMessage(...)>"


@public("cassandra.protocol")
class AuthChallengeMessage(ResponseMessage):
    opcode = Opcode.AUTH_CHALLENGE
    name = "AUTH_CHALLENGE"
    _fields = ("challenge",)

    def __init__(self, challenge: bytes | None) -> None:
        self.challenge = challenge

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> AuthChallengeMessage:
        return cls(as_reader(f).bytes())


@public("cassandra.protocol")
class AuthResponseMessage(RequestMessage):
    """The client's token. It is a secret: ``repr`` does not show it."""

    opcode = Opcode.AUTH_RESPONSE
    name = "AUTH_RESPONSE"

    def __init__(self, response: bytes | str | None) -> None:
        self.response = response

    def _body(self, version: int) -> bytes:
        writer = Writer()
        token = self.response
        writer.bytes(token.encode() if isinstance(token, str) else token)
        return writer.getvalue()

    def __repr__(self) -> str:
        return "<AuthResponseMessage(...)>"


@public("cassandra.protocol")
class AuthSuccessMessage(ResponseMessage):
    opcode = Opcode.AUTH_SUCCESS
    name = "AUTH_SUCCESS"
    _fields = ("token",)

    def __init__(self, token: bytes | None) -> None:
        self.token = token

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> AuthSuccessMessage:
        return cls(as_reader(f).bytes())
