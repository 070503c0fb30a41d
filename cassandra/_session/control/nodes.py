"""What the system tables say about the nodes: queries, checks, and one :class:`Node` per usable row.

L5. ``system.local`` describes the node that answers, ``system.peers_v2`` (Cassandra 4 and newer) or ``system.peers``
all others. Rows of nodes that are joining, leaving or half-forgotten can be incomplete or stale: such a row is
skipped, and what the driver knows of that node stays as it is. So is one that a user's end point factory or address
translator fails for. Each costs that node only, and one line in the log for as long as nothing changes.

A node without tokens holds no data; requests are not sent to it, whoever tells of it: the others, or the node itself,
when it is the one that is asked. Where nobody has tokens nobody is left out. (Without ``token_metadata_enabled`` tokens
are not read, and such nodes are hosts like all others.)
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra._base.errors import InvalidRequest

from .queries import Row, fetch, must

if TYPE_CHECKING:
    from cassandra._net.allowed import AllowedAddresses
    from cassandra._net.connection import Connection
    from cassandra._net.endpoint import EndPoint, EndPointFactory

log = logging.getLogger("cassandra.cluster")

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
    """One node as the control connection's node sees it."""

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
        """Copy what only informs (versions, addresses) onto *host*."""
        row = self.row
        host.release_version = row.get("release_version")
        host.broadcast_address = row.get("broadcast_address") or row.get("peer")
        host.broadcast_port = row.get("broadcast_port") or row.get("peer_port")
        host.broadcast_rpc_address = row.get("native_address") or row.get("rpc_address")
        host.broadcast_rpc_port = row.get("native_port") or row.get("rpc_port")
        host.listen_address = row.get("listen_address")
        host.listen_port = row.get("listen_port")


class NodeList:
    """All nodes of one look at the system tables."""

    __slots__ = ("asked", "cluster_name", "failed", "nodes", "partitioner", "peers_v2", "schema_version", "unusable")

    def __init__(
        self,
        asked: Node,
        nodes: Sequence[Node],
        unusable: frozenset[Any],
        failed: bool,
        cluster_name: str | None,
        partitioner: str | None,
        schema_version: UUID | None,
        peers_v2: bool,
    ) -> None:
        self.asked = asked  # the one that told; it is not among the nodes if it has no tokens
        self.nodes = nodes
        self.unusable = unusable  # host ids and addresses of rows that were skipped
        self.failed = failed  # whether that was because a factory or a translator raised, which it may not do next time
        self.cluster_name = cluster_name
        self.partitioner = partitioner
        self.schema_version = schema_version
        self.peers_v2 = peers_v2


class Complaints:
    """What was said of rows that were skipped. Each is said once, as long as it is true."""

    def __init__(self) -> None:
        self._before: dict[Any, str] = {}
        self._now: dict[Any, str] = {}

    def say(self, level: int, source: EndPoint, row: Row, text: str) -> None:
        """*row* was skipped."""
        key = row.get("host_id") or row.get("peer")
        said = f"{text} ({_shown(row)})"
        level = level if self._before.get(key) != said else logging.DEBUG
        log.log(level, "A node that %s tells of is left out: %s", source, said)
        self._now[key] = said

    def end(self) -> None:
        """All rows were looked at."""
        self._before, self._now = self._now, {}


def read_nodes(
    connection: Connection,
    factory: EndPointFactory,
    timeout: float | None,
    complaints: Complaints,
    *,
    tokens: bool,
    peers_v2: bool = True,
    allowed: AllowedAddresses | None = None,
) -> NodeList:
    """Ask *connection*'s node about itself and its peers. Blocks; raises what the node answered."""
    local_query = LOCAL if tokens else LOCAL_NO_TOKENS
    peers_query = (PEERS_V2 if tokens else PEERS_V2_NO_TOKENS) if peers_v2 else (PEERS if tokens else PEERS_NO_TOKENS)
    found = fetch(connection, {"local": local_query, "peers": peers_query}, timeout)
    if peers_v2 and isinstance(found["peers"], InvalidRequest):  # the table is not there: ScyllaDB, Cassandra 3
        return read_nodes(connection, factory, timeout, complaints, tokens=tokens, peers_v2=False, allowed=allowed)
    local_rows = must(found["local"])
    if not local_rows:
        raise InvalidRequest(f"system.local of {connection.endpoint} is empty")
    return parse_nodes(local_rows[0], must(found["peers"]), connection.endpoint, factory, complaints, peers_v2, allowed)


def parse_nodes(
    local: Row,
    peers: Iterable[Row],
    endpoint: EndPoint,
    factory: EndPointFactory,
    complaints: Complaints,
    peers_v2: bool,
    allowed: AllowedAddresses | None = None,
) -> NodeList:
    """Nodes of the given rows. The node that was asked is reached at *endpoint*, since that worked, whatever it says
    itself, unless it is the factory that says it. Nodes that are not at *allowed* addresses are left out."""
    parsing = _Parsing(endpoint, factory, complaints, allowed)
    me = parsing.asked(local)
    for row in peers:
        parsing.peer(row)
    nodes = list(parsing.nodes.values())
    if "tokens" in local and not me.tokens and any(node.tokens for node in nodes):
        parsing.skip(local, "it has no tokens", logging.INFO)
        nodes = [node for node in nodes if node is not me]
    complaints.end()
    parsing.unusable.discard(None)
    return NodeList(
        me,
        tuple(nodes),
        frozenset(parsing.unusable),
        parsing.failed,
        local.get("cluster_name"),
        local.get("partitioner"),
        local.get("schema_version"),
        peers_v2,
    )


class _Parsing:
    """One look at the rows."""

    def __init__(
        self, source: EndPoint, factory: EndPointFactory, complaints: Complaints, allowed: AllowedAddresses | None
    ) -> None:
        self._source = source
        self._allowed = allowed
        self._factory = factory
        self._complaints = complaints
        self._me: UUID | None = None
        self._taken: set[EndPoint] = set()
        self.nodes: dict[UUID, Node] = {}
        self.unusable: set[Any] = set()
        self.failed = False

    def asked(self, row: Row) -> Node:
        """The node that tells."""
        made = self._make(row) if self._factory.makes_local and _has_address(row) else None
        node = _node(row, made or self._source)
        self._me = node.host_id
        self._take(node)
        return node

    def peer(self, row: Row) -> None:
        """Another one."""
        host_id: Any = row.get("host_id")
        missing = _missing(row)
        if missing:
            self.skip(row, f"it has no {missing}", logging.INFO if missing == "tokens" else logging.WARNING)
        elif host_id in self.nodes:
            if host_id != self._me:
                self._complaints.say(logging.WARNING, self._source, row, "its host id is there twice")
        else:
            endpoint = self._make(row)
            if endpoint is not None and endpoint in self._taken:
                self.skip(row, f"another node is at {endpoint}, too")
            elif endpoint is not None:
                self._take(_node(row, endpoint))

    def skip(self, row: Row, why: str, level: int = logging.WARNING) -> None:
        """Leave it out; if it is known, it stays as it is."""
        host_id = row.get("host_id")
        addresses = (row.get("native_address") or row.get("rpc_address"), row.get("peer"))
        self.unusable.update(addresses if host_id is None else (host_id,))
        self._complaints.say(level, self._source, row, why)

    def _make(self, row: Row) -> EndPoint | None:
        try:
            endpoint = self._factory.create(row)
            hash(endpoint)
        except Exception as error:  # of a user, too
            self.failed = True
            self.skip(row, f"no end point could be made for it: {type(error).__name__}: {error}")
            return None
        if self._allowed is not None and not self._allowed.may_host(endpoint):
            # not among the unusable ones: a host that moved there is a host no more
            self._complaints.say(logging.WARNING, self._source, row, f"{endpoint} is not in allowed_addresses")
            return None
        return endpoint

    def _take(self, node: Node) -> None:
        self._taken.add(node.endpoint)
        self.nodes[node.host_id] = node


def _node(row: Row, endpoint: EndPoint) -> Node:
    return Node(row["host_id"], endpoint, row.get("data_center"), row.get("rack"), _tokens(row), row)


def _missing(row: Row) -> str | None:
    """What *row* lacks to describe a node that has joined. Tokens are asked for only where the query has them."""
    if row.get("host_id") is None:
        return "host id"
    if not _has_address(row):
        return "address for clients"
    if not row.get("data_center") or not row.get("rack"):
        return "datacenter or rack"
    return "tokens" if "tokens" in row and not row["tokens"] else None


def _has_address(row: Row) -> bool:
    return bool(row.get("native_address") or row.get("rpc_address")) and row.get("host_id") is not None


def _tokens(row: Row) -> Sequence[str]:
    return tuple(row.get("tokens") or ())


def _shown(row: Row) -> str:
    keys = ("host_id", "peer", "peer_port", "native_address", "native_port", "rpc_address", "data_center", "rack")
    return ", ".join(f"{key}={row[key]}" for key in keys if key in row)
