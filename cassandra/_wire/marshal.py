"""Packing of numbers for code that builds wire bytes itself (L2). Values go through the native codec."""

from collections.abc import Callable, Iterable
from struct import Struct
from typing import Any

from cassandra._base.objects import public

Unpack = Callable[[bytes], Any]


def _unpacker(packer: Struct) -> Unpack:
    unpack = packer.unpack
    return lambda s: unpack(s)[0]


_INT64, _INT32, _INT16, _INT8 = Struct(">q"), Struct(">i"), Struct(">h"), Struct(">b")
_UINT64, _UINT32, _UINT16, _UINT8 = Struct(">Q"), Struct(">I"), Struct(">H"), Struct(">B")
_UINT32_LE, _FLOAT, _DOUBLE, _V3_HEADER = Struct("<I"), Struct(">f"), Struct(">d"), Struct(">BBhB")

int64_pack, int64_unpack = _INT64.pack, _unpacker(_INT64)  #: Bytes of a signed number of 64 bits, and back.
int32_pack, int32_unpack = _INT32.pack, _unpacker(_INT32)  #: Bytes of a signed number of 32 bits, and back.
int16_pack, int16_unpack = _INT16.pack, _unpacker(_INT16)  #: Bytes of a signed number of 16 bits, and back.
int8_pack, int8_unpack = _INT8.pack, _unpacker(_INT8)  #: Bytes of a signed number of 8 bits, and back.
uint64_pack, uint64_unpack = _UINT64.pack, _unpacker(_UINT64)  #: Bytes of a number of 64 bits, and back.
uint32_pack, uint32_unpack = _UINT32.pack, _unpacker(_UINT32)  #: Bytes of a number of 32 bits, and back.
uint16_pack, uint16_unpack = _UINT16.pack, _unpacker(_UINT16)  #: Bytes of a number of 16 bits, and back.
uint8_pack, uint8_unpack = _UINT8.pack, _unpacker(_UINT8)  #: Bytes of a number of 8 bits, and back.
uint32_le_pack, uint32_le_unpack = (
    _UINT32_LE.pack,
    _unpacker(_UINT32_LE),
)  #: Bytes of a number of 32 bits, the lowest byte first, and back.
float_pack, float_unpack = _FLOAT.pack, _unpacker(_FLOAT)  #: Bytes of a float of 32 bits, and back.
double_pack, double_unpack = _DOUBLE.pack, _unpacker(_DOUBLE)  #: Bytes of a float of 64 bits, and back.
v3_header_pack, v3_header_unpack = _V3_HEADER.pack, _V3_HEADER.unpack  #: Bytes of the header of a frame, and back.


@public("cassandra.marshal")
def varint_pack(big: int) -> bytes:
    """Encode *big* as big-endian two's complement in as few bytes as possible."""
    return big.to_bytes((big if big >= 0 else ~big).bit_length() // 8 + 1, "big", signed=True)


@public("cassandra.marshal")
def varint_unpack(term: bytes) -> int:
    """Return the number in the bytes of a varint."""
    return int.from_bytes(term, "big", signed=True)


@public("cassandra.marshal")
def bit_length(n: int) -> int:
    """Return the number of bits of *n*."""
    return n.bit_length()


@public("cassandra.marshal")
def encode_zig_zag(n: int) -> int:
    """Map signed 64-bit *n* to an unsigned number, small magnitudes to small numbers."""
    return (n << 1) ^ (n >> 63)


@public("cassandra.marshal")
def decode_zig_zag(n: int) -> int:
    """Return the signed number of a zigzag code."""
    return (n >> 1) ^ -(n & 1)


@public("cassandra.marshal")
def uvint_pack(val: int) -> bytes:
    """Encode an unsigned vint (protocol 5, section 3): leading one bits of the first byte count further bytes."""
    if not 0 <= val < 1 << 64:
        raise ValueError(f"{val} is out of the range of an unsigned vint")
    extra = next((n for n in range(8) if val < 1 << 7 * (n + 1)), 8)
    first = (0xFF00 >> extra) & 0xFF
    if extra == 8:
        return b"\xff" + val.to_bytes(8, "big")
    return (first << 8 * extra | val).to_bytes(extra + 1, "big")


@public("cassandra.marshal")
def uvint_unpack(bytes: bytes) -> tuple[int, int]:
    """Decode the unsigned vint at the start of *bytes*; return its value and its size in bytes."""
    first = bytes[0]
    extra = 8 - (first ^ 0xFF).bit_length()
    if len(bytes) <= extra:
        raise ValueError(f"a vint of {extra + 1} bytes is cut off after {len(bytes)}")
    value = first & (0x7F >> extra)
    for byte in bytes[1 : extra + 1]:
        value = value << 8 | byte
    return value, extra + 1


@public("cassandra.marshal")
def vints_pack(values: Iterable[int]) -> bytes:
    """Encode *values* as consecutive signed vints."""
    return b"".join(uvint_pack(encode_zig_zag(value)) for value in values)


@public("cassandra.marshal")
def vints_unpack(term: bytes) -> tuple[int, ...]:
    """Decode all signed vints of *term*."""
    values, at = [], 0
    while at < len(term):
        value, size = uvint_unpack(term[at : at + 9])
        values.append(decode_zig_zag(value))
        at += size
    return tuple(values)
