"""Tables: create with their indexes and user types, add missing columns and indexes, and drop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from cassandra._base.logs import get_logger
from cassandra._base.names import escape_name, protect_name
from cassandra._base.objects import public
from cassandra._mapper.columns.containers import BaseContainerColumn
from cassandra._mapper.columns.udt import resolve_udts
from cassandra._mapper.connections import format_log_context, get_cluster
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.models.base import BaseModel
from cassandra._mapper.models.naming import table_of
from cassandra._routing.schema.model import TableMetadata, TableMetadataV3

from .allowed import _allow_schema_modification, warn
from .cqltypes import same_type
from .options import changed_options
from .steps import Planned, Steps, each, run, run_async, unless_there
from .types import type_steps

log = get_logger("cassandra.cqlengine.management")

Names = Sequence[Any] | None

#: Target of an index: a column, or a part of one.
_TARGET = re.compile(r"(?:(?:keys|values|entries|full)\((?P<of>.+)\)|(?P<plain>.+))\Z")


@public("cassandra.cqlengine.management")
def sync_table(model: type[Any], keyspaces: Names = None, connections: Names = None) -> None:
    """Create the table of *model*, or add missing columns and indexes, and change options that differ; the same for its
    user types. For each of *keyspaces* on each of *connections*, or for the model's own.

    Nothing is dropped. A column whose type differs from the model's causes a warning; a different primary key raises
    CQLEngineException, as it cannot be changed. Programs may call this at the same time without harm to one another,
    but servers do not handle concurrent schema changes well: let one program do it.
    """
    for planned, connection in _planned(_syncing, model, keyspaces, connections):
        run(planned, connection)


async def sync_table_async(model: type[Any], keyspaces: Names = None, connections: Names = None) -> None:
    """As :func:`sync_table`, without blocking the running loop."""
    for planned, connection in _planned(_syncing, model, keyspaces, connections):
        await run_async(planned, connection)


@public("cassandra.cqlengine.management")
def drop_table(model: type[Any], keyspaces: Names = None, connections: Names = None) -> None:
    """Drop the table of *model*, if there is one, in each of *keyspaces* on each of *connections*, or in the model's
    own. **This cannot be undone.**"""
    for planned, connection in _planned(_dropping, model, keyspaces, connections):
        run(planned, connection)


async def drop_table_async(model: type[Any], keyspaces: Names = None, connections: Names = None) -> None:
    """As :func:`drop_table`, without blocking the running loop."""
    for planned, connection in _planned(_dropping, model, keyspaces, connections):
        await run_async(planned, connection)


def _planned(steps: Any, model: type[Any], keyspaces: Names, connections: Names) -> Iterable[tuple[Planned, Any]]:
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


# ---- creating and extending


def _syncing(table: _Table, connection: Any) -> Steps:
    def told(what: str) -> str:
        return format_log_context(what, connection=connection, keyspace=table.keyspace)

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
        yield from unless_there(_create(table), told(meanwhile))
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
    def told(what: str) -> str:
        return format_log_context(what, connection=connection, keyspace=table.keyspace)

    known = {name: column.cql_type for name, column in existing.columns.items()}  # a copy: the metadata may change
    for column in table.model._columns.values():
        name = column.db_field_name
        if name not in known:
            statement = f"ALTER TABLE {table.full_name} add {column.get_column_def()}"
            meanwhile = f"Another program has added column {name} to table {table.full_name} meanwhile"
            yield from unless_there(statement, told(meanwhile))
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
            yield from unless_there(statement, format_log_context(meanwhile, connection=connection))


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


# ---- dropping


def _dropping(table: _Table, connection: Any) -> Steps:
    if table.metadata(connection) is not None:
        yield f"DROP TABLE {table.full_name};"


# ---- functions that existing programs call


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
