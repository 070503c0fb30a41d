"""What came from clients, for tests to look at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """One request that a node received."""

    node: int
    """Index of the node in ``cluster.nodes``."""
    shard: int
    """The shard that its connection belongs to."""
    connection: int
    """Number of the connection at its node, from 0."""
    control: bool
    """Whether the client had registered for events on it."""
    opcode: str
    """``QUERY``, ``EXECUTE``, ..."""
    query: str = ""
    """The statement; of a prepared one its text, of a batch that of its first statement."""
    keyspace: str | None = None
    table: str | None = None
    consistency: str | None = None
    serial_consistency: str | None = None
    page_size: int = 0
    timestamp: int | None = None
    token: int | None = None
    """Of the one partition that it is about."""
    on_replica: bool | None = None
    """Whether the node is a replica of that partition."""
    on_owner: bool | None = None
    """Whether the node and the shard own that partition."""
    error: str | None = None
    """The class of the error that it got, None when it got none."""
