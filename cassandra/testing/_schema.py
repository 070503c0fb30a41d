"""Keyspaces, tables and types of the simulation."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from cassandra.testing._ast import TableName, TypeRef
from cassandra.testing._storage import Data
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
    Vector,
)
from cassandra.testing.errors import InvalidRequest

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
