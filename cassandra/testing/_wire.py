"""Bytes of the native protocol: primitives, frames, protocol 5 segments. Shares no code with the driver, on purpose.

LZ4 blocks and Snappy are in plain Python: slow, without dependencies. Varints, decimals and durations are numbers of
variable size.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final
from uuid import UUID

from cassandra.testing.errors import ProtocolError

HEADER: Final = 9
MAX_BODY: Final = 256 << 20
SEGMENT_PAYLOAD: Final = (1 << 17) - 1
COMPRESSED, TRACING, PAYLOAD, WARNING, BETA = 0x01, 0x02, 0x04, 0x08, 0x10

OPCODES: Final = {
    0x00: "ERROR", 0x01: "STARTUP", 0x02: "READY", 0x03: "AUTHENTICATE", 0x05: "OPTIONS", 0x06: "SUPPORTED",
    0x07: "QUERY", 0x08: "RESULT", 0x09: "PREPARE", 0x0A: "EXECUTE", 0x0B: "REGISTER", 0x0C: "EVENT", 0x0D: "BATCH",
    0x0E: "AUTH_CHALLENGE", 0x0F: "AUTH_RESPONSE", 0x10: "AUTH_SUCCESS",
}  # fmt: skip
NUMBERS: Final = {name: number for number, name in OPCODES.items()}


class Unset:
    """The value by which a client leaves a stored value unchanged."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()
WireValue = bytes | None | Unset


# ---- encoding of primitives


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


def bytes_(data: bytes | None) -> bytes:
    return int32(-1) if data is None else int32(len(data)) + data


def short_bytes(data: bytes) -> bytes:
    return short(len(data)) + data


def string_list(items: Sequence[str]) -> bytes:
    return short(len(items)) + b"".join(map(string, items))


def string_multimap(items: Mapping[str, Sequence[str]]) -> bytes:
    return short(len(items)) + b"".join(string(key) + string_list(values) for key, values in items.items())


def bytes_map(items: Mapping[str, bytes]) -> bytes:
    return short(len(items)) + b"".join(string(key) + bytes_(value) for key, value in items.items())


def inet_addr(packed: bytes) -> bytes:
    return byte(len(packed)) + packed


def inet(packed: bytes, port: int) -> bytes:
    return inet_addr(packed) + int32(port)


# ---- decoding of primitives


class Reader:
    """Reads a request body; raises :class:`ProtocolError` for invalid data."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise ProtocolError(f"expected {count} bytes at {self.at} of a body of {len(self.data)}")
        self.at += count
        return self.data[self.at - count : self.at]

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def byte(self) -> int:
        return self.take(1)[0]

    def short(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self.take(8), "big", signed=True)

    def string(self) -> str:
        return _text(self.take(self.short()))

    def long_string(self) -> str:
        return _text(self.take(self.int32()))

    def bytes_(self) -> bytes | None:
        length = self.int32()
        return None if length < 0 else self.take(length)

    def value(self) -> WireValue:
        length = self.int32()
        if length == -2:
            return UNSET
        if length < -2:
            raise ProtocolError(f"invalid length of a value: {length}")
        return None if length == -1 else self.take(length)

    def short_bytes(self) -> bytes:
        return self.take(self.short())

    def string_list(self) -> list[str]:
        return [self.string() for _ in range(self.short())]

    def string_map(self) -> dict[str, str]:
        return {self.string(): self.string() for _ in range(self.short())}

    def bytes_map(self) -> dict[str, bytes | None]:
        return {self.string(): self.bytes_() for _ in range(self.short())}

    def uuid(self) -> UUID:
        return UUID(bytes=self.take(16))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ProtocolError(f"not UTF-8: {error}") from None


# ---- frames and segments


@dataclass
class Frame:
    """One message: a request or a response."""

    version: int
    flags: int
    stream: int
    opcode: int
    body: bytes

    def encode(self, response: bool = True) -> bytes:
        version = self.version | 0x80 if response else self.version
        return struct.pack(">BBhBI", version, self.flags, self.stream, self.opcode, len(self.body)) + self.body


class BadVersion(ProtocolError):
    """A request in an unsupported protocol version."""

    def __init__(self, version: int, stream: int, supported: Iterable[int]) -> None:
        names = ", ".join(f"{number}/v{number}" for number in supported)
        super().__init__(f"Invalid or unsupported protocol version ({version}); supported versions are ({names})")
        self.stream = stream


class FrameBuffer:
    """Splits received data into frames; after :meth:`use_segments` through protocol 5's segments."""

    def __init__(self, versions: Sequence[int]) -> None:
        self.versions = versions
        self.compression: str | None = None
        self._segments = False
        self._raw = bytearray()
        self._stream = bytearray()  # of envelopes

    def use_segments(self) -> None:
        self._segments = True
        self._raw, self._stream = self._stream, bytearray()

    def feed(self, data: bytes) -> None:
        (self._raw if self._segments else self._stream).extend(data)

    def next(self) -> Frame | None:
        """Return the next whole frame, None when more bytes are needed."""
        while self._segments and self._take_segment():
            pass
        data = self._stream
        if not data:
            return None
        version = data[0] & 0x7F
        if len(data) < HEADER:
            return None
        flags, stream, opcode, length = struct.unpack_from(">BhBI", data, 1)
        if version not in self.versions:
            raise BadVersion(version, stream, self.versions)
        if data[0] & 0x80 or length > MAX_BODY:
            raise ProtocolError("invalid direction or length of a request")
        if len(data) < HEADER + length:
            return None
        body = bytes(data[HEADER : HEADER + length])
        del data[: HEADER + length]
        if flags & COMPRESSED and not self._segments:
            if self.compression is None:
                raise ProtocolError("compressed frame without negotiated compression")
            body = decompress_frame(self.compression, body)
        return Frame(version, flags, stream, opcode, body)

    def _take_segment(self) -> bool:
        raw, wide = self._raw, self.compression is not None
        size = 5 if wide else 3
        if len(raw) < size + 3:
            return False
        head = int.from_bytes(raw[:size], "little")
        if crc24(bytes(raw[:size])) != int.from_bytes(raw[size : size + 3], "little"):
            raise ProtocolError("the checksum of a segment's header does not match")
        length = head & 0x1FFFF
        end = size + 3 + length
        if len(raw) < end + 4:
            return False
        payload = bytes(raw[size + 3 : end])
        if crc32(payload) != int.from_bytes(raw[end : end + 4], "little"):
            raise ProtocolError("the checksum of a segment's payload does not match")
        del raw[: end + 4]
        plain = (head >> 17) & 0x1FFFF if wide else 0
        self._stream += lz4_decompress(payload, plain) if plain else payload
        return True


def segments(data: bytes, compressed: bool) -> bytes:
    """Return *data*, one or several whole envelopes, in protocol 5 segments."""
    parts = [data[at : at + SEGMENT_PAYLOAD] for at in range(0, len(data), SEGMENT_PAYLOAD)]
    return b"".join(_segment(part, len(parts) == 1, compressed) for part in parts)


def _segment(payload: bytes, whole: bool, compressed: bool) -> bytes:
    if compressed:
        packed = lz4_compress(payload)
        plain = len(payload)
        if len(packed) >= plain:  # a segment that does not shrink is sent uncompressed
            packed, plain = payload, 0
        head = (len(packed) | plain << 17 | int(whole) << 34).to_bytes(5, "little")
        payload = packed
    else:
        head = (len(payload) | int(whole) << 17).to_bytes(3, "little")
    checks = crc24(head).to_bytes(3, "little"), crc32(payload).to_bytes(4, "little")
    return head + checks[0] + payload + checks[1]


def crc24(data: bytes) -> int:
    crc = 0x875060
    for octet in data:
        crc ^= octet << 16
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= 0x1974F0B
    return crc


def crc32(data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(b"\xfa\x2d\x55\xca"))


# ---- numbers of variable size


def pack_varint(value: int) -> bytes:
    return value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)


def unpack_varint(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def pack_decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)) or "0")
    return int32(-exponent) + pack_varint(-unscaled if sign else unscaled)


def unpack_decimal(data: bytes) -> Decimal:
    scale = struct.unpack_from(">i", data)[0]
    unscaled = unpack_varint(data[4:])
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def _vint(value: int) -> bytes:
    """Encode a signed number in the variable-length form of durations."""
    value = value << 1 ^ value >> 63 if value < 0 else value << 1
    return unsigned_vint(value & (1 << 64) - 1)


def unsigned_vint(value: int) -> bytes:
    for extra in range(8):
        if value < 1 << (7 * (extra + 1)):
            head = (0xFF00 >> extra) & 0xFF
            data = bytearray(value.to_bytes(extra + 1, "big"))
            data[0] |= head
            return bytes(data)
    return b"\xff" + value.to_bytes(8, "big")


def read_unsigned_vint(data: bytes, at: int) -> tuple[int, int]:
    if at >= len(data):
        raise ValueError("too short")
    first = data[at]
    extra = 0
    while extra < 8 and first & (0x80 >> extra):
        extra += 1
    if at + extra >= len(data):
        raise ValueError("too short")
    value = first & (0xFF >> (extra + 1)) if extra < 8 else 0
    return int.from_bytes(bytes([value]) + data[at + 1 : at + 1 + extra], "big"), at + 1 + extra


def pack_duration(value: tuple[int, int, int]) -> bytes:
    return b"".join(map(_vint, value))


def unpack_duration(data: bytes) -> tuple[int, int, int]:
    """Decode a duration; bytes after it are ignored."""
    at, parts = 0, []
    for _ in range(3):
        raw, at = read_unsigned_vint(data, at)
        parts.append(raw >> 1 ^ -(raw & 1))
    months, days, nanoseconds = parts
    for name, value in (("months", months), ("days", days)):
        if not -(1 << 31) <= value < 1 << 31:
            raise ValueError(f"The duration {name} must be a 32 bits integer but was: {value}")
    if max(parts) > 0 and min(parts) < 0:
        raise ValueError(f"The duration months, days and nanoseconds must be all of the same sign {tuple(parts)}")
    return months, days, nanoseconds


# ---- LZ4 and Snappy

NAMES = ("lz4", "snappy")
MIN_MATCH, LAST_LITERALS, SEARCH_END = 4, 5, 12  # rules of the LZ4 block format


def compress_frame(name: str, body: bytes) -> bytes:
    """Return the body of a compressed frame of protocols 3 and 4."""
    if name == "lz4":
        return len(body).to_bytes(4, "big") + lz4_compress(body)
    return snappy_compress(body)


def decompress_frame(name: str, body: bytes) -> bytes:
    if name == "lz4":
        if len(body) < 4:
            raise ProtocolError("a compressed body must begin with its length")
        return lz4_decompress(body[4:], int.from_bytes(body[:4], "big"))
    return snappy_decompress(body)


def lz4_compress(data: bytes) -> bytes:
    """Compress with greedy matches of four bytes and more, found by a table of the last position of each."""
    out = bytearray()
    last: dict[bytes, int] = {}
    start = at = 0
    while at < len(data) - SEARCH_END:
        word = data[at : at + MIN_MATCH]
        found = last.get(word)
        last[word] = at
        if found is None or at - found > 0xFFFF:
            at += 1
            continue
        length = MIN_MATCH
        while at + length < len(data) - LAST_LITERALS and data[found + length] == data[at + length]:
            length += 1
        _lz4_sequence(out, data[start:at], at - found, length)
        at += length
        start = at
    _lz4_sequence(out, data[start:], 0, 0)
    return bytes(out)


def _lz4_sequence(out: bytearray, literals: bytes, offset: int, length: int) -> None:
    match = length - MIN_MATCH if length else 0
    out.append(min(len(literals), 15) << 4 | min(match, 15))
    _lz4_length(out, len(literals))
    out += literals
    if length:
        out += offset.to_bytes(2, "little")
        _lz4_length(out, match)


def _lz4_length(out: bytearray, length: int) -> None:
    if length >= 15:
        length -= 15
        out += b"\xff" * (length // 255)
        out.append(length % 255)


def lz4_decompress(data: bytes, size: int) -> bytes:
    out = bytearray()
    at = 0
    try:
        while at < len(data):
            token = data[at]
            at += 1
            count = token >> 4
            if count == 15:
                count, at = _lz4_more(data, at, count)
            if at + count > len(data):
                raise ProtocolError("LZ4: literals beyond the end")
            out += data[at : at + count]
            at += count
            if at == len(data):
                break
            offset = int.from_bytes(data[at : at + 2], "little")
            at += 2
            length = token & 15
            if length == 15:
                length, at = _lz4_more(data, at, length)
            _copy(out, offset, length + MIN_MATCH)
            if len(out) > size:
                break
    except IndexError:
        raise ProtocolError("LZ4: the block ends too early") from None
    if len(out) != size:
        raise ProtocolError(f"LZ4: expected {size} bytes, got {len(out)}")
    return bytes(out)


def _lz4_more(data: bytes, at: int, count: int) -> tuple[int, int]:
    while data[at] == 255:
        count += 255
        at += 1
    return count + data[at], at + 1


def _copy(out: bytearray, offset: int, length: int) -> None:
    if not 0 < offset <= len(out):
        raise ProtocolError("a match before the beginning")
    for _ in range(length):  # byte by byte: a match may overlap itself
        out.append(out[-offset])


def snappy_compress(data: bytes) -> bytes:
    """Compress as literals only, which is a valid stream."""
    out = bytearray()
    length = len(data)
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    for at in range(0, len(data), 1 << 16):
        part = data[at : at + (1 << 16)]
        out.append(61 << 2)  # a literal whose length takes two bytes
        out += (len(part) - 1).to_bytes(2, "little") + part
    return bytes(out)


def snappy_decompress(data: bytes) -> bytes:
    try:
        size, at = _varint(data)
        out = bytearray()
        while at < len(data) and len(out) <= size:
            at = _snappy_element(data, at, out)
    except IndexError:
        raise ProtocolError("Snappy: the stream ends too early") from None
    if len(out) != size:
        raise ProtocolError(f"Snappy: expected {size} bytes, got {len(out)}")
    return bytes(out)


def _varint(data: bytes) -> tuple[int, int]:
    value = shift = at = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def _snappy_element(data: bytes, at: int, out: bytearray) -> int:
    tag = data[at]
    at += 1
    if tag & 3 == 0:
        length = tag >> 2
        if length >= 60:
            size = length - 59
            length = int.from_bytes(data[at : at + size], "little")
            at += size
        if at + length + 1 > len(data):
            raise ProtocolError("Snappy: a literal beyond the end")
        out += data[at : at + length + 1]
        return at + length + 1
    if tag & 3 == 1:
        _copy(out, (tag >> 5) << 8 | data[at], (tag >> 2 & 7) + 4)
        return at + 1
    size = 2 if tag & 3 == 2 else 4
    _copy(out, int.from_bytes(data[at : at + size], "little"), (tag >> 2) + 1)
    return at + size
