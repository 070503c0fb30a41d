"""Keyspaces, tables and types created from models. Parts of a model that are missing in its table are added; only
``drop_table`` and ``drop_keyspace`` drop anything.

* ``allowed``: permission to change the schema
* ``steps``: statements that depend on one another, run in a thread or awaited
* ``cqltypes``: comparison of types that are spelled differently
* ``options``: differences of table options
* ``keyspaces``, ``types``, ``tables``: create, compare and extend
"""

from .keyspaces import (
    create_keyspace_network_topology,
    create_keyspace_network_topology_async,
    create_keyspace_simple,
    create_keyspace_simple_async,
    drop_keyspace,
    drop_keyspace_async,
)
from .tables import drop_table, drop_table_async, sync_table, sync_table_async
from .types import get_create_type, sync_type, sync_type_async

__all__ = [
    "create_keyspace_network_topology",
    "create_keyspace_network_topology_async",
    "create_keyspace_simple",
    "create_keyspace_simple_async",
    "drop_keyspace",
    "drop_keyspace_async",
    "drop_table",
    "drop_table_async",
    "get_create_type",
    "sync_table",
    "sync_table_async",
    "sync_type",
    "sync_type_async",
]
