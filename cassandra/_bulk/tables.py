"""The table of a command, from schema metadata (L6)."""

from __future__ import annotations

from typing import Any

from cassandra._base.names import maybe_escape_name
from cassandra._session.ingest.target import TableName

from .errors import UsageError
from .kinds import Kind, kind_of

#: Names of time-to-live and write-time columns, in SELECT and in files.
TTL, WRITETIME = "ttl", "writetime"


class Table:
    """Names as CQL spells them, columns in schema order, and their types."""

    def __init__(self, session: Any, name: str) -> None:
        """Raise UsageError if the table does not exist."""
        try:
            parsed = TableName(name, session.keyspace)
        except ValueError as error:
            raise UsageError(str(error)) from None
        keyspace = session.cluster.metadata.keyspaces.get(parsed.keyspace)
        if keyspace is None:
            raise UsageError(f"there is no keyspace {parsed.keyspace}")
        found = keyspace.tables.get(parsed.table) or keyspace.views.get(parsed.table)
        if found is None:
            raise UsageError(f"there is no table {parsed.table} in the keyspace {parsed.keyspace}")
        self.metadata = found
        self.name = f"{maybe_escape_name(parsed.keyspace)}.{maybe_escape_name(parsed.table)}"
        #: Identity of the table for checkpoints: contact points may change when a command is resumed.
        self.identity = [session.cluster.metadata.cluster_name, self.name, str(found._id)]
        self.file_name = f"{parsed.keyspace}.{parsed.table}"
        if "/" in self.file_name or "\0" in self.file_name:
            raise UsageError(f"{self.name} cannot be the name of a file")
        self.columns: list[str] = list(found.columns)
        self.kinds: dict[str, Kind] = {
            column: kind_of(found.columns[column].cql_type, keyspace.user_types) for column in self.columns
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
