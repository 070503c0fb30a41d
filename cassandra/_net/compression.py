"""Compression of message bodies (protocol 3, 4) and of segments (protocol 5) (L3).

Lengths that a peer announces are checked before memory is allocated: neither algorithm expands by more than a small
factor, so a length beyond that factor is invalid.
"""

from __future__ import annotations

import importlib
import struct
from collections import OrderedDict
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

from cassandra._base.errors import DependencyException, ProtocolError, ResponseTooLarge
from cassandra._base.logs import printable
from cassandra._core.transport import Decompressor

from .options import MAX_FRAME

Compress = Callable[[Any], bytes]
Decompress = Callable[..., bytes]  # (data) or (data, limit of decompressed bytes)

_LZ4_MAX_RATIO = 255  # a run of 255 bytes costs one byte (LZ4 block format)
_SNAPPY_MAX_RATIO = 22  # a copy of 64 bytes costs three


def _optional(name: str) -> Any:
    """Return the module, or None if its package is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class _Blocks(NamedTuple):
    """The functions of a library for LZ4 blocks that do not contain their length."""

    compress: Callable[[Any], Any]  # returns an object with the buffer protocol
    decompress: Decompressor
    error: type[Exception]


def _cramjam_blocks() -> _Blocks | None:
    """Return the functions of cramjam 2.14 or newer. Calls of older releases cost microseconds more. The pure Rust
    backend is not used: it decompresses a block beyond the given memory before it reports an error."""
    cramjam = _optional("cramjam")
    if getattr(cramjam, "backend", None) != "c":
        return None
    functions = cramjam.lz4
    compress = partial(functions.compress_block, store_size=False)
    return _Blocks(compress, Decompressor(functions.decompress_block_into, True), cramjam.DecompressionError)


def _python_lz4_blocks() -> _Blocks | None:
    block = _optional("lz4.block")
    if block is None:
        return None
    return _Blocks(partial(block.compress, store_size=False), Decompressor(block.decompress), block.LZ4BlockError)


#: Imported eagerly: nearly every connection uses it. cramjam decompresses into memory that is there already.
_lz4 = _cramjam_blocks() or _python_lz4_blocks()


@cache
def _snappy() -> Any:
    """Return the Snappy module, None if its package is not installed. Imported on first use."""
    return getattr(_optional("cramjam"), "snappy", None)


class Compression:
    """One algorithm in both forms. Segments are encoded and decoded on the thread that runs the reactor: their two
    functions are in C, and run no signal handlers."""

    __slots__ = ("compress", "decompress", "name", "segment_compress", "segment_decompress")

    def __init__(
        self,
        name: str,
        compress: Compress,
        decompress: Decompress,
        segment_compress: Callable[[Any], Any] | None,
        segment_decompress: Decompressor | None,
    ) -> None:
        self.name = name
        self.compress = compress
        self.decompress = decompress
        self.segment_compress = segment_compress
        self.segment_decompress = segment_decompress


def _blocks() -> _Blocks:
    if _lz4 is None:
        raise DependencyException("LZ4 needs one of the packages cramjam and lz4")
    return _lz4


def lz4_compress(data: Any) -> bytes:
    """Compress a body: the uncompressed length (4 bytes, big-endian), then an LZ4 block."""
    return b"".join((struct.pack(">I", len(data)), _blocks().compress(data)))


def lz4_decompress(data: Any, limit: int = MAX_FRAME) -> bytes:
    """Decompress a body. Raises ProtocolError, before memory is allocated, if its length is more than *limit*."""
    view = memoryview(data)
    if len(view) < 4:
        raise ProtocolError(f"compressed body of {len(view)} bytes has no length")
    (length,) = struct.unpack_from(">I", view)
    return lz4_block_decompress(view[4:], length, limit)


def lz4_block_decompress(data: Any, length: int, limit: int = MAX_FRAME) -> bytes:
    _check_length(length, len(data), _LZ4_MAX_RATIO, limit)
    if length == 0:
        return b""
    blocks = _blocks()
    try:
        plain = blocks.decompress(data, length)
    except blocks.error as error:
        raise ProtocolError(f"LZ4 block is damaged: {error}") from error
    if len(plain) != length:
        raise ProtocolError(f"LZ4 block has {len(plain)} bytes, not {length}")
    return plain


def snappy_compress(data: Any) -> bytes:
    return bytes(_snappy().compress_raw(bytes(data)))


def snappy_decompress(data: Any, limit: int = MAX_FRAME) -> bytes:
    """Decompress a body, a raw Snappy block that begins with its own length; as :func:`lz4_decompress`."""
    data = bytes(data)
    length = _snappy_length(data)
    _check_length(length, len(data), _SNAPPY_MAX_RATIO, limit)
    try:
        plain = bytes(_snappy().decompress_raw(data))
    except Exception as error:  # cramjam's own class is not documented as public
        raise ProtocolError(f"Snappy block is damaged: {error}") from error
    if len(plain) != length:
        raise ProtocolError(f"Snappy block has {len(plain)} bytes, not {length}")
    return plain


def _snappy_length(data: bytes) -> int:
    """Return the length at the head of a Snappy block (a varint)."""
    length = 0
    for position, byte in enumerate(data[:5]):
        length |= (byte & 0x7F) << (7 * position)
        if not byte & 0x80:
            return length
    raise ProtocolError("Snappy block has no length")


def _check_length(length: int, compressed: int, ratio: int, limit: int) -> None:
    if length > compressed * ratio + 64:
        raise ProtocolError(f"{compressed} compressed bytes claim to hold {length} bytes")
    if length > limit:
        text = f"{compressed} compressed bytes claim to hold {length} bytes, the limit is {limit}"
        raise ResponseTooLarge(text, length, limit)


_NAMES = ("lz4", "snappy")  # the preferred first


def installed_compression(name: str) -> Compression | None:
    """Return the algorithm *name*, None if none of its packages is installed."""
    if name == "lz4" and _lz4 is not None:
        return Compression(name, lz4_compress, lz4_decompress, _lz4.compress, _lz4.decompress)
    if name == "snappy" and _snappy() is not None:
        return Compression(name, snappy_compress, snappy_decompress, None, None)
    return None


def available() -> OrderedDict[str, Compression]:
    """Return the installed algorithms, the preferred first."""
    return OrderedDict((name, algorithm) for name in _NAMES if (algorithm := installed_compression(name)) is not None)


def functions() -> OrderedDict[str, tuple[Compress, Decompress]]:
    """Return ``locally_supported_compressions`` of ``cassandra.connection``: name to (compress, decompress)."""
    return OrderedDict((name, (known.compress, known.decompress)) for name, known in available().items())


def choose(wanted: bool | str, announced: list[str], version: int, endpoint: Any) -> Compression | None:
    """Return the algorithm for a connection, None for none. Protocol 5 supports only lz4 (section 2.3).

    Raises ProtocolError if *wanted* names one that is not installed or not supported by the server.
    """
    if not wanted:
        return None
    remote = {name.lower() for name in announced}
    usable = [name for name in _NAMES if name in remote and (version < 5 or name == "lz4")]
    if wanted is True:
        return next((algorithm for name in usable if (algorithm := installed_compression(name)) is not None), None)
    algorithm = installed_compression(str(wanted))
    if algorithm is None:
        raise ProtocolError(
            f"compression {wanted!r} is not available: install one of its packages "
            f"(cramjam, or lz4 for lz4); available here: {list(available())}"
        )
    if wanted not in remote:
        raise ProtocolError(
            f"compression {wanted!r} is not supported by the server at {endpoint}; it supports {printable(announced)}"
        )
    return algorithm if wanted in usable else None
