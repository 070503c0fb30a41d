"""Rows of schema tables, and metadata that are read from them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from cassandra._core import codec
from cassandra._core.codec import Codec, RowsPage, TypeContext, decode_result
from cassandra._routing.schema import SchemaTarget, ServerTraits, schema_queries
from cassandra._routing.schema.rows import UndecodedRows
from cassandra.metadata import (
    Metadata,
)
from cassandra.protocol import ResultMessage

Rows = dict[str, list[dict[str, Any]]]
TRAITS = ServerTraits.of("5.0.6")


def read(rows: Mapping[str, Any]) -> Metadata:
    metadata = Metadata()
    metadata.apply_schema(SchemaTarget.everything(), rows)
    return metadata


def answer(rows: Rows, target: SchemaTarget) -> Rows:
    """The rows that a server would give for *target*: its queries run on *rows*."""
    found = {}
    for query in schema_queries(target, TRAITS):
        where = query.cql.partition(" WHERE ")[2]
        conditions = [condition.split(" = ", 1) for condition in where.split(" AND ")] if where else []
        found[query.name] = [
            row
            for row in rows.get(query.name, [])
            if all(literal(row[column]) == value for column, value in conditions)
        ]
    return found


def literal(value: Any) -> str:
    return "[" + ", ".join(literal(item) for item in value) + "]" if isinstance(value, list) else f"'{value}'"


SCYLLA_TABLE = {
    "keyspace_name": "ks",
    "table_name": "t",
    "bloom_filter_fp_chance": 0.01,
    "caching": {"keys": "ALL", "rows_per_partition": "ALL"},
    "comment": "",
    "compaction": {"class": "IncrementalCompactionStrategy"},
    "compression": {"sstable_compression": "org.apache.cassandra.io.compress.LZ4Compressor"},
    "crc_check_chance": 1.0,
    "dclocal_read_repair_chance": 0.0,
    "default_time_to_live": 0,
    "extensions": {"cdc": b"\x01", "scylla_encryption_options": b"\x02"},
    "flags": ["compound"],
    "gc_grace_seconds": 864000,
    "id": None,
    "max_index_interval": 2048,
    "memtable_flush_period_in_ms": 0,
    "min_index_interval": 128,
    "read_repair_chance": 0.0,
    "speculative_retry": "99.0PERCENTILE",
    "something_new": object(),
}


def scylla_rows() -> Rows:
    column = {"keyspace_name": "ks", "table_name": "t", "clustering_order": "none", "column_name_bytes": b""}
    return {
        "keyspaces": [
            {
                "keyspace_name": "ks",
                "durable_writes": True,
                "replication": {"class": "org.apache.cassandra.locator.EverywhereStrategy"},
            }
        ],
        "tables": [SCYLLA_TABLE],
        "columns": [
            {**column, "column_name": "pk", "kind": "partition_key", "position": 0, "type": "int", "mask": None},
            {**column, "column_name": "v", "kind": "regular", "position": -1, "type": "frozen<map<int, int>>"},
        ],
    }


# ---- rows as servers send them

_WIRE: list[tuple[type, int, Codec]] = [
    (bool, 0x04, codec.scalar(0x04)),
    (int, 0x09, codec.scalar(0x09)),
    (float, 0x07, codec.scalar(0x07)),
    (str, 0x0D, codec.scalar(0x0D)),
    (bytes, 0x03, codec.scalar(0x03)),
    (UUID, 0x0C, codec.scalar(0x0C)),
    (datetime, 0x0B, codec.scalar(0x0B)),
]


def _type_of(values: list[Any]) -> tuple[bytes, Codec]:
    """The type of these values on the wire; text if all are null."""
    known = [value for value in values if value is not None] or [""]
    if isinstance(known[0], Mapping):
        key, of_key = _type_of([key for value in known for key in value])
        item, of_item = _type_of([item for value in known for item in value.values()])
        return struct.pack(">h", 0x21) + key + item, codec.map_codec(of_key, of_item)
    if isinstance(known[0], (list, tuple)):
        element, of_element = _type_of([item for value in known for item in value])
        return struct.pack(">h", 0x20) + element, codec.list_codec(of_element)
    return next((struct.pack(">h", number), found) for kind, number, found in _WIRE if isinstance(known[0], kind))


def page_of(
    rows: Sequence[Mapping[str, Any]],
    every: Sequence[Mapping[str, Any]] = (),
    raw: Mapping[tuple[int, str], bytes] | None = None,
) -> RowsPage:
    """A page as it comes over a connection. *every*: the rows of all pages, if there are more. *raw*: bytes of some
    cells, by row and column."""
    every = every or rows
    names = list(dict.fromkeys(name for row in every for name in row))
    types = {name: _type_of([row.get(name) for row in every]) for name in names}

    def string(text: str) -> bytes:
        return struct.pack(">H", len(text.encode())) + text.encode()

    body = struct.pack(">iii", 2, 1, len(names)) + string("system_schema") + string("part")
    body += b"".join(string(name) + types[name][0] for name in names) + struct.pack(">i", len(rows))
    for number, row in enumerate(rows):
        for name in names:
            value = row.get(name)
            data = None if value is None else types[name][1].encode(value)
            data = (raw or {}).get((number, name), data)
            body += b"\xff\xff\xff\xff" if data is None else struct.pack(">i", len(data)) + data
    page = decode_result(ResultMessage, body, 0, 4, TypeContext()).page
    assert page is not None
    return page


class Pages(UndecodedRows):
    """Rows of a query over several pages."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], size: int) -> None:
        self._rows = rows
        self.found = [page_of(rows[first : first + size], rows) for first in range(0, len(rows), size)]
        self.nbytes = 1 << 20  # large: indexed when they are read

    def pages(self) -> list[RowsPage]:
        return self.found

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]
