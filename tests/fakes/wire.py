"""Bytes of the native protocol, made and read without the driver's codec: what tests compare it with.

Protocol 5, sections 2 (segments) and 3 (notations).
"""

from __future__ import annotations

import ipaddress
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

ERROR, STARTUP, READY, AUTHENTICATE, OPTIONS, SUPPORTED = 0x00, 0x01, 0x02, 0x03, 0x05, 0x06
QUERY, RESULT, PREPARE, EXECUTE, REGISTER, EVENT, BATCH = 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D
AUTH_CHALLENGE, AUTH_RESPONSE, AUTH_SUCCESS = 0x0E, 0x0F, 0x10

COMPRESSED, TRACING, PAYLOAD, WARNING = 0x01, 0x02, 0x04, 0x08


def byte(value: int) -> bytes:
    return struct.pack(">B", value)


def short(value: int) -> bytes:
    return struct.pack(">H", value)


def int32(value: int) -> bytes:
    return struct.pack(">i", value)


def int64(value: int) -> bytes:
    return struct.pack(">q", value)


def string(text: str) -> bytes:
    data = text.encode()
    return short(len(data)) + data


def long_string(text: str) -> bytes:
    data = text.encode()
    return int32(len(data)) + data


def bytes_(data: bytes | None) -> bytes:
    return int32(-1) if data is None else int32(len(data)) + data


def short_bytes(data: bytes) -> bytes:
    return short(len(data)) + data


def string_list(items: Sequence[str]) -> bytes:
    return short(len(items)) + b"".join(map(string, items))


def string_map(items: Mapping[str, str]) -> bytes:
    return short(len(items)) + b"".join(string(k) + string(v) for k, v in items.items())


def string_multimap(items: Mapping[str, Sequence[str]]) -> bytes:
    return short(len(items)) + b"".join(string(k) + string_list(v) for k, v in items.items())


def bytes_map(items: Mapping[str, bytes | None]) -> bytes:
    return short(len(items)) + b"".join(string(k) + bytes_(v) for k, v in items.items())


def inet_addr(address: str) -> bytes:
    packed = ipaddress.ip_address(address).packed
    return byte(len(packed)) + packed


def inet(address: str, port: int) -> bytes:
    return inet_addr(address) + int32(port)


def error(code: int, message: str, more: bytes = b"") -> bytes:
    return int32(code) + string(message) + more


def read_string(data: bytes, offset: int = 0) -> tuple[str, int]:
    (size,) = struct.unpack_from(">H", data, offset)
    return data[offset + 2 : offset + 2 + size].decode(), offset + 2 + size


def read_string_map(data: bytes) -> dict[str, str]:
    (count,) = struct.unpack_from(">H", data)
    offset, items = 2, {}
    for _ in range(count):
        key, offset = read_string(data, offset)
        items[key], offset = read_string(data, offset)
    return items


def read_long_string(data: bytes, offset: int = 0) -> str:
    (size,) = struct.unpack_from(">i", data, offset)
    return data[offset + 4 : offset + 4 + size].decode()


def read_bytes(data: bytes, offset: int = 0) -> bytes:
    (size,) = struct.unpack_from(">i", data, offset)
    return data[offset + 4 : offset + 4 + size]


class Envelope(NamedTuple):
    """One message: header fields and body."""

    version: int  # with the direction bit
    flags: int
    stream: int
    opcode: int
    body: bytes

    def pack(self) -> bytes:
        head = struct.pack(">BBhBI", self.version, self.flags, self.stream, self.opcode, len(self.body))
        return head + self.body


def unpack(data: bytes | bytearray) -> tuple[Envelope, bytes] | None:
    """The first envelope and what follows it; None while it is incomplete."""
    if len(data) < 9:
        return None
    version, flags, stream, opcode, length = struct.unpack_from(">BBhBI", data)
    if len(data) < 9 + length:
        return None
    return Envelope(version, flags, stream, opcode, bytes(data[9 : 9 + length])), bytes(data[9 + length :])


def crc24(data: bytes | bytearray) -> int:
    crc = 0x875060
    for value in data:
        crc ^= value << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    return crc


def crc32(data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(b"\xfa\x2d\x55\xca"))


class Segments:
    """Protocol 5 framing of one connection, one direction at a time."""

    MAX_PAYLOAD = 128 * 1024 - 1

    def __init__(
        self,
        compress: Callable[[bytes], bytes] | None = None,
        decompress: Callable[[bytes, int], bytes] | None = None,
    ) -> None:
        self.compress = compress
        self.decompress = decompress
        self.whole = b""  # payloads of envelopes that span segments

    def pack(self, data: bytes, self_contained: bool = True) -> bytes:
        """One or more segments around *data*."""
        if len(data) > self.MAX_PAYLOAD:
            parts = [data[i : i + self.MAX_PAYLOAD] for i in range(0, len(data), self.MAX_PAYLOAD)]
            return b"".join(self.pack(part, False) for part in parts)
        if self.compress is None:
            header = (len(data) | self_contained << 17).to_bytes(3, "little")
            payload = data
        else:
            packed = self.compress(data)
            payload, plain_length = (packed, len(data)) if len(packed) < len(data) else (data, 0)
            header = (len(payload) | plain_length << 17 | self_contained << 34).to_bytes(5, "little")
        return header + crc24(header).to_bytes(3, "little") + payload + crc32(payload).to_bytes(4, "little")

    def unpack(self, data: bytes | bytearray) -> tuple[bytes, bytes] | None:
        """Envelope bytes of the first segment and what follows it; None while it is incomplete."""
        size = 3 if self.decompress is None else 5
        if len(data) < size + 3:
            return None
        assert int.from_bytes(data[size : size + 3], "little") == crc24(data[:size]), "CRC24 is wrong"
        bits = int.from_bytes(data[:size], "little")
        length = bits & 0x1FFFF
        end = size + 3 + length + 4
        if len(data) < end:
            return None
        payload = bytes(data[size + 3 : end - 4])
        assert int.from_bytes(data[end - 4 : end], "little") == crc32(payload), "CRC32 is wrong"
        if self.decompress is not None and (plain_length := bits >> 17 & 0x1FFFF):
            payload = self.decompress(payload, plain_length)
        return payload, bytes(data[end:])
