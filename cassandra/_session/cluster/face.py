"""How :class:`Cluster` shows what its parts do: attributes that a part keeps, methods that a part has.

L5. A public name is declared once, in ``Cluster``, with the part it leads to; what it means is written where it is
done.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ..statements.sentinels import NOT_SET
from .options import Options

if TYPE_CHECKING:
    from .cluster import Cluster

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


class Attribute(Generic[T]):
    """An attribute of :class:`Cluster` that one of its parts keeps; the class has the default."""

    def __init__(self, part: str = "options", kind: type = Options, default: Any = NOT_SET) -> None:
        """*part*: its name in the cluster, *kind*: its class. *default*: of a subclass of Cluster that has another."""
        self._part = part
        self._kind = kind
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, cluster: None, owner: type) -> T: ...

    @overload
    def __get__(self, cluster: Cluster, owner: type | None = None) -> T: ...

    def __get__(self, cluster: Cluster | None, owner: type | None = None) -> Any:
        if cluster is not None:
            return getattr(getattr(cluster, self._part), self._name)
        return getattr(self._kind, self._name) if self._default is NOT_SET else self._default

    def __set__(self, cluster: Cluster, value: T) -> None:
        setattr(getattr(cluster, self._part), self._name, value)

    def with_default(self, owner: type, default: Any) -> Attribute[T]:
        """The same attribute of *owner*, a subclass of Cluster, by which its instances begin with *default*."""
        copy: Attribute[T] = Attribute(self._part, self._kind, default)
        copy.__set_name__(owner, self._name)
        return copy


def method(part: str, function: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """A method of :class:`Cluster` that is *function* of one of its parts."""

    @wraps(function)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(getattr(self, part), *args, **kwargs)

    return call
