"""What is to be known of a class to make its instances from rows (L2): its fields, and whether its constructor does
anything but set them.

Nothing here imports a library: a class of attrs, msgspec or pydantic tells by its attributes what it is, and its
library is imported then. A constructor is passed over only if that cannot be noticed: it is the one that
``dataclass`` or attrs generated, or msgspec's, it has nothing to convert, validate or call, and neither ``__new__`` nor
the metaclass does.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

NOTHING: Any = object()  # there is no default

Kind = Literal["call", "init", "fields", "tuple"]


class Field(NamedTuple):
    """A value that a class is made of: an argument, and perhaps the attribute that holds it."""

    name: str  # of the argument
    aliases: tuple[str, ...] = ()  # other names that columns may have
    required: bool = True
    positional: bool = True  # may be given without its name
    keyword: bool = True  # may be given by its name
    attribute: str = ""
    default: Any = NOTHING
    factory: Callable[[], Any] | None = None


class Shape(NamedTuple):
    """How instances of a class are made."""

    kind: Kind
    fields: tuple[Field, ...]
    takes_more: bool = False  # arguments of any name
    ignores_more: bool = False  # says of itself that what is no field is left out


def shape_of(cls: type) -> Shape:
    """The shape of *cls*; TypeError if it has none."""
    if inspect.isabstract(cls):
        raise TypeError(f"{cls.__qualname__} is abstract: rows cannot be instances of it")
    if getattr(cls, "__pydantic_fields__", None) is not None and hasattr(cls, "model_validate"):
        return _of_pydantic(cls)
    if hasattr(cls, "__struct_fields__"):
        return _of_struct(cls)
    if issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple) and _is_plain_tuple(cls):
        defaults = getattr(cls, "_field_defaults", {})
        fields = [Field(name, (), name not in defaults, default=defaults.get(name)) for name in cls._fields]  # type: ignore[attr-defined]
        return Shape("tuple", tuple(fields))
    shape = _by_signature(cls)
    if dataclasses.is_dataclass(cls):
        return _of_dataclass(cls, shape)
    if "__attrs_attrs__" in vars(cls):
        return _of_attrs(cls, shape)
    return shape


# ---- any class


def _by_signature(cls: type) -> Shape:
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError) as error:
        raise TypeError(f"what {cls.__qualname__} is made of cannot be told: {error}") from error
    fields, more, positional = [], False, True
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            more = True
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            positional = parameter.kind is not parameter.KEYWORD_ONLY
            keyword = parameter.kind is not parameter.POSITIONAL_ONLY
            required = parameter.default is parameter.empty
            fields.append(Field(parameter.name, (), required, positional, keyword))
    if not fields and not more:
        raise TypeError(f"{cls.__qualname__}() takes no arguments: rows cannot be instances of it")
    return Shape("init" if _has_plain_init(cls) else "call", tuple(fields), more)


def _makes_plainly(cls: Any) -> bool:
    """Whether calling it is ``object.__new__`` and then ``__init__``."""
    return type(cls).__call__ is type.__call__ and cls.__new__ is object.__new__


def _has_plain_init(cls: type) -> bool:
    return _makes_plainly(cls) and inspect.isfunction(cls.__init__)  # type: ignore[misc]


# ---- those that libraries made


def _of_dataclass(cls: Any, shape: Shape) -> Shape:
    made = dataclasses.fields(cls)
    plain = (
        _makes_plainly(cls)
        and "__dataclass_fields__" in vars(cls)
        and {field.name for field in made} == {field.name for field in shape.fields}  # no InitVar
        and all(field.init for field in made)
        and not hasattr(cls, "__post_init__")
        and (cls.__dataclass_params__.frozen or cls.__setattr__ is object.__setattr__)
        and not shape.takes_more
        and _is_generated(cls, made)
    )
    if not plain:
        return shape
    by_name = {field.name: field for field in shape.fields}
    fields = []
    for one in made:
        factory = None if one.default_factory is dataclasses.MISSING else one.default_factory
        default = NOTHING if one.default is dataclasses.MISSING else one.default
        fields.append(by_name[one.name]._replace(attribute=one.name, default=default, factory=factory))
    return Shape("fields", tuple(fields))


def _is_generated(cls: Any, fields: tuple[dataclasses.Field[Any], ...]) -> bool:
    """Whether ``__init__`` is what ``dataclass`` makes of *fields*: compared with that of a class of the same ones."""
    again = []
    for one in fields:
        given: dict[str, Any] = {"kw_only": one.kw_only}
        if one.default is not dataclasses.MISSING:
            given["default"] = None
        elif one.default_factory is not dataclasses.MISSING:
            given["default_factory"] = list
        again.append((one.name, object, dataclasses.field(**given)))
    frozen = cls.__dataclass_params__.frozen
    twin: Any = dataclasses.make_dataclass("Twin", again, frozen=frozen)
    ours, theirs = getattr(cls.__init__, "__code__", None), twin.__init__.__code__
    if ours is None:
        return False
    names = "co_code co_consts co_names co_varnames co_freevars co_cellvars co_argcount co_kwonlyargcount co_flags"
    return all(getattr(ours, name) == getattr(theirs, name) for name in names.split())


def _of_attrs(cls: Any, shape: Shape) -> Shape:
    names = {field.name for field in shape.fields}
    attributes = {one.alias or one.name.lstrip("_"): one for one in cls.__attrs_attrs__ if one.init}
    if set(attributes) != names:  # its own __init__
        return shape
    fields = []
    for field in shape.fields:
        one = attributes[field.name]
        default, factory = one.default, None
        if not field.required and hasattr(default, "factory"):
            default, factory = NOTHING, None if default.takes_self else default.factory
        aliases = (one.name,) if one.name != field.name else ()
        fields.append(field._replace(aliases=aliases, attribute=one.name, default=default, factory=factory))
    code = getattr(cls.__init__, "__code__", None)
    plain = (
        code is not None
        and code.co_filename.startswith("<attrs generated ")
        and _makes_plainly(cls)
        and len(attributes) == len(cls.__attrs_attrs__)
        and all(one.converter is None and one.validator is None for one in attributes.values())
        and not any(hasattr(cls, f"__attrs_{step}_init__") for step in ("pre", "post"))
        and (cls.__setattr__ is object.__setattr__ or cls.__setattr__.__module__ == "attr._make")
        and not _caches_hash(cls)
    )
    if plain and all(field.required or field.factory or field.default is not NOTHING for field in fields):
        return Shape("fields", tuple(fields))
    return shape._replace(fields=tuple(fields))


def _caches_hash(cls: Any) -> bool:
    return "_attrs_cached_hash" in cls.__init__.__code__.co_names + cls.__init__.__code__.co_consts


def _of_struct(cls: Any) -> Shape:
    msgspec = sys.modules["msgspec"]
    struct: Any = msgspec.Struct
    by_name = {field.name: field for field in _by_signature(cls).fields}
    fields = []
    for one in sys.modules["msgspec.structs"].fields(cls):
        default = NOTHING if one.default is msgspec.NODEFAULT else one.default
        factory = None if one.default_factory is msgspec.NODEFAULT else one.default_factory
        aliases = (one.encode_name,) if one.encode_name != one.name else ()
        fields.append(
            by_name[one.name]._replace(
                aliases=aliases, required=one.required, attribute=one.name, default=default, factory=factory
            )
        )
    plain = (
        type(cls) is type(struct)
        and not hasattr(cls, "__post_init__")
        and cls.__init__ is struct.__init__
        and cls.__new__ is struct.__new__
    )
    return Shape("fields" if plain else "call", tuple(fields))


def _of_pydantic(cls: Any) -> Shape:
    by_name = cls.model_config.get("populate_by_name") or cls.model_config.get("validate_by_name")
    by_alias = cls.model_config.get("validate_by_alias", True)
    fields = []
    for name, one in cls.__pydantic_fields__.items():
        alias: Any = one.validation_alias if by_alias else None
        choices = alias.choices if hasattr(alias, "choices") else [alias]
        strings = [choice for choice in choices if isinstance(choice, str)]
        others: tuple[str, ...]
        if strings and not by_name:
            key, others = strings[0], (name,)
        elif alias is None or by_name:
            key, others = name, tuple(strings)
        else:
            raise TypeError(f"{cls.__qualname__}.{name} is found by a path only: no column can be that")
        fields.append(Field(key, others, one.is_required(), positional=False))
    extra = cls.model_config.get("extra")
    return Shape("call", tuple(fields), extra == "allow", extra == "ignore")


def _is_plain_tuple(cls: Any) -> bool:
    """Whether instances are what ``namedtuple`` makes them, with no other ``__new__`` or ``__init__``."""
    owner = next(base for base in cls.__mro__ if "__new__" in vars(base))
    return (
        type(cls).__call__ is type.__call__
        and cls.__init__ is object.__init__
        and "_fields" in vars(owner)
        and "_make" in vars(owner)
        and cls.__basicsize__ == tuple.__basicsize__
        and cls.__dictoffset__ == 0
        and cls.__weakrefoffset__ == 0
    )
