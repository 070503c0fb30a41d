"""Values that several threads change: each is replaced as a whole, and no change is lost (L5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from cassandra._core.transport import replaced

T = TypeVar("T")


class Shared(Generic[T]):
    """An immutable *value* that any thread reads without a lock, and replaces by :meth:`change`."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def change(self, function: Callable[[T], T]) -> None:
        """Replace the value by ``function(value)``; an exception of it leaves the value. It is called again if another
        thread has replaced the value meanwhile."""
        while True:
            before = self.value
            if replaced(self, "value", before, function(before)):
                return


Items = tuple[T, ...]


def with_item(item: T) -> Callable[[Items[T]], Items[T]]:
    """Return a change that appends *item*."""
    return lambda items: (*items, item)


def without_item(item: T) -> Callable[[Items[T]], Items[T]]:
    """Return a change that removes the first occurrence of *item*; ValueError if there is none."""

    def with_replacement(items: Items[T]) -> Items[T]:
        place = items.index(item)
        return (*items[:place], *items[place + 1 :])

    return with_replacement
