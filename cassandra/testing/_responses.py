"""Results as bodies of RESULT, SUPPORTED and EVENT messages."""

from __future__ import annotations

from collections.abc import Sequence

from cassandra.testing import _wire as wire
from cassandra.testing._engine import Prepared
from cassandra.testing._plan import ColumnSpec, Result, Rows, SchemaChange, SetKeyspace

GLOBAL_TABLE, MORE_PAGES, NO_METADATA, METADATA_CHANGED = 0x01, 0x02, 0x04, 0x08
LWT_MASK = 1 << 31


def result_body(result: Result, version: int, skip_metadata: bool = False, changed_id: bytes | None = None) -> bytes:
    """Return the body of a RESULT. *changed_id*: the metadata id to announce, if it differs from the client's."""
    if isinstance(result, Rows):
        head = metadata(result.columns, version, result.paging_state, skip_metadata and changed_id is None, changed_id)
        cells = b"".join(wire.bytes_(cell) for row in result.rows for cell in row)
        return wire.int32(2) + head + wire.int32(len(result.rows)) + cells
    if isinstance(result, SetKeyspace):
        return wire.int32(3) + wire.string(result.keyspace)
    if isinstance(result, SchemaChange):
        return wire.int32(5) + schema_change(result)
    return wire.int32(1)


def metadata(
    columns: Sequence[ColumnSpec], version: int, paging_state: bytes | None = None, skip: bool = False,
    changed_id: bytes | None = None,
) -> bytes:  # fmt: skip
    flags = (MORE_PAGES if paging_state is not None else 0) | (METADATA_CHANGED if changed_id is not None else 0)
    shared = _one_table(columns)
    flags |= NO_METADATA if skip else GLOBAL_TABLE if shared else 0
    data = wire.int32(flags) + wire.int32(len(columns))
    if paging_state is not None:
        data += wire.bytes_(paging_state)
    if changed_id is not None:
        data += wire.short_bytes(changed_id)
    return data if skip else data + _specs(columns, version, shared)


def _one_table(columns: Sequence[ColumnSpec]) -> bool:
    return bool(columns) and len({(spec.keyspace, spec.table) for spec in columns}) == 1


def _specs(columns: Sequence[ColumnSpec], version: int, shared: bool) -> bytes:
    parts = []
    if shared:
        parts += [wire.string(columns[0].keyspace), wire.string(columns[0].table)]
    for spec in columns:
        if not shared:
            parts += [wire.string(spec.keyspace), wire.string(spec.table)]
        parts += [wire.string(spec.name), spec.type.option(version)]
    return b"".join(parts)


def prepared_body(prepared: Prepared, version: int, with_metadata_id: bool, lwt_mark: bool) -> bytes:
    plan = prepared.plan
    shared = _one_table(plan.specs)
    flags = (GLOBAL_TABLE if shared else 0) | (LWT_MASK if lwt_mark and plan.conditional else 0)
    data = wire.int32(4) + wire.short_bytes(prepared.id)
    if with_metadata_id:
        data += wire.short_bytes(prepared.metadata_id())
    data += flags.to_bytes(4, "big") + wire.int32(len(plan.specs))
    if version >= 4:
        data += wire.int32(len(plan.partition_markers)) + b"".join(map(wire.short, plan.partition_markers))
    data += _specs(plan.specs, version, shared)
    if plan.columns is None:
        return data + wire.int32(NO_METADATA) + wire.int32(0)
    return data + metadata(plan.columns, version)


def schema_change(change: SchemaChange) -> bytes:
    data = wire.string(change.change) + wire.string(change.target) + wire.string(change.keyspace)
    return data if change.target == "KEYSPACE" else data + wire.string(change.name)


def event(kind: str, body: bytes) -> bytes:
    return wire.string(kind) + body
