"""A few scripted servers that look like one Cassandra cluster: system tables, events, prepared statements; no data.

The nodes are at 127.0.0.1, each on a port of its own. Tests stop, start and pause them, change the rows of their
system tables, push events, and read the queries that came. The wire format is made by ``tests.fakes.wire``, not by the
driver.
"""

from __future__ import annotations

import contextlib
import hashlib
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID, uuid4

from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope
from tests.patience import eventually

__all__ = ["FakeCluster", "FakeNode", "eventually"]

TEXT, UUID_, INET, INT, BOOLEAN = 0x0D, 0x0C, 0x10, 0x09, 0x04
TEXT_SET, TEXT_MAP, TEXT_LIST, UUID_SET = (0x22, TEXT), (0x21, TEXT, TEXT), (0x20, TEXT), (0x22, UUID_)
PAUSE = 600.0  # seconds, unless a test ends it earlier
Type = int | tuple[int, ...]
Row = dict[str, Any]

PEERS_V2 = {
    "peer": INET,
    "peer_port": INT,
    "data_center": TEXT,
    "host_id": UUID_,
    "native_address": INET,
    "native_port": INT,
    "rack": TEXT,
    "release_version": TEXT,
    "schema_version": UUID_,
    "tokens": TEXT_SET,
}
LOCAL = {
    "key": TEXT,
    "cluster_name": TEXT,
    "partitioner": TEXT,
    "data_center": TEXT,
    "rack": TEXT,
    "host_id": UUID_,
    "release_version": TEXT,
    "schema_version": UUID_,
    "rpc_address": INET,
    "rpc_port": INT,
    "broadcast_address": INET,
    "tokens": TEXT_SET,
}
KEYSPACES = {"keyspace_name": TEXT, "durable_writes": BOOLEAN, "replication": TEXT_MAP}
TABLES = {"keyspace_name": TEXT, "table_name": TEXT, "comment": TEXT, "flags": TEXT_SET, "id": UUID_}
COLUMNS = {
    "keyspace_name": TEXT,
    "table_name": TEXT,
    "column_name": TEXT,
    "clustering_order": TEXT,
    "kind": TEXT,
    "position": INT,
    "type": TEXT,
}


def encode(kind: Type, value: Any) -> bytes | None:
    """The wire form of one value."""
    if value is None:
        return None
    if isinstance(kind, tuple):
        items: Iterable[Any] = value.items() if isinstance(value, dict) else value
        flat = [part for item in items for part in (item if isinstance(item, tuple) else (item,))]
        elements = kind[1:]
        parts = b"".join(wire.bytes_(encode(elements[i % len(elements)], part)) for i, part in enumerate(flat))
        return wire.int32(len(flat) // len(elements)) + parts
    if kind == TEXT:
        return str(value).encode()
    if kind == UUID_:
        return bytes(value.bytes)
    if kind == INET:
        return wire.inet_addr(value)[1:]
    if kind == INT:
        return wire.int32(value)
    return wire.byte(bool(value))


def rows_body(table: str, columns: dict[str, Type], rows: Sequence[Row]) -> bytes:
    """A ROWS result with *columns* of *table*."""
    keyspace, _, name = table.partition(".")
    specs = b"".join(wire.string(column) + _option(kind) for column, kind in columns.items())
    head = wire.int32(2) + wire.int32(1) + wire.int32(len(columns)) + wire.string(keyspace) + wire.string(name) + specs
    cells = (wire.bytes_(encode(kind, row.get(column))) for row in rows for column, kind in columns.items())
    return head + wire.int32(len(rows)) + b"".join(cells)


def _option(kind: Type) -> bytes:
    return b"".join(map(wire.short, kind)) if isinstance(kind, tuple) else wire.short(kind)


class FakeNode:
    """One node of a :class:`FakeCluster`."""

    def __init__(self, cluster: FakeCluster, number: int) -> None:
        self.cluster = cluster
        self.host_id: UUID = UUID(int=number + 1)
        self.datacenter = "dc1"
        self.rack = f"r{number + 1}"
        self.tokens: set[str] = {str(number * 1000)}
        self.schema_version: UUID | None = None  # None: the cluster's
        self.peer = self.native_address = "127.0.0.1"  # as the system tables say
        self.listed = True  # in the peers tables of the others
        self.paused = threading.Event()
        self.paused.set()
        self.queries: list[str] = []
        self.prepared: list[str] = []
        self.registered: list[ScriptedConnection] = []
        self._registering = threading.Lock()
        self.port = cluster.reserve_port()
        self.server: ScriptedServer | None = ScriptedServer(self._script, port=self.port)

    @property
    def address(self) -> tuple[str, int]:
        return ("127.0.0.1", self.port)

    # ---- control by tests

    def stop(self) -> None:
        """Close the port and every connection."""
        server, self.server = self.server, None
        paused = not self.paused.is_set()
        self.resume()  # or its threads would not end
        if server is not None:
            server.close()
        self.registered = []
        if paused:
            self.pause()

    def start(self) -> None:
        """Listen again, on the same port."""
        if self.server is None:
            self.server = ScriptedServer(self._script, port=self.port)

    def drop_connections(self) -> None:
        """Cut every connection, go on listening."""
        assert self.server is not None
        self.registered = []
        self.server.drop_connections()

    def pause(self) -> None:
        """Take requests, answer nothing."""
        self.paused.clear()

    def resume(self) -> None:
        self.paused.set()

    def push(self, event_type: str, *parts: str | tuple[str, int]) -> None:
        """Send an event to every connection that registered."""
        body = wire.string(event_type)
        for part in parts:
            body += wire.string(part) if isinstance(part, str) else wire.inet(*part)
        with self._registering:
            connections = list(self.registered)
        for connection in connections:
            connection.send(wire.EVENT, body, stream=-1)

    def asked(self, fragment: str) -> int:
        """How many queries with *fragment* came."""
        return sum(fragment in query for query in list(self.queries))

    @property
    def connections(self) -> int:
        """Open connections."""
        return 0 if self.server is None else sum(c.socket.fileno() >= 0 for c in self.server.connections)

    # ---- answers

    def _script(self, connection: ScriptedConnection, request: Envelope) -> bool:
        self.paused.wait(PAUSE)
        if request.opcode == wire.REGISTER:
            with self._registering:  # a client that has the answer gets all later events, and none gets them sooner
                connection.answer(request, wire.READY)
                self.registered.append(connection)
            return True
        if request.opcode == wire.PREPARE:
            text = wire.read_long_string(request.body)
            self.prepared.append(text)
            connection.answer(request, wire.RESULT, self._prepared(connection.version or request.version, text))
            return True
        elif request.opcode == wire.QUERY:
            connection.version = request.version
            return self._query(connection, request, wire.read_long_string(request.body))
        return False

    @staticmethod
    def _prepared(version: int, text: str) -> bytes:
        digest = hashlib.md5(text.encode()).digest()
        no_metadata = wire.int32(4) + wire.int32(0)
        ids = wire.short_bytes(digest) * (2 if version >= 5 else 1)
        no_parameters = wire.int32(0) * (3 if version >= 4 else 2)  # flags, columns, partition key
        return wire.int32(4) + ids + no_parameters + no_metadata

    def _query(self, connection: ScriptedConnection, request: Envelope, text: str) -> bool:
        self.queries.append(text)
        hook = self.cluster.on_query
        if hook is not None and hook(self, connection, request, text):
            return True
        found = self._find(text)
        if found is None:
            return False
        connection.answer(request, wire.RESULT, found)
        return True

    def _find(self, text: str) -> bytes | None:
        if "system.local" in text:
            return rows_body("system.local", LOCAL, [self._local()])
        if "system.peers_v2" in text:
            return rows_body("system.peers_v2", PEERS_V2, self.peers())
        for name, columns, rows in (
            ("keyspaces", KEYSPACES, self.cluster.keyspaces),
            ("tables", TABLES, self.cluster.tables),
            ("columns", COLUMNS, self.cluster.columns),
        ):
            if f"system_schema.{name}" in text:
                return rows_body(f"system_schema.{name}", columns, [row for row in rows if _matches(row, text)])
        if "system_schema." in text or "system_virtual_schema." in text:
            return rows_body("system_schema.other", {"keyspace_name": TEXT}, [])
        return None

    def _local(self) -> Row:
        return {**self._row(), "key": "local", "cluster_name": "fake", "partitioner": self.cluster.partitioner} | {
            "rpc_address": self.native_address,
            "rpc_port": self.port,
            "broadcast_address": self.peer,
        }

    def _row(self) -> Row:
        return {
            "data_center": self.datacenter,
            "rack": self.rack,
            "host_id": self.host_id,
            "release_version": "5.0.6",
            "schema_version": self.schema_version or self.cluster.schema_version,
            "tokens": self.tokens,
        }

    def peers(self) -> list[Row]:
        """The rows of this node's peers table."""
        return [
            {
                **node._row(),
                "peer": node.peer,
                "peer_port": 7000,
                "native_address": node.native_address,
                "native_port": node.port,
            }
            for node in self.cluster.nodes
            if node is not self and node.listed
        ] + self.cluster.extra_peers


def _matches(row: Row, query: str) -> bool:
    """Whether *row* satisfies the equalities of *query*'s WHERE."""
    return all(
        f"{column} = " not in query or f"{column} = '{row[column]}'" in query
        for column in ("keyspace_name", "table_name")
        if column in row
    )


class FakeCluster:
    """Some nodes; a context manager."""

    partitioner = "org.apache.cassandra.dht.Murmur3Partitioner"

    def __init__(self, size: int = 1) -> None:
        self.nodes: list[FakeNode] = []
        self.extra_peers: list[Row] = []
        self.schema_version = uuid4()
        self.keyspaces: list[Row] = []
        self.tables: list[Row] = []
        self.columns: list[Row] = []
        self.on_query: Callable[[FakeNode, ScriptedConnection, Envelope, str], bool] | None = None
        self._reserved = contextlib.ExitStack()
        for _ in range(size):
            self.add_node()

    def reserve_port(self) -> int:
        """A port that stays reserved while the cluster exists, also when no server listens there: neither another
        process nor one of our own connections gets it."""
        reserved = self._reserved.enter_context(socket.socket())
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        return int(reserved.getsockname()[1])

    def add_node(self) -> FakeNode:
        """A further node, in every node's peers table at once."""
        node = FakeNode(self, len(self.nodes))
        self.nodes.append(node)
        return node

    @property
    def contact_points(self) -> list[tuple[str, int]]:
        return [node.address for node in self.nodes]

    def add_table(self, keyspace: str, table: str, *columns: str) -> None:
        """A table with text columns, the first one its key."""
        if not any(row["keyspace_name"] == keyspace for row in self.keyspaces):
            replication = {"class": "org.apache.cassandra.locator.SimpleStrategy", "replication_factor": "1"}
            self.keyspaces.append({"keyspace_name": keyspace, "durable_writes": True, "replication": replication})
        self.tables.append(
            {"keyspace_name": keyspace, "table_name": table, "comment": "", "flags": {"compound"}, "id": uuid4()}
        )
        for number, column in enumerate(columns):
            self.columns.append(
                {
                    "keyspace_name": keyspace,
                    "table_name": table,
                    "column_name": column,
                    "clustering_order": "none",
                    "kind": "regular" if number else "partition_key",
                    "position": -1 if number else 0,
                    "type": "text",
                }
            )
        self.schema_version = uuid4()

    def drop_table(self, keyspace: str, table: str) -> None:
        self.tables = [row for row in self.tables if (row["keyspace_name"], row["table_name"]) != (keyspace, table)]
        self.schema_version = uuid4()

    def push(self, event_type: str, *parts: str | tuple[str, int]) -> None:
        """Every node sends an event to the clients that registered with it."""
        for node in self.nodes:
            node.push(event_type, *parts)

    def close(self) -> None:
        for node in self.nodes:
            node.resume()
            node.stop()

    def __enter__(self) -> FakeCluster:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
        self._reserved.close()
