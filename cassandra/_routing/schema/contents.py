"""Dicts of the schema that follow what is read later (L4): those of a keyspace, and that of all keyspaces.

A program may keep such a dict for as long as its keyspace is there. So it is one object, and a change of the schema is
made in it, name by name: who looks up a name finds what it was or what it is, never a dict that was emptied to be
filled again. Who goes through it goes through a copy of one moment, and ``keys()``, ``values()`` and ``items()`` are
views of such a copy.

``LOCK`` is held while a dict is copied, and while one changes. No request takes it: looking up a name needs no lock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cassandra._base.real import threading

LOCK = threading.RLock()


class LiveDict(dict[str, Any]):
    """A dict that changes while others go through it. A copy of it, or what is pickled, is a plain dict."""

    __slots__ = ()

    def follow(self, now: Mapping[str, Any]) -> None:
        """Have what *now* has, and no more; with ``LOCK`` held."""
        self.update(now)
        self.keep(now)

    def keep(self, now: Mapping[str, Any]) -> None:
        """Have nothing that *now* has not; with ``LOCK`` held."""
        for name in dict.keys(self) - now.keys():
            del self[name]

    def copy(self) -> dict[str, Any]:
        with LOCK:
            return dict(zip(dict.keys(self), dict.values(self), strict=True))

    def __iter__(self) -> Iterator[str]:
        return iter(self.copy())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self.copy())

    def keys(self) -> Any:
        return self.copy().keys()

    def values(self) -> Any:
        return self.copy().values()

    def items(self) -> Any:
        return self.copy().items()

    def __repr__(self) -> str:
        return repr(self.copy())

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self.copy(),)


class Part(LiveDict):
    """One of a keyspace: its copies are in the order of names, which is the server's, too."""

    __slots__ = ()

    def copy(self) -> dict[str, Any]:
        return dict(sorted(super().copy().items()))
