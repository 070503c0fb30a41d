"""Compression of message bodies (protocol 3, 4) and of segments (protocol 5) (L3).

Lengths that a peer announces are checked before memory is asked for: neither algorithm expands by more than a small
factor, so a length beyond that factor is a lie.
"""

from __future__ import annotations

import importlib
import struct
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from cassandra._base.errors import ProtocolError
from cassandra._net.options import MAX_FRAME

Compress = Callable[[Any], bytes]
Decompress = Callable[[Any], bytes]

_LZ4_MAX_RATIO = 255  # a run of 255 bytes costs one byte (LZ4 block format)
_SNAPPY_MAX_RATIO = 64  # a copy of 64 bytes costs three


def _optional(name: str) -> Any:
    """The module, or None when its package is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


_lz4 = _optional("lz4.block")
_snappy: Any = getattr(_optional("cramjam"), "snappy", None)


class Compression(NamedTuple):
    """One algorithm in both forms. The segment form of ``decompress`` gets the length beside the payload."""

    name: str
    compress: Compress
    decompress: Decompress
    segment_compress: Compress | None
    segment_decompress: Callable[[Any, int], bytes] | None


def lz4_compress(data: Any) -> bytes:
    """Body form: the length before compression (4 bytes, big-endian), then an LZ4 block."""
    return struct.pack(">I", len(data)) + lz4_block_compress(data)


def lz4_decompress(data: Any) -> bytes:
    view = memoryview(data)
    if len(view) < 4:
        raise ProtocolError(f"compressed body of {len(view)} bytes has no length")
    (length,) = struct.unpack_from(">I", view)
    return lz4_block_decompress(view[4:], length)


def lz4_block_compress(data: Any) -> bytes:
    return _lz4.compress(data, store_size=False)  # type: ignore[no-any-return]


def lz4_block_decompress(data: Any, length: int) -> bytes:
    """Segment form: the block alone, its length from the segment header."""
    _check_length(length, len(data), _LZ4_MAX_RATIO)
    if length == 0:
        return b""
    try:
        plain: bytes = _lz4.decompress(data, uncompressed_size=length)
    except _lz4.LZ4BlockError as error:
        raise ProtocolError(f"LZ4 block is damaged: {error}") from error
    if len(plain) != length:
        raise ProtocolError(f"LZ4 block has {len(plain)} bytes, not {length}")
    return plain


def snappy_compress(data: Any) -> bytes:
    return bytes(_snappy.compress_raw(bytes(data)))


def snappy_decompress(data: Any) -> bytes:
    """Body form: a raw Snappy block, which begins with its own length."""
    data = bytes(data)
    length = _snappy_length(data)
    _check_length(length, len(data), _SNAPPY_MAX_RATIO)
    try:
        plain = bytes(_snappy.decompress_raw(data))
    except Exception as error:  # cramjam's own class is not documented as public
        raise ProtocolError(f"Snappy block is damaged: {error}") from error
    if len(plain) != length:
        raise ProtocolError(f"Snappy block has {len(plain)} bytes, not {length}")
    return plain


def _snappy_length(data: bytes) -> int:
    """The varint at the head of a Snappy block."""
    length = 0
    for position, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << (7 * position)
        if not byte & 0x80:
            return length
    raise ProtocolError("Snappy block has no length")


def _check_length(length: int, compressed: int, ratio: int) -> None:
    if length > MAX_FRAME or length > compressed * ratio + 64:
        raise ProtocolError(f"{compressed} compressed bytes claim to hold {length} bytes")


def _available() -> OrderedDict[str, Compression]:
    """What this installation can do, the preferred first."""
    found: OrderedDict[str, Compression] = OrderedDict()
    if _lz4 is not None:
        found["lz4"] = Compression("lz4", lz4_compress, lz4_decompress, lz4_block_compress, lz4_block_decompress)
    if _snappy is not None:
        found["snappy"] = Compression("snappy", snappy_compress, snappy_decompress, None, None)
    return found


COMPRESSIONS = _available()
#: Name to (compress, decompress), as ``cassandra.connection`` has it.
locally_supported_compressions = OrderedDict(
    (name, (algorithm.compress, algorithm.decompress)) for name, algorithm in COMPRESSIONS.items()
)


def choose(wanted: bool | str, announced: list[str], version: int, endpoint: Any) -> Compression | None:
    """The algorithm for a connection, None for none. Protocol 5 knows only lz4 (section 2.3).

    Raises ProtocolError when *wanted* names one that cannot be had.
    """
    if not wanted:
        return None
    remote = {name.lower() for name in announced}
    usable = [
        name
        for name, algorithm in COMPRESSIONS.items()
        if name in remote and (version < 5 or algorithm.segment_compress is not None)
    ]
    if wanted is True:
        return COMPRESSIONS[usable[0]] if usable else None
    if wanted not in COMPRESSIONS:
        raise ProtocolError(
            f"compression {wanted!r} is not available: install one of its packages "
            f"(lz4, or cramjam for snappy); available here: {list(COMPRESSIONS)}"
        )
    if wanted not in remote:
        raise ProtocolError(
            f"compression {wanted!r} is not supported by the server at {endpoint}, which has {announced}"
        )
    return COMPRESSIONS[wanted] if wanted in usable else None
