"""Set ``__module__`` of private classes and functions to the public module that users import them from."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def public(module: str) -> Callable[[T], T]:
    """Return a decorator that sets ``__module__`` to *module*, as shown by repr and docs and used by pickle."""

    def stamp(obj: T) -> T:
        target: Any = obj
        target.__module__ = module
        return obj

    return stamp
