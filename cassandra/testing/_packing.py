"""Encoding of numbers of variable size: varints, decimals, durations."""

from __future__ import annotations

import struct
from decimal import Decimal

from cassandra.testing import _wire as wire


def pack_varint(value: int) -> bytes:
    return value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)


def unpack_varint(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def pack_decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)) or "0")
    return wire.int32(-exponent) + pack_varint(-unscaled if sign else unscaled)


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
