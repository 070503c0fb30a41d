"""Attributes of private classes that users see: the module they are imported from, and the state that copies have (L0).

Objects may hold state that cannot be copied or pickled: locks, counts, a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

from .real import threading

T = TypeVar("T")

_LOCKS = {type(make()): make for make in (threading.Lock, threading.RLock)}


def public(module: str) -> Callable[[T], T]:
    """Return a decorator that sets ``__module__`` to *module*, as shown by repr and docs and used by pickle."""

    def stamp(obj: T) -> T:
        target: Any = obj
        target.__module__ = module
        return obj

    return stamp


def not_copied(why: str) -> Callable[..., NoReturn]:
    """Return the ``__reduce__`` of a class whose objects can be neither copied nor pickled."""

    def __reduce__(self: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: {why}")

    return __reduce__


def state_of(kept: Any, shared: Iterable[str] = ()) -> dict[str, Any]:
    """Return the attributes of *kept* for ``__getstate__``. Locks are replaced by new ones in a copy. Attributes named
    in *shared* refer to the same object in a copy, also in a deep one, and are None after pickling."""
    state = {name: _NewLock(type(value)) if type(value) in _LOCKS else value for name, value in kept.__dict__.items()}
    for name in shared:
        if name in state:
            state[name] = _Shared(state[name])
    return state


def set_state(made: Any, state: dict[str, Any]) -> None:
    """Set the attributes of *made* from the result of :func:`state_of`. For ``__setstate__``."""
    for name, value in state.items():
        made.__dict__[name] = value.get() if isinstance(value, (_NewLock, _Shared)) else value


class _NewLock:
    """Placeholder of a lock; a copy gets a new lock of the same kind."""

    def __init__(self, kind: type) -> None:
        self._is_reentrant = _LOCKS[kind] is threading.RLock

    def get(self) -> Any:
        return threading.RLock() if self._is_reentrant else threading.Lock()


class _Shared:
    """Placeholder of an object that copies share."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        return self._value

    def __deepcopy__(self, memo: Any) -> _Shared:
        return self

    def __reduce__(self) -> tuple[type[_Shared], tuple[None]]:
        return _Shared, (None,)
