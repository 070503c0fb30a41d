"""Bodies of RESULT envelopes built by hand from the specification, for the tests of the codec."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from cassandra._core import codec
from cassandra._core.codec import Codec, list_codec, scalar, udt_codec

VOID, ROWS, SET_KEYSPACE, PREPARED, SCHEMA_CHANGE = 1, 2, 3, 4, 5
GLOBAL, MORE, NO_METADATA, CHANGED = 1, 2, 4, 8

ASCII, BIGINT, BLOB, BOOLEAN, COUNTER = map(scalar, (1, 2, 3, 4, 5))
DECIMAL, DOUBLE, FLOAT, INT, TIMESTAMP = map(scalar, (6, 7, 8, 9, 0xB))
UUID, TEXT, VARINT, TIMEUUID, INET = map(scalar, (0xC, 0xD, 0xE, 0xF, 0x10))
DATE, TIME, SMALLINT, TINYINT, DURATION = map(scalar, (0x11, 0x12, 0x13, 0x14, 0x15))


def short(value: int) -> bytes:
    return struct.pack(">H", value)


def int_(value: int) -> bytes:
    return struct.pack(">i", value)


def string(value: str) -> bytes:
    data = value.encode()
    return short(len(data)) + data


def bytes_(value: bytes | None) -> bytes:
    return int_(-1) if value is None else int_(len(value)) + value


def option(kind: Codec) -> bytes:
    """The [option] a server sends for a codec."""
    head = short(kind.kind)
    if kind.kind == 0:
        return head + string(kind.cql() if kind.name == "vector" else kind.name)
    if kind.kind == 0x30:
        assert kind.keyspace is not None and kind.type_name is not None
        fields = b"".join(string(n) + option(c) for n, c in zip(kind.field_names, kind.children, strict=True))
        return head + string(kind.keyspace) + string(kind.type_name) + short(len(kind.children)) + fields
    children = b"".join(map(option, kind.children))
    return head + (short(len(kind.children)) if kind.kind == 0x31 else b"") + children


def specs(columns: Sequence[tuple[str, Codec]], *, shared: bool = True) -> bytes:
    table = string("ks") + string("t")
    each = b"" if shared else table
    return (table if shared else b"") + b"".join(each + string(name) + option(kind) for name, kind in columns)


def metadata(columns: Sequence[tuple[str, Codec]], flags: int = GLOBAL, extra: bytes = b"") -> bytes:
    """*extra*: paging state and metadata id, where the flags announce them."""
    described = b"" if flags & NO_METADATA else specs(columns, shared=bool(flags & GLOBAL))
    return int_(flags) + int_(len(columns)) + extra + described


def cells(rows: Iterable[Iterable[bytes | None]]) -> bytes:
    return b"".join(bytes_(cell) for row in rows for cell in row)


def rows_body(
    columns: Sequence[tuple[str, Codec]],
    rows: Sequence[Sequence[bytes | None]],
    flags: int = GLOBAL,
    extra: bytes = b"",
) -> bytes:
    return int_(ROWS) + metadata(columns, flags, extra) + int_(len(rows)) + cells(rows)


def encoded(columns: Sequence[tuple[str, Codec]], rows: Iterable[Sequence[Any]]) -> list[list[bytes | None]]:
    kinds = [kind for _, kind in columns]
    return [[None if v is None else k.encode(v) for k, v in zip(kinds, row, strict=True)] for row in rows]


def decode(body: bytes, version: int = 4, **options: Any) -> codec.Result:
    options.setdefault("context", codec.TypeContext())
    return codec.decode_result(codec.Result, body, options.pop("flags", 0), version, **options)


def page_of(columns: Sequence[tuple[str, Codec]], rows: Sequence[Sequence[Any]]) -> codec.RowsPage:
    """A page with these values."""
    page = decode(rows_body(columns, encoded(columns, rows))).page
    assert page is not None
    return page


COLUMNS = [("a", INT), ("b", TEXT)]
PLACE = udt_codec("ks", "place", ("street", "more"), (TEXT, list_codec(INT)))


def prepared(
    parameters: list[tuple[str, Codec]],
    columns: list[tuple[str, Codec]],
    version: int = 4,
    indexes: tuple[int, ...] = (),
    flags: int = 0,
    metadata_id: bytes | None = None,
) -> bytes:
    body = int_(PREPARED) + short(3) + b"qid"
    if metadata_id is not None:
        body += short(len(metadata_id)) + metadata_id
    body += int_(GLOBAL | flags if parameters else flags) + int_(len(parameters))
    if version >= 4:
        body += int_(len(indexes)) + b"".join(map(short, indexes))
    body += specs(parameters) if parameters else b""
    return body + (metadata(columns) if columns else int_(NO_METADATA) + int_(0))
