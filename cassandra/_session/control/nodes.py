"""What the system tables say about the nodes: queries, checks, and one :class:`Node` per usable row.

L5. ``system.local`` describes the node that answers, ``system.peers_v2`` (Cassandra 4 and newer) or ``system.peers``
all others. Rows of nodes that are joining, leaving or half-forgotten can be incomplete or stale: such a row is
skipped, and what the driver knows of that node stays as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from cassandra._base.errors import InvalidRequest

from .queries import Row, fetch, must

if TYPE_CHECKING:
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


class NodeList(NamedTuple):
    """All nodes of one look at the system tables. The first node is the one that was asked."""

    nodes: Sequence[Node]
    unusable: frozenset[Any]  # host ids and addresses of rows that were skipped
    cluster_name: str | None
    partitioner: str | None
    schema_version: UUID | None
    peers_v2: bool


def read_nodes(
    connection: Connection,
    factory: EndPointFactory,
    timeout: float | None,
    *,
    tokens: bool,
    peers_v2: bool = True,
) -> NodeList:
    """Ask *connection*'s node about itself and its peers. Blocks; raises what the node answered."""
    local_query = LOCAL if tokens else LOCAL_NO_TOKENS
    peers_query = (PEERS_V2 if tokens else PEERS_V2_NO_TOKENS) if peers_v2 else (PEERS if tokens else PEERS_NO_TOKENS)
    found = fetch(connection, {"local": local_query, "peers": peers_query}, timeout)
    if peers_v2 and isinstance(found["peers"], InvalidRequest):  # the table is not there: ScyllaDB, Cassandra 3
        return read_nodes(connection, factory, timeout, tokens=tokens, peers_v2=False)
    local_rows = must(found["local"])
    if not local_rows:
        raise InvalidRequest(f"system.local of {connection.endpoint} is empty")
    local, endpoint = local_rows[0], connection.endpoint
    if factory.makes_local and _has_address(local):
        endpoint = factory.create(local)
    return parse_nodes(local, must(found["peers"]), endpoint, factory, peers_v2)


def parse_nodes(
    local: Row, peers: Iterable[Row], endpoint: EndPoint, factory: EndPointFactory, peers_v2: bool
) -> NodeList:
    """Nodes of the given rows. The node that was asked is reached at *endpoint*, since that worked, whatever it says
    itself."""
    me = Node(local["host_id"], endpoint, local.get("data_center"), local.get("rack"), _tokens(local), local)
    nodes = {me.host_id: me}
    taken = {endpoint}
    unusable: set[Any] = set()
    for row in peers:
        host_id: Any = row.get("host_id")
        if not _is_complete(row):
            unusable.update((host_id, row.get("native_address") or row.get("rpc_address"), row.get("peer")))
            log.warning("Ignoring an incomplete row of the peers table of %s: %s", endpoint, _shown(row))
            continue
        if host_id in nodes:
            if host_id != me.host_id:
                log.warning("The peers table of %s has host id %s twice: %s", endpoint, host_id, _shown(row))
            continue
        try:
            peer = factory.create(row)
        except ValueError as error:
            unusable.update((host_id, row.get("peer")))
            log.warning("Ignoring a row of the peers table of %s: %s (%s)", endpoint, error, _shown(row))
            continue
        if peer in taken:
            log.warning("The peers table of %s has two nodes at %s: ignoring %s", endpoint, peer, _shown(row))
            unusable.add(host_id)
            continue
        taken.add(peer)
        nodes[host_id] = Node(host_id, peer, row.get("data_center"), row.get("rack"), _tokens(row), row)
    unusable.discard(None)
    return NodeList(
        tuple(nodes.values()),
        frozenset(unusable),
        local.get("cluster_name"),
        local.get("partitioner"),
        local.get("schema_version"),
        peers_v2,
    )


def _is_complete(row: Row) -> bool:
    """Whether the row describes a node that has joined. Tokens are asked for only where the query has them."""
    if not _has_address(row):
        return False
    if not row.get("data_center") or not row.get("rack"):
        return False
    return "tokens" not in row or bool(row["tokens"])


def _has_address(row: Row) -> bool:
    return bool(row.get("native_address") or row.get("rpc_address")) and row.get("host_id") is not None


def _tokens(row: Row) -> Sequence[str]:
    return tuple(row.get("tokens") or ())


def _shown(row: Row) -> str:
    keys = ("host_id", "peer", "peer_port", "native_address", "native_port", "rpc_address", "data_center", "rack")
    return ", ".join(f"{key}={row[key]}" for key in keys if key in row)
