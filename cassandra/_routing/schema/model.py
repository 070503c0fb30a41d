"""Public model of the schema in ``cluster.metadata``: keyspaces, tables, views, user types, functions, aggregates (L4).

Objects are made by ``parser.py`` and are not changed later (``update.py``). ``ddl.py`` formats them as CQL.
Applications can register hooks that add CQL to a table's exported schema for its server extensions.

The dicts of a keyspace follow the schema (``live.py``), and each of their values is made on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple

from cassandra._base.display import rich_display
from cassandra._base.names import SignatureDescriptor
from cassandra._base.objects import public
from cassandra._routing.display import (
    column_table,
    column_text,
    keyspace_table,
    keyspace_text,
    table_columns,
    table_text,
    type_fields,
    type_text,
)
from cassandra._routing.replication import _ReplicationStrategy

from .live import LiveDict, Part

# ---- dicts that follow the schema

#: The dicts of a keyspace.
PARTS = ("user_types", "functions", "aggregates", "views", "indexes", "tables")


#: The parts that are made of the same rows, and refer to each other.
RELATIONS = ("tables", "views", "indexes")

#: Makes some parts of a keyspace.
PartsReader = Callable[[], Mapping[str, Part]]


class Contents:
    """The dicts of a keyspace by name, each made on first use by one of *readers*: tables, views and indexes together.
    Keyspaces that differ only in their own settings share one object."""

    __slots__ = ("_parts", "_readers")

    def __init__(self, readers: Mapping[str, PartsReader]) -> None:
        self._readers = dict(readers)
        self._parts: dict[str, Mapping[str, Part]] = {}

    def part(self, name: str) -> Part:
        """Return a dict. Concurrent first calls return the same object."""
        group = "relations" if name in RELATIONS else name
        made = self._parts.get(group)
        while made is None:
            read = self._readers.get(group)
            if read is None:
                made = self._parts[group]  # another thread has made it meanwhile
            else:
                made = self._parts.setdefault(group, read())
                self._readers.pop(group, None)  # the rows are not needed any more
        return made[name]


# ---- extensions of tables

_BY_NAME: dict[str, type[TableExtensionInterface]] = {}


@public("cassandra.metadata")
class TableExtensionInterface:
    """Exports an extension of a table as CQL."""

    @classmethod
    def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str | None:
        """Return CQL to add after the table's own, or None."""
        return None


@public("cassandra.metadata")
class RegisteredTableExtension(TableExtensionInterface):
    """Exporter for tables with an extension called :attr:`name`; subclassing registers it."""

    #: Key in the table's ``extensions``.
    name: str | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name is not None:
            _BY_NAME[cls.name] = cls


def extension_cql(table: Any) -> list[str]:
    """Return the CQL that the registered extensions of *table* add to its schema."""
    blobs = table.extensions or {}
    found = (extension.after_table_cql(table, key, blobs[key]) for key, extension in _BY_NAME.items() if key in blobs)
    return [cql for cql in found if cql]


# ---- user types, functions and aggregates


@public("cassandra.metadata")
@rich_display(type_fields, type_text)
class UserType:
    """A user-defined type."""

    #: Name of the keyspace.
    keyspace: str = None  # type: ignore[assignment]
    #: Name of the type.
    name: str = None  # type: ignore[assignment]
    #: Names of the fields, in order.
    field_names: list[str] = None  # type: ignore[assignment]
    #: Types of the fields in CQL, in order.
    field_types: list[str] = None  # type: ignore[assignment]

    def __init__(self, keyspace: str, name: str, field_names: Sequence[str], field_types: Sequence[str]) -> None:
        self.keyspace = keyspace
        self.name = name
        self.field_names = list(field_names or ())
        self.field_types = list(field_types or ())

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the type; with line breaks if *formatted*."""
        from . import ddl

        return ddl.create_type(self, formatted)

    def export_as_string(self) -> str:
        """Return the same statement with line breaks and a semicolon."""
        return self.as_cql_query(formatted=True) + ";"


@public("cassandra.metadata")
class Function:
    """A user-defined function."""

    #: Name of the keyspace.
    keyspace: str = None  # type: ignore[assignment]
    #: Name of the function.
    name: str = None  # type: ignore[assignment]
    #: Types of the arguments in CQL.
    argument_types: list[str] = None  # type: ignore[assignment]
    #: Names of the arguments.
    argument_names: list[str] = None  # type: ignore[assignment]
    #: CQL type of the result.
    return_type: str = None  # type: ignore[assignment]
    #: Language of the body, such as ``java``.
    language: str = None  # type: ignore[assignment]
    #: Source of the function.
    body: str = None  # type: ignore[assignment]
    #: True if it is called when an argument is null (otherwise the result is null).
    called_on_null_input: bool = None  # type: ignore[assignment]
    #: True if equal arguments give equal results (DSE; false for other servers).
    deterministic: bool = None  # type: ignore[assignment]
    #: True if the result grows with all arguments (DSE).
    monotonic: bool = None  # type: ignore[assignment]
    #: Arguments with which the result grows (DSE).
    monotonic_on: list[str] = None  # type: ignore[assignment]

    def __init__(
        self,
        keyspace: str,
        name: str,
        argument_types: Sequence[str],
        argument_names: Sequence[str],
        return_type: str,
        language: str,
        body: str,
        called_on_null_input: bool,
        deterministic: bool,
        monotonic: bool,
        monotonic_on: Sequence[str],
    ) -> None:
        self.keyspace = keyspace
        self.name = name
        self.argument_types = list(argument_types or ())
        self.argument_names = list(argument_names or ())
        self.return_type = return_type
        self.language = language
        self.body = body
        self.called_on_null_input = called_on_null_input
        self.deterministic = deterministic
        self.monotonic = monotonic
        self.monotonic_on = list(monotonic_on or ())

    @property
    def signature(self) -> str:
        """Name and argument types: the key in :attr:`KeyspaceMetadata.functions`."""
        return SignatureDescriptor.format_signature(self.name, self.argument_types)

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the function; with line breaks if *formatted*."""
        from . import ddl

        return ddl.create_function(self, formatted)

    def export_as_string(self) -> str:
        """Return the same statement with line breaks and a semicolon."""
        return self.as_cql_query(formatted=True) + ";"


@public("cassandra.metadata")
class Aggregate:
    """A user-defined aggregate."""

    #: Name of the keyspace.
    keyspace: str = None  # type: ignore[assignment]
    #: Name of the aggregate.
    name: str = None  # type: ignore[assignment]
    #: Types of the arguments in CQL.
    argument_types: list[str] = None  # type: ignore[assignment]
    #: Function called for every row, with the state and the arguments.
    state_func: str = None  # type: ignore[assignment]
    #: Type of the state.
    state_type: str = None  # type: ignore[assignment]
    #: Function that computes the result from the last state, or None.
    final_func: str | None = None
    #: First state as a CQL literal, or None.
    initial_condition: str | None = None
    #: CQL type of the result.
    return_type: str = None  # type: ignore[assignment]
    #: Attribute of DSE; false for other servers.
    deterministic: bool = None  # type: ignore[assignment]

    def __init__(
        self,
        keyspace: str,
        name: str,
        argument_types: Sequence[str],
        state_func: str,
        state_type: str,
        final_func: str | None,
        initial_condition: str | None,
        return_type: str,
        deterministic: bool,
    ) -> None:
        self.keyspace = keyspace
        self.name = name
        self.argument_types = list(argument_types or ())
        self.state_func = state_func
        self.state_type = state_type
        self.final_func = final_func
        self.initial_condition = initial_condition
        self.return_type = return_type
        self.deterministic = deterministic

    @property
    def signature(self) -> str:
        """Name and argument types: the key in :attr:`KeyspaceMetadata.aggregates`."""
        return SignatureDescriptor.format_signature(self.name, self.argument_types)

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the aggregate; with line breaks if *formatted*."""
        from . import ddl

        return ddl.create_aggregate(self, formatted)

    def export_as_string(self) -> str:
        """Return the same statement with line breaks and a semicolon."""
        return self.as_cql_query(formatted=True) + ";"


# ---- tables, views and their parts


@public("cassandra.metadata")
@rich_display(column_table, column_text)
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

    #: Name of the keyspace.
    keyspace_name: str = None  # type: ignore[assignment]
    #: Name of the table.
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

    table: Any = None  #: The table.
    #: Name of the trigger.
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
@rich_display(table_columns, table_text)
class TableMetadata:
    """A table as it was read; when it is read again, another object replaces it. Only ``views`` follows changes."""

    #: Name of the keyspace.
    keyspace_name: str = None  # type: ignore[assignment]
    #: Name of the table.
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
    _exc_info: Any = None  # of its rows, if they are invalid: then it is incomplete

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
        self.comparator = None  #: None: a concept of Cassandra 2.
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

    compaction_options: ClassVar[dict[str, str]] = {}  #: Options of compaction.
    #: Names of the options that are maps.
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
@rich_display(table_columns, table_text)
class MaterializedViewMetadata:
    """A materialized view as it was read; when it is read again, another object replaces it."""

    #: Name of the keyspace.
    keyspace_name: str = None  # type: ignore[assignment]
    #: Name of the view.
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
    _exc_info: Any = None  # as of a table

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


# ---- a keyspace with its contents


class _Part:
    """A dict of a keyspace, made on first use. A value assigned to a keyspace takes precedence."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, keyspace: KeyspaceMetadata | None, owner: type) -> Any:
        if keyspace is None:
            return None
        contents = keyspace._contents
        if contents is None:
            raise AttributeError(f"{keyspace!r} has no {self._name}: the attribute was deleted")
        return keyspace.__dict__.setdefault(self._name, contents.part(self._name))


def _part() -> Any:
    return _Part()


@public("cassandra.metadata")
@rich_display(keyspace_table, keyspace_text)
class KeyspaceMetadata:
    """A keyspace: its replication, and its tables, views, indexes, types, functions and aggregates.

    Its dicts follow changes of the schema until the keyspace is dropped. An object in them is replaced by another one
    when it is read again, and so is the keyspace itself when its own settings are. Iterating over such a dict uses its
    contents at that moment; a ``copy()`` does not change.
    """

    #: Name of the keyspace.
    name: str = None  # type: ignore[assignment]
    #: True if writes go through the commit log; None in a virtual keyspace.
    durable_writes: bool | None = True
    #: A replication strategy, or None (virtual keyspaces).
    replication_strategy: _ReplicationStrategy | None = None
    #: Tables by name.
    tables: dict[str, TableMetadata] = _part()
    #: Indexes of all tables, by name.
    indexes: dict[str, IndexMetadata] = _part()
    #: User types by name.
    user_types: dict[str, UserType] = _part()
    #: User functions by signature: ``name(type,type)``.
    functions: dict[str, Function] = _part()
    #: User aggregates by signature.
    aggregates: dict[str, Aggregate] = _part()
    #: Materialized views by name.
    views: dict[str, MaterializedViewMetadata] = _part()
    #: True if the keyspace is virtual: provided by the node, not stored.
    virtual = False
    #: None except in a keyspace made by a program: DSE is not supported.
    graph_engine: str | None = None
    #: True if it is strongly consistent: the first replica of a tablet is the leader, and requests go to it.
    _has_leaders = False

    def __init__(
        self,
        name: str,
        durable_writes: bool | None,
        strategy_class: str | None,
        strategy_options: Mapping[str, Any] | None,
        graph_engine: str | None = None,
    ) -> None:
        self.name = name
        self.durable_writes = durable_writes
        self.replication_strategy = _ReplicationStrategy.create(strategy_class, strategy_options)
        self._contents: Contents | None = None
        self.graph_engine = graph_engine
        self.__dict__.update({name: {} for name in PARTS})

    @property
    def is_graph_enabled(self) -> bool:
        """True if it is a DSE graph."""
        return self.graph_engine is not None

    def as_cql_query(self) -> str:
        """Return the statement that creates the keyspace, without its contents."""
        from . import ddl

        return ddl.create_keyspace(self)

    def export_as_string(self) -> str:
        """Return the statements that create the keyspace and its contents, in the order of their dependencies."""
        from . import ddl

        return ddl.export_keyspace(copy(self))

    def user_type_strings(self) -> list[str]:
        """Return the statements that create the user types, each after those it uses."""
        strings: list[str] = []
        types = dict(sorted(self.user_types.items()))
        while types:
            self.resolve_user_types(next(iter(types)), types, strings)
        return strings

    def resolve_user_types(self, key: str, user_types: dict[str, UserType], user_type_strings: list[str]) -> None:
        """Move the type *key*, after the ones it uses, from *user_types* to the end of *user_type_strings*."""
        from .cqltype import user_types_in

        user_type = user_types.pop(key)
        for field_type in user_type.field_types:
            for name in user_types_in(field_type):
                if name in user_types:
                    self.resolve_user_types(name, user_types, user_type_strings)
        user_type_strings.append(user_type.export_as_string())

    def _with_contents(self, readers: Mapping[str, PartsReader]) -> KeyspaceMetadata:
        """Return this new keyspace, with its dicts made by *readers*, on first use of each."""
        self._contents = Contents(readers)
        for name in PARTS:
            del self.__dict__[name]
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the complete parsed state at one moment, for copies and pickle."""
        contents = self._contents
        parts = {} if contents is None else {name: contents.part(name) for name in PARTS}
        state = {**parts, **self.__dict__, "_contents": None}
        return {name: part.copy() if isinstance(part, LiveDict) else part for name, part in state.items()}

    def _with(self, **parts: Any) -> KeyspaceMetadata:
        """Return a copy with some attributes replaced. It shares the contents, without parsing them."""
        clone = type(self).__new__(type(self))
        clone.__dict__.update({**self.__dict__, **parts})
        return clone
