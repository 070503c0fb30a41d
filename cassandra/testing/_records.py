"""Recorded requests of clients, for tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Request:
    """One request that a node received."""

    node: int
    """Index of the node in ``cluster.nodes``."""
    shard: int
    """The shard of its connection."""
    connection: int
    """Number of the connection at its node, from 0."""
    control: bool
    """True if the client had registered for events on it."""
    opcode: str
    """``QUERY``, ``EXECUTE``, ..."""
    query: str = ""
    """The statement; for a prepared one its text, for a batch the text of its first statement."""
    keyspace: str | None = None
    table: str | None = None
    """For a batch the table of its first statement; so are the token and its owners."""
    consistency: str | None = None
    serial_consistency: str | None = None
    page_size: int = 0
    timestamp: int | None = None
    token: int | None = None
    """Token of its partition, if it is a single one."""
    token_range: tuple[int, int] | None = None
    """For a SELECT with bounds of ``token(...)``: the tokens above the first, up to and including the second."""
    on_replica: bool | None = None
    """True if the node is a replica of that partition."""
    on_owner: bool | None = None
    """True if the node and the shard own that partition."""
    error: str | None = None
    """Class name of its error, None without an error."""

    @property
    def is_statement(self) -> bool:
        """True if it ran a statement on a table."""
        return self.table is not None and self.opcode in ("QUERY", "EXECUTE", "BATCH")


@dataclass(frozen=True)
class Routing:
    """Statistics of routing to the owners of partitions: of the statements on a single partition."""

    requests: int = 0
    """Number of these statements."""
    on_replica: int = 0
    """Number of those that reached a replica of the partition."""
    on_owner: int = 0
    """Number of those that reached the very shard of a replica that owns the partition."""
    shards: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Number by (node, shard)."""
    owners: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Number by (node, shard) of statements on partitions that it owns."""

    @property
    def share(self) -> float:
        """The part of the requests that reached an owning shard: 1.0 is all; 0.0 also without requests."""
        return self.on_owner / self.requests if self.requests else 0.0


class Tally:
    """Counts statements by table, node and shard, without limit."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, int, int, bool | None, bool | None]] = Counter()

    def add(self, request: Request) -> None:
        if request.is_statement:
            table = f"{request.keyspace}.{request.table}"
            self._counts[table, request.node, request.shard, request.on_replica, request.on_owner] += 1

    def clear(self) -> None:
        self._counts.clear()

    def hits(self, table: str | None) -> dict[tuple[int, int], int]:
        """Return the number of statements by (node, shard)."""
        found: Counter[tuple[int, int]] = Counter()
        for (name, node, shard, _, _), count in self._counts.items():
            if _wanted(name, table):
                found[node, shard] += count
        return dict(found)

    def routing(self, table: str | None) -> Routing:
        """Return the statistics of statements on a single partition."""
        on_replica, shards, owners = 0, Counter[tuple[int, int]](), Counter[tuple[int, int]]()
        for (name, node, shard, replica, owner), count in self._counts.items():
            if owner is not None and _wanted(name, table):
                shards[node, shard] += count
                owners[node, shard] += count if owner else 0
                on_replica += count if replica else 0
        return Routing(shards.total(), on_replica, owners.total(), dict(shards), dict(owners))


def _wanted(name: str, table: str | None) -> bool:
    return name == table if table is not None else not name.startswith("system")
