"""What a program says about hosts by the methods of :class:`Cluster`: that one is up, down, there or gone.

L5. No state of its own: host states belong to the membership, and what is said goes by its strand, as commands where
the caller waits. (What events and connections say is handled without these.)
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
    """Passes on what is said about the hosts of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def on_up(self, host: Host) -> None:
        """There is reason to believe that *host* is up: try to reach it now. Does not wait for the outcome."""
        if not host.is_up:
            self._cluster.membership.reach(host)

    def on_down(self, host: Host, is_host_addition: bool = False, expect_host_to_be_down: bool = False) -> None:
        """Take *host* for down, unless connections to it are open and *expect_host_to_be_down* is not set."""
        self._cluster.membership.doubt(host, expect_host_to_be_down)

    def on_down_potentially_blocking(self, host: Host, is_host_addition: bool, down_event_generation: int) -> None:
        """As :meth:`on_down`, whatever connections say."""
        self._cluster.on_down(host, is_host_addition, True)

    @command
    def on_add(self, host: Host, refresh_nodes: bool = True) -> None:
        """Take *host* in and try to reach it."""
        cluster = self._cluster
        cluster.membership.strand.call(cluster.topology.add, host)
        cluster.control_connection.on_add(host, refresh_nodes)

    @command
    def on_remove(self, host: Host) -> None:
        """Forget *host*."""
        self._cluster.membership.strand.call(self._cluster.topology.remove, host)

    def remove_host(self, host: Host | None) -> None:
        """Forget *host*; it comes back with the next node list if it is still in the cluster."""
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
        """Add a host by hand; returns the host that is known now and whether it is new. *signal*: tell policies and
        sessions."""
        cluster = self._cluster
        host = Host(endpoint, cluster.options.conviction_policy_factory, datacenter, rack, host_id)
        if not signal:
            return cluster.metadata.add_or_return_host(host)
        host, new = cluster.membership.strand.call(cluster.topology.add, host)
        if new:
            cluster.control_connection.on_add(host, refresh_nodes)
        return host, new
