"""Base classes of CQL types: names, parameters, and the native codec that encodes and decodes values (L2).

There is no second codec. ``serialize`` and ``deserialize`` of a built-in class run its :class:`Codec`; an application's
subclass that overrides them is wrapped into a codec, so that it works in rows, parameters and inside collections.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from cassandra._base.names import quote_text
from cassandra._base.objects import public
from cassandra._core.codec import Codec, ResultPlan, RowsPage, custom_codec, described_page, native_copy

apache_cassandra_type_prefix = "org.apache.cassandra.db.marshal."  #: Package of the server's classes of types.
cassandra_empty_type = "org.apache.cassandra.db.marshal.EmptyType"  #: Class of empty types.
cql_empty_type = "empty"  #: Name of empty types.

#: Methods of type classes that convert values; programs replace them.
FUNCTIONS = ("serialize", "deserialize", "to_binary", "from_binary")

UNKNOWN = "UNKNOWN"  # num_subtypes of classes that accept any number


@public("cassandra.cqltypes")
class EmptyValue:
    """A value of zero bytes of a type that has no such value; see ``support_empty_values``."""

    def __str__(self) -> str:
        return "EMPTY"

    __repr__ = __str__


EMPTY = EmptyValue()  #: An empty value of a type that has one, other than null.

casstypes: dict[str, type["_CassandraType"]] = {}  # by the server's class name
cqltypes: dict[str, type["_CassandraType"]] = {}  # by CQL name; the first class with a name stays
_applied: WeakValueDictionary[Any, type["_CassandraType"]] = WeakValueDictionary()
_on_register: list[Callable[[], None]] = []  # clear caches of look-ups; called when a class is added


@public("cassandra.cqltypes")
class CassandraTypeType(type):
    """Metaclass: registers classes by name, so that an application's class is found for the server's custom type."""

    def __new__(metacls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> "CassandraTypeType":
        dct.setdefault("cassname", name)
        dct.setdefault("_native_codec", None)  # of each class its own, not that of its base
        cls: Any = super().__new__(metacls, name, bases, dct)
        cls.__module__ = "cassandra.cqltypes" if cls.__module__.startswith("cassandra._wire") else cls.__module__
        if not name.startswith("_") and "subtypes" not in dct:  # not a class made for a server's metadata
            casstypes[name] = cls
            if not cls.typename.startswith(apache_cassandra_type_prefix):
                cqltypes.setdefault(cls.typename, cls)
            forget_lookups()
        return cls  # type: ignore[no-any-return]

    # CPython clears its cache of class attributes after it has dropped the reference of the old value: what the end of
    # that value runs, as the callback of a weak reference, and other threads meanwhile, would still find it. So these
    # two methods keep it until the cache is cleared.

    def __setattr__(cls, name: str, value: Any) -> None:
        _kept = cls.__dict__.get(name)
        super().__setattr__(name, value)
        if name in _SPELLED_BY:
            _forget_spellings()
        if name in ("support_empty_values", "mapped_class"):
            cls._reconfigure()  # type: ignore[attr-defined]
        elif name in FUNCTIONS:
            _on_functions_changed(cls)

    def __delattr__(cls, name: str) -> None:
        _kept = cls.__dict__.get(name)
        super().__delattr__(name)
        if name in _SPELLED_BY:
            _forget_spellings()
        if name in FUNCTIONS:
            _on_functions_changed(cls)


def forget_lookups() -> None:
    """Clear the caches of look-ups of classes by name."""
    for forget in _on_register:
        forget()


_any_replaced = False  # True once a program has set one of FUNCTIONS


def _on_functions_changed(cls: type) -> None:
    global _any_replaced
    from . import registry  # here, as it imports all type classes

    _any_replaced = True
    registry.functions_changed(cls)


def with_own_functions(page: RowsPage) -> RowsPage:
    """Return *page* with the driver's functions to decode its values, even if a program has replaced those of the type
    classes. For the driver's own queries."""
    if not _any_replaced:
        return page
    return described_page(page, ResultPlan([(*spec[:3], native_copy(spec[3], deep=True)) for spec in page.plan.specs]))


#: Attributes that CQL spellings depend on.
_SPELLED_BY = frozenset(
    ("cassname", "cql_parameterized_type", "fieldnames", "keyspace", "subtype", "subtypes", "typename", "vector_size")
)
_spelling = object()  # replaced each time such an attribute is set: cached spellings are valid for one of them


def _forget_spellings() -> None:
    global _spelling
    _spelling = object()


def _has_standard_spelling(kind: Any) -> bool:
    """True if the CQL spelling of *kind*, and of its subtypes, depends on their attributes only."""
    if not isinstance(kind, CassandraTypeType):
        return False
    names = ("cql_parameterized_type", "_spell_cql", "cass_parameterized_type", "cass_parameterized_type_with")
    own = (defined(kind, name) for name in names)
    return all(_is_ours(value) for value in own) and all(map(_has_standard_spelling, kind.subtypes))  # type: ignore[attr-defined]


def _is_ours(method: Any) -> bool:
    return str(getattr(getattr(method, "__func__", None), "__module__", "")).startswith("cassandra._wire.types.")


NOT_DEFINED = object()


def defined(cls: type, name: str) -> Any:
    """Return the unbound attribute *name* of *cls* from the class body that defines it; None if there is none."""
    for base in cls.__mro__:
        found = base.__dict__.get(name, NOT_DEFINED)  # one look-up, as another thread may delete it
        if found is not NOT_DEFINED:
            return found
    return None


class _CassandraType(metaclass=CassandraTypeType):
    """Base of all CQL types. Classes, not instances, represent types."""

    subtypes: ClassVar[tuple[Any, ...]] = ()  #: Types of the elements.
    fieldnames: ClassVar[tuple[str | None, ...] | None] = None  #: Names of the fields of a user type.
    num_subtypes: ClassVar[int | str] = 0  #: Number of types of elements.
    cassname: ClassVar[str]  #: Name of the server's class.
    typename: ClassVar[str] = ""  #: Name of the type in CQL.
    _native_codec: ClassVar[Codec | None]
    _cql: ClassVar[tuple[Any, Any, str]] = (None, None, "")  # cached spelling: value of _spelling, the class, the text

    empty_binary_ok: ClassVar[bool] = False
    """Zero bytes are a value of this type."""
    support_empty_values: ClassVar[bool] = False
    """Read zero bytes of a type that has no such value as :data:`EMPTY`, not as None."""

    def __init__(self, val: Any) -> None:
        self.val = val  #: The value, of an instance.

    def __repr__(self) -> str:
        return f"<{self.cql_parameterized_type()}( {self.val!r} )>"

    @classmethod
    def from_binary(cls, byts: bytes | None, protocol_version: int) -> Any:
        """Return the value of these bytes; None for None, and for zero bytes if they are not a value of the type."""
        if byts is None:
            return None
        if len(byts) == 0 and not cls.empty_binary_ok:
            return EMPTY if cls.support_empty_values else None
        return cls.deserialize(byts, protocol_version)

    @classmethod
    def to_binary(cls, val: Any, protocol_version: int) -> bytes:
        """Return the bytes of *val*, zero bytes for None."""
        return b"" if val is None or val is EMPTY else cls.serialize(val, protocol_version)

    @classmethod
    def deserialize(cls, byts: bytes, protocol_version: int) -> Any:
        """Return the value of bytes that represent one. Overridden, with :meth:`serialize`, by application types."""
        return (cls._native_codec or cls._native()).decode(byts, protocol_version)

    @classmethod
    def serialize(cls, val: Any, protocol_version: int) -> bytes:
        """Return the bytes of a value. Raise TypeError for a value of a wrong type."""
        return (cls._native_codec or cls._native()).encode(val, protocol_version)

    @classmethod
    def codec(cls) -> Codec:
        """Return the native codec of this type, including an application's overrides. Made once per class."""
        codec = cls.__dict__.get("_codec")
        if codec is None:
            if cls._is_overridden():
                codec = cls._own_codec = cls._wrapping_codec()
            else:
                codec = cls._native()
            cls._codec = codec
        return codec

    @classmethod
    def _native(cls) -> Codec:
        """Return the native codec of the built-in behaviour, made once per class."""
        codec = cls._native_codec
        if codec is None:
            codec = cls._native_codec = cls._make_native()
            cls._apply_empty()
        return codec

    @classmethod
    def _make_native(cls) -> Codec:
        codec = custom_codec(cls.cass_parameterized_type(full=True))
        codec.py_type = cls
        return codec

    @classmethod
    def _wrapping_codec(cls) -> Codec:
        codec = custom_codec(cls.cass_parameterized_type(full=True), cls.deserialize, cls.serialize)
        codec.py_type = cls
        return codec

    @classmethod
    def _is_overridden(cls) -> bool:
        """True if a subclass defines its own Python functions, or a program has replaced those of the class."""
        return any(is_own(cls, name) for name in ("deserialize", "serialize"))

    @classmethod
    def _reconfigure(cls) -> None:
        """Apply a setting for decoding that an application has changed."""
        for known in [known for known in casstypes.values() if issubclass(known, cls)]:
            known._apply_empty()

    @classmethod
    def _apply_empty(cls) -> None:
        codec = cls._native_codec
        if codec is not None:
            codec.empty_value = EMPTY if cls.support_empty_values and not cls.empty_binary_ok else None

    @classmethod
    def serial_size(cls) -> int | None:
        """Return the size of each value, as an element of a vector; None for types of variable size."""
        return None

    @classmethod
    def cass_parameterized_type_with(cls, subtypes: Sequence[Any], full: bool = False) -> str:
        """Return the server's spelling with these parameters, such as ``ListType(Int32Type)``; *full* adds packages."""
        name = cls.cassname
        if full and "." not in name:
            name = apache_cassandra_type_prefix + name
        if not subtypes:
            return name
        return f"{name}({', '.join(spell(sub, full) for sub in subtypes)})"

    @classmethod
    def apply_parameters(cls, subtypes: Sequence[Any], names: Sequence[str | None] | None = None) -> Any:
        """Return the class of this type with these parameters; the same class for the same parameters."""
        if cls.num_subtypes not in (UNKNOWN, len(subtypes)):
            raise ValueError(f"{cls.typename} types require {cls.num_subtypes} subtypes ({len(subtypes)} given)")
        attributes = {
            "subtypes": tuple(subtypes),
            "fieldnames": None if names is None else tuple(names),
            "cassname": cls.cassname,
        }
        return parameterized_class(cls, cls.cass_parameterized_type_with(subtypes), attributes)

    @classmethod
    def cql_parameterized_type(cls) -> str:
        """Return the CQL spelling, such as ``list<int>``. Cached until an attribute that it depends on is set on any
        type."""
        kept = cls._cql
        if kept[0] is _spelling and kept[1] is cls:
            return kept[2]
        spelling = _spelling
        text = cls._spell_cql()
        if all(map(_has_standard_spelling, cls.subtypes)):
            type.__setattr__(cls, "_cql", (spelling, cls, text))
        return text

    @classmethod
    def _spell_cql(cls) -> str:
        if not cls.subtypes:
            return cls.typename
        return f"{cls.typename}<{', '.join(sub.cql_parameterized_type() for sub in cls.subtypes)}>"

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        """Return the server's spelling of this type."""
        return cached_spelling(cls, full, lambda: cls.cass_parameterized_type_with(cls.subtypes, full=full))


CassandraType = _CassandraType

_ORIGINALS = {name: vars(_CassandraType)[name].__func__ for name in FUNCTIONS}


def is_own(cls: type, name: str) -> bool:
    """True if the method *name* of *cls* is not the driver's. False again after a program has restored the method."""
    found = defined(cls, name)
    if getattr(found, "__func__", found) is not _ORIGINALS[name]:
        return True
    return getattr(found, "__self__", cls) is not cls


class _UnrecognizedType(_CassandraType):
    """An unknown class of the server: its values are bytes."""

    num_subtypes = UNKNOWN
    empty_binary_ok = True


class _ParameterizedType(_CassandraType):
    """A type that needs parameters to convert values."""

    num_subtypes: ClassVar[int | str] = UNKNOWN

    @classmethod
    def deserialize_safe(cls, byts: bytes, protocol_version: int) -> Any:
        """Return the value of bytes that are not empty."""
        return cls.deserialize(byts, protocol_version)

    @classmethod
    def serialize_safe(cls, val: Any, protocol_version: int) -> bytes:
        """Return the bytes of a value."""
        return cls.serialize(val, protocol_version)

    @classmethod
    def _make_native(cls) -> Codec:
        if not cls.subtypes:
            raise NotImplementedError(f"{cls.cassname} needs parameters to convert values")
        return cls._build([sub.codec() for sub in cls.subtypes])

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        raise NotImplementedError


class _SimpleParameterizedType(_ParameterizedType):
    """A collection of one element type."""

    num_subtypes = 1
    adapter: ClassVar[Any]


def parameterized_class(cls: Any, name: str, attributes: dict[str, Any]) -> Any:
    """Return a subclass of *cls* with *attributes*; the same one as long as it is referenced."""
    key = (cls, *attributes.items())
    applied = _applied.get(key)
    if applied is None:
        made: Any = CassandraTypeType(_class_name(name), (cls,), attributes)
        applied = _applied.setdefault(key, made)
    return applied


def _class_name(name: str) -> str:
    """Return *name*, sent by a server, with NUL escaped, the only character that is invalid in class names."""
    return name.replace("\0", "\\x00")


def spell(parameter: Any, full: bool = False) -> str:
    """Return the server's spelling of a parameter: a type or a number."""
    return str(parameter) if isinstance(parameter, int) else str(parameter.cass_parameterized_type(full=full))


def cached_spelling(cls: Any, full: bool, spell_it: Callable[[], str]) -> str:
    """Return the spelling of a type, cached in the class for its parameters: otherwise deeply nested types would be
    spelled again for each level."""
    name = "_spelled_in_full" if full else "_spelled"
    kept = cls.__dict__.get(name)
    if kept is None or kept[0] is not cls.subtypes:
        kept = (cls.subtypes, spell_it())
        type.__setattr__(cls, name, kept)
    return str(kept[1])


@public("cassandra.cqltypes")
@lru_cache(maxsize=256)
def mkUnrecognizedType(casstypename: str) -> Any:
    """Return a class for an unknown class of the server."""
    attributes = {"typename": quote_text(casstypename), "cassname": casstypename, "subtypes": ()}
    return CassandraTypeType(_class_name(casstypename), (_UnrecognizedType,), attributes)


@public("cassandra.cqltypes")
def lookup_casstype_simple(casstype: str) -> Any:
    """Return the class for a server class name without parameters, known or unknown."""
    short = casstype.removeprefix(apache_cassandra_type_prefix)
    return casstypes.get(short) or mkUnrecognizedType(short or casstype)
