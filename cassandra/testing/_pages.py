"""Responses with other page breaks than those of the node."""

from __future__ import annotations

from cassandra.testing import _wire as wire
from cassandra.testing._connection import Response

ROWS = wire.int32(2)


def is_rows(response: Response) -> bool:
    return response.opcode == wire.NUMBERS["RESULT"] and response.body.startswith(ROWS)


def empty_page(body: bytes, state: bytes) -> bytes:
    """Return a ROWS body without its rows, with *state* as its paging state; other bodies unchanged."""
    reader = wire.Reader(body)
    if reader.int32() != 2:
        return body
    flags, columns = reader.int32(), reader.int32()
    if flags & 0x02:
        reader.bytes_()
    changed = reader.take(2 + int.from_bytes(reader.data[reader.at : reader.at + 2], "big")) if flags & 0x08 else b""
    start = reader.at
    if flags & 0x04 == 0:
        _skip_specs(reader, flags, columns)
    specs = body[start : reader.at]
    head = wire.int32(2) + wire.int32(flags | 0x02) + wire.int32(columns) + wire.bytes_(state)
    return head + changed + specs + wire.int32(0)


def _skip_specs(reader: wire.Reader, flags: int, columns: int) -> None:
    if flags & 0x01:
        reader.string(), reader.string()
    for _ in range(columns):
        if not flags & 0x01:
            reader.string(), reader.string()
        reader.string()
        _skip_option(reader)


def _skip_option(reader: wire.Reader) -> None:
    number = reader.short()
    if number == 0x00:
        reader.string()
    elif number in (0x20, 0x22):
        _skip_option(reader)
    elif number == 0x21:
        _skip_option(reader)
        _skip_option(reader)
    elif number == 0x30:
        reader.string(), reader.string()
        for _ in range(reader.short()):
            reader.string()
            _skip_option(reader)
    elif number == 0x31:
        for _ in range(reader.short()):
            _skip_option(reader)
