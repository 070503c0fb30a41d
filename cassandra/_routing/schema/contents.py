"""What is in keyspaces: dicts that follow the schema, and when their values are made (L4).

A program may keep the dict of all keyspaces, and those of a keyspace. So such a dict is one object, and a change of the
schema is made in it, name by name: who looks up a name finds what it was or what it is, never a dict that was emptied
to be filled again. Who goes through it goes through a copy of one moment, and ``keys()``, ``values()`` and ``items()``
are views of such a copy.

No lock: names are set and removed, and first values given, by one operation of a built-in each, and a copy that another
thread disturbs is made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: The dicts of a keyspace; each may name what is in those before it.
PARTS = ("user_types", "functions", "aggregates", "views", "indexes", "tables")


class LiveDict(dict[str, Any]):
    """A dict that changes while others go through it. A copy of it, or what is pickled, is a plain dict."""

    __slots__ = ()

    def follow(self, now: Mapping[str, Any]) -> None:
        """Have what *now* has, and no more. One thread at a time."""
        self.update(now)
        self.keep(now)

    def keep(self, now: Mapping[str, Any]) -> None:
        """Have nothing that *now* has not. One thread at a time."""
        for name in self.copy().keys() - now.keys():
            self.pop(name, None)

    def copy(self) -> dict[str, Any]:
        while True:
            try:
                return dict(dict.items(self))  # dict.copy() would ask keys() below
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
    """One of a keyspace: its copies are in the order of names, which is the server's, too."""

    __slots__ = ()

    def copy(self) -> dict[str, Any]:
        return dict(sorted(super().copy().items()))


class Contents:
    """The dicts of a keyspace by name, made by *read* when one of them is first asked for. Keyspaces that differ in
    their own settings only have the same one."""

    __slots__ = ("_made", "_read")

    def __init__(self, read: Callable[[], Mapping[str, Any]]) -> None:
        self._read: Callable[[], Mapping[str, Any]] | None = read
        self._made: dict[str, dict[str, Part]] = {}

    @property
    def is_parsed(self) -> bool:
        return bool(self._made)

    def parts(self) -> dict[str, Part]:
        """Any number of threads may be the first to ask: all get the same objects."""
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
