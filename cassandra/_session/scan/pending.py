"""Choice of the next range of a scan: round-robin over the home shards of the ranges, so that all shards have work.

L5. A :class:`Pending` belongs to one reading. The *home* of a range is the shard that its first page would go to; when
a range ends, a range of the same home is opened. So each shard has as many open ranges as any other, as long as it has
ranges left; after that it is idle.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .question import Range

SEED = 20170328  # seed of the order in which ranges are considered
AHEAD = 4096  # limit of ranges whose home is computed, so that a scan of a million ranges starts at once


class Pending:
    """Ranges not opened yet, by *home_of*; if that is None, they are opened in their order."""

    def __init__(self, ranges: Iterable[Range], home_of: Callable[[Range], object] | None) -> None:
        found = list(ranges)
        if home_of is not None:
            random.Random(SEED).shuffle(found)
        self._ranges = deque(found)
        self._home_of = home_of
        self._at: OrderedDict[object, deque[Range]] = OrderedDict()  # by home; the first is the next in turn
        self._known = 0  # number of ranges in _at
        self._ended: deque[object] = deque()  # homes of ranges that have ended, one entry for each

    def __len__(self) -> int:
        return len(self._ranges) + self._known

    def next(self) -> Range:
        """Remove and return the next range to open."""
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
        """Record that *one* is no longer open."""
        if self._home_of is not None:
            self._ended.append(one.home)

    def push(self, ranges: Sequence[Range]) -> None:
        """Add ranges; without homes, before all others."""
        self._ranges.extendleft(reversed(ranges))

    def clear(self) -> None:
        for some in (self._ranges, self._at, self._ended):
            some.clear()
        self._known = 0
