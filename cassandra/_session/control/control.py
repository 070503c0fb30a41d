"""The control connection: one connection to one node, over which the driver reads nodes, states and schema.

L5. Owner: ``strand``. ``connection`` and all state of connecting is written there only (and by ``shutdown``); refreshes
run there one after the other, so that none overtakes another. Readers take ``connection`` as it is, None while there is
none.

States: *idle* (no connection yet), *connected*, *searching* (the connection was lost; ``search.py``), *closed*. A lost
connection does not change the state of its node: only the pools' connections do. A new one reads all metadata, because
events were missed, and its node is up: pending reconnects to that host are made at once.

A node may reject queries (it is overloaded, its replicas time out) while its connection works and still reports
changes. The changes must be read all the same, or the metadata would be wrong until the next change: a failed refresh
is repeated on the strand, with growing delays, until it succeeds (:class:`RepeatedRefresh`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._base.errors import (
    ConnectionException,
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
    RequestError,
)
from cassandra._base.logs import get_logger
from cassandra._base.randomness import backoff
from cassandra._base.versions import seconds
from cassandra._net.backoff import Delays
from cassandra._net.connection import Connection, shows_life
from cassandra._net.opening import OpeningWaiter
from cassandra._routing.schema import SchemaTarget
from cassandra._session.request.notes import use_metadata_ids, use_version_blocks
from cassandra._wire.messages.requests import OptionsMessage

from . import nodes
from .events import CLIENT_ROUTES_CHANGE, EVENT_TYPES, EventRouter, covers, reduce_targets
from .refresh import Refresher
from .schema_changes import block, cluster_round
from .search import Search

if TYPE_CHECKING:
    from cassandra._net.endpoint import EndPoint
    from cassandra._net.opening import Opening
    from cassandra._routing.host import Host
    from cassandra._session.cluster import Cluster
    from cassandra._session.scheduler import Strand, Task
    from cassandra._wire.messages.responses import EventMessage

    from .nodes import NodeList

log = get_logger("cassandra.cluster")

FIRST = 1.0  # seconds until the second attempt of a refresh; each further delay is twice as long
LONGEST = 60.0

T = TypeVar("T")


class ControlConnection:
    """Keeps *cluster*'s metadata up to date."""

    __module__ = "cassandra.cluster"

    class PeersQueryType(Enum):
        """Columns to read of the peers: all, or their schema versions."""

        PEERS = 1
        PEERS_SCHEMA = 2

    def __init__(
        self,
        cluster: Cluster,
        timeout: float | None,
        schema_event_refresh_window: float,
        topology_event_refresh_window: float,
        status_event_refresh_window: float,
        schema_meta_enabled: bool = True,
        token_meta_enabled: bool = True,
        schema_meta_page_size: int = 1000,
    ) -> None:
        """All but *cluster* are read from the cluster's attributes when they are needed; they are part of the signature
        only."""
        self._cluster = cluster
        self.strand = cluster.scheduler.strand()  #: Serial queue of the work on metadata.
        self._closed = False
        self.has_connected = False  #: True once a connection was established.
        self.refresher = Refresher(cluster)  #: Reads the metadata.
        self._begin()

    def _begin(self) -> None:
        """Reset the state: no connection, no pending work."""
        self.connection: Connection | None = None
        self._candidate: Connection | None = None  # open, not yet adopted
        self._opening: Opening | None = None
        self.search = Search(self._cluster, self.strand, self._connect_to)
        self._is_node_refresh_queued = False
        self.events = EventRouter(self._cluster, self)
        self._node_refresh = RepeatedRefresh(self._cluster, self.strand, "node list", self._refresh_nodes_in_background)
        self._schema_refresh = RepeatedRefresh(self._cluster, self.strand, "schema", self._refresh_pending_schema)

    def leave_to_parent(self) -> None:
        """Drop the connection in a forked child: it is the parent's."""
        for connection in (self.connection, self._candidate):
            if connection is not None:
                connection.leave_to_parent()
        self._begin()

    # ---- connecting (strand)

    def connect(self) -> None:
        """Connect to the first contact point that works and read all metadata. Blocks; raises NoHostAvailable with an
        error for each."""
        self.strand.call(self._connect_first)

    def reconnect(self) -> None:
        """Connect to some node anew, replacing the current connection. Does not block."""
        self.strand.post(self.search.begin)

    def _connect_first(self) -> None:
        if self.connection is None:
            self.search.first()

    def _connect_to(self, endpoint: EndPoint) -> None:
        connection = self._candidate = self._open(endpoint)
        try:
            self._cluster._versions.set_negotiated(connection.protocol_version)
            use_version_blocks(self._cluster, connection.features.tablets_routing_v2)
            use_metadata_ids(self._cluster, connection.features.use_metadata_id)
            self.events.forget()
            listing = self.refresher.nodes(connection)
            connection.host_id = listing.local_node.host_id
            if self._cluster.schema_metadata_enabled:
                self.refresher.schema(connection, [SchemaTarget.everything()])
            elif self.has_connected:
                self._cluster.metadata.schema_not_read(SchemaTarget.everything())  # events were missed
        except BaseException:
            self._candidate = None
            connection.close()
            raise
        before, self.connection, self._candidate = self.connection, connection, None
        self.has_connected = True
        self._on_nodes_read(listing)
        self._schema_refresh.succeeded()
        self._cluster.membership.on_control_connection(connection.host_id, include_others=self.search.failed_rounds > 0)
        if before is not None:
            before.close()
        if self._closed:
            connection.close()
        elif connection.is_closed:  # while it was being adopted
            self._on_closed(connection, connection.last_error)
        log.debug("Control connection is open to %s", endpoint)

    def _open(self, endpoint: EndPoint) -> Connection:
        """Open a connection that is registered for events. Blocks; ends early when the cluster is shut down."""
        cluster = self._cluster
        events = EVENT_TYPES if cluster.client_routes is None else (*EVENT_TYPES, CLIENT_ROUTES_CHANGE)
        options = cluster.connections.control_options(events)
        waiter = OpeningWaiter()
        opening = self._opening = Connection.open(
            cluster.reactor,
            endpoint,
            options,
            waiter,
            context=cluster.type_context,
            on_event=self._on_event,
            on_closed=self._on_closed,
        )
        if self._closed:
            opening.cancel()
        try:
            return waiter.wait(opening, options.open_timeout + 1.0)
        finally:
            self._opening = None

    # ---- loss of the connection

    def _on_event(self, connection: Connection, event: EventMessage) -> None:
        """Route an event. On the I/O thread."""
        if connection.is_draining:
            self.strand.post(self._leave, connection)
        elif connection is self.connection or connection is self._candidate or self._opening is not None:
            self.events.on_event(event)

    def _leave(self, connection: Connection) -> None:
        """Search for another node: that of *connection* has announced that it stops. The connection is used until the
        next one is open."""
        if connection is self.connection and not self._closed:
            self.search.begin(f"The node of the control connection, {connection.endpoint}, stops", connection.endpoint)

    def _on_closed(self, connection: Connection, error: BaseException | None) -> None:
        """Handle the closing of a connection. On the I/O thread."""
        if not self._closed:
            self.strand.post(self._on_connection_lost, connection, error)

    def _on_connection_lost(self, connection: Connection, error: BaseException | None) -> None:
        if connection is not self.connection or self._closed:
            return
        self.connection = None
        self.search.begin(f"The control connection to {connection.endpoint} was lost ({error})", connection.endpoint)

    # ---- host states (called on the membership strand; never block)

    def on_up(self, host: Host) -> None:
        """Handle a host that is up again: it may take the control connection."""
        if self.connection is None:
            self.strand.post(self._search_if_lost)

    def on_down(self, host: Host) -> None:
        """Handle a host that is marked down. If it has the control connection, probe that."""
        connection = self.connection
        if connection is not None and connection.endpoint == host.endpoint:
            timeout = self._cluster.control_timeout
            connection.request_async(
                OptionsMessage(), lambda answer: self._on_probe_response(connection, answer), timeout
            )

    def on_add(self, host: Host, refresh_nodes: bool = True) -> None:
        """Handle a host that joined."""
        if refresh_nodes:
            self.refresh_nodes_soon()

    def on_remove(self, host: Host) -> None:
        """Handle a host that left: if it has the control connection, connect to another."""
        connection = self.connection
        if connection is not None and connection.host_id == host.host_id:
            connection.close()
            self.strand.post(self._on_connection_lost, connection, None)

    def _on_probe_response(self, connection: Connection, answer: Any) -> None:
        if not shows_life(answer):
            connection.defunct(answer)

    def _search_if_lost(self) -> None:
        if self.connection is None:
            self.search.begin()

    # ---- refreshing

    def refresh_node_list_and_token_map(self, force_token_rebuild: bool = False) -> None:
        """Read the node list now. Blocks; raises the error of the read."""
        self._call(self._refresh_nodes, force_token_rebuild)

    def refresh_nodes_soon(self) -> None:
        """Read the node list soon; once for all calls until then. Never blocks."""
        if not self._is_node_refresh_queued:
            self._is_node_refresh_queued = True
            self.strand.post(self._refresh_nodes_in_background)

    def refresh_schema(self, force: bool = False, **kwargs: Any) -> bool:
        """Read a part of the schema (``target_type``, ``keyspace``, ``table`` … as in a schema event; without
        arguments: all of it), after waiting for agreement at most ``schema_agreement_wait`` seconds. Blocks. Return
        False if the nodes did not agree, or schema metadata is disabled and *force* is not set; raise the error of the
        read otherwise."""
        if not (force or self._cluster.schema_metadata_enabled):
            return False
        wait = kwargs.pop("schema_agreement_wait", None)
        wait = self._cluster.max_schema_agreement_wait if wait is None else wait
        agreed = wait <= 0 or self.wait_for_schema_agreement(wait_time=wait)
        if not agreed:
            log.warning("The nodes did not agree on the schema within %s s; reading the schema of one node", wait)
        target = self._cluster.metadata.schema_target(kwargs) if kwargs else SchemaTarget.everything()
        self.refresh_targets([target])
        return agreed

    def refresh_targets(self, targets: list[SchemaTarget]) -> None:
        """Read parts of the schema now. Blocks; raises the error of the read."""
        self._call(self._refresh_schema, targets)

    def refresh_schema_soon(self) -> None:
        """Read the schema changes reported by events. Never blocks."""
        self.strand.post(self._refresh_pending_schema)

    def wait_for_schema_agreement(
        self,
        connection: Connection | None = None,
        preloaded_results: Any = None,
        wait_time: float | None = None,
    ) -> bool:
        """Wait until all nodes that are up have one schema version; return False when *wait_time* seconds passed
        before. Blocks."""
        limit = self._cluster.max_schema_agreement_wait if wait_time is None else wait_time
        seconds("wait_time", limit, negative=True)
        if limit <= 0:
            return True
        cluster = self._cluster
        return block(cluster, lambda timeout, done: cluster_round(cluster, timeout, done), limit)

    @property
    def peers_version_query(self) -> str:
        """CQL for the schema versions of the peers."""
        return nodes.VERSIONS_V2 if self.refresher.peers_v2 else nodes.VERSIONS

    def settled(self) -> Connection:
        """Do as :meth:`current`, once a running search has ended. Blocks."""
        return self._call(self.current)

    def _call(self, fn: Callable[..., T], *args: Any) -> T:
        self._cluster.life.awaken()
        if self._cluster.membership.strand.is_held():
            raise RuntimeError("Metadata cannot be refreshed from within a load balancing or conviction policy")
        try:
            return self.strand.call(fn, *args)
        except CancelledError:
            raise DriverException("The cluster was shut down") from None

    def current(self) -> Connection:
        """Return the connection; raise NoHostAvailable while there is none."""
        connection = self.connection
        if connection is None:
            raise NoHostAvailable("There is no control connection at the moment", {})
        return connection

    def _refresh_nodes(self, force_token_rebuild: bool = False) -> None:
        self._on_nodes_read(self.refresher.nodes(self.current(), force_token_rebuild))

    def _on_nodes_read(self, listing: NodeList) -> None:
        if listing.failed:
            self._node_refresh.schedule_retry()
        else:
            self._node_refresh.succeeded()

    def _refresh_nodes_in_background(self) -> None:
        self._is_node_refresh_queued = False
        if self.connection is None:
            return  # the next one reads the node list anyway
        self._try_refresh(self._refresh_nodes, self._node_refresh)

    def _refresh_schema(self, targets: list[SchemaTarget]) -> None:
        connection = self.current()
        pending = self.events.take_pending_schema(targets)
        try:
            self.refresher.schema(connection, targets)
        except BaseException as error:
            if pending:
                self.events.restore_schema(pending)
                self._schema_refresh.failed(error, connection.endpoint)
            raise

    def _refresh_pending_schema(self) -> None:
        connection = self.connection
        if connection is None:
            return  # the next one reads the whole schema anyway
        later = self._cluster.schema_changes.pending_targets()
        complete = self._cluster.metadata.complete_target  # now: the keyspace may have been read since the event
        pending = [one for one in self.events.take_pending_schema() if not any(covers(other, one) for other in later)]
        if pending and not self._try_refresh(
            lambda: self.refresher.schema(connection, reduce_targets([complete(one) for one in pending])),
            self._schema_refresh,
        ):
            self.events.restore_schema(pending)
        else:
            self._schema_refresh.succeeded()

    def _try_refresh(self, refresh: Callable[[], object], repeated: RepeatedRefresh) -> bool:
        """Run a refresh without a waiter; return True if it succeeded. If the node does not respond, another one is
        searched and read completely; if it responds with an error, the refresh is *repeated*."""
        connection = self.connection
        try:
            refresh()
        except (ConnectionException, OperationTimedOut, OSError) as error:
            if not self._closed and connection is not None and connection is self.connection:
                reason = f"Metadata could not be read over the control connection to {connection.endpoint} ({error})"
                self.search.begin(reason, connection.endpoint)
        except Exception as error:
            repeated.failed(error, connection and connection.endpoint)
        else:
            return True
        return False

    # ---- others

    def get_connections(self) -> list[Connection]:
        """Return the connection as a list, empty while there is none."""
        connection = self.connection
        return [] if connection is None else [connection]

    def host(self) -> Host | None:
        """Return the host of the control connection; None while there is none."""
        connection, metadata = self.connection, self._cluster.metadata
        if connection is None:
            return None
        return metadata.get_host_by_host_id(connection.host_id) or metadata.get_host(connection.endpoint)

    def is_shard_aware(self) -> bool:
        """True if the control connection's node has shards (ScyllaDB)."""
        connection = self.connection
        return connection is not None and connection.features.sharding_info is not None

    def return_connection(self, connection: Connection) -> None:
        """Do nothing: a broken connection reports itself."""

    def shutdown(self) -> None:
        """Close the connection and end all waits for one. Idempotent, from any thread, never blocks."""
        self._closed = True
        self.search.stop()
        self.events.stop()
        opening, candidate, connection = self._opening, self._candidate, self.connection
        self.connection = None
        if opening is not None:
            opening.cancel()
        for one in (candidate, connection):
            if one is not None:
                one.close()


# ---- retries of a failed refresh


class RepeatedRefresh:
    """Repeats *refresh*, which reads *what*, after a failure until it succeeds."""

    def __init__(self, cluster: Cluster, strand: Strand, what: str, refresh: Callable[[], object]) -> None:
        self._cluster = cluster
        self._strand = strand
        self._subject = what
        self._refresh = refresh
        self._delays = Delays(_schedule)
        self._task: Task | None = None
        self._last_error_text: str | None = None  # the last error since the last success

    def failed(self, error: BaseException, source: object) -> None:
        """Handle a failed attempt: schedule another one."""
        text = str(error)
        level = logging.DEBUG if text == self._last_error_text else logging.WARNING
        self._last_error_text = text
        trace = None if isinstance(error, RequestError) else error
        log.log(
            level, "The %s could not be refreshed from %s; retrying until it succeeds: %s",
            self._subject, source, text, exc_info=trace,
        )  # fmt: skip
        self.schedule_retry()

    def schedule_retry(self) -> None:
        """Schedule another attempt: something is still missing."""
        self._cancel()
        self._task = self._cluster.scheduler.schedule(self._delays.next_or_last(), self._strand.post, self._refresh)

    def succeeded(self) -> None:
        """Handle a success: everything due was read."""
        self._cancel()
        self._delays.reset()
        if self._last_error_text is not None:
            log.info("The %s was refreshed again", self._subject)
            self._last_error_text = None

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None


def _schedule() -> Iterator[float]:
    """Yield delays, jittered so that not all clients of an overloaded node send queries at the same moment."""
    for failures in count():
        yield backoff(failures, FIRST, LONGEST)
