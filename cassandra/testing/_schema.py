"""Keyspaces, tables and types of the simulation, and the content of tables: partitions, rows, cells.

The last write wins, and expired cells are not live. One store serves the whole cluster: replicas never disagree.
Deletions are applied on arrival, and remembered so that an older write that arrives later loses, as on a server.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from cassandra.testing._ast import TableName, TypeRef
from cassandra.testing._topology import TabletMap
from cassandra.testing._types import (
    COUNTER,
    DURATION,
    SCALARS,
    Collection,
    CqlType,
    Tuple,
    Udt,
    UserType,
    Value,
    Vector,
)
from cassandra.testing.errors import InvalidRequest

# ---- content of a table

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


# ---- schema objects

PARTITION, CLUSTERING, STATIC, REGULAR = "partition_key", "clustering", "static", "regular"
KINDS: Final = (PARTITION, CLUSTERING, STATIC, REGULAR)


class Backwards:
    """A reversed sort key."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: Backwards) -> bool:
        return bool(other.key < self.key)

    def __gt__(self, other: Backwards) -> bool:
        return bool(other.key > self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backwards) and bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass
class Column:
    name: str
    type: CqlType
    kind: str
    position: int = -1  # in its kind of key
    descending: bool = False

    def order(self, value: Any) -> Any:
        key = self.type.order(value)
        return Backwards(key) if self.descending else key


@dataclass
class Index:
    name: str
    column: str
    target: str
    custom_class: str | None
    options: dict[str, str]


@dataclass
class Table:
    keyspace: str
    name: str
    columns: dict[str, Column]
    options: dict[str, Any] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)
    tablets: TabletMap | None = None
    virtual: bool = False
    id: UUID = field(default_factory=uuid.uuid1)
    data: Data = field(default_factory=Data)

    def of_kind(self, kind: str) -> list[Column]:
        found = [column for column in self.columns.values() if column.kind == kind]
        return sorted(found, key=lambda column: (column.position, column.name.encode()))

    @property
    def partition_key(self) -> list[Column]:
        return self.of_kind(PARTITION)

    @property
    def clustering(self) -> list[Column]:
        return self.of_kind(CLUSTERING)

    @property
    def in_order(self) -> list[Column]:
        """The columns in the order of ``SELECT *``."""
        return [column for kind in KINDS for column in self.of_kind(kind)]

    @property
    def is_counter(self) -> bool:
        return any(column.type is COUNTER for column in self.columns.values())

    @property
    def default_ttl(self) -> int:
        return int(self.options.get("default_time_to_live", 0))

    def column(self, name: str) -> Column:
        try:
            return self.columns[name]
        except KeyError:
            raise InvalidRequest(f"Undefined column name {name} in table {self.keyspace}.{self.name}") from None

    def partition_bytes(self, key: tuple[Any, ...]) -> bytes:
        parts = [column.type.encode(value) for column, value in zip(self.partition_key, key, strict=True)]
        if len(parts) == 1:
            return parts[0]
        return b"".join(len(part).to_bytes(2, "big") + part + b"\0" for part in parts)

    def order(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the sort key of a clustering key or a prefix of one."""
        return tuple(column.order(value) for column, value in zip(self.clustering, key, strict=False))


@dataclass
class Keyspace:
    name: str
    replication: dict[str, str]
    durable_writes: bool = True
    initial_tablets: int | None = None  # None: no tablets; 0: as many as fit
    tables: dict[str, Table] = field(default_factory=dict)
    types: dict[str, UserType] = field(default_factory=dict)
    virtual: bool = False

    @property
    def strategy(self) -> str:
        return self.replication["class"].rpartition(".")[2]

    @property
    def factors(self) -> dict[str, int] | int:
        """Number of replicas by datacenter, or in total."""
        if self.strategy == "NetworkTopologyStrategy":
            return {key: int(value) for key, value in self.replication.items() if key != "class"}
        if self.strategy == "SimpleStrategy":
            return int(self.replication["replication_factor"])
        return 1 << 30  # LocalStrategy and EverywhereStrategy: every node


class Schema:
    """All schema objects; ``version`` changes with each change."""

    def __init__(self) -> None:
        self.keyspaces: dict[str, Keyspace] = {}
        self.version = uuid.uuid4()
        self.generation = 0

    def changed(self) -> None:
        self.version = uuid.uuid4()
        self.generation += 1

    def keyspace(self, name: str) -> Keyspace:
        try:
            return self.keyspaces[name]
        except KeyError:
            raise InvalidRequest(f"Keyspace '{name}' does not exist") from None

    def table(self, name: TableName, current: str | None) -> Table:
        keyspace = self.keyspace(self.resolve(name, current))
        try:
            return keyspace.tables[name.name]
        except KeyError:
            raise InvalidRequest(f"unconfigured table {name.name}") from None

    @staticmethod
    def resolve(name: TableName, current: str | None) -> str:
        """Return the keyspace of *name*."""
        found = name.keyspace or current
        if found is None:
            raise InvalidRequest(
                "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename"
            )
        return found

    def tables(self) -> Iterator[Table]:
        for keyspace in self.keyspaces.values():
            yield from keyspace.tables.values()

    def type_(self, ref: TypeRef, keyspace: str, frozen: bool = False) -> CqlType:
        """Return the type that *ref* names in *keyspace*."""
        name = ref.name
        if name == "frozen":
            return self.type_(_only(ref, 1)[0], keyspace, True).frozen()
        if name in ("list", "set", "map"):
            inner = [self.type_(part, keyspace, frozen) for part in _only(ref, 2 if name == "map" else 1)]
            if any(part.multicell for part in inner):
                raise InvalidRequest(f"Non-frozen collections are not allowed inside collections: {name}")
            if inner[0] is DURATION and name != "list":
                raise InvalidRequest(f"Durations are not allowed as {name} keys")
            if COUNTER in inner:
                raise InvalidRequest("Counters are not allowed inside collections")
            return Collection(name, tuple(inner))
        if name == "tuple":
            return Tuple(tuple(self.type_(part, keyspace).frozen() for part in ref.arguments))
        if name == "vector":
            element, size = _only(ref, 2)
            return Vector(self.type_(element, keyspace).frozen(), int(size))
        if ref.keyspace is None and name in SCALARS:
            return SCALARS[name]
        return self._user_type(ref, keyspace)

    def _user_type(self, ref: TypeRef, keyspace: str) -> Udt:
        if ref.keyspace not in (None, keyspace):
            raise InvalidRequest(
                f"Statement on keyspace {keyspace} cannot refer to a user type in keyspace {ref.keyspace}"
            )
        found = self.keyspace(keyspace).types.get(ref.name)
        if found is None:
            raise InvalidRequest(f"Unknown type {keyspace}.{ref.name}")
        return Udt(found)


def _only(ref: TypeRef, count: int) -> tuple[Any, ...]:
    if len(ref.arguments) != count:
        raise InvalidRequest(f"{ref.name} takes {count} types")
    return ref.arguments
