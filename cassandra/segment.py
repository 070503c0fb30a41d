"""Encoding and decoding of protocol 5 segments, for programs; connections do it natively."""

from cassandra._base.errors import CrcException, DriverException
from cassandra._compat.segment import (
    CRC24_INIT,
    CRC24_LENGTH,
    CRC24_POLY,
    CRC32_INITIAL,
    CRC32_LENGTH,
    Segment,
    SegmentCodec,
    SegmentHeader,
    compute_crc24,
    compute_crc32,
    read_uint_le,
    write_uint_le,
)

__all__ = [
    "CRC24_INIT",
    "CRC24_LENGTH",
    "CRC24_POLY",
    "CRC32_INITIAL",
    "CRC32_LENGTH",
    "CrcException",
    "DriverException",
    "Segment",
    "SegmentCodec",
    "SegmentHeader",
    "compute_crc24",
    "compute_crc32",
    "read_uint_le",
    "write_uint_le",
]
