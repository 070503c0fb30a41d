"""Lists, sets, maps, tuples and wrappers that do not change values (L2)."""

from typing import Any

from cassandra._base.collections import SortedSet
from cassandra._core.codec import Codec, list_codec, map_codec, set_codec, tuple_codec
from cassandra._wire.types.base import UNKNOWN, _ParameterizedType, _SimpleParameterizedType


def _named(codec: Codec, cls: Any) -> Codec:
    codec.py_type = cls
    return codec


class ListType(_SimpleParameterizedType):
    typename = "list"
    adapter = list

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return _named(list_codec(children[0]), cls)


class SetType(_SimpleParameterizedType):
    typename = "set"
    adapter = SortedSet

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return _named(set_codec(children[0]), cls)


class MapType(_ParameterizedType):
    typename = "map"
    num_subtypes = 2

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return _named(map_codec(*children), cls)


class TupleType(_ParameterizedType):
    """Tuples, whose elements may be null. Always frozen."""

    typename = "tuple"

    @classmethod
    def _spell_cql(cls) -> str:
        return f"frozen<tuple<{', '.join(sub.cql_parameterized_type() for sub in cls.subtypes)}>>"

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return _named(tuple_codec(children), cls)


class _TransparentType(_ParameterizedType):
    """A mark on another type: its values are those of the other type."""

    num_subtypes = 1

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return children[0]

    @classmethod
    def serial_size(cls) -> int | None:
        return cls.subtypes[0].serial_size() if cls.subtypes else None

    @classmethod
    def _apply_empty(cls) -> None:
        """Do nothing: the codec belongs to the other type."""


class FrozenType(_TransparentType):
    typename = "frozen"


class ReversedType(_TransparentType):
    """Marks a clustering column in descending order."""

    typename = "org.apache.cassandra.db.marshal.ReversedType"


class ColumnToCollectionType(_ParameterizedType):
    """Used in metadata of legacy tables; has no values."""

    typename = "org.apache.cassandra.db.marshal.ColumnToCollectionType"
    num_subtypes = UNKNOWN
