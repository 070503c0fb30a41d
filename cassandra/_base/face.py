"""How a public class shows what its parts do: attributes that a part keeps, methods that a part has.

L0. A public name is declared once, in the public class, with the part it leads to; what it means is written where it is
done. For classes whose public names are of many things (``Cluster``, ``HostConnection``), not for what every request
asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")

NONE = object()


class Attribute(Generic[T]):
    """An attribute that a part keeps; the class has the default."""

    def __init__(self, part: str, kind: type, name: str | None = None, default: Any = NONE) -> None:
        """*part*: the attribute of the owner that holds it, *kind*: its class. *name*: what it is called there, if not
        as here. *default*: of a subclass of the owner that has another one."""
        self._part = part
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
            return getattr(getattr(whole, self._part), self._name or "")
        return getattr(self._kind, self._name or "") if self._default is NONE else self._default

    def __set__(self, whole: object, value: T) -> None:
        setattr(getattr(whole, self._part), self._name or "", value)

    def with_default(self, default: Any) -> Attribute[T]:
        """The same in a subclass of the owner, whose instances begin with *default*."""
        return type(self)(self._part, self._kind, self._name, default)


def attributes_of(owner: type) -> dict[str, Attribute[Any]]:
    """Those that the class *owner* has now, for :func:`take_defaults`."""
    return {name: value for name, value in vars(owner).items() if isinstance(value, Attribute)}


def take_defaults(cls: type, owner: type, attributes: Mapping[str, Attribute[Any]]) -> None:
    """Plain values in the place of *attributes* of *owner*, because its subclass *cls* says so, or because a program
    has set them in one of the classes, are other defaults of these."""
    for kind in cls.__mro__:
        if issubclass(kind, owner):
            for name in attributes.keys() & vars(kind).keys():
                value = vars(kind)[name]
                if not hasattr(value, "__get__"):
                    setattr(kind, name, attributes[name].with_default(value))


def method(part: str, function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method that is *function* of a part, which the attribute *part* holds."""

    @wraps(function)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(getattr(self, part), *args, **kwargs)

    return call
