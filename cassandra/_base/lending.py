"""Names that a public module has only because old programs import them from there (L0).

They are looked up when somebody asks for them, so that nobody else pays for what they bring in.
"""

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lend(borrower: str, names: Mapping[str, str]) -> None:
    """*names* are attributes of the module *borrower* from now on, and part of what ``import *`` gives.

    They are lists of names by the module that has them; a name that is another one there is written ``here=there``.
    Type checkers do not see them: whoever writes a new program imports from the module where a name is at home.
    """
    module: Any = sys.modules[borrower]
    homes: dict[str, tuple[str, str]] = {}
    for home, listed in names.items():
        for item in listed.split():
            here, _, there = item.partition("=")
            homes[here] = (home, there or here)
    module.__all__ += [name for name in homes if not name.startswith("_")]
    module.__dict__["__getattr__"] = _looking_up(module, homes)


def lend_submodules(package: str) -> None:
    """Public submodules are attributes of *package* whether or not somebody imported them: old programs count on
    modules that import one another."""

    def find(name: str) -> Any:
        if not name.startswith("_"):
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{name}":
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    sys.modules[package].__dict__["__getattr__"] = find


def _looking_up(module: Any, homes: Mapping[str, tuple[str, str]]) -> Callable[[str], Any]:
    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        home, there = homes[name]
        value = getattr(importlib.import_module(home), there)
        setattr(module, name, value)
        return value

    return find


def lend_attributes(borrower: type, home: str, names: str) -> None:
    """*names* are attributes of the class *borrower* from now on, as the class of its name in the module *home* has
    them; they may be set on an instance. That module is imported when somebody asks for one."""
    for name in names.split():
        setattr(borrower, name, _LentAttribute(home, borrower.__name__, name))


def lend_defaults(borrower: type, names: str) -> None:
    """Attributes that every instance sets are None in the class, so that mocks that are made from it have them."""
    for name in names.split():
        setattr(borrower, name, None)


class _LentAttribute:
    def __init__(self, home: str, owner: str, name: str) -> None:
        self._home = home
        self._owner = owner
        self._name = name

    def _found(self) -> Any:
        return vars(getattr(importlib.import_module(self._home), self._owner))[self._name]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        found = self._found()
        if instance is not None and self._name in getattr(instance, "__dict__", ()):
            return instance.__dict__[self._name]
        return found.__get__(instance, owner) if hasattr(found, "__get__") else found

    def __set__(self, instance: Any, value: Any) -> None:
        found = self._found()
        if hasattr(found, "__set__") and not isinstance(found, property):
            found.__set__(instance, value)
        else:
            instance.__dict__[self._name] = value
