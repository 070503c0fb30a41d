"""A keyspace with its contents (L4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from cassandra._base.objects import public
from cassandra._routing.ring.replication import _ReplicationStrategy

from .contents import PARTS, Contents, LiveDict
from .functions import Aggregate, Function, UserType
from .table import IndexMetadata, MaterializedViewMetadata, TableMetadata


class _Part:
    """A lazy dict of a keyspace, parsed from the schema rows on first use: most applications never use it, and a large
    schema has thousands of columns. A value assigned to a keyspace takes precedence."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, keyspace: KeyspaceMetadata | None, owner: type) -> Any:
        if keyspace is None:
            return None
        contents = keyspace._contents
        if contents is None:
            raise AttributeError(f"{keyspace!r} has no {self._name}: the attribute was deleted")
        return keyspace.__dict__.setdefault(self._name, contents.parts()[self._name])


def _part() -> Any:
    return _Part()


@public("cassandra.metadata")
class KeyspaceMetadata:
    """A keyspace: its replication, and its tables, views, indexes, types, functions and aggregates.

    Its dicts follow changes of the schema until the keyspace is dropped. An object in them is replaced by another one
    when it is read again, and so is the keyspace itself when its own settings are. Iterating over such a dict uses its
    contents at that moment; a ``copy()`` does not change.
    """

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

    def _filled_by(self, read: Callable[[], dict[str, Any]]) -> KeyspaceMetadata:
        """Return this new keyspace, with its dicts made by *read*, which is called on first use of one of them."""
        self._contents = Contents(read)
        for name in PARTS:
            del self.__dict__[name]
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the complete parsed state at one moment, for copies and pickle."""
        parts = {} if self._contents is None else self._contents.parts()
        state = {**parts, **self.__dict__, "_contents": None}
        return {name: part.copy() if isinstance(part, LiveDict) else part for name, part in state.items()}

    def _with(self, **parts: Any) -> KeyspaceMetadata:
        """Return a copy with some attributes replaced. It shares the contents, without parsing them."""
        clone = type(self).__new__(type(self))
        clone.__dict__.update({**self.__dict__, **parts})
        return clone
