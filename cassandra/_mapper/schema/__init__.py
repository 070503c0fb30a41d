"""Keyspaces, tables and types made from models. What a model has more than its table is added; nothing is ever dropped
but by ``drop_table`` and ``drop_keyspace``.

* ``allowed``: whether this program may change the schema
* ``steps``: statements that depend on one another, run in a thread or awaited
* ``cqltypes``: whether two spellings are of one type
* ``options``: what of a table's options is to be changed
* ``keyspaces``, ``types``, ``tables``: each made, compared and extended
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
