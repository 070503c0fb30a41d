"""Coverage: the completed part of the ring.

L5. Spans are ``(start, end)`` for start < token <= end, so that neighbours share a number. They are tokens, so that the
progress of one scan is valid for another one, with any partitioning of the ring. One thread at a time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

Span = tuple[int, int]
RING = (1 << 64) - 1  # number of tokens of the ring; the lowest int64 is not a token


class Coverage:
    """Ordered spans that do not touch one another."""

    __slots__ = ("_ends", "_starts", "size")

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self.size = 0  # number of tokens
        for span in spans:
            self.add(span)

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(zip(self._starts, self._ends, strict=True))

    def add(self, span: Span) -> None:
        """Add *span*; parts that are already covered count once."""
        start, end = span
        first = bisect_left(self._ends, start)  # spans that end before it do not touch it
        last = bisect_right(self._starts, end)
        if first < last:
            start, end = min(start, self._starts[first]), max(end, self._ends[last - 1])
            self.size -= sum(self._ends[first:last]) - sum(self._starts[first:last])
        self._starts[first:last], self._ends[first:last] = [start], [end]
        self.size += end - start

    def has(self, span: Span) -> bool:
        """True if *span* is covered completely."""
        at = bisect_right(self._starts, span[0]) - 1
        return at >= 0 and span[1] <= self._ends[at]

    def left_of(self, span: Span) -> list[Span]:
        """Return the parts of *span* that are not covered, in order."""
        start, end = span
        left: list[Span] = []
        for at in range(bisect_right(self._ends, start), bisect_left(self._starts, end)):
            if start < self._starts[at]:
                left.append((start, self._starts[at]))
            start = max(start, self._ends[at])
        if start < end:
            left.append((start, end))
        return left
