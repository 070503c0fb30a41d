"""Which range of a scan is opened next: ranges at home on a shard take turns, so that all shards have some.

L5. A :class:`Pending` belongs to one reading. The *home* of a range is the shard that its first page would go to; a
range that has ended makes room for one of the same home. So each shard has as many open as any other, for as long as it
has some left: one that has none waits for nobody, but it does not work either.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .question import Range

SEED = 20170328  # of the order in which ranges are looked at
AHEAD = 4096  # ranges whose home is known, so that a scan of a million begins at once


class Pending:
    """Ranges of which nothing was asked for, by *home_of*; if that is None, they are opened as they are ordered."""

    def __init__(self, ranges: Iterable[Range], home_of: Callable[[Range], object] | None) -> None:
        found = list(ranges)
        if home_of is not None:
            random.Random(SEED).shuffle(found)
        self._ranges = deque(found)
        self._home_of = home_of
        self._at: OrderedDict[object, deque[Range]] = OrderedDict()  # by home; the next in turn is the first
        self._known = 0  # how many of these there are
        self._ended: deque[object] = deque()  # homes of ranges that have ended, one for each

    def __len__(self) -> int:
        return len(self._ranges) + self._known

    def next(self) -> Range:
        """What is to be opened; it is none of these any more."""
        if self._home_of is None:
            return self._ranges.popleft()
        while self._ranges and self._known < AHEAD:
            one = self._ranges.popleft()
            one.home = self._home_of(one)
            self._at.setdefault(one.home, deque()).append(one)
            self._known += 1
        home = self._next_home()
        there = self._at[home]
        one = there.popleft()
        self._known -= 1
        if there:
            self._at.move_to_end(home)
        else:
            del self._at[home]
        return one

    def _next_home(self) -> object:
        while self._ended:
            home = self._ended.popleft()
            if home in self._at:
                return home
        return next(iter(self._at))

    def ended(self, one: Range) -> None:
        """*one* is not open any more."""
        if self._home_of is not None:
            self._ended.append(one.home)

    def push(self, ranges: Sequence[Range]) -> None:
        """These, too; if there is an order, before all others."""
        self._ranges.extendleft(reversed(ranges))

    def clear(self) -> None:
        for some in (self._ranges, self._at, self._ended):
            some.clear()
        self._known = 0
