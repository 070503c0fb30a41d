"""The table that a command is about, as the schema has it (L6)."""

from __future__ import annotations

from typing import Any

from cassandra._base.names import maybe_escape_name
from cassandra._session.ingest.target import TableName

from .errors import UsageError
from .kinds import Kind, kind_of

#: How columns of times to live and of write times are called, in SELECT and in files.
TTL, WRITETIME = "ttl", "writetime"


class Table:
    """Names as CQL spells them, columns in the order of the schema, their types."""

    def __init__(self, session: Any, name: str) -> None:
        """UsageError if there is no such table."""
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
        #: What tells it from others, for checkpoints: contact points may be others when a command goes on.
        self.identity = [session.cluster.metadata.cluster_name, self.name, str(found._id)]
        self.file_name = f"{parsed.keyspace}.{parsed.table}"
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
        """*columns*, if the table has all of them."""
        if unknown := [name for name in columns if name not in self.kinds]:
            raise UsageError(f"{self.name} has no column {', '.join(unknown)}")
        if len(set(columns)) < len(columns):
            raise UsageError(f"a column is there twice: {', '.join(columns)}")
        return columns

    def timed(self, column: str) -> tuple[str, str] | None:
        """Of ``ttl(name)`` or ``writetime(name)`` what it is, and of which column; None for other names, and for a
        column of the table that has such a name."""
        if column in self.kinds:
            return None
        for what in (TTL, WRITETIME):
            if column.startswith(what + "(") and column.endswith(")") and column[len(what) + 1 : -1] in self.kinds:
                return what, column[len(what) + 1 : -1]
        return None

    def has_times(self, column: str) -> bool:
        """Whether the server tells time to live and write time of *column*: one of each."""
        return column not in self.key and not self.kinds[column].cells and not self.counters


def quoted(names: list[str]) -> str:
    return ", ".join(maybe_escape_name(name) for name in names)
