"""Segments of protocol 5 as in scylla-driver's ``cassandra.segment`` (L6).

Connections encode and decode segments natively (``cpp/transport``); this module is for programs that examine captured
bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from cassandra._base.errors import CrcException, DriverException
from cassandra._base.objects import public

CRC24_INIT = 0x875060  #: First value of the checksum of headers.
CRC24_POLY = 0x1974F0B  #: Polynomial of the checksum of headers.
CRC24_LENGTH = 3  #: Bytes of the checksum of headers.
CRC32_LENGTH = 4  #: Bytes of the checksum of payloads.
CRC32_INITIAL = zlib.crc32(b"\xfa\x2d\x55\xca")  #: Initial value of the checksum of payloads.


@public("cassandra.segment")
def compute_crc24(data: int, length: int) -> int:
    """Return the checksum of the *length* low bytes of a header."""
    crc = CRC24_INIT
    for _ in range(length):
        crc ^= (data & 0xFF) << 16
        data >>= 8
        for _ in range(8):
            crc <<= 1
            if crc & 0x1000000:
                crc ^= CRC24_POLY
    return crc


@public("cassandra.segment")
def compute_crc32(data: bytes, value: int) -> int:
    """Return the checksum of a payload, with the initial value *value*."""
    return zlib.crc32(data, value)


@public("cassandra.segment")
def write_uint_le(f: Any, i: int, size: int = 4) -> None:
    """Write a little-endian number of *size* bytes to a file."""
    f.write(i.to_bytes(size, "little"))


@public("cassandra.segment")
def read_uint_le(f: Any, size: int = 4) -> int:
    """Read a little-endian number of *size* bytes from a file."""
    data = f.read(size)
    if len(data) != size:
        raise EOFError(f"expected {size} bytes, got {len(data)}")
    return int.from_bytes(data, "little")


@public("cassandra.segment")
class SegmentHeader:
    """The header before a payload. *uncompressed_payload_length* is -1 without compression, and 0 with compression
    for a payload that is not compressed itself."""

    def __init__(self, payload_length: int, uncompressed_payload_length: int, is_self_contained: bool) -> None:
        self.payload_length = payload_length  #: Bytes of the payload.
        self.uncompressed_payload_length = uncompressed_payload_length  #: Bytes of the payload without compression.
        self.is_self_contained = is_self_contained  #: True if the segment has whole frames.

    @property
    def segment_length(self) -> int:
        """Bytes of the whole segment, header and checksums included."""
        compressed = self.uncompressed_payload_length >= 0
        header = SegmentCodec.COMPRESSED_HEADER_LENGTH if compressed else SegmentCodec.UNCOMPRESSED_HEADER_LENGTH
        return header + CRC24_LENGTH + self.payload_length + CRC32_LENGTH


@public("cassandra.segment")
class Segment:
    """A payload; parts of an envelope that spans several segments are not self-contained."""

    MAX_PAYLOAD_LENGTH = 128 * 1024 - 1  #: Most bytes of a segment.

    def __init__(self, payload: bytes, is_self_contained: bool) -> None:
        self.payload = payload  #: The bytes.
        self.is_self_contained = is_self_contained  #: True if it has whole frames.


@public("cassandra.segment")
class SegmentCodec:
    """Writes and reads segments. *compressor* and *decompressor* use the format of protocol 4, which starts with the
    length before compression in four bytes, as :func:`cassandra.connection.lz4_compress` does."""

    COMPRESSED_HEADER_LENGTH = 5  #: Bytes of a header with compression.
    UNCOMPRESSED_HEADER_LENGTH = 3  #: Bytes of a header without compression.
    FLAG_OFFSET = 17  #: Bit of the flag in the header.

    def __init__(
        self,
        compressor: Callable[[bytes], bytes] | None = None,
        decompressor: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.compressor = compressor  #: Compresses bytes; None without compression.
        self.decompressor = decompressor  #: Decompresses bytes; None without compression.

    @property
    def header_length(self) -> int:
        """Size of a header in bytes, without its checksum."""
        return self.COMPRESSED_HEADER_LENGTH if self.compression else self.UNCOMPRESSED_HEADER_LENGTH

    @property
    def header_length_with_crc(self) -> int:
        """Size of a header in bytes."""
        return self.header_length + CRC24_LENGTH

    @property
    def compression(self) -> Any:
        """True in a boolean context if payloads are compressed."""
        return self.compressor and self.decompressor

    def compress(self, data: bytes) -> bytes:
        """Return *data* compressed as in a payload: without the length."""
        return self.compressor(data)[4:]  # type: ignore[misc]

    def decompress(self, encoded_data: bytes, uncompressed_length: int) -> bytes:
        """Return the argument of :meth:`compress`."""
        return self.decompressor(uncompressed_length.to_bytes(4, "big") + encoded_data)  # type: ignore[misc]

    def encode_header(
        self, buffer: Any, payload_length: int, uncompressed_length: int, is_self_contained: bool
    ) -> None:
        """Write a header; *uncompressed_length* is used with compression only. Raise DriverException for a payload that
        is too long for a segment."""
        if payload_length > Segment.MAX_PAYLOAD_LENGTH:
            raise DriverException(
                f"A payload of {payload_length} bytes is too long: the limit is {Segment.MAX_PAYLOAD_LENGTH} bytes"
            )
        value, flag = payload_length, self.FLAG_OFFSET
        if self.compression:
            value |= uncompressed_length << flag
            flag *= 2
        value |= is_self_contained << flag
        write_uint_le(buffer, value, self.header_length)
        write_uint_le(buffer, compute_crc24(value, self.header_length), CRC24_LENGTH)

    def _encode_segment(self, buffer: Any, payload: bytes, is_self_contained: bool) -> None:
        data, uncompressed = payload, -1
        if self.compression:
            data, uncompressed = self.compress(payload), len(payload)
            if len(data) >= len(payload):
                data, uncompressed = payload, 0
        self.encode_header(buffer, len(data), uncompressed, is_self_contained)
        buffer.write(data)
        write_uint_le(buffer, compute_crc32(data, CRC32_INITIAL))

    def encode(self, buffer: Any, msg: bytes) -> None:
        """Write *msg* as one segment or, if it is too long, as several."""
        size = Segment.MAX_PAYLOAD_LENGTH
        parts = [msg[start : start + size] for start in range(0, len(msg), size)] or [b""]
        for part in parts:
            self._encode_segment(buffer, part, is_self_contained=len(parts) == 1)

    def decode_header(self, buffer: Any) -> SegmentHeader:
        """Read a header. Raise CrcException if its checksum is wrong."""
        value = read_uint_le(buffer, self.header_length)
        received = read_uint_le(buffer, CRC24_LENGTH)
        computed = compute_crc24(value, self.header_length)
        if received != computed:
            raise CrcException(f"CRC mismatch on header {value:x}. Received {received:x}, computed {computed:x}.")
        mask = (1 << self.FLAG_OFFSET) - 1
        length, value = value & mask, value >> self.FLAG_OFFSET
        uncompressed = -1
        if self.compression:
            uncompressed, value = value & mask, value >> self.FLAG_OFFSET
        return SegmentHeader(length, uncompressed, bool(value & 1))

    def decode(self, buffer: Any, header: SegmentHeader) -> Segment:
        """Read the payload after *header*. Raise CrcException if its checksum is wrong."""
        payload = buffer.read(header.payload_length)
        received = read_uint_le(buffer)
        computed = compute_crc32(payload, CRC32_INITIAL)
        if received != computed:
            raise CrcException(f"CRC mismatch on payload. Received {received:x}, computed {computed:x}.")
        if self.compression and header.uncompressed_payload_length > 0:
            payload = self.decompress(payload, header.uncompressed_payload_length)
        return Segment(payload, header.is_self_contained)


def __getattr__(name: str) -> Any:
    if name in ("segment_codec_lz4", "segment_codec_no_compression"):
        from cassandra._net.compression import lz4_compress, lz4_decompress

        globals()["segment_codec_no_compression"] = SegmentCodec()
        globals()["segment_codec_lz4"] = SegmentCodec(lz4_compress, lz4_decompress)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
