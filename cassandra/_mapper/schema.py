"""Keyspaces, tables and types created from models.

Parts of a model that are missing in its table are added; only ``drop_table`` and ``drop_keyspace`` drop anything. User
types used by others come first. Programs that change the schema set an environment variable, as a permission.

Statements that depend on one another are yielded by a generator, which is run in a thread or awaited. Between two
statements it reads the metadata of the cluster, which the driver refreshes before a schema change returns. The
generator itself performs no I/O and does not wait.

Types may be spelled differently in a model and in the metadata of a cluster, and so may options of tables. Options that
the model does not set are left unchanged, in maps too: a model that sets the class of the compaction does not change
its thresholds. Servers spell some values differently, and these are not differences: classes with their Java package,
percentiles with a ``p``, numbers in maps as text.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, Final, Protocol

from cassandra._base.errors import AlreadyExists, InvalidRequest
from cassandra._base.logs import get_logger
from cassandra._base.names import escape_name, protect_name
from cassandra._base.objects import public
from cassandra._routing.schema.cqltype import CqlType, parse_cql_type
from cassandra._routing.schema.model import KeyspaceMetadata, TableMetadata, TableMetadataV3
from cassandra._routing.schema.model import UserType as TypeMetadata
from cassandra._session.statements.statement import NOT_SET

from .connections import format_log_context, get_cluster, get_connection_async
from .containers import BaseContainerColumn, resolve_udts
from .errors import CQLEngineException
from .execution import by_text_async, execute, forget_prepared
from .model import BaseModel, table_of
from .usertypes import UserType

log = get_logger("cassandra.cqlengine.management")

#: Name of the environment variable; any value permits schema changes.
CQLENG_ALLOW_SCHEMA_MANAGEMENT: Final = "CQLENG_ALLOW_SCHEMA_MANAGEMENT"

#: CQL statements; an error of a statement is thrown into the generator.
Steps = Generator[str, None, None]

#: Names of keyspaces or connections.
Names = Sequence[Any] | None

_OTHER_NAMES = {"varchar": "text"}

#: Options that servers do not list before they are set.
_UNLISTED = frozenset(("cdc", "memtable", "incremental_backups", "allow_auto_snapshot"))

_PERCENTILE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?p(?:ercentile)?", re.IGNORECASE)

#: Error texts of servers for an object that already exists.
_IS_THERE = (
    "already exist",
    "of that name exists",
    "conflicts with an existing",
    "duplicate of existing",
    "duplicates existing",
)

#: Target of an index: a column, or a part of one.
_TARGET = re.compile(r"(?:(?:keys|values|entries|full)\((?P<of>.+)\)|(?P<plain>.+))\Z")


def _allow_schema_modification() -> bool:
    """Return True; warn if the environment variable is not set."""
    if not os.getenv(CQLENG_ALLOW_SCHEMA_MANAGEMENT):
        warn(
            f"{CQLENG_ALLOW_SCHEMA_MANAGEMENT} environment variable is not set. Future versions of this package will "
            "require this variable to enable management functions."
        )
    return True


def warn(message: str) -> None:
    """Issue *message* as a Python warning, for developers, and in the log, for operators."""
    warnings.warn(message, stacklevel=2)
    log.warning(message)


# ---- statements that depend on one another


class SyncPlan(Protocol):
    """Steps for one connection and, for tables, one keyspace."""

    def __call__(self, connection: Any) -> Steps: ...


def run(planned: SyncPlan, connection: Any) -> None:
    """Execute the statements of *planned*, one after the other."""
    steps = planned(connection)
    step = next(steps, None)
    while step is not None:
        try:
            execute(step, connection=connection)
        except (AlreadyExists, InvalidRequest) as error:
            step = _throw_into(steps, error)
        else:
            step = next(steps, None)


async def run_async(planned: SyncPlan, connection: Any) -> None:
    """As :func:`run`, without blocking the running loop."""
    session = (await get_connection_async(connection)).session
    steps = planned(connection)
    step = next(steps, None)
    while step is not None:
        try:
            await by_text_async(session, step, None, None, NOT_SET)
        except (AlreadyExists, InvalidRequest) as error:
            step = _throw_into(steps, error)
        else:
            step = next(steps, None)


def _throw_into(steps: Steps, error: Exception) -> str | None:
    try:
        return steps.throw(error)
    except StopIteration:
        return None


def create_if_missing(statement: str, what: str) -> Generator[str, None, bool]:
    """Yield *statement*; return False, and log *what*, if another program has created the object first."""
    try:
        yield statement
    except (AlreadyExists, InvalidRequest) as error:
        if not isinstance(error, AlreadyExists) and not any(words in str(error) for words in _IS_THERE):
            raise
        log.info(what)
        return False
    return True


def each(*lists: tuple[str, Any]) -> Iterable[tuple[Any, ...]]:
    """Return all combinations of the named lists, None for an empty one; raise ValueError if one is not a list or
    tuple."""
    for name, given in lists:
        if given and not isinstance(given, list | tuple):
            raise ValueError(f"{name} must be a list or a tuple.")
    return product(*(given or (None,) for _, given in lists))


# ---- comparison of types and options


def same_type(one: str, other: str) -> bool:
    """True if both spellings denote the same type. ``tuple<int>`` equals ``frozen<tuple<int>>``: servers report tuples
    as frozen, which they always are. Quotes and spaces make no difference."""
    if one == other:
        return True
    try:
        return _normal(parse_cql_type(one)) == _normal(parse_cql_type(other))
    except ValueError:
        return False


def _normal(parsed: CqlType) -> CqlType:
    if parsed.name == "frozen" and parsed.args and parsed.args[0].name == "tuple":
        return _normal(parsed.args[0])
    name = _OTHER_NAMES.get(parsed.name, parsed.name) if parsed.kind == "native" else parsed.name
    return CqlType(name, parsed.kind, tuple(map(_normal, parsed.args)))


def changed_options(wanted: Mapping[str, Any], existing: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the options in *wanted* that differ in *existing*; raise KeyError, prefixed by *where*, for an unknown
    option."""
    changed = {}
    for name, value in wanted.items():
        if value is None:
            continue
        if name not in existing and name not in _UNLISTED:
            raise KeyError(f"{where}Invalid table option: '{name}'; known options: {sorted(existing)}")
        if not _same(name, value, existing.get(name)):
            changed[name] = value
    return changed


def _same(name: str, wanted: Any, existing: Any) -> bool:
    if isinstance(wanted, Mapping) and isinstance(existing, Mapping):
        return all(_same(str(key), value, existing.get(str(key))) for key, value in wanted.items())
    if isinstance(wanted, Mapping) or existing is None:
        return False
    if name == "comment":
        return str(wanted) == str(existing)
    return _option_value(name, wanted) == _option_value(name, existing)


def _option_value(name: str, value: Any) -> object:
    text = str(value)
    if name in ("class", "sstable_compression"):
        return text.rpartition(".")[2]
    try:
        return float(text)
    except ValueError:
        return _PERCENTILE.sub(r"\1p", text).lower()


# ---- keyspaces: created if missing, dropped if existing


@public("cassandra.cqlengine.management")
def create_keyspace_simple(
    name: str, replication_factor: int, durable_writes: bool = True, connections: Names = None
) -> None:
    """Create the keyspace *name* with *replication_factor* replicas in every datacenter, unless it exists; on each of
    *connections* (names), or on the default one."""
    _run_on_each(_simple(name, replication_factor, durable_writes), connections)


async def create_keyspace_simple_async(
    name: str, replication_factor: int, durable_writes: bool = True, connections: Names = None
) -> None:
    """As :func:`create_keyspace_simple`, without blocking the running loop."""
    await _run_on_each_async(_simple(name, replication_factor, durable_writes), connections)


@public("cassandra.cqlengine.management")
def create_keyspace_network_topology(
    name: str,
    dc_replication_map: Mapping[str, int],
    durable_writes: bool = True,
    connections: Names = None,
) -> None:
    """Create the keyspace *name* with the given number of replicas per datacenter, unless it exists."""
    _run_on_each(_network_topology(name, dc_replication_map, durable_writes), connections)


async def create_keyspace_network_topology_async(
    name: str,
    dc_replication_map: Mapping[str, int],
    durable_writes: bool = True,
    connections: Names = None,
) -> None:
    """As :func:`create_keyspace_network_topology`, without blocking the running loop."""
    await _run_on_each_async(_network_topology(name, dc_replication_map, durable_writes), connections)


@public("cassandra.cqlengine.management")
def drop_keyspace(name: str, connections: Names = None) -> None:
    """Drop the keyspace *name* with all its contents, if it exists. **This cannot be undone.**"""
    _run_on_each(partial(_dropping_keyspace, name), connections)


async def drop_keyspace_async(name: str, connections: Names = None) -> None:
    """As :func:`drop_keyspace`, without blocking the running loop."""
    await _run_on_each_async(partial(_dropping_keyspace, name), connections)


def _simple(name: str, replication_factor: int, durable_writes: bool) -> SyncPlan:
    return partial(_creating, name, {"replication_factor": replication_factor}, durable_writes)


def _network_topology(name: str, replicas: Mapping[str, int] | None, durable_writes: bool) -> SyncPlan:
    return partial(_creating, name, dict(replicas or {}), durable_writes)


def _run_on_each(planned: SyncPlan, connections: Names) -> None:
    if _allow_schema_modification():
        for (connection,) in each(("Connections", connections)):
            run(planned, connection)


async def _run_on_each_async(planned: SyncPlan, connections: Names) -> None:
    if _allow_schema_modification():
        for (connection,) in each(("Connections", connections)):
            await run_async(planned, connection)


def _creating(name: str, replicas: Mapping[str, Any], durable_writes: bool, connection: Any) -> Steps:
    def told(what: str) -> None:
        log.info(format_log_context(what, connection=connection))

    if name in get_cluster(connection).metadata.keyspaces:
        told(f"Not creating keyspace {name} because it already exists")
        return
    told(f"Creating keyspace {name}")
    options = {place: str(number) for place, number in replicas.items()}
    statement = KeyspaceMetadata(name, durable_writes, "NetworkTopologyStrategy", options).as_cql_query()
    meanwhile = f"Another program has created keyspace {name} meanwhile"
    yield from create_if_missing(statement, format_log_context(meanwhile, connection=connection))


def _dropping_keyspace(name: str, connection: Any) -> Steps:
    if name in get_cluster(connection).metadata.keyspaces:
        yield f"DROP KEYSPACE {protect_name(name)}"


# ---- user types: created, and extended by fields


@public("cassandra.cqlengine.management")
def sync_type(ks_name: str, type_model: type[Any], connection: Any = None) -> None:
    """Create the type of *type_model* in the keyspace, or add missing fields; the types of its fields first. Nothing is
    renamed, altered or dropped: a field with a different type causes a warning."""
    if _allow_schema_modification():
        run(_plan_type(ks_name, type_model), connection)


async def sync_type_async(ks_name: str, type_model: type[Any], connection: Any = None) -> None:
    """As :func:`sync_type`, without blocking the running loop."""
    if _allow_schema_modification():
        await run_async(_plan_type(ks_name, type_model), connection)


@public("cassandra.cqlengine.management")
def get_create_type(type_model: type[Any], keyspace: str) -> str:
    """Return the statement that creates the type of *type_model*."""
    fields = list(type_model._fields.values())
    names, types = [field.db_field_name for field in fields], [field.db_type for field in fields]
    return TypeMetadata(keyspace, type_model.type_name(), names, types).as_cql_query(formatted=False)


def _plan_type(keyspace: str, type_model: type[Any]) -> SyncPlan:
    if not (isinstance(type_model, type) and issubclass(type_model, UserType)):
        raise CQLEngineException("Types must be derived from base UserType.")
    return partial(_syncing_type, keyspace, type_model)


def _syncing_type(keyspace: str, type_model: type[Any], connection: Any) -> Steps:
    found: list[type[Any]] = []
    for field in type_model._fields.values():
        resolve_udts(field, found)
    yield from type_steps(keyspace, [*found, type_model], connection)


def type_steps(keyspace: str, types: Iterable[type[Any]], connection: Any) -> Steps:
    """Create or extend each of *types* once, in their order: types of fields must come before the type itself."""
    if keyspace not in get_cluster(connection).metadata.keyspaces:
        raise CQLEngineException(format_log_context(f"Keyspace '{keyspace}' does not exist.", connection=connection))
    for type_model in dict.fromkeys(types):
        yield from _extending_type(keyspace, type_model, connection)
        type_model.register_for_keyspace(keyspace, connection=connection)
        forget_prepared(get_cluster(connection))  # also if another program altered the type


def _extending_type(keyspace: str, type_model: type[Any], connection: Any) -> Steps:
    told = partial(format_log_context, connection=connection, keyspace=keyspace)
    name = type_model.type_name()
    existing = get_cluster(connection).metadata.keyspaces[keyspace].user_types.get(name)
    if existing is None:
        meanwhile = f"Another program has created type {keyspace}.{name} meanwhile"
        yield from create_if_missing(get_create_type(type_model, keyspace), told(meanwhile))
        return
    known = dict(zip(existing.field_names, existing.field_types, strict=True))
    added = 0
    for field in type_model._fields.values():
        field_name = field.db_field_name
        if field_name not in known:
            statement = f"ALTER TYPE {protect_name(keyspace)}.{protect_name(name)} ADD {field.get_column_def()}"
            meanwhile = f"Another program has added field {field_name} to type {keyspace}.{name} meanwhile"
            yield from create_if_missing(statement, told(meanwhile))
            added += 1
        elif not same_type(known[field_name], field.db_type):
            warn(
                told(
                    f'Existing user type {keyspace}.{name} has field "{field_name}" with a type ({known[field_name]}) '
                    f"differing from the model user type ({field.db_type}). UserType should be updated."
                )
            )
    unreferenced = sorted(set(known) - {field.db_field_name for field in type_model._fields.values()})
    if unreferenced:
        fields = ", ".join(map(repr, unreferenced))
        log.info(told(f"Type {keyspace}.{name} has fields not referenced by model: {{{fields}}}"))
    elif not added:
        log.info(told(f"Type {keyspace}.{name} did not require synchronization"))


# ---- tables: created, extended by columns and indexes, and dropped


@public("cassandra.cqlengine.management")
def sync_table(model: type[Any], keyspaces: Names = None, connections: Names = None) -> None:
    """Create the table of *model*, or add missing columns and indexes, and change options that differ; the same for its
    user types. For each of *keyspaces* on each of *connections*, or for the model's own.

    Nothing is dropped. A column whose type differs from the model's causes a warning; a different primary key raises
    CQLEngineException, as it cannot be changed. Programs may call this at the same time without harm to one another,
    but servers do not handle concurrent schema changes well: let one program do it.
    """
    for planned, connection in _plan_models(_syncing, model, keyspaces, connections):
        run(planned, connection)


async def sync_table_async(model: type[Any], keyspaces: Names = None, connections: Names = None) -> None:
    """As :func:`sync_table`, without blocking the running loop."""
    for planned, connection in _plan_models(_syncing, model, keyspaces, connections):
        await run_async(planned, connection)


@public("cassandra.cqlengine.management")
def drop_table(model: type[Any], keyspaces: Names = None, connections: Names = None) -> None:
    """Drop the table of *model*, if there is one, in each of *keyspaces* on each of *connections*, or in the model's
    own. **This cannot be undone.**"""
    for planned, connection in _plan_models(_dropping, model, keyspaces, connections):
        run(planned, connection)


async def drop_table_async(model: type[Any], keyspaces: Names = None, connections: Names = None) -> None:
    """As :func:`drop_table`, without blocking the running loop."""
    for planned, connection in _plan_models(_dropping, model, keyspaces, connections):
        await run_async(planned, connection)


def _plan_models(steps: Any, model: type[Any], keyspaces: Names, connections: Names) -> Iterable[tuple[SyncPlan, Any]]:
    for keyspace, connection in each(("keyspaces", keyspaces), ("connections", connections)):
        if not isinstance(model, type):
            raise ValueError("Models must be derived from base Model.")
        if not issubclass(model, BaseModel):  # django-cassandra-engine models derive from BaseModel only
            raise CQLEngineException("Models must be derived from base Model.")
        if not _allow_schema_modification():
            return
        yield partial(steps, _Table(model, keyspace)), connection or model._get_connection()


class _Table:
    """The table of *model* in *keyspace*, or in the model's own."""

    def __init__(self, model: type[Any], keyspace: str | None = None) -> None:
        self.model = model
        self.keyspace: Any = keyspace or model._get_keyspace()
        self.name = table_of(model)

    @property
    def full_name(self) -> str:
        return f"{protect_name(self.keyspace)}.{protect_name(self.name)}"

    def metadata(self, connection: Any) -> TableMetadata | None:
        """Return the metadata of the table in the cluster; None if it does not exist."""
        keyspace = get_cluster(connection).metadata.keyspaces.get(self.keyspace)
        return None if keyspace is None else keyspace.tables.get(self.name)


def _syncing(table: _Table, connection: Any) -> Steps:
    told = partial(format_log_context, connection=connection, keyspace=table.keyspace)
    model = table.model
    if model.__abstract__:
        raise CQLEngineException("cannot create table from abstract model")
    if not table.keyspace:
        raise CQLEngineException(
            "Model keyspace is not set and no default is available. Set model keyspace or setup connection before "
            f"attempting to generate a query. ({model})"
        )
    if table.keyspace not in get_cluster(connection).metadata.keyspaces:
        message = f"Keyspace '{table.keyspace}' for model {model} does not exist."
        raise CQLEngineException(format_log_context(message, connection=connection))
    types: list[type[Any]] = []
    for column in model._columns.values():
        resolve_udts(column, types)
    yield from type_steps(table.keyspace, types, connection)
    existing = table.metadata(connection)
    if existing is None:
        meanwhile = f"Another program has created table {table.full_name} meanwhile"
        yield from create_if_missing(_create(table), told(meanwhile))
        # create its indexes, too: the other program may be this one, whose response was lost
    else:
        _validate_pk(model, existing)
        yield from _adding_columns(table, existing, connection)
        if _update_options is _OPTIONS:
            yield from _altering_options(table, existing, connection)
        else:  # a program has replaced the function
            _update_options(model, connection=connection)
    yield from _adding_indexes(table, connection)


def _create(table: _Table) -> str:
    model = table.model
    columns = "".join(f"{column.get_column_def()}, " for column in model._columns.values())
    partition, clustering = _key_columns(model)
    key = ", ".join([f"({', '.join(map(escape_name, partition))})", *map(escape_name, clustering)])
    properties = []
    if clustering:
        orders = (
            f"{escape_name(column.db_field_name)} {column.clustering_order or 'ASC'}"
            for column in model._clustering_keys.values()
        )
        properties.append(f"CLUSTERING ORDER BY ({', '.join(orders)})")
    properties += TableMetadataV3._make_option_strings(model.__options__ or {})
    with_properties = f" WITH {' AND '.join(properties)}" if properties else ""
    return f"CREATE TABLE {table.full_name} ({columns}PRIMARY KEY ({key})){with_properties}"


def _key_columns(model: type[Any]) -> tuple[list[str], list[str]]:
    """Return the names in the table of the partition key columns and of the clustering columns."""
    partition = [column.db_field_name for column in model._partition_keys.values()]
    return partition, [column.db_field_name for column in model._clustering_keys.values()]


def _validate_pk(model: type[Any], table_meta: TableMetadata) -> None:
    """Raise CQLEngineException if the primary key of *model* differs from that of the table."""

    def text(partition: list[str], clustering: list[str]) -> str:
        return f"PRIMARY KEY ({', '.join(['(' + ', '.join(partition) + ')', *clustering])})"

    ours = _key_columns(model)
    theirs = ([each.name for each in table_meta.partition_key], [each.name for each in table_meta.clustering_key])
    if ours != theirs:
        name = f"{protect_name(table_meta.keyspace_name)}.{protect_name(table_meta.name)}"
        raise CQLEngineException(
            f"Model {model} PRIMARY KEY composition does not match existing table {name}. Model: {text(*ours)}; "
            f"Table: {text(*theirs)}. Update model or drop the table."
        )


def _adding_columns(table: _Table, existing: TableMetadata, connection: Any) -> Steps:
    told = partial(format_log_context, connection=connection, keyspace=table.keyspace)
    known = {name: column.cql_type for name, column in existing.columns.items()}  # a copy: the metadata may change
    for column in table.model._columns.values():
        name = column.db_field_name
        if name not in known:
            statement = f"ALTER TABLE {table.full_name} add {column.get_column_def()}"
            meanwhile = f"Another program has added column {name} to table {table.full_name} meanwhile"
            yield from create_if_missing(statement, told(meanwhile))
        elif not same_type(known[name], column.db_type):
            warn(
                told(
                    f'Existing table {table.full_name} has column "{name}" with a type ({known[name]}) differing from '
                    f"the model type ({column.db_type}). Model should be updated."
                )
            )
    unreferenced = sorted(set(known) - {column.db_field_name for column in table.model._columns.values()})
    if unreferenced:
        fields = ", ".join(map(repr, unreferenced))
        log.info(told(f"Table {table.full_name} has fields not referenced by model: {{{fields}}}"))


def _altering_options(table: _Table, existing: TableMetadata, connection: Any) -> Steps:
    where = format_log_context("", connection=connection, keyspace=table.keyspace)
    changed = changed_options(table.model.__options__ or {}, existing.options, where)
    if changed:
        yield f"ALTER TABLE {table.full_name} WITH {' AND '.join(TableMetadataV3._make_option_strings(changed))}"


def _adding_indexes(table: _Table, connection: Any) -> Steps:
    for column in table.model._columns.values():
        if not column.index:
            continue
        existing = table.metadata(connection)
        if existing is None or _get_index_name_by_column(existing, column.db_field_name) is None:
            statement = f"CREATE INDEX ON {table.full_name} ({_index_target(column)})"
            meanwhile = f"Another program has created an index on {table.full_name} meanwhile"
            yield from create_if_missing(statement, format_log_context(meanwhile, connection=connection))


def _index_target(column: Any) -> str:
    """Return the target of an index of the column: a frozen container can only be indexed as a whole."""
    name = escape_name(column.db_field_name)
    return f"FULL({name})" if isinstance(column, BaseContainerColumn) and column.frozen else name


def _get_index_name_by_column(table: TableMetadata, column_name: str) -> str | None:
    """Return the name of an index on the column, or on its keys, values, entries or all of it; None if none."""
    for name, index in table.indexes.items():
        match = _TARGET.match((index.index_options or {}).get("target", ""))
        if match is not None and (match["of"] or match["plain"]) in (column_name, escape_name(column_name)):
            return name
    return None


def _dropping(table: _Table, connection: Any) -> Steps:
    if table.metadata(connection) is not None:
        yield f"DROP TABLE {table.full_name};"


# Existing programs call or replace the following functions, as names of cassandra.cqlengine.management.


def _get_create_table(model: type[Any]) -> str:
    return _create(_Table(model))


def _get_table_metadata(model: type[Any], connection: Any = None) -> TableMetadata:
    table = _Table(model)
    found = table.metadata(connection or model._get_connection())
    if found is None:
        raise KeyError(table.name)
    return found


def _update_options(model: type[Any], connection: Any = None) -> bool:
    """Update the options of the table; return True if any had to be changed."""
    connection = connection or model._get_connection()
    existing = _get_table_metadata(model, connection)
    changed = bool(list(_altering_options(_Table(model), existing, connection)))
    run(partial(_altering_options, _Table(model), existing), connection)
    return changed


_OPTIONS = _update_options
