"""Rows of the schema tables, found by keyspace and name (L4).

Rows that came over a connection stay undecoded pages, with a native index of them: there is no Python object per row.
Rows that are given as dicts are sorted into lists. Both are immutable and may be read by any thread.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from cassandra._base.constants import SchemaChangeType, SchemaTargetType
from cassandra._base.errors import DriverException
from cassandra._base.names import SignatureDescriptor, protect_value
from cassandra._core.codec import RowIndex, RowsPage
from cassandra._wire.rows import dict_factory, row_plan

Row = Mapping[str, Any]
#: Rows of each schema query, by its name.
SchemaRows = Mapping[str, Sequence[Row]]

LARGE = 64 << 10  # bytes of a part; a larger schema is indexed when it was read, a smaller one on first use

#: The column with the name in a part that has another one than ``table_name``.
_NAMES = {
    "views": "view_name",
    "types": "type_name",
    "functions": "function_name",
    "aggregates": "aggregate_name",
    "scylla_keyspaces": "keyspace_name",
}


class UndecodedRows(Sequence[dict[str, Any]]):
    """Rows as they were received."""

    nbytes: int  #: Size in bytes.

    @abstractmethod
    def pages(self) -> Sequence[RowsPage] | None:
        """Return the pages that have rows; None if rows were not received as pages."""


class KeyedRows(Protocol):
    """Rows by the texts of two columns; each method returns them in the order in which they were read."""

    def group(self, first: str) -> list[Any]:
        """Return the rows with this *first* text."""

    def find(self, first: str, second: str) -> list[Any]:
        """Return the rows with these texts."""

    def has(self, first: str, second: str) -> bool:
        """True if there is a row with these texts."""

    def seconds(self, first: str, limit: int = -1) -> Iterable[str]:
        """Return the second texts of the rows with this *first* text, each once; at most *limit* unless negative."""


class _Pages:
    def __init__(self, index: RowIndex) -> None:
        self._index = index
        row_plan(index.pages[0].plan, dict_factory)  # cached with the plan, for the first look-up

    def group(self, first: str) -> list[Any]:
        return _decoded(self._index.group(first))

    def find(self, first: str, second: str) -> list[Any]:
        return _decoded(self._index.find(first, second))

    def has(self, first: str, second: str) -> bool:
        return bool(self._index.find(first, second))

    def seconds(self, first: str, limit: int = -1) -> Iterable[str]:
        return dict.fromkeys(self._index.seconds(first, limit))


def _decoded(slices: Iterable[tuple[RowsPage, int, int]]) -> list[Any]:
    rows: list[Any] = []
    for page, start, stop in slices:
        plan = row_plan(page.plan, dict_factory)
        assert plan is not None
        rows += page.decode(plan, start, stop)
    return rows


class _Lists:
    def __init__(self, rows: Iterable[Row], first: str, second: str) -> None:
        self._groups: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            texts = row.get(first), row.get(second)
            if isinstance(texts[0], str) and isinstance(texts[1], str):
                self._groups[texts[0]][texts[1]].append(row)

    def group(self, first: str) -> list[Any]:
        return [row for rows in self._groups.get(first, {}).values() for row in rows]

    def find(self, first: str, second: str) -> list[Any]:
        return self._groups.get(first, {}).get(second, [])

    def has(self, first: str, second: str) -> bool:
        return second in self._groups.get(first, ())

    def seconds(self, first: str, limit: int = -1) -> Iterable[str]:
        names = list(self._groups.get(first, ()))
        return names if limit < 0 else names[:limit]


class SchemaIndex:
    """Rows of several queries, by keyspace and name. Raises DriverException for rows that are malformed."""

    def __init__(self, rows: SchemaRows) -> None:
        self._rows = rows
        self._keyed: dict[tuple[str, str], KeyedRows] = {}

    def prepare(self) -> None:
        """Index a large schema now, so that the first look-up is quick."""
        undecoded = {part: rows for part, rows in self._rows.items() if isinstance(rows, UndecodedRows)}
        if any(rows.nbytes > LARGE for rows in undecoded.values()):
            for part in undecoded.keys() - {"keyspaces", "virtual_keyspaces"}:
                with contextlib.suppress(DriverException):  # raised by what reads these rows
                    self._of(part)

    def only(self, *parts: str) -> SchemaIndex:
        """Return an index of some parts, which keeps no others alive."""
        one = SchemaIndex({part: self._rows[part] for part in parts if part in self._rows})
        one._keyed.update({key: keyed for key, keyed in self._keyed.items() if key[0] in parts})
        return one

    def all(self, part: str) -> Iterable[Row]:
        return self._rows.get(part, ())

    def of_keyspace(self, part: str, keyspace: str) -> list[Row]:
        return self._of(part).group(keyspace)

    def of_table(self, part: str, keyspace: str, name: str) -> list[Row]:
        """Return the rows of a table or view."""
        return self._of(part).find(keyspace, name)

    def names(self, part: str, keyspace: str, limit: int = -1) -> Iterable[str]:
        """Return the names of the tables, views or other items in *part*; at most *limit* unless negative."""
        return self._of(part).seconds(keyspace, limit)

    def has(self, part: str, keyspace: str, name: str) -> bool:
        """True if there is a row of a table or view."""
        return self._of(part).has(keyspace, name)

    def views_on(self, keyspace: str, table: str) -> list[Row]:
        """Return the rows of the views on a table."""
        return self._of("views", "base_table_name").find(keyspace, table)

    def _of(self, part: str, second: str | None = None) -> KeyedRows:
        """Index a part on first use; two threads at the same time get the same result."""
        second = second or _NAMES.get(part, "table_name")
        key = part, second
        keyed = self._keyed.get(key)
        if keyed is None:
            keyed = self._keyed.setdefault(key, _keyed(self._rows.get(part, ()), second))
        return keyed


def _keyed(rows: Sequence[Row], second: str) -> KeyedRows:
    pages = rows.pages() if isinstance(rows, UndecodedRows) else None
    if pages is None:
        return _Lists(rows, "keyspace_name", second)
    return _Pages(RowIndex(pages, "keyspace_name", second)) if pages else _Lists((), "keyspace_name", second)


# ---- parts of the schema to read after a change, and the queries that read them: one minimal set per part
#
# Only ``system_schema`` (Apache Cassandra 3.0 and later, ScyllaDB) is supported. Queries of one set are independent and
# may run concurrently; their rows are passed to ``parser.py`` as dicts, under the query's ``name``.


#: Kinds of targets besides those of :class:`~cassandra.SchemaTargetType`.
EVERYTHING = "EVERYTHING"
KEYSPACE_CONTENTS = "KEYSPACE_CONTENTS"

#: Kinds of targets that include the settings of the keyspace.
SETTINGS = (EVERYTHING, SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS)

_TABLE_PARTS = ("tables", "columns", "indexes", "triggers", "dropped_columns")
_KEYSPACE_PARTS = (*_TABLE_PARTS, "views", "types", "functions", "aggregates")
_VIRTUAL_PARTS = ("keyspaces", "tables", "columns")
#: Columns to read of the largest parts; of others all, which depend on the version of the server.
_COLUMNS = {
    "columns": "keyspace_name, table_name, column_name, clustering_order, kind, position, type",
}
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
            *(_select_virtual(part) for part in virtual),
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
    columns = _COLUMNS.get(part, "*")
    cql = f"SELECT {columns} FROM system_schema.{part}"
    return SchemaQuery(part, f"{cql} WHERE {where}" if where else cql, part in _OPTIONAL_PARTS)


def _select_virtual(part: str) -> SchemaQuery:
    columns = _COLUMNS.get(part, "*")
    return SchemaQuery(f"virtual_{part}", f"SELECT {columns} FROM system_virtual_schema.{part}", True)
