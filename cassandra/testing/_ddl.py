"""CREATE, ALTER and DROP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra.testing import _ast as ast
from cassandra.testing._plan import Result, SchemaChange
from cassandra.testing._schema import (
    CLUSTERING,
    PARTITION,
    REGULAR,
    STATIC,
    Column,
    Index,
    Keyspace,
    Schema,
    Table,
)
from cassandra.testing._types import COUNTER, DURATION, Collection, CqlType, UserType, uses
from cassandra.testing.errors import AlreadyExists, ConfigError, InvalidRequest, NotSupported, SyntaxError

STRATEGIES = ("SimpleStrategy", "NetworkTopologyStrategy", "LocalStrategy", "EverywhereStrategy")
TABLE_OPTIONS = frozenset(
    [
        "additional_write_policy",
        "allow_auto_snapshot",
        "bloom_filter_fp_chance",
        "caching",
        "cdc",
        "comment",
        "compaction",
        "compression",
        "crc_check_chance",
        "dclocal_read_repair_chance",
        "default_time_to_live",
        "extensions",
        "gc_grace_seconds",
        "id",
        "incremental_backups",
        "max_index_interval",
        "memtable",
        "memtable_flush_period_in_ms",
        "min_index_interval",
        "paxos_grace_seconds",
        "read_repair",
        "read_repair_chance",
        "scylla_encryption_options",
        "speculative_retry",
        "synchronous_updates",
        "tablets",
        "tombstone_gc",
        "per_partition_rate_limit",
    ]
)


class Definitions:
    """Applies definitions to a schema. *new_table* assigns tablets to a new table, *replicated* is called for a
    keyspace with changed replication; *datacenters* returns the names of all datacenters."""

    def __init__(
        self, schema: Schema, tablets: bool, new_table: Callable[[Table], None], replicated: Callable[[Keyspace], None],
        datacenters: Callable[[], list[str]],
    ) -> None:  # fmt: skip
        self.schema = schema
        self.tablets = tablets
        self._new_table = new_table
        self._replicated = replicated
        self._datacenters = datacenters
        self._runners: dict[type, Callable[[Any, str | None], Result]] = {
            ast.CreateKeyspace: self._create_keyspace,
            ast.AlterKeyspace: self._alter_keyspace,
            ast.CreateTable: self._create_table,
            ast.AlterTable: self._alter_table,
            ast.CreateType: self._create_type,
            ast.AlterType: self._alter_type,
            ast.CreateIndex: self._create_index,
            ast.Drop: self._drop,
        }

    def run(self, statement: ast.Statement, keyspace: str | None) -> Result:
        """Run *statement*. Raise the error of a server; a :class:`SchemaChange` means that the schema has changed."""
        result = self._runners[type(statement)](statement, keyspace)
        if isinstance(result, SchemaChange):
            self.schema.changed()
        return result

    # -- keyspaces

    def _create_keyspace(self, statement: ast.CreateKeyspace, current: str | None) -> Result:
        if statement.name in self.schema.keyspaces:
            self._writable(statement.name)
            if statement.if_not_exists:
                return Result()
            message = f'Cannot add existing keyspace "{statement.name}"'
            raise AlreadyExists(message, keyspace=statement.name)
        keyspace = Keyspace(statement.name, {})
        self._keyspace_options(keyspace, statement.options)
        if not keyspace.replication:
            raise ConfigError("Missing mandatory replication strategy class")
        self.schema.keyspaces[statement.name] = keyspace
        return SchemaChange("CREATED", "KEYSPACE", statement.name)

    def _alter_keyspace(self, statement: ast.AlterKeyspace, current: str | None) -> Result:
        if statement.if_exists and statement.name not in self.schema.keyspaces:
            return Result()
        keyspace = self._writable(statement.name)
        changed = Keyspace(
            statement.name, dict(keyspace.replication), keyspace.durable_writes, keyspace.initial_tablets
        )
        self._keyspace_options(changed, statement.options)
        if (changed.initial_tablets is None) != (keyspace.initial_tablets is None):
            raise InvalidRequest("Cannot alter replication strategy vnode/tablets flavor")
        moved = changed.replication != keyspace.replication
        keyspace.replication, keyspace.durable_writes = changed.replication, changed.durable_writes
        if moved:
            self._replicated(keyspace)
        return SchemaChange("UPDATED", "KEYSPACE", statement.name)

    def _keyspace_options(self, keyspace: Keyspace, options: dict[str, Any]) -> None:
        unknown = set(options) - {"replication", "durable_writes", "tablets", "storage", "consistency"}
        if unknown:
            raise SyntaxError(f"Unknown property '{sorted(unknown)[0]}'")
        if "replication" in options:
            keyspace.replication = self._replication(options["replication"])
        if "durable_writes" in options:
            keyspace.durable_writes = options["durable_writes"] == "true"
        wanted = options.get("tablets")
        if wanted is not None or keyspace.name not in self.schema.keyspaces:
            keyspace.initial_tablets = self._initial_tablets(keyspace, wanted)

    def _replication(self, given: Any) -> dict[str, str]:
        if not isinstance(given, dict) or "class" not in given:
            raise ConfigError("Missing replication strategy class")
        name = given["class"].rpartition(".")[2]
        if name not in STRATEGIES:
            raise ConfigError(f"Unable to find replication strategy class 'org.apache.cassandra.locator.{name}'")
        options = {key: value for key, value in given.items() if key != "class"}
        if name == "NetworkTopologyStrategy" and "replication_factor" in options:
            factor = options.pop("replication_factor")
            options = dict.fromkeys(self._datacenters(), factor) | options
        if name == "SimpleStrategy" and set(options) != {"replication_factor"}:
            raise ConfigError("SimpleStrategy requires a replication_factor strategy option.")
        for key, value in options.items():
            if not str(value).isdecimal():
                raise ConfigError(f"Replication factor must be numeric; found {value} for {key}")
            if name == "NetworkTopologyStrategy" and key not in self._datacenters():
                raise ConfigError(f"Unrecognized strategy option {{{key}}} passed to NetworkTopologyStrategy")
        return {"class": f"org.apache.cassandra.locator.{name}", **options}

    def _initial_tablets(self, keyspace: Keyspace, wanted: Any) -> int | None:
        network = bool(keyspace.replication) and keyspace.strategy == "NetworkTopologyStrategy"
        if wanted is None:
            return 0 if self.tablets and network else None
        if wanted.get("enabled", "true") == "false":
            return None
        if not self.tablets:
            raise ConfigError("Tablets are not enabled in this cluster")
        if not network:
            raise ConfigError(f"{keyspace.strategy} doesn't support tablet replication")
        return int(wanted.get("initial", 0))

    def _writable(self, name: str) -> Keyspace:
        keyspace = self.schema.keyspace(name)
        if keyspace.virtual:
            raise InvalidRequest(f"{name} keyspace is not user-modifiable.")
        return keyspace

    # -- tables

    def _create_table(self, statement: ast.CreateTable, current: str | None) -> Result:
        keyspace = self._writable(self.schema.resolve(statement.name, current))
        name = statement.name.name
        if name in keyspace.tables:
            if statement.if_not_exists:
                return Result()
            message = f'Cannot add already existing table "{name}" to keyspace "{keyspace.name}"'
            raise AlreadyExists(message, keyspace=keyspace.name, table=name)
        table = Table(keyspace.name, name, self._columns(statement, keyspace.name), self._options(statement.options))
        self._check_table(table)
        self._new_table(table)
        keyspace.tables[name] = table
        return SchemaChange("CREATED", "TABLE", keyspace.name, name)

    def _columns(self, statement: ast.CreateTable, keyspace: str) -> dict[str, Column]:
        if not statement.partition_key:
            raise InvalidRequest("No PRIMARY KEY specified (exactly one required)")
        kinds: dict[str, CqlType] = {}
        statics = set()
        for name, ref, static in statement.columns:
            if name in kinds:
                raise InvalidRequest(f"Multiple definition of identifier {name}")
            kinds[name] = self.schema.type_(ref, keyspace)
            if static:
                statics.add(name)
        key = [*statement.partition_key, *statement.clustering]
        for name in key:
            if name not in kinds:
                raise InvalidRequest(f"Unknown definition {name} referenced in PRIMARY KEY")
            if key.count(name) > 1:
                raise InvalidRequest(f"Duplicate primary key definition {name}")
            self._check_key_type(name, kinds[name])
        columns = {}
        for n, name in enumerate(statement.partition_key):
            columns[name] = Column(name, kinds[name], PARTITION, n)
        for n, name in enumerate(statement.clustering):
            columns[name] = Column(name, kinds[name], CLUSTERING, n, statement.order.get(name, False))
        for name in statement.order:
            if name not in statement.clustering:
                raise InvalidRequest(f"Missing CLUSTERING ORDER for column {name}")
        if statics and not statement.clustering:
            raise InvalidRequest("Static columns are only useful (and thus allowed) if the table has at least one "
                                 "clustering column")  # fmt: skip
        for name, kind in kinds.items():
            if name not in columns:
                columns[name] = Column(name, kind, STATIC if name in statics else REGULAR)
            elif name in statics:
                raise InvalidRequest(f"Static column {name} cannot be part of the PRIMARY KEY")
        return columns

    @staticmethod
    def _check_key_type(name: str, kind: CqlType) -> None:
        if kind is COUNTER:
            raise InvalidRequest(f"counter type is not supported for PRIMARY KEY part {name}")
        if kind is DURATION:
            raise InvalidRequest(f"duration type is not supported for PRIMARY KEY part {name}")
        if kind.multicell:
            what = "collection" if isinstance(kind, Collection) else "user"
            raise InvalidRequest(f"Invalid non-frozen {what} type for PRIMARY KEY component {name}")

    @staticmethod
    def _check_table(table: Table) -> None:
        regular = [column for column in table.columns.values() if column.kind in (STATIC, REGULAR)]
        if table.is_counter and any(column.type is not COUNTER for column in regular):
            raise InvalidRequest("Cannot mix counter and non counter columns in the same table")

    @staticmethod
    def _options(given: dict[str, Any]) -> dict[str, Any]:
        if "per_partition_rate_limit" in given or dict(given.get("cdc") or {}).get("enabled") == "true":
            raise NotSupported("rate limits and CDC logs as table options")
        for name in given:
            if name not in TABLE_OPTIONS:
                raise SyntaxError(f"Unknown property '{name}'")
        return dict(given)

    def _alter_table(self, statement: ast.AlterTable, current: str | None) -> Result:
        keyspace = self._writable(self.schema.resolve(statement.name, current))
        if statement.if_exists and statement.name.name not in keyspace.tables:
            return Result()
        table = self.schema.table(statement.name, current)
        for name, ref, static in statement.add:
            self._add_column(table, name, self.schema.type_(ref, keyspace.name), static)
        for name in statement.drop:
            self._drop_column(table, name)
        for old, new in statement.rename:
            self._rename_column(table, old, new)
        table.options.update(self._options(statement.options))
        return SchemaChange("UPDATED", "TABLE", keyspace.name, table.name)

    @staticmethod
    def _add_column(table: Table, name: str, kind: CqlType, static: bool) -> None:
        if name in table.columns:
            raise InvalidRequest(f"Column with name '{name}' already exists")
        if static and not table.clustering:
            raise InvalidRequest("Static columns are only useful (and thus allowed) if the table has at least one "
                                 "clustering column")  # fmt: skip
        if (kind is COUNTER) != table.is_counter:
            raise InvalidRequest("Cannot mix counter and non counter columns in the same table")
        table.columns[name] = Column(name, kind, STATIC if static else REGULAR)

    @staticmethod
    def _drop_column(table: Table, name: str) -> None:
        column = table.columns.get(name)
        if column is None:
            raise InvalidRequest(f"Column {name} was not found in table '{table.keyspace}.{table.name}'")
        if column.kind in (PARTITION, CLUSTERING):
            raise InvalidRequest(f"Cannot drop PRIMARY KEY column {name}")
        if any(index.column == name for index in table.indexes.values()):
            raise InvalidRequest(f"Cannot drop column {name} because it has dependent secondary indexes")
        del table.columns[name]
        for partition in table.data.partitions.values():
            for row in (partition.static, *partition.rows.values()):
                row.cells.pop(name, None)

    @staticmethod
    def _rename_column(table: Table, old: str, new: str) -> None:
        column = table.columns.get(old)
        if column is None or column.kind not in (PARTITION, CLUSTERING):
            raise InvalidRequest(f"Cannot rename non PRIMARY KEY column {old}")
        if new in table.columns:
            raise InvalidRequest(f"Cannot rename column {old} to {new}; another column of that name already exists")
        column.name = new
        table.columns = {item.name: item for item in table.columns.values()}

    # -- types

    def _create_type(self, statement: ast.CreateType, current: str | None) -> Result:
        keyspace = self._writable(self.schema.resolve(statement.name, current))
        name = statement.name.name
        if name in keyspace.types:
            if statement.if_not_exists:
                return Result()
            raise InvalidRequest(f"A user type with name '{name}' already exists")
        fields = {field: self._field_type(field, ref, keyspace.name) for field, ref in statement.fields}
        if len(fields) != len(statement.fields):
            raise InvalidRequest(f"Duplicate field name in type '{name}'")
        keyspace.types[name] = UserType(keyspace.name, name, fields)
        return SchemaChange("CREATED", "TYPE", keyspace.name, name)

    def _field_type(self, name: str, ref: ast.TypeRef, keyspace: str) -> CqlType:
        kind = self.schema.type_(ref, keyspace)
        if kind is COUNTER:
            raise InvalidRequest("A user type cannot contain counters")
        if kind.multicell and not isinstance(kind, Collection):
            raise InvalidRequest(f"A user type cannot contain non-frozen UDTs: {name}")
        return kind

    def _alter_type(self, statement: ast.AlterType, current: str | None) -> Result:
        keyspace = self._writable(self.schema.resolve(statement.name, current))
        definition = keyspace.types.get(statement.name.name)
        if definition is None:
            raise InvalidRequest(f"No user type named {statement.name} exists.")
        for name, ref in statement.add:
            if name in definition.fields:
                raise InvalidRequest(f"Cannot add field {name} to type {definition.name}: a field of that name exists")
            definition.fields[name] = self._field_type(name, ref, keyspace.name)
        for old, new in statement.rename:
            if old not in definition.fields:
                raise InvalidRequest(f"Unknown field {old} in user type {definition.name}")
            definition.fields = {new if name == old else name: kind for name, kind in definition.fields.items()}
        return SchemaChange("UPDATED", "TYPE", keyspace.name, definition.name)

    # -- indexes

    def _create_index(self, statement: ast.CreateIndex, current: str | None) -> Result:
        table = self.schema.table(statement.table, current)
        keyspace = self._writable(table.keyspace)
        column = table.column(statement.column)
        name = statement.name or f"{table.name}_{column.name}_idx"
        if any(name in other.indexes for other in keyspace.tables.values()):
            if statement.if_not_exists:
                return Result()
            raise InvalidRequest(f"Index {name} already exists")
        if table.is_counter:
            raise InvalidRequest("Secondary indexes are not supported on counter tables")
        target = self._index_target(statement, column)
        table.indexes[name] = Index(name, column.name, target, statement.custom_class, statement.options)
        return SchemaChange("UPDATED", "TABLE", table.keyspace, table.name)

    @staticmethod
    def _index_target(statement: ast.CreateIndex, column: Column) -> str:
        target, kind = statement.target, column.type
        if target == "full" and (not isinstance(kind, Collection) or kind.multicell):
            raise InvalidRequest("full() indexes can only be created on frozen collections")
        if target in ("keys", "entries") and not (isinstance(kind, Collection) and kind.name == "map"):
            raise InvalidRequest(f"Cannot create secondary index on {target} of column {column.name}")
        if not isinstance(kind, Collection) or statement.custom_class:
            return target
        if target != "full" and not kind.multicell:
            raise InvalidRequest(
                f"Cannot create {target or 'values'}() index on frozen column {column.name}. Frozen collections are "
                f"immutable and must be fully indexed by using the 'full({column.name})' modifier"
            )
        if target == "entries":
            raise NotSupported("indexes on the entries of maps")
        return target or "values"

    # -- DROP

    def _drop(self, statement: ast.Drop, current: str | None) -> Result:
        if statement.kind == "KEYSPACE":
            return self._drop_keyspace(statement)
        keyspace_name = self.schema.resolve(statement.name, current)
        if statement.if_exists and keyspace_name not in self.schema.keyspaces:
            return Result()
        keyspace = self._writable(keyspace_name)
        drop = {"TABLE": self._drop_table, "TYPE": self._drop_type, "INDEX": self._drop_index}[statement.kind]
        return drop(keyspace, statement.name.name, statement.if_exists)

    def _drop_keyspace(self, statement: ast.Drop) -> Result:
        name = statement.name.name
        if name not in self.schema.keyspaces:
            if statement.if_exists:
                return Result()
            raise InvalidRequest(f"Cannot drop non existing keyspace '{name}'.")
        self._writable(name)
        del self.schema.keyspaces[name]
        return SchemaChange("DROPPED", "KEYSPACE", name)

    @staticmethod
    def _drop_table(keyspace: Keyspace, name: str, if_exists: bool) -> Result:
        if name not in keyspace.tables:
            if if_exists:
                return Result()
            raise InvalidRequest(f"Cannot drop non existing table '{name}' in keyspace '{keyspace.name}'.")
        del keyspace.tables[name]
        return SchemaChange("DROPPED", "TABLE", keyspace.name, name)

    @staticmethod
    def _drop_type(keyspace: Keyspace, name: str, if_exists: bool) -> Result:
        definition = keyspace.types.get(name)
        if definition is None:
            if if_exists:
                return Result()
            raise InvalidRequest(f"No user type named {name} exists.")
        for table in keyspace.tables.values():
            for column in table.columns.values():
                if uses(column.type, definition):
                    raise InvalidRequest(f"Cannot drop user type {keyspace.name}.{name} as it is still used by table "
                                         f"{table.keyspace}.{table.name}")  # fmt: skip
        for other in keyspace.types.values():
            if any(uses(kind, definition) for kind in other.fields.values()):
                raise InvalidRequest(f"Cannot drop user type {keyspace.name}.{name} as it is still used by user type "
                                     f"{other.name}")  # fmt: skip
        del keyspace.types[name]
        return SchemaChange("DROPPED", "TYPE", keyspace.name, name)

    @staticmethod
    def _drop_index(keyspace: Keyspace, name: str, if_exists: bool) -> Result:
        for table in keyspace.tables.values():
            if table.indexes.pop(name, None) is not None:
                return SchemaChange("UPDATED", "TABLE", keyspace.name, table.name)
        if if_exists:
            return Result()
        raise InvalidRequest(f"Index '{name}' could not be found in any of the tables of keyspace '{keyspace.name}'")
