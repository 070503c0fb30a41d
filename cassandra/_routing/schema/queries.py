"""Queries that read a part of the schema: one minimal set per change (L4).

Only ``system_schema`` (Apache Cassandra 3.0 and later, ScyllaDB) is supported. Queries of one set are independent
and may run concurrently; their rows are passed to ``parser.py`` as dicts, under the query's ``name``.
"""

from __future__ import annotations

from cassandra._base.constants import SchemaTargetType
from cassandra._base.names import protect_value

from .target import EVERYTHING, KEYSPACE_CONTENTS, SchemaTarget


class SchemaQuery:
    """One query. An ``optional`` one may be rejected by the server (InvalidRequest, Unauthorized): then it has no
    rows."""

    __slots__ = ("cql", "name", "optional")

    def __init__(self, name: str, cql: str, optional: bool = False) -> None:
        self.name = name
        self.cql = cql
        self.optional = optional


class ServerTraits:
    """Features of a server, by its version."""

    __slots__ = ("leaders", "masks", "virtual_schema")

    def __init__(self, virtual_schema: bool, leaders: bool = False, masks: bool = False) -> None:
        self.virtual_schema = virtual_schema
        # True if columns may be masked.
        self.masks = masks
        # True if keyspaces may be strongly consistent.
        self.leaders = leaders

    @classmethod
    def of(cls, release_version: str | None, is_scylla: bool = False, leaders: bool = False) -> ServerTraits:
        """Parse ``release_version`` of ``system.local``; ScyllaDB reports 3.0.8 and has no virtual schema tables."""
        version = release_version or ""
        major = version[: len(version) - len(version.lstrip("0123456789"))][:9]
        number = int(major) if major and not is_scylla else 0
        return cls(number >= 4, leaders, number >= 5)


_TABLE_PARTS = ("tables", "columns", "indexes", "triggers", "dropped_columns")
_KEYSPACE_PARTS = (*_TABLE_PARTS, "views", "types", "functions", "aggregates")
_VIRTUAL_PARTS = ("keyspaces", "tables", "columns")
_OPTIONAL_PARTS = frozenset(("triggers", "dropped_columns", "column_masks", "scylla_keyspaces"))


def schema_queries(target: SchemaTarget, traits: ServerTraits) -> tuple[SchemaQuery, ...]:
    """Return the queries that read *target*; none if it was dropped."""
    if target.dropped:
        return ()
    own = ("keyspaces", "scylla_keyspaces") if traits.leaders else ("keyspaces",)
    masks = ("column_masks",) if traits.masks else ()
    if target.kind == EVERYTHING:
        virtual = _VIRTUAL_PARTS if traits.virtual_schema else ()
        return (
            *(_select(part) for part in (*own, *_KEYSPACE_PARTS, *masks)),
            *(SchemaQuery(f"virtual_{part}", f"SELECT * FROM system_virtual_schema.{part}", True) for part in virtual),
        )
    keyspace = f"keyspace_name = {protect_value(target.keyspace)}"
    if target.kind == SchemaTargetType.KEYSPACE:
        return tuple(_select(part, keyspace) for part in own)
    if target.kind == KEYSPACE_CONTENTS:
        return tuple(_select(part, keyspace) for part in (*own, *_KEYSPACE_PARTS, *masks))
    name = protect_value(target.name)
    if target.kind == SchemaTargetType.TABLE:
        table = f"{keyspace} AND table_name = {name}"
        view = _select("views", f"{keyspace} AND view_name = {name}")
        return (*(_select(part, table) for part in (*_TABLE_PARTS, *masks)), view)
    if target.kind == SchemaTargetType.TYPE:
        return (_select("types", f"{keyspace} AND type_name = {name}"),)
    types = ", ".join(protect_value(argument) for argument in target.argument_types)
    kind = target.kind.lower()
    return (_select(f"{kind}s", f"{keyspace} AND {kind}_name = {name} AND argument_types = [{types}]"),)


def _select(part: str, where: str = "") -> SchemaQuery:
    cql = f"SELECT * FROM system_schema.{part}"
    return SchemaQuery(part, f"{cql} WHERE {where}" if where else cql, part in _OPTIONAL_PARTS)
