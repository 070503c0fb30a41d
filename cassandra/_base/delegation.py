"""Descriptors: delegation to the components of a public class, and attributes that are computed on first access.

L0. The public class declares a public name once, with the component that implements it; the documentation is in the
component. For classes whose public names belong to many components (``Cluster``, ``HostConnection``), not for
attributes on the request path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")

NONE = object()


class Attribute(Generic[T]):
    """An attribute that a component stores; read from the class, it is the default."""

    def __init__(self, component: str, kind: type, name: str | None = None, default: Any = NONE) -> None:
        """Create a delegating attribute.

        *component* is the attribute of the owner that holds the component, *kind* the class of the component. *name* is
        the attribute of the component, by default the same name. *default* is the default of a subclass of the owner
        that has a different one.
        """
        self._component = component
        self._kind = kind
        self._name = name
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    @overload
    def __get__(self, whole: None, owner: type) -> T: ...

    @overload
    def __get__(self, whole: object, owner: type | None = None) -> T: ...

    def __get__(self, whole: object, owner: type | None = None) -> Any:
        if whole is not None:
            return getattr(getattr(whole, self._component), self._name or "")
        return getattr(self._kind, self._name or "") if self._default is NONE else self._default

    def __set__(self, whole: object, value: T) -> None:
        setattr(getattr(whole, self._component), self._name or "", value)

    def with_default(self, default: Any) -> Attribute[T]:
        """Return the same attribute for a subclass of the owner, whose instances start with *default*."""
        return type(self)(self._component, self._kind, self._name, default)


def attributes_of(owner: type) -> dict[str, Attribute[Any]]:
    """Return the delegating attributes that the class *owner* has now, for :func:`take_defaults`."""
    return {name: value for name, value in vars(owner).items() if isinstance(value, Attribute)}


class HasDefault(Protocol):
    """A descriptor with a default that subclasses of its owner may change."""

    def with_default(self, default: Any) -> Any:
        """Return the same descriptor with another default."""


def take_defaults(cls: type, owner: type, attributes: Mapping[str, HasDefault]) -> None:
    """Turn plain values that replace *attributes* of *owner*, in its subclass *cls* or set by a program in one of the
    classes, into defaults of these attributes."""
    for kind in cls.__mro__:
        if issubclass(kind, owner):
            for name in attributes.keys() & vars(kind).keys():
                value = vars(kind)[name]
                if not hasattr(value, "__get__"):
                    setattr(kind, name, attributes[name].with_default(value))


def method(component: str, function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return a method that calls *function*, a method of the component in the attribute *component*."""

    @wraps(function)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(getattr(self, component), *args, **kwargs)

    return call


# ---- attributes that are computed on first access


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
