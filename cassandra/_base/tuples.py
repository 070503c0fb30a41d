"""Named tuple classes for rows and user types, cached by their column or field names (L0).

CQL allows any name in quotes, Python does not: names are cleaned or, where that does not help, replaced by the
position (``field_3_``); one that comes again gets underscores, from the 17th time on its position. The classes pickle
by their names, so that rows travel between processes.
"""

import contextlib
import re
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from keyword import iskeyword
from string import ascii_letters, digits
from typing import Any

from cassandra._base.logs import get_logger

_UNDERSCORES = 15  # that make a repeated name new, at most
_NAMED = 10  # columns that a warning names
_BYTES_KEPT = 64 << 20  # of classes in a cache
_BYTES_OF_CLASS = 2000
_BYTES_OF_FIELD = 500

log = get_logger("cassandra.query")

_LEADING_JUNK = r"[^a-zA-Z0-9]+"  # compiled when they are used
_JUNK = r"[^a-zA-Z0-9]"
_KEPT_AT_THE_END = frozenset(ascii_letters + digits + "_")


def clean_name(name: str) -> str:
    """*name* without leading and trailing characters that no identifier has, inner ones as underscores."""
    junk = re.match(_LEADING_JUNK, name)
    start, end = junk.end() if junk else 0, len(name)
    while end > start and name[end - 1] not in _KEPT_AT_THE_END:
        end -= 1
    return re.sub(_JUNK, "_", name[start:end])


class _ClassCache:
    """The classes that were used last. They count by their size: a class of 60,000 fields takes 30 MB. No lock, as any
    thread may read rows: each change is one operation of the dict."""

    def __init__(self, make: Callable[..., Any]) -> None:
        update_wrapper(self, make)
        self._make = make
        self._kept: OrderedDict[tuple[Any, ...], tuple[Any, int]] = OrderedDict()  # class and size, the latest last
        self.size = 0  # bytes of all, about

    def __call__(self, *key: Any) -> Any:
        found = self._kept.get(key)
        if found is not None:
            with contextlib.suppress(KeyError):  # another thread has made room
                self._kept.move_to_end(key)
            return found[0]
        made = self._make(*key)
        size = _BYTES_OF_CLASS + sum(map(len, key[-1])) + _BYTES_OF_FIELD * len(key[-1])
        known = self._kept.setdefault(key, (made, size))
        if known[0] is made:
            self._count()
            while self.size > _BYTES_KEPT and len(self._kept) > 1:
                with contextlib.suppress(KeyError):
                    self._kept.popitem(last=False)
                self._count()
        return known[0]

    def _count(self) -> None:
        self.size = sum(size for _, size in list(self._kept.values()))

    def __len__(self) -> int:
        return len(self._kept)

    def cache_clear(self) -> None:
        """Forget all."""
        self._kept.clear()
        self.size = 0


@_ClassCache
def row_class(names: tuple[str, ...]) -> Any:
    """The class for rows with these columns."""
    cleaned = tuple(map(clean_name, names))
    fields = _usable(cleaned)
    if fields != cleaned:
        changed = [i for i, (field, name) in enumerate(zip(fields, cleaned, strict=True)) if field != name]
        log.warning(
            "Some column names are not usable as attributes and get other names: %s%s. "
            "Use aliases (SELECT x AS y) or another row factory to avoid this",
            ", ".join(f"{names[i]!r} is {fields[i]}" for i in changed[:_NAMED]),
            f" and {len(changed) - _NAMED} more" if len(changed) > _NAMED else "",
        )
    return _tuple_class("Row", fields, "row", names)


@_ClassCache
def udt_class(type_name: str, names: tuple[str, ...]) -> Any:
    """The class for values of a user type that no class was registered for: plain ``tuple`` where a named one would
    need another name than that of the type, or names for its fields that are neither theirs nor their positions."""
    fields = tuple(positional_names(names))
    if not type_name.isidentifier() or iskeyword(type_name) or len(set(fields)) < len(fields):
        return tuple
    return _tuple_class(type_name, fields, type_name, names)


def positional_names(names: Iterable[str]) -> list[str]:
    """*names*, those that are no names of attributes by their position."""
    return [name if _is_usable(name) else _by_position(position) for position, name in enumerate(names)]


def _is_usable(name: str) -> bool:
    return name.isidentifier() and not iskeyword(name) and not name.startswith("_")


def _by_position(position: int) -> str:
    return f"field_{position}_"


def field_names(names: Sequence[str]) -> tuple[str, ...]:
    """What the fields of :func:`row_class` are called."""
    return _usable(tuple(map(clean_name, names)))


def _usable(names: Sequence[str]) -> tuple[str, ...]:
    """Names that namedtuple refuses become ``field_<position>_``; repeated ones get underscores until they are new.

    One that comes for more than the 16th time is named by its position too, or thousands of equal names would take
    time and memory by the square of their number.
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
    make: Any = namedtuple  # a plain call, which type checkers would take for a declaration
    made = make(class_name, fields)
    made.__module__ = "cassandra.query" if kind == "row" else "cassandra.cqltypes"
    made.__reduce__ = lambda self: (_restore, (kind, names, tuple(self)))
    return made


def _restore(kind: str, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    cls = row_class(names) if kind == "row" else udt_class(kind, names)
    return cls._make(values)
