"""Names that import, and say what they are when they are used (L6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from cassandra._base.errors import UnsupportedOperation


class UnsupportedType(type):
    """The metaclass of such classes: they can be named, subclassed and asked for by ``isinstance``, not made."""

    reason: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedOperation(f"{cls.__name__} {cls.reason}")

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"{cls.__name__}.{name}: {cls.__name__} {cls.reason}")


def unsupported_class(module: str, name: str, reason: str, *bases: type) -> Any:
    """A class of the public *module* that cannot be used: "<name> <reason>"."""
    return UnsupportedType(name, bases, {"__module__": module, "__doc__": f"{name} {reason}.", "reason": reason})


def unsupported_function(module: str, name: str, reason: str) -> Callable[..., NoReturn]:
    """A function of the public *module* that raises "<name> <reason>"."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedOperation(f"{name} {reason}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"{name} {reason}."
    return function


def finder(module: str, classes: dict[str, str], functions: dict[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` for such names: lists of classes and functions by what is said of them."""
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
