"""A keyspace with all that is in it (L4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from cassandra._base.commands import run
from cassandra._base.public import public
from cassandra._routing.ring.replication import _ReplicationStrategy

from .contents import LOCK, LiveDict, Part
from .functions import Aggregate, Function, UserType
from .live import PARTS
from .table import IndexMetadata, MaterializedViewMetadata, TableMetadata


class _Part:
    """Something in a keyspace, which the rows that were read tell when it is first asked for: most applications never
    ask, and a large schema has thousands of columns. What was assigned to a keyspace goes before this."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, keyspace: KeyspaceMetadata | None, owner: type) -> Any:
        if keyspace is None:
            return None
        keyspace._parse()
        return keyspace.__dict__[self._name]


def _part() -> Any:
    return _Part()


@public("cassandra.metadata")
class KeyspaceMetadata:
    """A keyspace: how it is replicated, and its tables, views, indexes, types, functions and aggregates.

    One that was found at ``cluster.metadata`` follows changes of the schema until it is dropped, and so do its dicts,
    tables and views. Who goes through such a dict goes through what it was at that moment; its ``copy()`` stays that.
    """

    name: str = None  # type: ignore[assignment]
    #: Whether writes go through the commit log; None in a virtual keyspace.
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
    #: Whether the keyspace is virtual: provided by the node, not stored.
    virtual = False
    #: None but in one that a program makes: DSE is not supported.
    graph_engine: str | None = None
    #: Whether it is strongly consistent: the first replica of a tablet leads the others, and requests go to it.
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
        self._read: Callable[[], dict[str, Any]] | None = None  # until it was parsed
        self.graph_engine = graph_engine
        self.__dict__.update({name: {} for name in PARTS})

    @property
    def is_graph_enabled(self) -> bool:
        """Whether it is a DSE graph."""
        return self.graph_engine is not None

    def as_cql_query(self) -> str:
        """The statement that creates the keyspace, without its contents."""
        from . import ddl

        return ddl.create_keyspace(self)

    def export_as_string(self) -> str:
        """The statements that create the keyspace and all that is in it, in an order that works."""
        from . import ddl

        return ddl.export_keyspace(copy(self))

    def user_type_strings(self) -> list[str]:
        """The statements that create the user types, each after those it uses."""
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
        """This new keyspace, with parts that *read* gives by name; called when one of them is first asked for."""
        self._read = read
        for name in PARTS:
            del self.__dict__[name]
        return self

    @property
    def _is_parsed(self) -> bool:
        return self._read is None

    def _parse(self) -> None:
        """Put all parts in their place. Any number of threads may be the first to ask: all get the same objects, and
        never those of a moment that is over (see ``live.py``)."""
        while (read := (known := self.__dict__).get("_read")) is not None:
            run(self._put, known, read())

    def _put(self, known: dict[str, Any], contents: Mapping[str, Any]) -> None:
        with LOCK:
            if self.__dict__ is known and known.get("_read") is not None:
                for name in PARTS:
                    known.setdefault(name, Part(contents.get(name, {})))
                known["_read"] = None  # the rows are not needed any more

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickle: everything, parsed, of one moment."""
        self._parse()
        return run(self._state)

    def _state(self) -> dict[str, Any]:
        with LOCK:
            return {name: part.copy() if isinstance(part, LiveDict) else part for name, part in self.__dict__.items()}

    def _with(self, **parts: Any) -> KeyspaceMetadata:
        """A copy with some attributes replaced, parsed no further than this."""
        clone = type(self).__new__(type(self))
        clone.__dict__.update({**self.__dict__, **parts})
        return clone
