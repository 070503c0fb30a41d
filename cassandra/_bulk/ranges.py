"""Reading a table range by range, and the completed ranges (L6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cassandra._routing.token_ranges import FULL_RING, TokenRange, merge_ranges

from .errors import UsageError


def part_of_ring(begin: int | None, end: int | None) -> TokenRange:
    """Return the tokens above *begin* up to *end*; None is no bound."""
    try:
        return TokenRange(FULL_RING.start if begin is None else begin, FULL_RING.end if end is None else end)
    except ValueError as error:
        raise UsageError(str(error)) from None


class Coverage:
    """The completed ranges, of *whole*."""

    def __init__(self, whole: TokenRange, done: Iterable[Sequence[int]] = ()) -> None:
        self.whole = whole
        self._done = merge_ranges([TokenRange(start, end) for start, end in done])
        self._added: list[TokenRange] = []

    def add(self, one: TokenRange) -> None:
        self._added.append(one)

    def left(self) -> list[TokenRange]:
        """Return the ranges that are still to be read."""
        return self.whole.subtract(self._merged())

    def as_lists(self) -> list[list[int]]:
        """Return the completed ranges in the form of a checkpoint."""
        return [[one.start, one.end] for one in self._merged()]

    def part(self) -> float:
        """Return the completed part of the ring, from 0 to 1."""
        return sum(one.size for one in self._merged()) / self.whole.size

    def _merged(self) -> list[TokenRange]:
        if self._added:
            self._done = merge_ranges([*self._done, *self._added])
            self._added = []
        return self._done


def scan_of(session: Any, table: str, **options: Any) -> Any:
    """Return ``session.scan(table)``; raise UsageError for options that a scan rejects."""
    from cassandra._base.errors import InvalidRequest, UnsupportedOperation

    try:
        scan = session.scan(table, **options)
        scan._schema()
        return scan
    except (ValueError, UnsupportedOperation, InvalidRequest) as error:
        raise UsageError(str(error)) from None
