"""Mapping between native codecs and type classes, for metadata and for :class:`TypeContext` (L2)."""

from typing import Any

from cassandra._core.codec import Codec
from cassandra._wire.types import composite, custom
from cassandra._wire.types.base import cqltypes, mkUnrecognizedType
from cassandra._wire.types.collections import ListType, MapType, SetType, TupleType
from cassandra._wire.types.parser import lookup_casstype
from cassandra._wire.types.scalars import scalar_classes
from cassandra._wire.types.udt import from_codec
from cassandra._wire.types.vector import VectorType

__all__ = [
    "composite",
    "cqltypes",
    "custom",
    "resolve_custom",
    "type_class",
]  # importing the modules registers their classes

PARAMETERIZED = {"list": ListType, "set": SetType, "map": MapType, "tuple": TupleType}


def type_class(codec: Codec) -> Any:
    """Return the class of ``cassandra.cqltypes`` for a codec; looked up once, then cached as ``codec.py_type``."""
    cls = codec.py_type
    if cls is None:
        cls = codec.py_type = _find(codec)
    return cls


def resolve_custom(class_name: str) -> Codec:
    """Return the codec for a custom type of the server; that of bytes if the type is unknown or malformed."""
    try:
        return lookup_casstype(class_name).codec()  # type: ignore[no-any-return]
    except (ValueError, NotImplementedError, OverflowError):  # OverflowError for the dimension of a vector
        return mkUnrecognizedType(class_name).codec()  # type: ignore[no-any-return]


def _find(codec: Codec) -> Any:
    scalar = scalar_classes.get(codec.kind)
    if scalar is not None:
        return scalar
    children = [type_class(child) for child in codec.children]
    if codec.dimensions:
        return VectorType.apply_parameters([children[0], codec.dimensions])
    if codec.type_name is not None:
        return from_codec(codec, children)
    if codec.name in PARAMETERIZED and codec.kind:
        return PARAMETERIZED[codec.name].apply_parameters(children)
    return lookup_casstype(codec.name)
