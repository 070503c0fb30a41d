"""Functions of type classes that a program has replaced: ``AsciiType.serialize = staticmethod(...)`` (L2).

Plans run codecs, not classes. So when one of ``FUNCTIONS`` of a class is set or deleted, the codecs of that class and
of its subclasses call the class from then on, wherever they are: in plans of statements that are prepared, in nested
types. When the functions are the driver's again, they run natively again. Where none were replaced, nothing is asked.

Replacing looks at every codec of the process. They change one after the other, so that requests of other threads see
some of them replaced meanwhile. One thread at a time
may replace.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from cassandra._core.codec import (
    Codec,
    all_codecs,
    native_copy,
    replace_functions,
    restore_functions,
    scalar,
    set_on_new,
)

from .base import FUNCTIONS, forget_lookups, is_own
from .registry import PARAMETERIZED, type_class
from .scalars import _ScalarType, scalar_classes
from .udt import UserType
from .vector import VectorType

_with_copy: WeakSet[Any] = WeakSet()  # classes whose own functions run another codec than plans do
_with_parameters: WeakSet[Any] = WeakSet()  # classes that a program has set functions of, without those of scalars


def functions_changed(cls: Any) -> None:
    """A function of *cls* was set or deleted."""
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
    """Which codecs *cls* and its subclasses have is found out anew; all of them."""
    kinds = [cls]
    for kind in kinds:
        if "_codec" in vars(kind):
            del kind._codec
        kinds += kind.__subclasses__()
    forget_lookups()
    return kinds


def _may_be(codec: Codec, cls: Any) -> bool:
    """Whether *codec* can be of *cls*, or of a subclass, before its own class is made."""
    if codec.cipher is not None:  # it has another one within
        return False
    general = codec.py_type or scalar_classes.get(codec.kind)
    if general is None and codec.dimensions:
        general = VectorType
    elif general is None:
        general = UserType if codec.type_name is not None else PARAMETERIZED.get(codec.name)
    return general is not None and (issubclass(general, cls) or issubclass(cls, general))


def _update(codec: Codec, cls: Any = object) -> None:
    """Have *codec* do what its class says, if that is *cls* or a subclass."""
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
