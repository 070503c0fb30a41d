"""Parts of the schema to read after a change, and the queries that read them: one minimal set per part (L4).

Only ``system_schema`` (Apache Cassandra 3.0 and later, ScyllaDB) is supported. Queries of one set are independent and
may run concurrently; their rows are passed to ``parser.py`` as dicts, under the query's ``name``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cassandra._base.constants import SchemaChangeType, SchemaTargetType
from cassandra._base.names import SignatureDescriptor, protect_value

#: Kinds of targets besides those of :class:`~cassandra.SchemaTargetType`.
EVERYTHING = "EVERYTHING"
KEYSPACE_CONTENTS = "KEYSPACE_CONTENTS"

#: Kinds of targets that include the settings of the keyspace.
SETTINGS = (EVERYTHING, SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS)

_TABLE_PARTS = ("tables", "columns", "indexes", "triggers", "dropped_columns")
_KEYSPACE_PARTS = (*_TABLE_PARTS, "views", "types", "functions", "aggregates")
_VIRTUAL_PARTS = ("keyspaces", "tables", "columns")
_OPTIONAL_PARTS = frozenset(("triggers", "dropped_columns", "column_masks", "scylla_keyspaces"))


class SchemaTarget(NamedTuple):
    """One item of the schema. ``TABLE`` includes views: events and names do not distinguish them."""

    kind: str
    keyspace: str | None = None
    name: str | None = None
    argument_types: tuple[str, ...] = ()
    dropped: bool = False

    @classmethod
    def everything(cls) -> SchemaTarget:
        """Return the target for all keyspaces with their contents."""
        return cls(EVERYTHING)

    @classmethod
    def of_keyspace(cls, keyspace: str, *, contents: bool = False) -> SchemaTarget:
        """Return the target for a keyspace's own settings; with *contents*, for its contents too."""
        return cls(KEYSPACE_CONTENTS if contents else SchemaTargetType.KEYSPACE, keyspace)

    @classmethod
    def of_table(cls, keyspace: str, table: str) -> SchemaTarget:
        """Return the target for a table or view."""
        return cls(SchemaTargetType.TABLE, keyspace, table)

    @classmethod
    def of_type(cls, keyspace: str, name: str) -> SchemaTarget:
        return cls(SchemaTargetType.TYPE, keyspace, name)

    @classmethod
    def of_function(cls, keyspace: str, function: SignatureDescriptor) -> SchemaTarget:
        return cls(SchemaTargetType.FUNCTION, keyspace, function.name, tuple(function.argument_types))

    @classmethod
    def of_aggregate(cls, keyspace: str, aggregate: SignatureDescriptor) -> SchemaTarget:
        return cls(SchemaTargetType.AGGREGATE, keyspace, aggregate.name, tuple(aggregate.argument_types))

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> SchemaTarget:
        """Return the target of a decoded schema change event: ``target_type``, ``change_type``, ``keyspace``, and under
        the lower-cased target type a name or a descriptor. An unknown target type gives the whole schema."""
        kind = event.get("target_type")
        keyspace = event.get("keyspace")
        subject = event.get(str(kind).lower())
        if kind == SchemaTargetType.KEYSPACE and keyspace:
            target = cls.of_keyspace(keyspace)
        elif not keyspace or subject is None:
            return cls.everything()
        elif kind == SchemaTargetType.TABLE:
            target = cls.of_table(keyspace, subject)
        elif kind == SchemaTargetType.TYPE:
            target = cls.of_type(keyspace, subject)
        elif kind == SchemaTargetType.FUNCTION:
            target = cls.of_function(keyspace, subject)
        elif kind == SchemaTargetType.AGGREGATE:
            target = cls.of_aggregate(keyspace, subject)
        else:
            return cls.everything()
        return target._replace(dropped=event.get("change_type") == SchemaChangeType.DROPPED)


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
