"""Types with parameters: collections, tuples, user types, vectors, and composites of legacy tables (L2).

Values of user types are named tuples, or instances of a class the application registered. Composites have components
with a length, a value and an end-of-component byte. Wrappers such as ``frozen`` do not change values.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar

from cassandra._base.collections import SortedSet
from cassandra._base.names import maybe_escape_name, quote_text
from cassandra._base.tuples import udt_class
from cassandra._core.codec import (
    Codec,
    custom_codec,
    decode_numbers,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from cassandra._wire.marshal import uint16_pack, uint16_unpack

from .base import (
    UNKNOWN,
    _CassandraType,
    _ParameterizedType,
    _SimpleParameterizedType,
    apache_cassandra_type_prefix,
    cached_spelling,
    parameterized_class,
    spell,
)

# ---- collections, tuples and wrappers


def _set_class(codec: Codec, cls: Any) -> Codec:
    codec.py_type = cls
    return codec


class ListType(_SimpleParameterizedType):
    """The CQL type ``list``; values are ``list``."""

    typename = "list"
    adapter = list  #: Class of the values in rows.

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return _set_class(list_codec(children[0]), cls)


class SetType(_SimpleParameterizedType):
    """The CQL type ``set``; values are :class:`~cassandra.util.SortedSet`."""

    typename = "set"
    adapter = SortedSet  #: Class of the values in rows.

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return _set_class(set_codec(children[0]), cls)


class MapType(_ParameterizedType):
    """The CQL type ``map``; values are :class:`~cassandra.util.OrderedMapSerializedKey`."""

    typename = "map"
    num_subtypes = 2

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return _set_class(map_codec(*children), cls)


class TupleType(_ParameterizedType):
    """Tuples, whose elements may be null. Always frozen."""

    typename = "tuple"

    @classmethod
    def _spell_cql(cls) -> str:
        return f"frozen<tuple<{', '.join(sub.cql_parameterized_type() for sub in cls.subtypes)}>>"

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        return _set_class(tuple_codec(children), cls)


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
    """The CQL type ``frozen``; values are the values of its only element."""

    typename = "frozen"


class ReversedType(_TransparentType):
    """Marks a clustering column in descending order."""

    typename = "org.apache.cassandra.db.marshal.ReversedType"


class ColumnToCollectionType(_ParameterizedType):
    """Used in metadata of legacy tables; has no values."""

    typename = "org.apache.cassandra.db.marshal.ColumnToCollectionType"
    num_subtypes = UNKNOWN


# ---- composite columns of legacy tables


class CompositeType(_ParameterizedType):
    """Composite whose values are tuples; components may be missing at the end."""

    typename = "org.apache.cassandra.db.marshal.CompositeType"

    @classmethod
    def _spell_cql(cls) -> str:
        return quote_text(cls.cass_parameterized_type(full=True))

    @classmethod
    def _make_native(cls) -> Codec:
        return _set_class(custom_codec(cls.cass_parameterized_type(full=True), cls._unpack, cls._pack), cls)

    @classmethod
    def _unpack(cls, byts: bytes, protocol_version: int) -> tuple[Any, ...]:
        values: list[Any] = []
        at = 0
        for subtype in cls.subtypes:
            if at >= len(byts):
                break
            start = at + 2
            end = start + uint16_unpack(byts[at:start].ljust(2, b"\0"))
            if end >= len(byts):
                raise ValueError(f"component {len(values)} of {cls.cassname} goes past the end of the value")
            values.append(subtype.from_binary(byts[start:end], protocol_version))
            at = end + 1
        return tuple(values)

    @classmethod
    def _pack(cls, val: Any, protocol_version: int) -> bytes:
        if len(val) > len(cls.subtypes):
            raise ValueError(f"{len(val)} components for {len(cls.subtypes)} types of {cls.cassname}")
        packed = [sub.to_binary(item, protocol_version) for sub, item in zip(cls.subtypes, val, strict=False)]
        return b"".join(uint16_pack(len(item)) + item + b"\0" for item in packed)


class DynamicCompositeType(_ParameterizedType):
    """Composite whose components contain their types; values are bytes."""

    typename = "org.apache.cassandra.db.marshal.DynamicCompositeType"

    @classmethod
    def _spell_cql(cls) -> str:
        return quote_text(cls.cass_parameterized_type(full=True))

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        aliases = zip(cls.fieldnames or (), cls.subtypes, strict=False)
        name = cls.cass_parameterized_type_with((), full)
        inner = ", ".join(f"{alias}=>{sub.cass_parameterized_type(full=full)}" for alias, sub in aliases)
        return f"{name}({inner})" if inner else name

    @classmethod
    def _make_native(cls) -> Codec:
        return _set_class(custom_codec(cls.cass_parameterized_type(full=True)), cls)


# ---- user types

_classes: OrderedDict[tuple[str, str], Any] = OrderedDict()  # the latest class per (keyspace, type)
_MOST_CLASSES = 1024  # a limit, as a server may send any number of names


class UserType(TupleType):
    """A user type. Made by :meth:`make_udt_class`, or parsed from the server's spelling."""

    typename = "org.apache.cassandra.db.marshal.UserType"
    num_subtypes = UNKNOWN
    keyspace: ClassVar[str] = ""  #: Name of the keyspace.
    mapped_class: ClassVar[Any] = None
    """The class that values are read as; None gives ``tuple_type``, and where that is None ``tuple``."""
    tuple_type: ClassVar[Any] = None  #: The class of values without a class of their own.

    @classmethod
    def make_udt_class(
        cls, keyspace: str, udt_name: str, field_names: Sequence[str], field_types: Sequence[Any]
    ) -> Any:
        """Return the class of a user type; the same one until its fields change or it is evicted."""
        known = _classes.get((keyspace, udt_name))
        fields, types = tuple(field_names), tuple(field_types)
        if known is None or known.fieldnames != fields or known.subtypes != types:
            known = _classes[keyspace, udt_name] = cls._make(keyspace, udt_name, fields, types)
            while len(_classes) > _MOST_CLASSES:
                with contextlib.suppress(KeyError):  # another thread has emptied it
                    _classes.popitem(last=False)
        return known

    @classmethod
    def _make(
        cls,
        keyspace: str,
        udt_name: str,
        fields: tuple[str, ...],
        types: tuple[Any, ...],
        mapped_class: Any = None,
    ) -> Any:
        made = udt_class(udt_name, fields)
        attributes = {
            "subtypes": types,
            "fieldnames": fields,
            "cassname": cls.cassname,
            "typename": udt_name,
            "keyspace": keyspace,
            "mapped_class": mapped_class,
            "tuple_type": None if made is tuple else made,
        }
        return parameterized_class(cls, udt_name, attributes)

    @classmethod
    def evict_udt_class(cls, keyspace: str, udt_name: str) -> None:
        """Remove the cached class of a user type that was altered or dropped."""
        _classes.pop((keyspace, udt_name), None)

    @classmethod
    def apply_parameters(cls, subtypes: Sequence[Any], names: Sequence[str | None] | None = None) -> Any:
        """Return the class for the server's parameters: keyspace, hex name, then a type per hex field name."""
        if len(subtypes) < 2 or names is None or None in names[2:]:
            raise ValueError("UserType needs a keyspace, a name and named fields")
        fields = [_from_hex(name) for name in names[2:] if name is not None]
        return cls.make_udt_class(spell(subtypes[0]), _from_hex(spell(subtypes[1])), fields, subtypes[2:])

    @classmethod
    def _spell_cql(cls) -> str:
        return f"frozen<{maybe_escape_name(cls.typename)}>"

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        return cached_spelling(cls, full, lambda: cls._spell(full))

    @classmethod
    def _spell(cls, full: bool) -> str:
        name = (apache_cassandra_type_prefix if full else "") + cls.cassname
        fields = zip(cls.fieldnames or (), cls.subtypes, strict=False)
        parts = [cls.keyspace, cls.typename.encode().hex()]
        parts += [f"{(field or '').encode().hex()}:{spell(sub, full)}" for field, sub in fields]
        return f"{name}({','.join(parts)})"

    @classmethod
    def _reconfigure(cls) -> None:
        super()._reconfigure()
        codec = cls.__dict__.get("_native_codec")
        if codec is not None:
            codec.factory = cls.mapped_class

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        names = [name or "" for name in cls.fieldnames or ()]
        return _set_class(udt_codec(cls.keyspace, cls.typename, names, children, cls.mapped_class), cls)


def _from_hex(text: str) -> str:
    """Decode a name of a user type or field, which the server writes in hex."""
    return bytes.fromhex(text).decode()


def from_codec(codec: Codec, types: Sequence[Any]) -> Any:
    """Return the class of a user type from the server's metadata; it decodes values as *codec* does."""
    return UserType._make(codec.keyspace or "", codec.type_name or "", codec.field_names, tuple(types), codec.factory)


# ---- ``vector<type, n>``


class VectorType(_CassandraType):
    """A list of a fixed number of elements. Parameters are the element type and the number."""

    typename = "org.apache.cassandra.db.marshal.VectorType"
    vector_size: ClassVar[int] = 0  #: Number of elements.
    subtype: ClassVar[Any] = None  #: Type of the elements.

    @classmethod
    def apply_parameters(cls, params: Sequence[Any], names: Sequence[str | None] | None = None) -> Any:
        if len(params) != 2:
            raise ValueError(f"VectorType needs a type and a number of dimensions ({len(params)} parameters)")
        subtype, size = params[0], int(spell(params[1]))
        if size <= 0:
            raise ValueError(f"a vector must have at least one dimension, not {size}")
        attributes = {
            "subtypes": (subtype,),
            "cassname": cls.cassname,
            "subtype": subtype,
            "vector_size": size,
        }
        return parameterized_class(cls, f"{cls.cassname}({spell(subtype)}, {size})", attributes)

    @classmethod
    def serial_size(cls) -> int | None:
        size: int | None = None if cls.subtype is None else cls.subtype.serial_size()
        return None if size is None else size * cls.vector_size

    @classmethod
    def _spell_cql(cls) -> str:
        return f"vector<{cls.subtype.cql_parameterized_type()}, {cls.vector_size}>" if cls.subtype else "vector"

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        name = (apache_cassandra_type_prefix if full else "") + cls.cassname
        return f"{name}({spell(cls.subtype, full)}, {cls.vector_size})" if cls.subtype else name

    @classmethod
    def numbers(cls, byts: bytes) -> memoryview:
        """Return the elements of a serialized vector of int, bigint, float or double as a new, writable memoryview of
        machine numbers, which ``numpy.asarray`` and ``array.array`` accept unchanged. Raise TypeError for vectors of
        other elements, and DriverException if the bytes are not a value of this type.

        With an application class called ``VectorType``, all vectors in rows of a session are arrays::

            class VectorType(cassandra.cqltypes.VectorType):
                @classmethod
                def deserialize(cls, byts, protocol_version):
                    return numpy.asarray(cls.numbers(byts))
        """
        return decode_numbers(cls._native(), byts)

    @classmethod
    def _make_native(cls) -> Codec:
        if cls.subtype is None:
            raise NotImplementedError("VectorType needs parameters to convert values")
        return _set_class(vector_codec(cls.subtype.codec(), cls.vector_size), cls)
