"""Public model of tables, views and their parts, in ``cluster.metadata`` (L4).

Objects are made by ``parser.py`` and are not changed later (``live.py``). ``ddl.py`` formats them as CQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, NamedTuple

from cassandra._base.objects import public

from .contents import LiveDict


@public("cassandra.metadata")
class ColumnMetadata:
    """A column of a table or view."""

    #: The table (or view) the column belongs to.
    table: Any = None
    #: Name, without quotes.
    name: str = None  # type: ignore[assignment]
    #: Type in CQL, such as ``frozen<list<int>>``.
    cql_type: str = None  # type: ignore[assignment]
    #: True if it has one value per partition.
    is_static = False
    #: True if rows are in descending order of it (clustering columns).
    is_reversed = False
    #: Function call in CQL that replaces the value for roles without UNMASK, such as ``system.mask_default()``.
    mask: str | None = None

    def __init__(
        self,
        table_metadata: Any,
        column_name: str,
        cql_type: str,
        is_static: bool = False,
        is_reversed: bool = False,
    ) -> None:
        self.table = table_metadata
        self.name = column_name
        self.cql_type = cql_type
        self.is_static = is_static
        self.is_reversed = is_reversed

    def __str__(self) -> str:
        return f"{self.name} {self.cql_type}"


class DroppedColumn(NamedTuple):
    """A dropped column; old data may still have it."""

    name: str
    cql_type: str
    kind: str
    dropped_time: Any


@public("cassandra.metadata")
class IndexMetadata:
    """A secondary index."""

    #: Keyspace and table of the index.
    keyspace_name: str = None  # type: ignore[assignment]
    table_name: str = None  # type: ignore[assignment]
    #: Name of the index.
    name: str = None  # type: ignore[assignment]
    #: ``COMPOSITES``, ``KEYS`` or ``CUSTOM``.
    kind: str = None  # type: ignore[assignment]
    #: Its options; ``target`` is the indexed expression, ``class_name`` the implementation of a custom index.
    index_options: dict[str, str] = {}

    def __init__(
        self,
        keyspace_name: str,
        table_name: str,
        index_name: str,
        kind: str,
        index_options: Mapping[str, str] | None,
    ) -> None:
        self.keyspace_name = keyspace_name
        self.table_name = table_name
        self.name = index_name
        self.kind = kind
        self.index_options = dict(index_options or {})

    def as_cql_query(self) -> str:
        """Return the statement that creates the index."""
        from . import ddl

        return ddl.create_index(self)

    def export_as_string(self) -> str:
        """Return the same statement with a semicolon."""
        return self.as_cql_query() + ";"


@public("cassandra.metadata")
class TriggerMetadata:
    """A trigger of a table."""

    table: Any = None
    name: str = None  # type: ignore[assignment]
    #: Its options; ``class`` is the implementation.
    options: Mapping[str, str] | None = None

    def __init__(self, table_metadata: Any, trigger_name: str, options: Mapping[str, str] | None = None) -> None:
        self.table = table_metadata
        self.name = trigger_name
        self.options = options

    def as_cql_query(self) -> str:
        """Return the statement that creates the trigger."""
        from . import ddl

        return ddl.create_trigger(self)

    def export_as_string(self) -> str:
        """Return the same statement with a semicolon."""
        return self.as_cql_query() + ";"


@public("cassandra.metadata")
class TableMetadata:
    """A table as it was read; when it is read again, another object replaces it. Only ``views`` follows changes."""

    keyspace_name: str = None  # type: ignore[assignment]
    name: str = None  # type: ignore[assignment]
    #: Columns of the partition key, in order.
    partition_key: list[ColumnMetadata] = None  # type: ignore[assignment]
    #: Columns of the clustering key, in order.
    clustering_key: list[ColumnMetadata] = None  # type: ignore[assignment]
    #: All columns by name: partition key, clustering key, then the others by name.
    columns: dict[str, ColumnMetadata] = None  # type: ignore[assignment]
    #: Indexes by name.
    indexes: dict[str, IndexMetadata] = None  # type: ignore[assignment]
    #: Table options by name, as in the schema tables.
    options: dict[str, Any] = None  # type: ignore[assignment]
    #: Server extensions of the table: name to blob, or None.
    extensions: dict[str, bytes] | None = None
    #: Triggers by name.
    triggers: dict[str, TriggerMetadata] = None  # type: ignore[assignment]
    #: Materialized views on this table, by name.
    views: dict[str, MaterializedViewMetadata] = None  # type: ignore[assignment]
    #: Dropped columns by name. (Not in scylla-driver.)
    dropped_columns: dict[str, DroppedColumn] = {}
    #: True if the table was created by the old API and keeps its storage format.
    is_compact_storage = False
    #: True if the table is virtual: provided by the node, not stored.
    virtual = False
    _id: Any = None

    #: Names of compaction options that old servers stored separately.
    compaction_options: ClassVar[dict[str, str]] = {
        "min_compaction_threshold": "min_threshold",
        "max_compaction_threshold": "max_threshold",
        "compaction_strategy_class": "class",
    }

    def __init__(
        self,
        keyspace_name: str,
        name: str,
        partition_key: list[ColumnMetadata] | None = None,
        clustering_key: list[ColumnMetadata] | None = None,
        columns: dict[str, ColumnMetadata] | None = None,
        triggers: dict[str, TriggerMetadata] | None = None,
        options: dict[str, Any] | None = None,
        virtual: bool = False,
    ) -> None:
        self.keyspace_name = keyspace_name
        self.name = name
        self.partition_key = [] if partition_key is None else partition_key
        self.clustering_key = [] if clustering_key is None else clustering_key
        self.columns = {} if columns is None else columns
        self.indexes = {}
        self.options = {} if options is None else options
        self.comparator = None
        self.triggers = {} if triggers is None else triggers
        self.views = LiveDict()
        self.virtual = virtual

    @property
    def primary_key(self) -> list[ColumnMetadata]:
        """Columns of the partition key, then of the clustering key."""
        return self.partition_key + self.clustering_key

    @property
    def is_cql_compatible(self) -> bool:
        """True if CQL can recreate the table: not for a virtual one."""
        return not self.virtual

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the table, without its indexes; with line breaks if *formatted*."""
        from . import ddl

        return ddl.create_table(copy(self), formatted)

    def export_as_string(self) -> str:
        """Return the statements that create the table with its indexes, triggers and views."""
        from . import ddl

        return ddl.export_table(copy(self))

    @classmethod
    def _make_option_strings(cls, options_map: Mapping[str, Any]) -> list[str]:
        """Return one ``name = value`` per option, as in ``CREATE TABLE``."""
        from . import ddl

        return ddl.legacy_option_strings(options_map, cls.compaction_options)


@public("cassandra.metadata")
class TableMetadataV3(TableMetadata):
    """A table of a server with ``system_schema`` (all supported servers)."""

    compaction_options: ClassVar[dict[str, str]] = {}
    option_maps: ClassVar[list[str]] = ["compaction", "compression", "caching", "nodesync"]

    @property
    def is_cql_compatible(self) -> bool:
        """True if CQL can recreate the table: always."""
        return True

    @classmethod
    def _make_option_strings(cls, options_map: Mapping[str, Any]) -> list[str]:
        from . import ddl

        return ddl.option_strings(options_map)


@public("cassandra.metadata")
class MaterializedViewMetadata:
    """A materialized view as it was read; when it is read again, another object replaces it."""

    keyspace_name: str = None  # type: ignore[assignment]
    name: str = None  # type: ignore[assignment]
    #: Name of its base table.
    base_table_name: str = None  # type: ignore[assignment]
    #: Columns of the partition key, in order.
    partition_key: list[ColumnMetadata] = None  # type: ignore[assignment]
    #: Columns of the clustering key, in order.
    clustering_key: list[ColumnMetadata] = None  # type: ignore[assignment]
    #: All columns by name.
    columns: dict[str, ColumnMetadata] = None  # type: ignore[assignment]
    #: True if it selects ``*``.
    include_all_columns: bool = None  # type: ignore[assignment]
    #: Its WHERE clause, without the keyword.
    where_clause: str = None  # type: ignore[assignment]
    #: Table options by name.
    options: dict[str, Any] = None  # type: ignore[assignment]
    #: Server extensions: name to blob, or None.
    extensions: dict[str, bytes] | None = None
    _id: Any = None

    def __init__(
        self,
        keyspace_name: str,
        view_name: str,
        base_table_name: str,
        include_all_columns: bool,
        where_clause: str,
        options: dict[str, Any],
    ) -> None:
        self.keyspace_name = keyspace_name
        self.name = view_name
        self.base_table_name = base_table_name
        self.partition_key = []
        self.clustering_key = []
        self.columns = {}
        self.include_all_columns = include_all_columns
        self.where_clause = where_clause
        self.options = options or {}

    _make_option_strings = TableMetadataV3._make_option_strings

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the view, with the CQL of extensions."""
        from . import ddl

        return ddl.create_view(copy(self), formatted)

    def export_as_string(self) -> str:
        """Return the same statement with line breaks and a semicolon."""
        return self.as_cql_query(formatted=True) + ";"
