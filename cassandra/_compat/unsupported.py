"""Placeholders for unsupported names, which can be imported and raise an error on use (L6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from cassandra._base.errors import UnsupportedOperation


class UnsupportedType(type):
    """Metaclass of placeholder classes: they can be named, subclassed and used in ``isinstance``, not instantiated."""

    reason: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedOperation(f"{cls.__name__} {cls.reason}")

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"{cls.__name__}.{name}: {cls.__name__} {cls.reason}")


def unsupported_class(module: str, name: str, reason: str, *bases: type) -> Any:
    """Return a class of the public *module* whose use raises "<name> <reason>"."""
    return UnsupportedType(name, bases, {"__module__": module, "__doc__": f"{name} {reason}.", "reason": reason})


def unsupported_function(module: str, name: str, reason: str) -> Callable[..., NoReturn]:
    """Return a function of the public *module* that raises "<name> <reason>"."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedOperation(f"{name} {reason}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"{name} {reason}."
    return function


def finder(module: str, classes: dict[str, str], functions: dict[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` for placeholders: *classes* and *functions* map reasons to lists of names."""
    made: dict[str, Any] = {}

    def find(name: str) -> Any:
        if name not in made:
            for listed, make in ((classes, unsupported_class), (functions, unsupported_function)):
                reason = next((reason for reason, names in listed.items() if name in names.split()), None)
                if reason is not None:
                    made[name] = make(module, name, reason)
                    break
            else:
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return made[name]

    return find
