"""LZ4 blocks and Snappy in plain Python: slow, without dependencies, and independent of the driver's code."""

from __future__ import annotations

from cassandra.testing.errors import ProtocolError

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
