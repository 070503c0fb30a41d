"""Host commands of :class:`Cluster`: a program marks a host as up or down, adds or removes one.

L5. No state of its own: host states belong to the membership, and commands run on its strand while the caller waits.
(Events and failures of connections do not use these.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from cassandra._routing.host import Host

from ..background.commands import command

if TYPE_CHECKING:
    from cassandra._net.endpoint import EndPoint

    from .cluster import Cluster


class HostCommands:
    """Passes host commands to the parts of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def on_up(self, host: Host) -> None:
        """Try to reach *host* now, because it is probably up. Does not wait for the outcome."""
        if not host.is_up:
            self._cluster.membership.reach(host)

    def on_down(self, host: Host, is_host_addition: bool = False, expect_host_to_be_down: bool = False) -> None:
        """Mark *host* as down, unless connections to it are open and *expect_host_to_be_down* is not set."""
        self._cluster.membership.doubt(host, expect_host_to_be_down)

    def on_down_potentially_blocking(self, host: Host, is_host_addition: bool, down_event_generation: int) -> None:
        """Do as :meth:`on_down`, regardless of open connections."""
        self._cluster.on_down(host, is_host_addition, True)

    @command
    def on_add(self, host: Host, refresh_nodes: bool = True) -> None:
        """Add *host* and try to reach it."""
        cluster = self._cluster
        cluster.membership.strand.call(cluster.topology.add, host)
        cluster.control_connection.on_add(host, refresh_nodes)

    @command
    def on_remove(self, host: Host) -> None:
        """Remove *host*."""
        self._cluster.membership.strand.call(self._cluster.topology.remove, host)

    def remove_host(self, host: Host | None) -> None:
        """Remove *host*; it is added again with the next node list if it is still in the cluster."""
        if host is not None:
            self._cluster.on_remove(host)

    @command
    def add_host(
        self,
        endpoint: EndPoint,
        datacenter: str | None = None,
        rack: str | None = None,
        signal: bool = True,
        refresh_nodes: bool = True,
        host_id: UUID | None = None,
    ) -> tuple[Host, bool]:
        """Add a host by hand; return the host that is in the metadata now and True if it is new. *signal*: notify
        policies and sessions."""
        cluster = self._cluster
        host = Host(endpoint, cluster.options.conviction_policy_factory, datacenter, rack, host_id)
        if not signal:
            return cluster.metadata.add_or_return_host(host)
        host, new = cluster.membership.strand.call(cluster.topology.add, host)
        if new:
            cluster.control_connection.on_add(host, refresh_nodes)
        return host, new
