"""Column metadata as Python objects: keyspace, table, name and type class of each column (L2)."""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cassandra._base.objects import public
from cassandra._core.codec import Codec, ResultPlan, TypeContext
from cassandra._wire.types.base import CassandraTypeType
from cassandra._wire.types.parser import lookup_casstype
from cassandra._wire.types.registry import resolve_custom, type_class

Specs = Iterable[tuple[str, str, str, Any]]


@public("cassandra.protocol")
class ColumnMetadata(NamedTuple):
    """A bind marker or a result column; *type* is a class of ``cassandra.cqltypes``."""

    keyspace_name: str
    table_name: str
    name: str
    type: Any


class Columns(list[Any]):
    """The columns of a plan, with a reference to it: passed to a protocol handler for a response without metadata."""

    def __init__(self, plan: ResultPlan) -> None:
        super().__init__(columns_of(plan.specs))
        self.plan = plan


class UserTypes(Mapping[str, "_Keyspace"]):
    """The classes registered for user types, by keyspace and name, for look-ups of protocol handlers."""

    def __init__(self, context: TypeContext) -> None:
        self.context = context

    def __getitem__(self, keyspace: str) -> _Keyspace:
        return _Keyspace(self.context, keyspace)

    def __iter__(self) -> Any:
        return iter(())  # the context only has look-ups

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True


class _Keyspace(Mapping[str, Any]):
    def __init__(self, context: TypeContext, keyspace: str) -> None:
        self._context = context
        self._keyspace = keyspace

    def __getitem__(self, name: str) -> Any:
        found = self._context.user_type(self._keyspace, name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True


def columns_of(specs: Specs) -> list[ColumnMetadata]:
    """Return the public form of native column specs; types that are already classes stay unchanged."""
    return [ColumnMetadata(*spec[:3], _public_type(spec[3])) for spec in specs]


def specs_of(columns: Specs) -> list[tuple[str, str, str, Codec]]:
    """Return native column specs for *columns*, (keyspace, table, name, type class) each."""
    return [
        (keyspace, table, name, kind if isinstance(kind, Codec) else kind.codec())
        for keyspace, table, name, kind in columns
    ]


def as_context(user_types: TypeContext | Mapping[str, Mapping[str, Any]] | None) -> TypeContext:
    """Return a TypeContext, made from a plain mapping of keyspace and type name to class if necessary."""
    if isinstance(user_types, TypeContext):
        return user_types
    if isinstance(user_types, UserTypes):
        return user_types.context
    known = user_types or {}
    return TypeContext(resolve_custom, lambda keyspace, name: known.get(keyspace, {}).get(name))


def as_plan(metadata: Any) -> ResultPlan | None:
    """Return a ResultPlan unchanged, or the plan of columns; None if there is no metadata."""
    if isinstance(metadata, Columns):
        return metadata.plan
    if isinstance(metadata, Sequence) and metadata:
        return ResultPlan(specs_of(metadata))
    return metadata if isinstance(metadata, ResultPlan) else None


def as_columns(metadata: Any) -> Any:
    """Return the argument for a protocol handler in place of *metadata*, the plan of a response without metadata."""
    return Columns(metadata) if isinstance(metadata, ResultPlan) else metadata


def as_user_types(user_types: Any) -> Any:
    """Return the argument for a protocol handler in place of a TypeContext."""
    return UserTypes(user_types) if isinstance(user_types, TypeContext) else user_types


def _public_type(kind: Any) -> Any:
    return type_class(kind) if isinstance(kind, Codec) else kind


def _reduce_type(cls: Any) -> str | tuple[Any, ...]:
    """Pickle a type by its name; a type with parameters, which has no name in a module, by the server's spelling."""
    name: str = cls.__qualname__
    if getattr(sys.modules.get(cls.__module__), name, None) is cls:
        return name
    return lookup_casstype, (cls.cass_parameterized_type(full=True),)


copyreg.pickle(CassandraTypeType, _reduce_type)
