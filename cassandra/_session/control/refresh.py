"""Reading the system tables over one connection into the metadata: nodes and schema.

L5. Blocking code, run by the control connection on its strand. It handles neither events nor failover: a refresh is one
set of queries, sent together, and one publication.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cassandra._base.errors import InvalidRequest, Unauthorized
from cassandra._base.logs import get_logger
from cassandra._base.names import protect_value
from cassandra._routing.schema import SchemaTarget, ServerTraits, schema_queries

from .nodes import Complaints, NodeList, read_nodes
from .queries import Row, Rows, fetch, must

if TYPE_CHECKING:
    from cassandra._net.client_routes import ClientRoutes
    from cassandra._net.connection import Connection

    from ..cluster.cluster import Cluster

CLIENT_ROUTES = "SELECT host_id, address, port, tls_port FROM system.client_routes WHERE connection_id = {}"

log = get_logger("cassandra.cluster")


class Refresher:
    """Reads metadata for *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.peers_v2 = True  # until a server rejects it
        self._complaints = Complaints()
        self._version: str | None = None  # of the node queried last, which need not be a host

    def nodes(self, connection: Connection, rebuild_tokens: bool = False) -> NodeList:
        """Read the node list and apply it on the membership strand; return it when that is done."""
        cluster = self._cluster
        if cluster.options.client_routes is not None:
            self.client_routes(connection, cluster.options.client_routes)
        listing = read_nodes(
            connection,
            cluster.options.endpoint_factory,
            cluster.options.control_connection_timeout,
            self._complaints,
            tokens=cluster.options.token_metadata_enabled,
            peers_v2=self.peers_v2,
            allowed=cluster.options.addresses,
        )
        self.peers_v2 = listing.peers_v2
        self._version = listing.asked.row.get("release_version")
        self._locate(listing)
        cluster.membership.strand.call(cluster.topology.take, listing, rebuild_tokens)
        return listing

    def _locate(self, listing: NodeList) -> None:
        """Add the contact point for the datacenter of the queried node: policies take their datacenter from the contact
        points. The queried node may have another end point there, or may not be a host."""
        asked, cluster = listing.asked, self._cluster
        here = [node.endpoint for node in listing.nodes if node.datacenter == asked.datacenter]
        if asked in listing.nodes:
            here = [asked.endpoint] if cluster.options.endpoint_factory.makes_local else []
        for endpoint in here[:1]:
            cluster.contacts.add(endpoint)

    def client_routes(self, connection: Connection, routes: ClientRoutes) -> None:
        """Read the addresses of nodes. A host that is down and has another address now is tried at once."""
        found = fetch(
            connection,
            {one: CLIENT_ROUTES.format(protect_value(one)) for one in routes.connection_ids},
            self._cluster.options.control_connection_timeout,
        )
        for name, answer in found.items():
            if isinstance(answer, InvalidRequest):
                log.warning("%s has no client routes: %s", connection.endpoint, answer)
                found[name] = Rows()
        membership = self._cluster.membership
        for host_id in routes.take({name: must(answer) for name, answer in found.items()}):
            host = self._cluster.metadata.get_host_by_host_id(host_id)
            if host is not None and host.is_up is False:
                membership.reach(host)

    def schema(self, connection: Connection, targets: Sequence[SchemaTarget]) -> None:
        """Read *targets* and publish them."""
        traits = self._traits(connection)
        before = self._cluster.metadata.keyspaces.keys()
        for target in targets:
            self._cluster.metadata.apply_schema(target, self._read(connection, target, traits))
        created = self._cluster.metadata.keyspaces.keys() - before
        if created:
            self._cluster.membership.keyspaces_created(created)
        if any(target.kind != "TABLE" for target in targets):
            self._cluster.type_context.clear()  # user types may have changed

    def _traits(self, connection: Connection) -> ServerTraits:
        host = self._cluster.metadata.get_host_by_host_id(connection.host_id)
        features = connection.features
        version = host.release_version if host is not None else self._version
        return ServerTraits.of(version, features.sharding_info is not None, features.tablets_routing_v2)

    def _read(self, connection: Connection, target: SchemaTarget, traits: ServerTraits) -> dict[str, Sequence[Row]]:
        options = self._cluster.options
        limit = self._request_timeout(connection)
        timeout, page_size = options.control_connection_timeout, options.schema_metadata_page_size
        return schema_rows(connection, target, traits, timeout, page_size, limit)

    def _request_timeout(self, connection: Connection) -> str:
        """Return the clause with the timeout of a statement, which ScyllaDB supports."""
        timeout = self._cluster.options.metadata_request_timeout
        if not timeout or connection.features.sharding_info is None:
            return ""
        return f" USING TIMEOUT {int(timeout * 1000)}ms"


def schema_rows(
    connection: Connection,
    target: SchemaTarget,
    traits: ServerTraits,
    timeout: float | None,
    page_size: int | None,
    limit: str = "",
) -> dict[str, Sequence[Row]]:
    """Return the rows that describe *target*, by the names of their queries. *limit* is appended to each query. Blocks;
    raises the error of the response."""
    queries = schema_queries(target, traits)
    found = fetch(connection, {query.name: query.cql + limit for query in queries}, timeout, page_size)
    rows: dict[str, Sequence[Row]] = {}
    for query in queries:
        answer = found[query.name]
        if query.optional and isinstance(answer, (InvalidRequest, Unauthorized)):
            log.debug("%s has no %s: %s", connection.endpoint, query.name, answer)
            answer = Rows()
        rows[query.name] = must(answer)
    return rows
