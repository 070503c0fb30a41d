"""A keyspace with all that is in it (L4)."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from cassandra._base.public import public
from cassandra._routing.replication import _ReplicationStrategy

from . import ddl
from .cqltype import user_types_in
from .functions import Aggregate, Function, UserType
from .table import IndexMetadata, MaterializedViewMetadata, TableMetadata


@public("cassandra.metadata")
class KeyspaceMetadata:
    """A keyspace: how it is replicated, and its tables, views, indexes, types, functions and aggregates.

    Not changed once published: a schema change makes a new one.
    """

    name: str = None  # type: ignore[assignment]
    #: Whether writes go through the commit log.
    durable_writes: bool = True
    #: A replication strategy, or None (virtual keyspaces).
    replication_strategy: _ReplicationStrategy | None = None
    #: Tables by name.
    tables: dict[str, TableMetadata] = None  # type: ignore[assignment]
    #: Indexes of all tables, by name.
    indexes: dict[str, IndexMetadata] = None  # type: ignore[assignment]
    #: User types by name.
    user_types: dict[str, UserType] = None  # type: ignore[assignment]
    #: User functions by signature: ``name(type,type)``.
    functions: dict[str, Function] = None  # type: ignore[assignment]
    #: User aggregates by signature.
    aggregates: dict[str, Aggregate] = None  # type: ignore[assignment]
    #: Materialized views by name.
    views: dict[str, MaterializedViewMetadata] = None  # type: ignore[assignment]
    #: Whether the keyspace is virtual: provided by the node, not stored.
    virtual = False
    #: Always None: DSE is not supported.
    graph_engine: str | None = None

    def __init__(
        self,
        name: str,
        durable_writes: bool,
        strategy_class: str | None,
        strategy_options: Mapping[str, Any] | None,
        graph_engine: str | None = None,
    ) -> None:
        self.name = name
        self.durable_writes = durable_writes
        self.replication_strategy = _ReplicationStrategy.create(strategy_class, strategy_options)
        self.tables = {}
        self.indexes = {}
        self.user_types = {}
        self.functions = {}
        self.aggregates = {}
        self.views = {}
        self.graph_engine = graph_engine

    @property
    def is_graph_enabled(self) -> bool:
        """Whether it is a DSE graph: never."""
        return False

    def as_cql_query(self) -> str:
        """The statement that creates the keyspace, without its contents."""
        return ddl.create_keyspace(self)

    def export_as_string(self) -> str:
        """The statements that create the keyspace and all that is in it, in an order that works."""
        return ddl.export_keyspace(self)

    def user_type_strings(self) -> list[str]:
        """The statements that create the user types, each after those it uses."""
        strings: list[str] = []
        types = dict(self.user_types)
        while types:
            self.resolve_user_types(next(iter(types)), types, strings)
        return strings

    def resolve_user_types(self, key: str, user_types: dict[str, UserType], user_type_strings: list[str]) -> None:
        """Move the type *key*, after the ones it uses, from *user_types* to the end of *user_type_strings*."""
        user_type = user_types.pop(key)
        for field_type in user_type.field_types:
            for name in sorted(user_types_in(field_type)):
                if name in user_types:
                    self.resolve_user_types(name, user_types, user_type_strings)
        user_type_strings.append(user_type.export_as_string())

    def _with(self, **parts: Any) -> KeyspaceMetadata:
        """A copy with some attributes replaced."""
        clone = copy(self)
        for name, value in parts.items():
            setattr(clone, name, value)
        return clone
