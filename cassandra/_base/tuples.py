"""Python classes of rows and user types: named tuples, and adapters of classes that programs have registered (L0).

*Registered classes.* A class is called with the fields of the user type as keyword arguments. If the type was altered
after the class was written, the class has no parameter for a field that was added, and a parameter with the old name of
a field that was renamed. In both cases reads must not fail.

*Named tuples* are cached by their column or field names. CQL allows any name in quotes, Python does not: names are
cleaned or, if the result is not usable, replaced by the position (``field_3_``); a repeated name gets underscores, from
the 17th occurrence its position. Rows are pickled with the names, so that they can be sent between processes.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from keyword import iskeyword
from string import ascii_letters, digits
from time import monotonic
from typing import Any

from .logs import get_logger

cluster_log, query_log = get_logger("cassandra.cluster"), get_logger("cassandra.query")


# ---- registered classes

_MOST_LOGGED = 1024

_logged: set[tuple[str, str, tuple[str, ...], tuple[str, ...]]] = set()


def fitted(make: Callable[..., Any], type_name: str, names: Sequence[str]) -> Callable[..., Any]:
    """Return a callable that takes the fields *names* of the user type *type_name* as keyword arguments and calls
    *make*, a class that a program has registered, with the fields that *make* accepts. Required parameters that are not
    fields of the type are None.

    Return *make* itself if it accepts all fields, and if it accepts none of them: then the error of the call is raised
    to the program. Differences are logged once. Any thread.
    """
    from inspect import Parameter, signature  # here, as most programs do not need it

    try:
        parameters = signature(make).parameters.values()
    except (TypeError, ValueError):  # a class in C without a signature, such as dict
        return make
    by_position: list[str | None] = []  # None: the type has no such field
    for one in parameters:
        if one.kind is Parameter.POSITIONAL_ONLY:
            if one.name not in names and one.default is not Parameter.empty:
                break  # later positional parameters cannot be passed
            by_position.append(one.name if one.name in names else None)
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    by_name = {one.name: one.default is Parameter.empty for one in parameters if one.kind in named}
    takes_more = any(one.kind is Parameter.VAR_KEYWORD for one in parameters)
    declared = getattr(make, "_cql_names", None)  # a class of the mapper, which accepts any name
    known: set[str] = {*by_name, *filter(None, by_position)} if declared is None else set(declared())
    takes_all = takes_more and declared is None
    left_out = () if takes_all else tuple(name for name in names if name not in known)
    if len(left_out) == len(names) and not takes_more:
        return make
    needed = tuple(name for name, required in by_name.items() if required and name not in names)
    positional = tuple(
        one.name for one in parameters if one.kind is Parameter.POSITIONAL_ONLY and one.name not in names
    )
    missing = tuple(sorted(known - set(names))) if declared is not None else (*needed, *positional)
    _log_once(make, type_name, left_out, missing)
    if not by_position and not needed and (takes_more or not left_out):
        return make
    given = [name for name in names if name not in by_position and (takes_more or name in by_name)]

    def make_of_fields(**fields: Any) -> Any:
        first = [None if name is None else fields[name] for name in by_position]
        return make(*first, **{name: fields[name] for name in given}, **dict.fromkeys(needed))

    return make_of_fields


def _log_once(make: Any, type_name: str, left_out: tuple[str, ...], missing: tuple[str, ...]) -> None:
    name = getattr(make, "__qualname__", repr(make))
    key = (f"{getattr(make, '__module__', '')}.{name}", type_name, left_out, missing)
    if not (left_out or missing) or key in _logged or len(_logged) >= _MOST_LOGGED:
        return
    _logged.add(key)
    lacks = [f"{name} has no field {', '.join(map(repr, left_out))}, which is dropped"] if left_out else []
    if missing:
        lacks.append(f"the type has no field {', '.join(map(repr, missing))}, which is not read")
    cluster_log.warning("The class registered for the user type %s does not match it: %s", type_name, "; ".join(lacks))


# ---- named tuples

_UNDERSCORES = 15  # at most, to make a repeated name unique
_NAMED = 10  # columns that a warning lists
_BYTES_KEPT = 64 << 20  # limit for the classes in a cache
_BYTES_OF_CLASS = 2000
_BYTES_OF_FIELD = 500

_LEADING_JUNK = r"[^a-zA-Z0-9]+"  # patterns are compiled at first use
_JUNK = r"[^a-zA-Z0-9]"
_KEPT_AT_THE_END = frozenset(ascii_letters + digits + "_")


def clean_name(name: str) -> str:
    """Return *name* without leading and trailing characters that are invalid in identifiers, inner ones replaced by
    underscores."""
    junk = re.match(_LEADING_JUNK, name)
    start, end = junk.end() if junk else 0, len(name)
    while end > start and name[end - 1] not in _KEPT_AT_THE_END:
        end -= 1
    return re.sub(_JUNK, "_", name[start:end])


class _CacheEntry:
    """A class in a cache."""

    __slots__ = ("factory", "last_used", "size")

    def __init__(self, made: Any, size: int) -> None:
        self.factory = made
        self.size = size
        self.last_used = monotonic()  # time of the last use


class _ClassCache:
    """An LRU cache of classes, limited by their total size: a class of 60,000 fields takes 30 MB. There is no lock, as
    any thread may read rows: each change is one operation of the dict."""

    def __init__(self, make: Callable[..., Any]) -> None:
        update_wrapper(self, make)
        self._make = make
        self.complete: Callable[[Any], Any] = lambda made: made  # changes a class before any thread can use it
        self._entries: dict[tuple[Any, ...], _CacheEntry] = {}
        self.size = 0  # bytes of all classes, approximately

    def __call__(self, *key: Any) -> Any:
        found = self._entries.get(key)
        if found is None:
            made = self.complete(self._make(*key))
            new = _CacheEntry(made, _BYTES_OF_CLASS + sum(map(len, key[-1])) + _BYTES_OF_FIELD * len(key[-1]))
            found = self._entries.setdefault(key, new)
            if found is new:
                self._shrink()
        found.last_used = monotonic()
        return found.factory

    def _shrink(self) -> None:
        """Remove the classes that were not used for longest until the others are small enough."""
        kept = sorted(self._entries.items(), key=lambda item: item[1].last_used)  # copied in one step
        size = sum(one.size for _, one in kept)
        for key, one in kept[:-1]:
            if size <= _BYTES_KEPT:
                break
            size -= one.size
            self._entries.pop(key, None)
        self.size = size

    def __len__(self) -> int:
        return len(self._entries)

    def cache_clear(self) -> None:
        """Remove all classes."""
        self._entries.clear()
        self.size = 0


@_ClassCache
def row_class(names: tuple[str, ...]) -> Any:
    """Return the class for rows with these columns."""
    cleaned = tuple(map(clean_name, names))
    fields = _usable(cleaned)
    if fields != cleaned:
        changed = [i for i, (field, name) in enumerate(zip(fields, cleaned, strict=True)) if field != name]
        query_log.warning(
            "Some column names are not usable as attributes and get other names: %s%s. "
            "Use aliases (SELECT x AS y) or another row factory to avoid this",
            ", ".join(f"{names[i]!r} is {fields[i]}" for i in changed[:_NAMED]),
            f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else "",
        )
    return _tuple_class("Row", fields, "row", names)


@_ClassCache
def udt_class(type_name: str, names: tuple[str, ...]) -> Any:
    """Return the class for values of a user type without a registered class: plain ``tuple`` if the name of the type is
    not usable as a class name, or if its fields would need names that are neither their own nor their positions."""
    fields = tuple(positional_names(names))
    if not type_name.isidentifier() or iskeyword(type_name) or len(set(fields)) < len(fields):
        return tuple
    return _tuple_class(type_name, fields, type_name, names)


def positional_names(names: Iterable[str]) -> list[str]:
    """Return *names*, with names that are not usable as attributes replaced by their position."""
    return [name if _is_usable(name) else _by_position(position) for position, name in enumerate(names)]


def _is_usable(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name) and not name.startswith("_")


def _by_position(position: int) -> str:
    return f"field_{position}_"


def field_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the fields of :func:`row_class`."""
    return _usable(tuple(map(clean_name, names)))


def _usable(names: Sequence[str]) -> tuple[str, ...]:
    """Return *names* with names that namedtuple rejects replaced by ``field_<position>_``, and underscores added to
    repeated names until they are unique.

    From its 17th occurrence a name is replaced by its position too, as thousands of equal names would take time and
    memory by the square of their number.
    """
    fields: dict[str, None] = {}
    for position, name in enumerate(names):
        field = name if _is_usable(name) else _by_position(position)
        for _ in range(_UNDERSCORES):
            if field in fields:
                field += "_"
        if field in fields:
            field = _by_position(position)
        while field in fields:
            field += "_"
        fields[field] = None
    return tuple(fields)


def _tuple_class(class_name: str, fields: tuple[str, ...], kind: str, names: tuple[str, ...]) -> Any:
    make: Any = namedtuple  # an alias, as type checkers treat a direct call as a declaration
    made = make(class_name, fields)
    made.__module__ = "cassandra.query" if kind == "row" else "cassandra.cqltypes"
    made.__reduce__ = lambda self: (_restore, (kind, names, tuple(self)))
    return made


def _restore(kind: str, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    cls = row_class(names) if kind == "row" else udt_class(kind, names)
    return cls._make(values)
