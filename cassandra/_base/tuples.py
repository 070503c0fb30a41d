"""Named tuple classes for rows and user types, cached by their column or field names (L0).

CQL allows any name in quotes, Python does not: names are cleaned or, where that does not help, replaced by the
position (``field_3_``); one that comes again gets underscores. The classes pickle by their names, so that rows travel
between processes.
"""

import logging
import re
from collections import namedtuple
from collections.abc import Sequence
from functools import lru_cache
from keyword import iskeyword
from typing import Any

log = logging.getLogger("cassandra.query")

_OUTER_JUNK = r"^[^a-zA-Z0-9]+|[^a-zA-Z0-9_]+$"
_INNER_JUNK = r"[^a-zA-Z0-9]"


def clean_name(name: str) -> str:
    """*name* without leading and trailing characters that no identifier has, inner ones as underscores."""
    return re.sub(_INNER_JUNK, "_", re.sub(_OUTER_JUNK, "", name))


@lru_cache(maxsize=1024)
def row_class(names: tuple[str, ...]) -> Any:
    """The class for rows with these columns."""
    cleaned = tuple(map(clean_name, names))
    fields = _usable(cleaned)
    if fields != cleaned:
        log.warning(
            "Some of the column names %s are not usable as attributes and get other names (%s). "
            "Use aliases (SELECT x AS y) or another row factory to avoid this",
            names,
            ", ".join(field for field in fields if field not in cleaned),
        )
    return _tuple_class("Row", fields, "row", names)


@lru_cache(maxsize=1024)
def udt_class(type_name: str, names: tuple[str, ...]) -> Any:
    """The class for values of a user type that no class was registered for."""
    plain = type_name.isidentifier() and not iskeyword(type_name)
    return _tuple_class(type_name if plain else "UserType", _usable(names), type_name, names)


def _usable(names: Sequence[str]) -> tuple[str, ...]:
    """Names that namedtuple refuses become ``field_<position>_``; repeated ones get underscores until they are new."""
    fields: dict[str, None] = {}
    for position, name in enumerate(names):
        if not name.isidentifier() or iskeyword(name) or name.startswith("_"):
            name = f"field_{position}_"
        while name in fields:
            name += "_"
        fields[name] = None
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
