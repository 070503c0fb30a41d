"""Stamps private classes and functions with the public path that users import them from."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def public(module: str) -> Callable[[T], T]:
    """Decorator: *module* is the public home, shown by repr and docs and used by pickle."""

    def stamp(obj: T) -> T:
        target: Any = obj
        target.__module__ = module
        return obj

    return stamp
