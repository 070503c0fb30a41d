"""Attributes that are computed on first access (L0)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):
    """The ``functools.cached_property`` of Python 3.12 and later. Earlier versions call the function with a lock held,
    one lock for all objects: a driver thread would wait for a caller that a signal handler has interrupted there.

    Concurrent first accesses may each call the function; all get the same value, that of the call that ends first.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return instance.__dict__.setdefault(self._name, self._function(instance))
