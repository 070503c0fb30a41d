"""Adapters for registered classes whose user type was altered after the class was written (L0).

A class is called with the fields of the type as keyword arguments. It has no parameter for a field that was added, and
a parameter with the old name of a field that was renamed. In both cases reads must not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cassandra._base.logs import get_logger

log = get_logger("cassandra.cluster")

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
    log.warning("The class registered for the user type %s does not match it: %s", type_name, "; ".join(lacks))
