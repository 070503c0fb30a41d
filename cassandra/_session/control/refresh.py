"""Reading the system tables over one connection into the metadata: nodes, schema, and all tablets of a table.

L5. Blocking code. A :class:`Refresher` is run by the control connection on its strand. It handles neither events nor
failover: a refresh is one set of queries, sent together, and one publication.

Reading the tablets of a table is a command; the queries and their order are a generator. ``system.tablets`` of a
ScyllaDB node is read over the control connection, a page at a time, in token order: each tablet begins where the
previous one ends, even if some were split or merged between two pages.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException, InvalidRequest, Unauthorized, repeated_paging_state
from cassandra._base.logs import get_logger
from cassandra._base.names import cql_quote, protect_value
from cassandra._routing.schema import SchemaTarget, ServerTraits, schema_queries
from cassandra._routing.tablets import Tablet
from cassandra._session import scheduler
from cassandra._wire.rows import decode_page, tuple_factory
from cassandra._wire.types.base import with_own_functions

from .nodes import NodeList, SkippedRowLog, read_nodes
from .queries import Row, Rows, fetch, gather, query, rows_or_raise

if TYPE_CHECKING:
    from uuid import UUID

    from cassandra._net.client_routes import ClientRoutes
    from cassandra._net.connection import Connection
    from cassandra._session.cluster import Cluster
    from cassandra._wire.messages.requests import QueryMessage

log = get_logger("cassandra.cluster")

CLIENT_ROUTES = "SELECT host_id, address, port, tls_port FROM system.client_routes WHERE connection_id = {}"

PAGE = 2000  # tablets
MIN_TOKEN = -(2**63)

Answers = list[Any]
Steps = Generator["list[QueryMessage]", Answers, "list[Tablet] | None"]


class Refresher:
    """Reads metadata for *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.peers_v2 = True  # until a server rejects it
        self._skipped_rows = SkippedRowLog()
        self._version: str | None = None  # of the node queried last, which need not be a host

    def nodes(self, connection: Connection, rebuild_tokens: bool = False) -> NodeList:
        """Read the node list and apply it on the membership strand; return it when that is done."""
        cluster = self._cluster
        if cluster.client_routes is not None:
            self.client_routes(connection, cluster.client_routes)
        listing = read_nodes(
            connection,
            cluster.endpoint_factory,
            cluster.control_connection_timeout,
            self._skipped_rows,
            tokens=cluster.token_metadata_enabled,
            peers_v2=self.peers_v2,
            allowed=cluster.allowed_addresses,
        )
        self.peers_v2 = listing.peers_v2
        self._version = listing.local_node.row.get("release_version")
        self._locate(listing)
        cluster.membership.strand.call(cluster.topology.take, listing, rebuild_tokens)
        return listing

    def _locate(self, listing: NodeList) -> None:
        """Add the contact point for the datacenter of the queried node: policies take their datacenter from the contact
        points. The queried node may have another endpoint there, or may not be a host."""
        asked, cluster = listing.local_node, self._cluster
        here = [node.endpoint for node in listing.nodes if node.datacenter == asked.datacenter]
        if asked in listing.nodes:
            here = [asked.endpoint] if cluster.endpoint_factory.makes_local else []
        for endpoint in here[:1]:
            cluster.contacts.add(endpoint)

    def client_routes(self, connection: Connection, routes: ClientRoutes) -> None:
        """Read the addresses of nodes. A host that is down and has another address now is tried at once."""
        found = fetch(
            connection,
            {one: CLIENT_ROUTES.format(protect_value(one)) for one in routes.connection_ids},
            self._cluster.control_connection_timeout,
        )
        for name, answer in found.items():
            if isinstance(answer, InvalidRequest):
                log.warning("%s has no client routes: %s", connection.endpoint, answer)
                found[name] = Rows()
        membership = self._cluster.membership
        for host_id in routes.take({name: rows_or_raise(answer) for name, answer in found.items()}):
            host = self._cluster.metadata.get_host_by_host_id(host_id)
            if host is not None and host.is_up is False:
                membership.connect_now(host)

    def schema(self, connection: Connection, targets: Sequence[SchemaTarget]) -> None:
        """Read *targets* and publish them, together, or none of them if one cannot be read."""
        traits = self._traits(connection)
        before = self._cluster.metadata.keyspaces.keys()
        changes = [(target, self._read(connection, target, traits)) for target in targets]
        self._cluster.metadata.apply_changes(changes)
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
        options = self._cluster
        limit = self._request_timeout(connection)
        timeout, page_size = options.control_connection_timeout, options.schema_metadata_page_size
        return schema_rows(connection, target, traits, timeout, page_size, limit)

    def _request_timeout(self, connection: Connection) -> str:
        """Return the clause with the timeout of a statement, which ScyllaDB supports."""
        timeout = self._cluster.metadata_request_timeout
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
    found = fetch(connection, {one.name: one.cql + limit for one in queries}, timeout, page_size)
    rows: dict[str, Sequence[Row]] = {}
    for one in queries:
        answer = found[one.name]
        if one.optional and isinstance(answer, (InvalidRequest, Unauthorized)):
            log.debug("%s has no %s: %s", connection.endpoint, one.name, answer)
            answer = Rows()
        rows[one.name] = rows_or_raise(answer)
    return rows


# ---- tablets of a table


def tablets_of(cluster: Cluster, keyspace: str, table: str) -> int:
    """Implement :meth:`Session.prefetch_tablets`."""
    return scheduler.run(_tablets_of, cluster, keyspace, table)


async def tablets_of_async(cluster: Cluster, keyspace: str, table: str) -> int:
    """Implement :meth:`Session.prefetch_tablets_async`."""
    return await scheduler.run_async(_tablets_of, cluster, keyspace, table)


def _tablets_of(cluster: Cluster, keyspace: str, table: str) -> int:
    cluster.refreshing.check_connected()
    connection = cluster.control_connection.connection or cluster.control_connection.settled()
    steps = _tablet_read_steps(keyspace, table)
    messages = next(steps)
    while True:
        answers = gather(connection, messages, cluster.control_connection_timeout)
        try:
            messages = steps.send(answers)
        except StopIteration as end:
            return _take(cluster, keyspace, table, end.value)


def _take(cluster: Cluster, keyspace: str, table: str, tablets: list[Tablet] | None) -> int:
    if tablets is None:
        return 0
    cluster.metadata._tablets.replace_tablets(keyspace, table, tablets)
    return len(tablets)


def _tablet_read_steps(keyspace: str, table: str) -> Steps:
    """Read the tablets of a table or view; return None where servers have no tablets at all."""
    table_id = yield from _id_of(keyspace, table)
    (answer,) = yield [query(f"SELECT base_table FROM system.tablets WHERE table_id = {cql_quote(table_id)} LIMIT 1")]
    if not isinstance(answer, InvalidRequest):  # the answer of servers without co-located tables
        table_id = next((base for (base,) in _rows(answer) if base is not None), table_id)
    tablets: list[Tablet] = []
    first, paging_state = MIN_TOKEN, None
    while True:
        text = f"SELECT last_token, replicas FROM system.tablets WHERE table_id = {cql_quote(table_id)}"
        (answer,) = yield [query(text, PAGE, paging_state)]
        if isinstance(answer, InvalidRequest):
            return None
        for last, replicas in _rows(answer):
            if last is None:  # the table has only static columns
                continue
            tablet = Tablet.from_row(first, last, replicas)
            first = last
            if tablet is not None:
                tablets.append(tablet)
        asked, paging_state = paging_state, answer.paging_state
        if not paging_state:
            return tablets
        if paging_state == asked:
            raise repeated_paging_state("The server")


def _id_of(keyspace: str, table: str) -> Generator[list[QueryMessage], Answers, UUID]:
    where = f"WHERE keyspace_name = {protect_value(keyspace)} AND"
    name = protect_value(table)
    answers = yield [
        query(f"SELECT id FROM system_schema.tables {where} table_name = {name}"),
        query(f"SELECT id FROM system_schema.views {where} view_name = {name}"),
    ]
    for answer in answers:
        for (table_id,) in _rows(answer):
            found: UUID = table_id
            return found
    raise DriverException(f"Table or view {keyspace}.{table} does not exist, so its tablets cannot be read")


def _rows(answer: Any) -> Any:
    """Return the rows of a response; raise an error response."""
    if isinstance(answer, BaseException):
        raise answer
    return decode_page(with_own_functions(answer.page), tuple_factory)
