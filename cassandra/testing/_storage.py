"""The content of a table: partitions, rows, cells; the last write wins, expired cells are not live.

One store serves the whole cluster: replicas never disagree. Deletions are applied on arrival, and remembered so that an
older write that arrives later loses, as on a server.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from cassandra.testing._types import CqlType, Value

NEVER: Final = -(1 << 63)  # older than any timestamp
Key = tuple[Value, ...]


@dataclass
class Cell:
    """One value; None is a tombstone."""

    value: Value
    timestamp: int
    ttl: int = 0
    expires: int | None = None  # milliseconds

    def live(self, now: int) -> bool:
        return self.value is not None and (self.expires is None or self.expires > now)


@dataclass
class Complex:
    """A collection or user-defined type that is not frozen: a cell per element."""

    deleted: int = NEVER
    cells: dict[Any, Cell] = field(default_factory=dict)

    def delete(self, timestamp: int) -> None:
        self.deleted = max(self.deleted, timestamp)
        self.cells = {key: cell for key, cell in self.cells.items() if cell.timestamp > timestamp}


@dataclass
class Row:
    """The static or one clustering row of a partition."""

    marker: Cell | None = None  # of INSERT
    deleted: int = NEVER
    cells: dict[str, Cell | Complex] = field(default_factory=dict)

    def put(self, name: str, cell: Cell, floor: int, kind: CqlType | None = None) -> None:
        """Write a simple column of type *kind*; *floor* is the time of the last deletion that covers the row."""
        if cell.timestamp <= max(floor, self.deleted):
            return
        old = self.cells.get(name)
        assert not isinstance(old, Complex)
        if old is None or _wins(cell, old, kind):
            self.cells[name] = cell

    def put_element(self, name: str, key: Any, cell: Cell, floor: int, kind: CqlType | None = None) -> None:
        """Write an element of a column; *kind* is the type of its value."""
        column = self.complex(name)
        if cell.timestamp <= max(floor, self.deleted, column.deleted):
            return
        old = column.cells.get(key)
        if old is None or _wins(cell, old, kind):
            column.cells[key] = cell

    def complex(self, name: str) -> Complex:
        column = self.cells.setdefault(name, Complex())
        assert isinstance(column, Complex)
        return column

    def mark(self, cell: Cell, floor: int) -> None:
        if cell.timestamp > max(floor, self.deleted) and (
            self.marker is None or cell.timestamp >= self.marker.timestamp
        ):
            self.marker = cell

    def delete(self, timestamp: int) -> None:
        self.deleted = max(self.deleted, timestamp)
        if self.marker is not None and self.marker.timestamp <= timestamp:
            self.marker = None
        kept: dict[str, Cell | Complex] = {}
        for name, column in self.cells.items():
            if isinstance(column, Complex):
                column.delete(timestamp)
                kept[name] = column
            elif column.timestamp > timestamp:
                kept[name] = column
        self.cells = kept

    def live(self, now: int) -> bool:
        if self.marker is not None and self.marker.live(now):
            return True
        for column in self.cells.values():
            cells = column.cells.values() if isinstance(column, Complex) else (column,)
            if any(cell.live(now) for cell in cells):
                return True
        return False


def _wins(new: Cell, old: Cell, kind: CqlType | None) -> bool:
    """True if *new* wins: the later one; with equal timestamps the tombstone, then an expiring cell, the later the
    better, then the greater value: as bytes, for any type."""
    if new.timestamp != old.timestamp:
        return new.timestamp > old.timestamp
    if old.value is None or new.value is None:
        return old.value is not None
    if new.expires != old.expires:
        return (new.expires or -1) > (old.expires or -1)
    return kind is None or kind.encode(new.value) >= kind.encode(old.value)


@dataclass(frozen=True)
class Slice:
    """Clustering rows between two prefixes (of sort keys); None is no bound."""

    start: tuple[Any, ...] | None = None
    start_inclusive: bool = True
    end: tuple[Any, ...] | None = None
    end_inclusive: bool = True

    def covers(self, order: tuple[Any, ...]) -> bool:
        if self.start is not None:
            head = order[: len(self.start)]
            if head < self.start or (head == self.start and not self.start_inclusive):
                return False
        if self.end is not None:
            head = order[: len(self.end)]
            if head > self.end or (head == self.end and not self.end_inclusive):
                return False
        return True


class Partition:
    """The rows of one partition key."""

    def __init__(self, key: Key, raw: bytes, token: int) -> None:
        self.key, self.raw, self.token = key, raw, token
        self.deleted = NEVER
        self.static = Row()
        self.rows: dict[Key, Row] = {}
        self.sorted: list[tuple[tuple[Any, ...], Key]] = []
        self.ranges: list[tuple[Slice, int]] = []

    @property
    def position(self) -> tuple[int, bytes]:
        return self.token, self.raw

    def floor(self, order: tuple[Any, ...]) -> int:
        """Return the time of the last deletion that covers the row at *order*."""
        return max([self.deleted, *(timestamp for piece, timestamp in self.ranges if piece.covers(order))])

    def row(self, order: tuple[Any, ...], key: Key) -> Row:
        """Return the row of a clustering key; create it if it does not exist."""
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = Row()
            insort(self.sorted, (order, key), key=lambda item: item[0])
        return row

    def delete(self, timestamp: int) -> None:
        self.deleted = max(self.deleted, timestamp)
        self.static.delete(timestamp)
        for row in self.rows.values():
            row.delete(timestamp)

    def delete_range(self, piece: Slice, timestamp: int) -> None:
        self.ranges.append((piece, timestamp))
        for order, key in self.sorted:
            if piece.covers(order):
                self.rows[key].delete(timestamp)

    def live_rows(self, now: int) -> Iterator[tuple[tuple[Any, ...], Key, Row]]:
        for order, key in self.sorted:
            row = self.rows[key]
            if row.live(now):
                yield order, key, row


class Data:
    """All partitions of a table, in ring order."""

    def __init__(self) -> None:
        self.partitions: dict[bytes, Partition] = {}
        self._order: list[tuple[int, bytes]] = []

    def partition(self, key: Key, raw: bytes, token: int) -> Partition:
        """Return the partition of a key; create it if it does not exist."""
        found = self.partitions.get(raw)
        if found is None:
            found = self.partitions[raw] = Partition(key, raw, token)
            insort(self._order, found.position)
        return found

    def between(self, low: tuple[int, bool] | None, high: tuple[int, bool] | None) -> list[Partition]:
        """Return the partitions of a token range; a bound is (token, inclusive)."""
        start, end = 0, len(self._order)
        if low is not None:
            start = (bisect_left if low[1] else bisect_right)(self._order, low[0], key=lambda item: item[0])
        if high is not None:
            end = (bisect_right if high[1] else bisect_left)(self._order, high[0], key=lambda item: item[0])
        return [self.partitions[raw] for _, raw in self._order[start:end]]

    def clear(self) -> None:
        self.partitions.clear()
        self._order.clear()
