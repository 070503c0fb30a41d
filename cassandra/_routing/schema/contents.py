"""Contents of keyspaces: dicts that follow the schema, and lazy parsing of their values (L4).

A program may keep a reference to the dict of all keyspaces, and to those of a keyspace. So such a dict stays the same
object, and a schema change is applied to it name by name: a look-up finds the old or the new value, never an empty dict
that is being refilled. Iteration uses a copy made at one moment, and ``keys()``, ``values()`` and ``items()`` are views
of such a copy.

No lock: each name is set, removed or initialised by one operation of a built-in, and a copy that another thread
disturbs is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: The dicts of a keyspace; the contents of each may refer to those of the ones before it.
PARTS = ("user_types", "functions", "aggregates", "views", "indexes", "tables")


class LiveDict(dict[str, Any]):
    """A dict that may be changed during iteration. Its copies and pickles are plain dicts."""

    __slots__ = ()

    def follow(self, now: Mapping[str, Any]) -> None:
        """Set the contents to those of *now*. One thread at a time."""
        self.update(now)
        self.keep(now)

    def keep(self, now: Mapping[str, Any]) -> None:
        """Remove the names that are not in *now*. One thread at a time."""
        for name in self.copy().keys() - now.keys():
            self.pop(name, None)

    def copy(self) -> dict[str, Any]:
        while True:
            try:
                return dict(dict.items(self))  # dict.copy() would call keys() below
            except RuntimeError:  # another thread has added or removed a name
                continue

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
    """One dict of a keyspace. Its copies are sorted by name, which is also the server's order."""

    __slots__ = ()

    def copy(self) -> dict[str, Any]:
        return dict(sorted(super().copy().items()))


class Contents:
    """The dicts of a keyspace by name, made by *read* on first use. Keyspaces that differ only in their own settings
    share one object."""

    __slots__ = ("_made", "_read")

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._read: Callable[[], Mapping[str, Any]] | None = read
        self._made: dict[str, dict[str, Part]] = {}

    @property
    def is_parsed(self) -> bool:
        return bool(self._made)

    def parts(self) -> dict[str, Part]:
        """Return the dicts. Concurrent first calls return the same objects."""
        made = self._made.get("parts")
        while made is None:
            read = self._read
            if read is not None:
                found = read()
                made = self._made.setdefault("parts", {name: Part(found.get(name, {})) for name in PARTS})
                self._read = None  # the rows are not needed any more
            else:
                made = self._made.get("parts")
        return made
