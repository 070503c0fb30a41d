"""Totals: the combined accumulators of completed ranges (L5).

The order of combination determines the result of sums of floating-point numbers. ``AsTheyCome`` has one total, to which
each range is added when it is complete. ``InOrder`` has a tree over the ranges, built once: two neighbours are combined
as soon as both are there, so that the result depends on the ranges and not on when they were complete, and few
accumulators wait. (One running total from the left would need no tree, but ranges complete in no particular order, and
then all of them would wait for the first.)

Neither has a lock: the caller holds one (``fold.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .checkpoint import CheckpointError, Kept, Part
from .coverage import Coverage, Span

Combine = Callable[[Any, Any], Any]


class _Nothing:
    def __repr__(self) -> str:
        return "<no accumulator>"


#: Accumulator of a range without rows.
NOTHING: Any = _Nothing()


def combined(combine: Combine, first: Any, second: Any) -> Any:
    if first is NOTHING:
        return second
    return first if second is NOTHING else combine(first, second)


class AsTheyCome:
    """One total, in order of arrival."""

    cuts: Sequence[Span] | None = None

    def __init__(self, combine: Combine) -> None:
        self._combine = combine
        self._total = NOTHING
        self._done = Coverage()

    def add(self, span: Span, acc: Any) -> None:
        """Add *acc*, of a completed range, which the caller no longer uses."""
        self._total = combined(self._combine, self._total, acc)
        self._done.add(span)

    def restore(self, part: Part) -> None:
        """Add the state of a former fold."""
        if part.kept is not None:
            self._total = combined(self._combine, self._total, part.kept.fresh())
        for span in part.spans:
            self._done.add(span)

    def parts(self, keep: Callable[[Any], Kept]) -> list[Part]:
        """Return the current state, for a checkpoint."""
        kept = None if self._total is NOTHING else keep(self._total)
        return [Part(self._done.spans, kept)] if self._done.size else []

    def result(self, last: tuple[Span, Any] | None = None) -> Any:
        """Return the total, combined with the accumulator of an incomplete range; nothing is added after that."""
        return self._total if last is None else combined(self._combine, self._total, last[1])


class InOrder:
    """A tree over the ranges *cuts*, which are in order and do not overlap.

    Its node (level, place) stands for the ranges from ``place << level`` on, ``1 << level`` of them, or as many as
    there are: at the right edge a node may have only a left child, and is then equal to it.
    """

    def __init__(self, combine: Combine, cuts: Iterable[Span]) -> None:
        self._combine = combine
        self.cuts: Sequence[Span] = tuple(cuts)
        self._nodes: dict[tuple[int, int], Any] = {}  # complete nodes that wait for their neighbour
        self._starts = {start: place for place, (start, _) in enumerate(self.cuts)}
        self._ends = {end: place + 1 for place, (_, end) in enumerate(self.cuts)}

    def add(self, span: Span, acc: Any) -> None:
        self._climb(0, self._starts[span[0]], acc)

    def restore(self, part: Part) -> None:
        first, behind = self._starts.get(part.spans[0][0]), self._ends.get(part.spans[-1][1], 0)
        level = 0 if first is None or behind <= first else (behind - first - 1).bit_length()
        if first is None or first % (1 << level) or self._spans(level, first >> level) != part.spans:
            raise CheckpointError("damaged checkpoint: the completed parts are not ranges of the fold that made it")
        self._climb(level, first >> level, NOTHING if part.kept is None else part.kept.fresh())

    def _climb(self, level: int, place: int, acc: Any) -> None:
        nodes = self._nodes
        while 1 << level < len(self.cuts):
            sibling = place ^ 1
            if sibling << level < len(self.cuts):
                if (level, sibling) not in nodes:
                    break
                other = nodes[level, sibling]
                pair = (other, acc) if sibling < place else (acc, other)
                acc = combined(self._combine, *pair)
                del nodes[level, sibling]
            level, place = level + 1, place >> 1
        nodes[level, place] = acc

    def _spans(self, level: int, place: int) -> tuple[Span, ...]:
        return Coverage(self.cuts[place << level : (place + 1) << level]).spans

    def parts(self, keep: Callable[[Any], Kept]) -> list[Part]:
        return [
            Part(self._spans(*node), None if acc is NOTHING else keep(acc)) for node, acc in sorted_nodes(self._nodes)
        ]

    def result(self, last: tuple[Span, Any] | None = None) -> Any:
        nodes = dict(self._nodes)
        if last is not None:
            nodes[0, self._starts[last[0][0]]] = last[1]
        total = NOTHING
        for _, acc in sorted_nodes(nodes):
            total = combined(self._combine, total, acc)
        return total


def sorted_nodes(nodes: dict[tuple[int, int], Any]) -> list[tuple[tuple[int, int], Any]]:
    """Return the nodes in the order of their ranges."""
    return sorted(nodes.items(), key=lambda item: item[0][1] << item[0][0])
