"""Dicts of the schema that follow what is read later (L4): those of a keyspace, and that of all keyspaces.

A program may keep such a dict for as long as its keyspace is there. So it is one object, and a change of the schema is
made in it, name by name: who looks up a name finds what it was or what it is, never a dict that was emptied to be
filled again. Who goes through it goes through a copy of one moment, and ``keys()``, ``values()`` and ``items()`` are
views of such a copy.

Changes are driver threads', with ``LOCK`` held. Looking up a name needs no lock, nor does a copy, which any thread may
want: it is made again if something changed meanwhile. So a driver thread never waits for a program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import sleep
from typing import Any

from cassandra._base.locks import driver_lock
from cassandra._base.process import renew
from cassandra._base.real import threading

LOCK = driver_lock("schema contents")

_changes = 0  # odd while dicts change; written with LOCK held
_changed_by = 0  # ident of the thread


@contextmanager
def changing() -> Iterator[None]:
    """Dicts change: with ``LOCK`` held, and so that no copy is of a moment in between."""
    global _changes, _changed_by
    with LOCK:
        is_outermost = not _changes & 1
        if is_outermost:
            _changed_by = get_ident()
            _changes += 1
        try:
            yield
        finally:
            if is_outermost:
                _changes += 1
                _changed_by = 0


def leave_to_parent() -> None:
    """In a forked child: a thread of the parent may have been in the middle of a change."""
    global _changes, _changed_by
    renew(LOCK)
    if not LOCK._is_owned():
        _changes, _changed_by = 0, 0


get_ident = threading.get_ident


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
        while True:
            moment = _changes
            if not moment & 1 or _changed_by == get_ident():
                try:
                    items = list(dict.items(self))
                except RuntimeError:  # its size has changed
                    continue
                if _changes == moment:
                    return dict(items)
            sleep(0)  # it changes for microseconds

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
