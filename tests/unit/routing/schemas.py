"""Rows of schema tables, and metadata that are read from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra._routing.schema import SchemaTarget, ServerTraits, schema_queries
from cassandra.metadata import (
    Metadata,
)

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
