"""Dicts that follow the schema, whose values are made when they are first read (L4).

A program may keep a reference to the dict of all keyspaces, and to those of a keyspace. So such a dict stays the same
object, and a schema change is applied to it name by name: a look-up finds the old or the new value. Iteration uses the
names or a copy of one moment; ``keys()``, ``values()`` and ``items()`` are views of such a copy.

A :class:`Part` is one dict of a keyspace. Its values are made one by one from undecoded rows: a look-up makes one,
names and lengths make none, and what needs all values makes all. Its storage, the dict that it is, holds

* values: those that were made, and those that a program has set;
* a :class:`Change` for a name that was read again, with its own rows; it keeps the value once that is made;
* ``GONE`` for a name that was removed, if the source has it;
* nothing for the other names of its source, the rows that the keyspace was read with.

*Owner.* Any thread reads. Schema changes come from one thread at a time, which holds the lock of the metadata. There is
no lock here: a value is made without side effects and then stored by one ``setdefault``, of which the first one counts,
so that all readers get one object. A change overwrites what is stored, and a removal stores ``GONE``; a reader that
made a value of the previous rows meanwhile finds that in its place. Hence a removed name never comes back, and nothing
is lost if a signal handler raises between two steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol


class _Sentinel:
    __slots__ = ()


MISSING: Any = _Sentinel()
GONE: Any = _Sentinel()


class LiveDict(dict[str, Any]):
    """A dict that may be changed during iteration. Its copies and pickles are plain dicts."""

    __slots__ = ()

    def follow(self, now: Mapping[str, Any]) -> None:
        """Set the contents to those of *now*. One thread at a time."""
        self.update(now)
        for name in self.copy().keys() - now.keys():
            self.pop(name, None)

    def stored(self) -> dict[str, Any]:
        """Return a copy of the storage."""
        while True:
            try:
                return dict(dict.items(self))  # dict.copy() would call keys() below
            except RuntimeError:  # another thread has added or removed a name
                continue

    def copy(self) -> dict[str, Any]:
        return self.stored()

    def __iter__(self) -> Iterator[str]:
        names: Iterator[str] = iter(self.keys())
        return names

    def __reversed__(self) -> Iterator[str]:
        names: Iterator[str] = reversed(self.keys())
        return names

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


class Source(Protocol):
    """The names and values of a Part when it was read, or those that derive from other Parts."""

    #: True if the Part may store the values, and need not ask again.
    is_fixed: bool

    def names(self) -> Iterable[str]:
        """Return the names."""

    def first(self) -> str | None:
        """Return any of the names, quickly; None if there is none."""

    def has(self, name: str) -> bool:
        """True if *name* is one of the names."""

    def make(self, name: str) -> Any:
        """Return the value for *name*, or MISSING."""

    def release(self) -> None:
        """Release the rows: all values have been made and stored."""


class Change:
    """A value that is made on first use. ``rows``: those that it was read again with, until it is made; None if it is
    made of the rows of the source."""

    __slots__ = ("_made", "_make", "is_read_again", "rows")

    def __init__(self, make: Callable[[], Any], rows: Any = None) -> None:
        self.rows = rows
        self.is_read_again = rows is not None
        self._make: Callable[[], Any] | None = make
        self._made: dict[str, Any] = {}

    @property
    def value(self) -> Any:
        """The value; None if it was not made yet."""
        return self._made.get("value")

    def get(self) -> Any:
        """Return the value. All callers get one object."""
        made = self._made.get("value", MISSING)
        while made is MISSING:
            make = self._make
            if make is None:
                made = self._made["value"]  # another thread has made it meanwhile
            else:
                made = self._made.setdefault("value", make())
                self._make = self.rows = None
                break
        return made


class Part(LiveDict):
    """One dict of a keyspace: see the head of this file. Names are sorted, which is also the server's order."""

    __slots__ = ("source",)

    def __init__(self, known: Mapping[str, Any] | None = None, source: Source | None = None) -> None:
        super().__init__(() if known is None else known)
        self.source = source
        first = source.first() if source is not None and source.is_fixed else None
        if source is not None and first is not None:  # C code takes a dict with an empty storage for empty: json
            dict.setdefault(self, first, Change(lambda: source.make(first)))

    # ---- reading

    def _find(self, name: Any) -> Any:
        """Return the value of *name*, or MISSING."""
        found = dict.get(self, name, MISSING)
        source = self.source
        if found is MISSING and source is not None and isinstance(name, str):
            made = source.make(name)
            if made is MISSING:  # another thread may have made all meanwhile, and released the source
                found = dict.get(self, name, MISSING)
            else:
                found = dict.setdefault(self, name, made) if source.is_fixed else made
        if type(found) is Change:
            found = found.get()
        return MISSING if found is GONE else found

    def _names(self) -> list[str]:
        stored = self.stored()
        source = self.source
        names = {name for name, value in stored.items() if value is not GONE}
        if source is not None:
            names.update(name for name in source.names() if stored.get(name) is not GONE)
        return sorted(names)

    def __getitem__(self, name: Any) -> Any:
        found = self._find(name)
        if found is MISSING:
            raise KeyError(name)
        return found

    def get(self, name: Any, default: Any = None) -> Any:
        found = self._find(name)
        return default if found is MISSING else found

    def __contains__(self, name: Any) -> bool:
        found = dict.get(self, name, MISSING)
        source = self.source
        if found is MISSING:
            return source is not None and isinstance(name, str) and source.has(name)
        return found is not GONE

    def __len__(self) -> int:
        return len(self._names())

    def __bool__(self) -> bool:
        return bool(self._names())

    def keys(self) -> Any:
        return dict.fromkeys(self._names()).keys()

    def copy(self) -> dict[str, Any]:
        source = self.source
        names = self._names()
        if source is None or source.is_fixed:
            for name in names:
                self._find(name)
            if source is not None:
                source.release()
            found = ((name, value.get() if type(value) is Change else value) for name, value in self.stored().items())
            return dict(sorted((name, value) for name, value in found if value is not GONE and value is not MISSING))
        pairs = [(name, self._find(name)) for name in names]
        return {name: value for name, value in pairs if value is not MISSING}

    def __eq__(self, other: object) -> bool:
        return self.copy() == (other.copy() if isinstance(other, Part) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: Any) -> Any:
        return self.copy() | (other.copy() if isinstance(other, Part) else other)

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    # ---- changes, also by programs

    def remove(self, name: str) -> None:
        """Remove *name*, if it is there."""
        source = self.source
        if source is not None and (not source.is_fixed or source.has(name)):
            dict.__setitem__(self, name, GONE)
        else:
            dict.pop(self, name, None)

    def settle(self) -> None:
        """Store all values and drop the source, if values derive from others; they do not follow changes any more."""
        source = self.source
        if source is not None and not source.is_fixed:
            dict.update(self, self.copy())
            self.source = None

    def forget(self, name: str) -> None:
        """Drop what a program has set as *name*; only for values that derive from others."""
        dict.pop(self, name, None)

    def pop(self, name: str, *default: Any) -> Any:
        found = self._find(name)
        if found is MISSING:
            if default:
                return default[0]
            raise KeyError(name)
        self.remove(name)
        return found

    def popitem(self) -> tuple[str, Any]:
        for name in reversed(self._names()):
            found = self._find(name)
            if found is not MISSING:
                self.remove(name)
                return name, found
        raise KeyError("popitem(): dictionary is empty")

    def setdefault(self, name: str, default: Any = None) -> Any:
        found = self._find(name)
        if found is not MISSING:
            return found
        self[name] = default
        return default

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def clear(self) -> None:
        for name in self._names():
            self.remove(name)
