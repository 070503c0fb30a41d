"""Nodes in the system tables: queries, checks, and one :class:`Node` per usable row.

L5. ``system.local`` describes the queried node, ``system.peers_v2`` (Cassandra 4 and newer) or ``system.peers`` all
others. Rows of nodes that are joining, leaving or partly removed can be incomplete or stale: such a row is skipped, and
the metadata of that node stays unchanged. So is a row for which a user's endpoint factory or address translator fails.
Each affects that node only, and is logged once until something changes.

A node without tokens holds no data; requests are not sent to it, if it is a peer as well as if it is the queried node.
If no node has tokens, none is excluded. (Without ``token_metadata_enabled`` tokens are not read, and such nodes are
hosts like all others.)
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra._base.errors import DriverException, InvalidRequest
from cassandra._base.logs import get_logger, printable
from cassandra._net.endpoint import is_address

from .queries import Row, fetch, rows_or_raise

if TYPE_CHECKING:
    from cassandra._net.auth import AllowedAddresses
    from cassandra._net.connection import Connection
    from cassandra._net.endpoint import EndPoint, EndPointFactory

log = get_logger("cassandra.cluster")

MOST_LINES = 10  # log lines about skipped rows of one read
LONGEST_NAME = 256  # characters in the log

LOCAL = "SELECT * FROM system.local WHERE key='local'"
LOCAL_NO_TOKENS = (
    "SELECT host_id, cluster_name, data_center, rack, partitioner, release_version, schema_version, "
    "broadcast_address, listen_address, rpc_address FROM system.local WHERE key='local'"
)
PEERS_V2 = "SELECT * FROM system.peers_v2"
PEERS_V2_NO_TOKENS = (
    "SELECT host_id, peer, peer_port, data_center, rack, native_address, native_port, preferred_ip, preferred_port, "
    "release_version, schema_version FROM system.peers_v2"
)
PEERS = "SELECT * FROM system.peers"
PEERS_NO_TOKENS = (
    "SELECT host_id, peer, data_center, rack, rpc_address, preferred_ip, release_version, schema_version "
    "FROM system.peers"
)
VERSIONS_V2 = "SELECT host_id, peer, schema_version FROM system.peers_v2"
VERSIONS = "SELECT host_id, peer, schema_version FROM system.peers"


class Node:
    """One node as the control connection's node describes it."""

    __slots__ = ("datacenter", "endpoint", "host_id", "rack", "row", "tokens")

    def __init__(
        self,
        host_id: UUID,
        endpoint: EndPoint,
        datacenter: str | None,
        rack: str | None,
        tokens: Sequence[str],
        row: Row,
    ) -> None:
        self.host_id = host_id
        self.endpoint = endpoint
        self.datacenter = datacenter
        self.rack = rack
        self.tokens = tokens
        self.row = row

    def describe(self, host: Any) -> None:
        """Copy descriptive attributes (versions, addresses) to *host*."""
        row = self.row
        host.release_version = _text(row.get("release_version"))
        host.broadcast_address = row.get("broadcast_address") or row.get("peer")
        host.broadcast_port = row.get("broadcast_port") or row.get("peer_port")
        host.broadcast_rpc_address = row.get("native_address") or row.get("rpc_address")
        host.broadcast_rpc_port = row.get("native_port") or row.get("rpc_port")
        host.listen_address = row.get("listen_address")
        host.listen_port = row.get("listen_port")


class NodeList:
    """All nodes of one read of the system tables."""

    __slots__ = (
        "cluster_name",
        "failed",
        "local_node",
        "nodes",
        "partitioner",
        "peers_v2",
        "schema_version",
        "unusable",
    )

    def __init__(
        self,
        local_node: Node,
        nodes: Sequence[Node],
        unusable: frozenset[Any],
        failed: bool,
        cluster_name: str | None,
        partitioner: str | None,
        schema_version: UUID | None,
        peers_v2: bool,
    ) -> None:
        self.local_node = local_node  # the queried node; it is not among the nodes if it has no tokens
        self.nodes = nodes
        self.unusable = unusable  # host ids and addresses of rows that were skipped
        self.failed = failed  # True if a factory or a translator raised, which may succeed the next time
        self.cluster_name = cluster_name
        self.partitioner = partitioner
        self.schema_version = schema_version
        self.peers_v2 = peers_v2


class SkippedRowLog:
    """Log of skipped rows. Each is logged once, as long as the reason stays the same; of the rows of one read, a
    few."""

    def __init__(self) -> None:
        self._logged_before: dict[Any, str] = {}
        self._logged: dict[Any, str] = {}
        self._lines = 0
        self._omitted_before = self._omitted = 0

    def log_row(self, level: int, source: EndPoint, row: Row, text: str) -> None:
        """Log that *row* was skipped."""
        self._lines += 1
        if self._lines > MOST_LINES:
            self._omitted += 1
            return
        key = str(row.get("host_id") or row.get("peer"))[:LONGEST_NAME]
        line = f"{text} ({_row_text(row)})"
        level = level if self._logged_before.get(key) != line else logging.DEBUG
        log.log(level, "A node in the system tables of %s is ignored: %s", source, line)
        self._logged[key] = line

    def end_read(self, source: EndPoint) -> None:
        """Finish one read: all rows were logged."""
        if self._omitted:
            level = logging.WARNING if self._omitted != self._omitted_before else logging.DEBUG
            log.log(level, "%d more nodes in the system tables of %s are ignored", self._omitted, source)
        self._logged_before, self._logged = self._logged, {}
        self._omitted_before, self._omitted, self._lines = self._omitted, 0, 0


def read_nodes(
    connection: Connection,
    factory: EndPointFactory,
    timeout: float | None,
    skipped_rows: SkippedRowLog,
    *,
    tokens: bool,
    peers_v2: bool = True,
    allowed: AllowedAddresses | None = None,
) -> NodeList:
    """Query *connection*'s node for itself and its peers. Blocks; raises the error of the response."""
    local_query = LOCAL if tokens else LOCAL_NO_TOKENS
    peers_query = (PEERS_V2 if tokens else PEERS_V2_NO_TOKENS) if peers_v2 else (PEERS if tokens else PEERS_NO_TOKENS)
    found = fetch(connection, {"local": local_query, "peers": peers_query}, timeout)
    if peers_v2 and isinstance(found["peers"], InvalidRequest):  # the table does not exist: ScyllaDB, Cassandra 3
        return read_nodes(connection, factory, timeout, skipped_rows, tokens=tokens, peers_v2=False, allowed=allowed)
    local_rows = rows_or_raise(found["local"])
    if not local_rows:
        raise InvalidRequest(f"system.local of {connection.endpoint} is empty")
    return parse_nodes(
        local_rows[0], rows_or_raise(found["peers"]), connection.endpoint, factory, skipped_rows, peers_v2, allowed
    )


def parse_nodes(
    local: Row,
    peers: Iterable[Row],
    endpoint: EndPoint,
    factory: EndPointFactory,
    skipped_rows: SkippedRowLog,
    peers_v2: bool,
    allowed: AllowedAddresses | None = None,
) -> NodeList:
    """Return the nodes of the given rows. The queried node keeps *endpoint*, which worked, regardless of its own row,
    unless the factory makes the endpoint. Nodes that are not at *allowed* addresses are ignored."""
    parsing = _Parsing(endpoint, factory, skipped_rows, allowed)
    me = parsing.local_node(local)
    for row in peers:
        parsing.peer(row)
    nodes = list(parsing.nodes.values())
    if "tokens" in local and not me.tokens and any(node.tokens for node in nodes):
        parsing.skip(local, "it has no tokens", logging.INFO)
        nodes = [node for node in nodes if node is not me]
    skipped_rows.end_read(endpoint)
    parsing.unusable.discard(None)
    return NodeList(
        me,
        tuple(nodes),
        frozenset(parsing.unusable),
        parsing.failed,
        _text(local.get("cluster_name")),
        _text(local.get("partitioner")),
        local.get("schema_version"),
        peers_v2,
    )


class _Parsing:
    """Parsing of the rows of one read."""

    def __init__(
        self, source: EndPoint, factory: EndPointFactory, skipped_rows: SkippedRowLog, allowed: AllowedAddresses | None
    ) -> None:
        self._source = source
        self._allowed = allowed
        self._factory = factory
        self._skipped_rows = skipped_rows
        self._local_id: UUID | None = None
        self._endpoints: set[EndPoint] = set()
        self.nodes: dict[UUID, Node] = {}
        self.unusable: set[Any] = set()
        self.failed = False

    def local_node(self, row: Row) -> Node:
        """Return the queried node."""
        if not isinstance(row.get("host_id"), UUID):
            raise DriverException(f"system.local of {self._source} has no host id: {_row_text(row)}")
        made = self._make(row) if self._factory.makes_local and _has_address(row) and not _invalid_column(row) else None
        node = _node(row, made or self._source)
        self._local_id = node.host_id
        self._add_node(node)
        return node

    def peer(self, row: Row) -> None:
        """Parse the row of another node."""
        host_id: Any = row.get("host_id")
        missing = _missing(row)
        wrong = missing is None and _invalid_column(row)
        if missing:
            self.skip(row, f"it has no {missing}", logging.INFO if missing == "tokens" else logging.WARNING)
        elif wrong:
            self.skip(row, f"invalid {wrong}")
        elif host_id in self.nodes:
            if host_id != self._local_id:
                self._skipped_rows.log_row(logging.WARNING, self._source, row, "duplicate host id")
        else:
            endpoint = self._make(row)
            if endpoint is not None and endpoint in self._endpoints:
                self.skip(row, f"another node has the same endpoint {endpoint}")
            elif endpoint is not None:
                self._add_node(_node(row, endpoint))

    def skip(self, row: Row, why: str, level: int = logging.WARNING) -> None:
        """Skip *row*; a known host stays as it is."""
        host_id = row.get("host_id")
        addresses = (row.get("native_address") or row.get("rpc_address"), row.get("peer"))
        self.unusable.update(filter(_is_scalar, addresses if host_id is None else (host_id,)))
        self._skipped_rows.log_row(level, self._source, row, why)

    def _make(self, row: Row) -> EndPoint | None:
        try:
            endpoint = self._factory.create(row)
            hash(endpoint)
        except Exception as error:  # may be a user's code
            self.failed = True
            self.skip(row, f"no endpoint could be created for it: {type(error).__name__}: {error}")
            return None
        if self._allowed is not None and not self._allowed.may_host(endpoint):
            # not among the unusable ones: a host that moved there must be removed
            self._skipped_rows.log_row(logging.WARNING, self._source, row, f"{endpoint} is not in allowed_addresses")
            return None
        return endpoint

    def _add_node(self, node: Node) -> None:
        self._endpoints.add(node.endpoint)
        self.nodes[node.host_id] = node


def _node(row: Row, endpoint: EndPoint) -> Node:
    return Node(row["host_id"], endpoint, _text(row.get("data_center")), _text(row.get("rack")), _tokens(row), row)


def _missing(row: Row) -> str | None:
    """Return the name of a missing part of the description of a joined node. Tokens are required only if the query has
    them."""
    if row.get("host_id") is None:
        return "host id"
    if not _has_address(row):
        return "address for clients"
    if not row.get("data_center") or not row.get("rack"):
        return "datacenter or rack"
    return "tokens" if "tokens" in row and not _tokens(row) else None


def _invalid_column(row: Row) -> str | None:
    """Return the name of an invalid column, which a server that follows the protocol does not send."""
    if not isinstance(row["host_id"], UUID):
        return "host id"
    for name in ("native_address", "rpc_address", "peer"):
        address = row.get(name)
        if address is not None and not is_address(address):
            return name
    for name in ("native_port", "rpc_port"):
        port = row.get(name)
        if port is not None and not (isinstance(port, int) and 0 <= port <= 65535):  # 0: the cluster's port
            return name
    return next((name for name in ("data_center", "rack") if not isinstance(row.get(name), str)), None)


def _has_address(row: Row) -> bool:
    return bool(row.get("native_address") or row.get("rpc_address")) and row.get("host_id") is not None


def _tokens(row: Row) -> Sequence[str]:
    found = row.get("tokens")
    return tuple(found) if isinstance(found, Collection) and not isinstance(found, (str, bytes)) else ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, UUID))


def _row_text(row: Row) -> str:
    keys = ("host_id", "peer", "peer_port", "native_address", "native_port", "rpc_address", "data_center", "rack")
    return ", ".join(f"{key}={printable(row[key], LONGEST_NAME)}" for key in keys if key in row)
