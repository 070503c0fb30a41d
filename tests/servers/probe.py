"""A few raw CQL v4 frames: does the server answer, may we log in, how many peers does it know."""

from __future__ import annotations

import socket
import ssl
import struct

_OPTIONS, _SUPPORTED = 0x05, 0x06
_STARTUP, _READY = 0x01, 0x02
_AUTHENTICATE, _AUTH_RESPONSE, _AUTH_SUCCESS = 0x03, 0x0F, 0x10
_QUERY, _RESULT = 0x07, 0x08
_ERROR = 0x00

USER = PASSWORD = "cassandra"


class ProbeError(Exception):
    """The server is there but did not answer as it should (yet)."""


class Probe:
    """One short-lived connection."""

    def __init__(self, address: str, port: int, tls: ssl.SSLContext | None, timeout: float = 5.0) -> None:
        raw = socket.create_connection((address, port), timeout)
        try:
            self._socket = raw if tls is None else tls.wrap_socket(raw, server_hostname=address)
        except BaseException:
            raw.close()
            raise

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()

    def options(self) -> None:
        """Raises unless the server answers OPTIONS."""
        self._ask(_OPTIONS, b"", _SUPPORTED)

    def login(self) -> None:
        """STARTUP, with the default credentials if the server wants some."""
        body = struct.pack(">H", 1) + _string("CQL_VERSION") + _string("3.0.0")
        opcode, _ = self._ask(_STARTUP, body, _READY, _AUTHENTICATE)
        if opcode == _AUTHENTICATE:
            token = f"\0{USER}\0{PASSWORD}".encode()
            self._ask(_AUTH_RESPONSE, struct.pack(">i", len(token)) + token, _AUTH_SUCCESS)

    def count(self, table: str, where: str = "") -> int:
        """``SELECT count(*)`` of a table."""
        query = f"SELECT count(*) FROM {table} {where}".encode()
        consistency_one, skip_metadata = 1, 2
        body = struct.pack(">i", len(query)) + query + struct.pack(">HB", consistency_one, skip_metadata)
        _, answer = self._ask(_QUERY, body, _RESULT)
        value: int = struct.unpack(">q", answer[-8:])[0]
        return value

    def _ask(self, opcode: int, body: bytes, *expected: int) -> tuple[int, bytes]:
        self._socket.sendall(struct.pack(">BBhBi", 4, 0, 0, opcode, len(body)) + body)
        _, _, _, answer, length = struct.unpack(">BBhBi", self._read(9))
        content = self._read(length)
        if answer not in expected:
            detail = content[6:].decode(errors="replace") if answer == _ERROR else f"opcode {answer}"
            raise ProbeError(f"unexpected answer: {detail}")
        return answer, content

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            if not chunk:
                raise ProbeError("the server closed the connection")
            data += chunk
        return data


def _string(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()
