"""The table of a command, from schema metadata, and the types of its columns (L6).

Types are trees of kinds, for the file formats; user types are resolved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cassandra._base.names import maybe_escape_name
from cassandra._ingest.target import TableName
from cassandra._routing.schema.cqltype import CqlType, parse_cql_type

from .console import UsageError

TEXTS = frozenset(("ascii", "text", "varchar"))
INTEGERS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64, "counter": 64}
FLOATS = frozenset(("float", "double"))
NUMBERS = FLOATS | {*INTEGERS, "decimal", "varint"}
COLLECTIONS = frozenset(("list", "set", "map"))
#: Names of time-to-live and write-time columns, in SELECT and in files.
TTL, WRITETIME = "ttl", "writetime"


class Kind:
    """A type: ``name`` is that of CQL, or "udt" or "custom".

    ``parts`` are the types within, ``fields`` the field names of a user type, ``size`` the dimensions of a vector.
    ``cells``: True if a column of this type is stored as separate cells: non-frozen collections and user types.
    """

    __slots__ = ("cells", "fields", "name", "parts", "size")

    def __init__(
        self, name: str, parts: tuple[Kind, ...] = (), fields: tuple[str, ...] = (), size: int = 0, cells: bool = False
    ) -> None:
        self.name = name
        self.parts = parts
        self.fields = fields
        self.size = size
        self.cells = cells

    def walk(self) -> Iterator[Kind]:
        """Yield this type and all types within it."""
        yield self
        for part in self.parts:
            yield from part.walk()


#: Kind of time-to-live and write-time columns.
TIMES = Kind("bigint")


def kind_of(text: str, user_types: Mapping[str, Any]) -> Kind:
    """Return the type that schema tables spell as *text*, in a keyspace with these user types."""
    return _kind(parse_cql_type(text), user_types, cells=True)


def _kind(parsed: CqlType, user_types: Mapping[str, Any], cells: bool = False) -> Kind:
    if parsed.kind == "user":
        found = user_types.get(parsed.name)
        if found is None:
            raise ValueError(f"unknown user type {parsed.name!r}")
        parts = tuple(_kind(parse_cql_type(field), user_types) for field in found.field_types)
        return Kind("udt", parts, tuple(found.field_names), cells=cells)
    if parsed.kind == "custom":
        return Kind("custom")
    if parsed.name == "frozen":
        return _kind(parsed.args[0], user_types)
    if parsed.name == "vector":
        return Kind("vector", (_kind(parsed.args[0], user_types),), size=int(parsed.args[1].name))
    parts = tuple(_kind(arg, user_types) for arg in parsed.args)
    return Kind(parsed.name, parts, cells=cells and parsed.name in COLLECTIONS)


def arrow_type(kind: Kind) -> Any:
    """Return the Arrow type that ``session.ingest`` accepts for *kind* and into which a text can be read. Types that
    ingest reads from text itself are strings."""
    import pyarrow as pa

    name = kind.name
    if name in INTEGERS:
        return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[INTEGERS[name]]
    if name == "vector":
        return pa.list_(arrow_type(kind.parts[0]), kind.size)
    if name in ("list", "set"):
        return pa.list_(arrow_type(kind.parts[0]))
    if name == "map":
        return pa.map_(*map(arrow_type, kind.parts))
    if name == "tuple":
        return pa.struct([pa.field(f"f{at}", arrow_type(part)) for at, part in enumerate(kind.parts)])
    if name == "udt":
        return pa.struct(
            [pa.field(field, arrow_type(part)) for field, part in zip(kind.fields, kind.parts, strict=True)]
        )
    simple = {
        "float": pa.float32,
        "double": pa.float64,
        "boolean": pa.bool_,
        "blob": pa.binary,
        "custom": pa.binary,
        "date": pa.date32,
        "duration": pa.month_day_nano_interval,
    }
    if name in simple:
        return simple[name]()
    if name == "timestamp":
        return pa.timestamp("ms", "UTC")
    return pa.time64("ns") if name == "time" else pa.string()


class Table:
    """Names as CQL spells them, columns in schema order, and their types."""

    def __init__(self, session: Any, name: str, keyspace: str | None = None) -> None:
        """*keyspace*: that of a *name* without one. Raise UsageError if the table does not exist."""
        try:
            parsed = TableName(name, keyspace)
        except ValueError as error:
            reason = str(error).partition(": use keyspace.table")[0]
            hint = ": use ks.table or --keyspace" if reason != str(error) else ""
            raise UsageError(reason + hint) from None
        owner = session.cluster.metadata.keyspaces.get(parsed.keyspace)
        if owner is None:
            raise UsageError(f"there is no keyspace {parsed.keyspace}")
        found = owner.tables.get(parsed.table) or owner.views.get(parsed.table)
        if found is None:
            raise UsageError(f"there is no table {parsed.table} in the keyspace {parsed.keyspace}")
        self.metadata = found
        self.keyspace = parsed.keyspace
        self.name = f"{maybe_escape_name(parsed.keyspace)}.{maybe_escape_name(parsed.table)}"
        #: Identity of the table for checkpoints: contact points may change when a command is resumed.
        self.identity = [session.cluster.metadata.cluster_name, self.name, str(found._id)]
        self.file_name = f"{parsed.keyspace}.{parsed.table}"
        if "/" in self.file_name or "\0" in self.file_name:
            raise UsageError(f"{self.name} cannot be the name of a file")
        self.columns: list[str] = list(found.columns)
        self.kinds: dict[str, Kind] = {
            column: kind_of(found.columns[column].cql_type, owner.user_types) for column in self.columns
        }
        self.partition_key = [column.name for column in found.partition_key]
        self.clustering_key = [column.name for column in found.clustering_key]
        self.key = [*self.partition_key, *self.clustering_key]
        self.statics = [name for name in self.columns if found.columns[name].is_static]
        self.counters = [name for name in self.columns if self.kinds[name].name == "counter"]

    def check(self, columns: list[str]) -> list[str]:
        """Return *columns* if the table has all of them. Raise UsageError otherwise."""
        if unknown := [name for name in columns if name not in self.kinds]:
            raise UsageError(f"{self.name} has no column {', '.join(unknown)}")
        if len(set(columns)) < len(columns):
            raise UsageError(f"duplicate column names: {', '.join(columns)}")
        return columns

    def timed(self, column: str) -> tuple[str, str] | None:
        """Return the function and the column of ``ttl(name)`` or ``writetime(name)``; None for other names, and if the
        table has a column of that very name."""
        if column in self.kinds:
            return None
        for what in (TTL, WRITETIME):
            if column.startswith(what + "(") and column.endswith(")") and column[len(what) + 1 : -1] in self.kinds:
                return what, column[len(what) + 1 : -1]
        return None

    def has_times(self, column: str) -> bool:
        """True if the server returns one time to live and one write time for *column*."""
        return column not in self.key and not self.kinds[column].cells and not self.counters


def quoted(names: list[str]) -> str:
    return ", ".join(maybe_escape_name(name) for name in names)
