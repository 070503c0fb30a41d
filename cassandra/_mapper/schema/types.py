"""User types: create, and add missing fields; types used by others come first."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from cassandra._base.logs import get_logger
from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._mapper.columns.udt import resolve_udts
from cassandra._mapper.connections import format_log_context, get_cluster
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.shapes import forget_prepared
from cassandra._mapper.usertypes import UserType
from cassandra._routing.schema.model import UserType as TypeMetadata

from .allowed import _allow_schema_modification, warn
from .cqltypes import same_type
from .steps import Planned, Steps, run, run_async, unless_there

log = get_logger("cassandra.cqlengine.management")


@public("cassandra.cqlengine.management")
def sync_type(ks_name: str, type_model: type[Any], connection: Any = None) -> None:
    """Create the type of *type_model* in the keyspace, or add missing fields; the types of its fields first. Nothing is
    renamed, altered or dropped: a field with a different type causes a warning."""
    if _allow_schema_modification():
        run(_planned(ks_name, type_model), connection)


async def sync_type_async(ks_name: str, type_model: type[Any], connection: Any = None) -> None:
    """As :func:`sync_type`, without blocking the running loop."""
    if _allow_schema_modification():
        await run_async(_planned(ks_name, type_model), connection)


@public("cassandra.cqlengine.management")
def get_create_type(type_model: type[Any], keyspace: str) -> str:
    """Return the statement that creates the type of *type_model*."""
    fields = list(type_model._fields.values())
    names, types = [field.db_field_name for field in fields], [field.db_type for field in fields]
    return TypeMetadata(keyspace, type_model.type_name(), names, types).as_cql_query(formatted=False)


def _planned(keyspace: str, type_model: type[Any]) -> Planned:
    if not (isinstance(type_model, type) and issubclass(type_model, UserType)):
        raise CQLEngineException("Types must be derived from base UserType.")
    return partial(_steps, keyspace, type_model)


def _steps(keyspace: str, type_model: type[Any], connection: Any) -> Steps:
    found: list[type[Any]] = []
    for field in type_model._fields.values():
        resolve_udts(field, found)
    yield from type_steps(keyspace, [*found, type_model], connection)


def type_steps(keyspace: str, types: Iterable[type[Any]], connection: Any) -> Steps:
    """Create or extend each of *types* once, in their order: types of fields must come before the type itself."""
    if keyspace not in get_cluster(connection).metadata.keyspaces:
        raise CQLEngineException(format_log_context(f"Keyspace '{keyspace}' does not exist.", connection=connection))
    for type_model in dict.fromkeys(types):
        yield from _one(keyspace, type_model, connection)
        type_model.register_for_keyspace(keyspace, connection=connection)
        forget_prepared(get_cluster(connection))  # also if another program altered the type


def _one(keyspace: str, type_model: type[Any], connection: Any) -> Steps:
    def told(what: str) -> str:
        return format_log_context(what, connection=connection, keyspace=keyspace)

    name = type_model.type_name()
    existing = get_cluster(connection).metadata.keyspaces[keyspace].user_types.get(name)
    if existing is None:
        meanwhile = f"Another program has created type {keyspace}.{name} meanwhile"
        yield from unless_there(get_create_type(type_model, keyspace), told(meanwhile))
        return
    known = dict(zip(existing.field_names, existing.field_types, strict=True))
    added = 0
    for field in type_model._fields.values():
        field_name = field.db_field_name
        if field_name not in known:
            statement = f"ALTER TYPE {protect_name(keyspace)}.{protect_name(name)} ADD {field.get_column_def()}"
            meanwhile = f"Another program has added field {field_name} to type {keyspace}.{name} meanwhile"
            yield from unless_there(statement, told(meanwhile))
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
