"""Cluster's methods about hosts, pools and listeners.

L5. Base of :class:`Cluster`. Host states belong to the membership; what is here only passes on to its strand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra._base.errors import DriverException
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Reactor
from cassandra._net.connection import Connection
from cassandra._net.endpoint import EndPoint
from cassandra._routing.host import Host

from .options import made
from .refreshing import ClusterRefresh

if TYPE_CHECKING:
    from cassandra._net.pool.pool import HostPool

    from .listeners import Listeners
    from .membership import Membership
    from .metrics import Metrics
    from .sessions import SessionSet
    from .topology import TopologyUpdater


class ClusterHosts(ClusterRefresh):
    """Host methods of :class:`Cluster`."""

    sessions: SessionSet = made()
    membership: Membership
    topology: TopologyUpdater
    host_listeners: Listeners
    metrics: Metrics | None
    type_context: TypeContext

    @property
    def reactor(self) -> Reactor:
        """The I/O thread; made by the first connect."""
        self.life.awaken()
        reactor = self.life.reactor
        if reactor is None:
            raise DriverException("The cluster was shut down" if self.is_shutdown else "Cluster is not connected yet")
        return reactor

    # ---- listeners

    def register_listener(self, listener: Any) -> None:
        """Tell *listener* (a :class:`cassandra.policies.HostStateListener`) when hosts come, go, and change state.

        Its methods are called one at a time on a background thread and may use the cluster.
        """
        self.host_listeners.add(listener)

    def unregister_listener(self, listener: Any) -> None:
        """Undo :meth:`register_listener`; KeyError if it was not registered."""
        self.host_listeners.remove(listener)

    @property
    def listeners(self) -> set[Any]:
        """The registered listeners."""
        return set(self.host_listeners.registered)

    # ---- evidence from pools

    def signal_connection_failure(
        self,
        host: Host,
        connection_exc: BaseException,
        is_host_addition: bool = False,
        expect_host_to_be_down: bool = False,
    ) -> bool:
        """A connection to *host* was lost or could not be opened; True if the conviction policy takes the host for
        down. Never blocks."""
        if self.metrics is not None:
            self.metrics.on_connection_error()
        return self.membership.failed(host, connection_exc, expect_host_to_be_down)

    def on_pool_open(self, host: Host) -> None:
        """A session opened a pool to *host*. Never blocks."""
        self.membership.reached(host)

    # ---- states by decree (what events and connections say is handled without these)

    def on_up(self, host: Host) -> None:
        """There is reason to believe that *host* is up: try to reach it now. Does not wait for the outcome."""
        if not host.is_up:
            self.membership.strand.post(self.membership.reconnect, host, True)

    def on_down(self, host: Host, is_host_addition: bool = False, expect_host_to_be_down: bool = False) -> None:
        """Take *host* for down, unless connections to it are open and *expect_host_to_be_down* is not set."""
        self.membership.strand.post(self.membership.examine, host, True, expect_host_to_be_down)

    def on_down_potentially_blocking(self, host: Host, is_host_addition: bool, down_event_generation: int) -> None:
        """As :meth:`on_down`, whatever connections say."""
        self.on_down(host, is_host_addition, True)

    def on_add(self, host: Host, refresh_nodes: bool = True) -> None:
        """Take *host* in and try to reach it."""
        self.membership.strand.call(self.topology.add, host)
        self.control_connection.on_add(host, refresh_nodes)

    def on_remove(self, host: Host) -> None:
        """Forget *host*."""
        self.membership.strand.call(self.topology.remove, host)

    def add_host(
        self,
        endpoint: EndPoint,
        datacenter: str | None = None,
        rack: str | None = None,
        signal: bool = True,
        refresh_nodes: bool = True,
        host_id: UUID | None = None,
    ) -> tuple[Host, bool]:
        """Add a host by hand; returns the host that is known now and whether it is new. *signal*: tell policies and
        sessions."""
        host = Host(endpoint, self.conviction_policy_factory, datacenter, rack, host_id)
        if not signal:
            return self.metadata.add_or_return_host(host)
        host, new = self.membership.strand.call(self.topology.add, host)
        if new:
            self.control_connection.on_add(host, refresh_nodes)
        return host, new

    def remove_host(self, host: Host | None) -> None:
        """Forget *host*; it comes back with the next node list if it is still in the cluster."""
        if host is not None:
            self.on_remove(host)

    # ---- looking

    def get_control_connection_host(self) -> Host | None:
        """The host the control connection is open to; None while there is none."""
        connection = self.control_connection.connection
        if connection is None:
            return None
        return self.metadata.get_host_by_host_id(connection.host_id) or self.metadata.get_host(connection.endpoint)

    def get_all_pools(self) -> list[HostPool]:
        """The pools of all sessions."""
        return [pool for session in self.sessions for pool in session.get_pools()]

    def get_connection_holders(self) -> list[Any]:
        """Whatever has connections: the pools and the control connection."""
        return [*self.get_all_pools(), self.control_connection]

    def is_shard_aware(self) -> bool:
        """Whether the control connection's node has shards (ScyllaDB)."""
        connection = self.control_connection.connection
        return connection is not None and connection.features.sharding_info is not None

    def shard_aware_stats(self) -> dict[str, dict[str, int]] | None:
        """Per host: shards and open connections; None for servers without shards."""
        if not self.is_shard_aware():
            return None
        stats: dict[str, dict[str, int]] = {}
        for pool in self.get_all_pools():
            sharding = pool.host.sharding_info
            known = stats.setdefault(str(pool.host.endpoint), {"shards_count": 0, "connected": 0})
            known["shards_count"] = sharding.shards_count if sharding is not None else 1
            known["connected"] += pool.open_count
        return stats

    def connection_factory(self, endpoint: EndPoint, host_conn: Any = None, *args: Any, **kwargs: Any) -> Connection:
        """Open a connection of its own to *endpoint*. Blocks."""
        return Connection.factory(
            endpoint,
            self.connect_timeout,
            reactor=self.reactor,
            options=self.connection_options(),
            context=self.type_context,
        )
