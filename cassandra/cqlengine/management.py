"""Keyspaces, tables and types made from models."""

from cassandra._base.aliases import add_names, share
from cassandra._mapper.connections import format_log_context, get_cluster
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.execution import execute
from cassandra._mapper.model import Model
from cassandra._mapper.named import NamedTable
from cassandra._mapper.schema import (
    CQLENG_ALLOW_SCHEMA_MANAGEMENT,
    create_keyspace_network_topology,
    create_keyspace_network_topology_async,
    create_keyspace_simple,
    create_keyspace_simple_async,
    drop_keyspace,
    drop_keyspace_async,
    drop_table,
    drop_table_async,
    get_create_type,
    log,
    sync_table,
    sync_table_async,
    sync_type,
    sync_type_async,
)
from cassandra._mapper.usertypes import UserType

__all__ = [
    "CQLENG_ALLOW_SCHEMA_MANAGEMENT",
    "CQLEngineException",
    "Model",
    "NamedTable",
    "UserType",
    "create_keyspace_network_topology",
    "create_keyspace_network_topology_async",
    "create_keyspace_simple",
    "create_keyspace_simple_async",
    "drop_keyspace",
    "drop_keyspace_async",
    "drop_table",
    "drop_table_async",
    "execute",
    "format_log_context",
    "get_cluster",
    "get_create_type",
    "log",
    "sync_table",
    "sync_table_async",
    "sync_type",
    "sync_type_async",
]

add_names(__name__, {"cassandra._compat.mapper": "Field schema_columnfamilies"})
share(
    __name__,
    {
        "cassandra._mapper.schema": (
            "execute _allow_schema_modification _get_create_table _get_index_name_by_column _get_table_metadata"
            " _update_options _validate_pk"
        ),
    },
)
