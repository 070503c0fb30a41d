"""Mapping between native codecs and type classes, and functions of type classes that a program has replaced (L2).

The mapping is for metadata and for :class:`TypeContext`.

*Replaced functions*: ``AsciiType.serialize = staticmethod(...)``. Plans run codecs, not classes. So when one of
``FUNCTIONS`` of a class is set or deleted, the codecs of that class and of its subclasses call the class from then on,
also in plans of prepared statements and in nested types. When the driver's functions are restored, the codecs run
natively again. Without replaced functions there is no check.

A replacement examines every codec of the process. The codecs change one after the other, so that meanwhile requests of
other threads use some replaced codecs. Threads that replace functions at the same time do so one after the other.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from cassandra._base.locks import caller_lock
from cassandra._core.codec import (
    Codec,
    all_codecs,
    native_copy,
    replace_functions,
    restore_functions,
    scalar,
    set_on_new,
)

from . import datastax
from .base import FUNCTIONS, cqltypes, forget_lookups, is_own, mkUnrecognizedType
from .nested import ListType, MapType, SetType, TupleType, UserType, VectorType, from_codec
from .parser import lookup_casstype
from .scalars import _ScalarType, scalar_classes

__all__ = [
    "cqltypes",
    "datastax",
    "resolve_custom",
    "type_class",
]  # importing datastax registers its classes

PARAMETERIZED = {"list": ListType, "set": SetType, "map": MapType, "tuple": TupleType}


# ---- classes of codecs


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


# ---- replaced functions

_with_copy: WeakSet[Any] = WeakSet()  # classes whose own functions run a different codec than plans do
_with_parameters: WeakSet[Any] = WeakSet()  # classes, except those of scalars, whose functions a program has set


_replacing = caller_lock("replaced functions")


def functions_changed(cls: Any) -> None:
    """Update the codecs after a function of *cls* was set or deleted."""
    with _replacing:
        kinds = _forget(cls)
        found = [vars(kind)["_own_codec"] for kind in kinds if "_own_codec" in vars(kind)]
        found += map(scalar, scalar_classes)
        if not issubclass(cls, _ScalarType):
            found += all_codecs()
            _with_parameters.add(cls)
        for codec in found:
            if _may_be(codec, cls):
                _update(codec, cls)
        set_on_new(_update if any(map(_is_replaced, _with_parameters)) else None)


def _is_replaced(kind: Any) -> bool:
    return any(is_own(kind, name) for name in FUNCTIONS)


def _forget(cls: Any) -> list[Any]:
    """Drop the cached codecs of *cls* and its subclasses; return all these classes."""
    kinds = [cls]
    for kind in kinds:
        if "_codec" in vars(kind):
            del kind._codec
        kinds += kind.__subclasses__()
    forget_lookups()
    return kinds


def _may_be(codec: Codec, cls: Any) -> bool:
    """True if the class of *codec* can be *cls* or a subclass; does not create the class."""
    if codec.cipher is not None:  # the inner codec is updated instead
        return False
    general = codec.py_type or scalar_classes.get(codec.kind)
    if general is None and codec.dimensions:
        general = VectorType
    elif general is None:
        general = UserType if codec.type_name is not None else PARAMETERIZED.get(codec.name)
    return general is not None and (issubclass(general, cls) or issubclass(cls, general))


def _update(codec: Codec, cls: Any = object) -> None:
    """Update the functions of *codec* from its class, if that is *cls* or a subclass."""
    kind = type_class(codec)
    if not issubclass(kind, cls):
        return
    is_scalar = scalar_classes.get(codec.kind) is kind
    if vars(kind).get("_own_codec") is codec:
        replace_functions(codec, kind.deserialize, kind.serialize)
    elif is_scalar and codec is not scalar(codec.kind):
        return  # a copy
    elif _is_replaced(kind):
        if kind not in _with_copy:
            kind._native_codec = native_copy(codec)
            _with_copy.add(kind)
        elif vars(kind)["_native_codec"] is codec:
            return
        replace_functions(codec, kind.from_binary, kind.to_binary)
    else:
        restore_functions(codec)
        _with_copy.discard(kind)
        if is_scalar:
            kind._native_codec = codec
            kind._apply_empty()
    if is_scalar:
        kind._codec = codec
