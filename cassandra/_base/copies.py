"""Copies, and pickles, of objects that hold what no copy can have: locks, counts, a cluster (L0)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from .real import threading

_LOCKS = {type(make()): make for make in (threading.Lock, threading.RLock)}


def not_copied(why: str) -> Callable[..., NoReturn]:
    """The ``__reduce__`` of a class whose objects are neither copied nor pickled."""

    def __reduce__(self: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: {why}")

    return __reduce__


def state_of(kept: Any, shared: Iterable[str] = ()) -> dict[str, Any]:
    """For ``__getstate__``: the attributes of *kept*, with locks to be made anew. Those in *shared* are the same object
    in a copy, also in a deep one, and None after pickling."""
    state = {name: _Anew(type(value)) if type(value) in _LOCKS else value for name, value in kept.__dict__.items()}
    for name in shared:
        if name in state:
            state[name] = _Shared(state[name])
    return state


def set_state(made: Any, state: dict[str, Any]) -> None:
    """For ``__setstate__``: what :func:`state_of` gave."""
    for name, value in state.items():
        made.__dict__[name] = value.get() if isinstance(value, (_Anew, _Shared)) else value


class _Anew:
    """In the place of a lock."""

    def __init__(self, kind: type) -> None:
        self._is_reentrant = _LOCKS[kind] is threading.RLock

    def get(self) -> Any:
        return threading.RLock() if self._is_reentrant else threading.Lock()


class _Shared:
    """In the place of an object that copies share."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def get(self) -> Any:
        return self._value

    def __deepcopy__(self, memo: Any) -> _Shared:
        return self

    def __reduce__(self) -> tuple[type[_Shared], tuple[None]]:
        return _Shared, (None,)
