"""The set of hosts and their addresses: applies node lists to the metadata, and notifies dependent components.

L5. Owner: all methods run on the membership strand. A host is its ``host_id``: it may move to another endpoint, and
another host may take its former endpoint. Hosts compare by endpoint, so a component must drop a host before its
endpoint changes: a move takes the host down, changes it, and reconnects to it.

The queried node keeps the endpoint that the control connection was opened to, a contact point, as it may be the only
one that works. Such an address may also lead to all nodes in turn (a load balancer, a service of Kubernetes). When a
connection of a pool shows that (``leave_contact_point``), the host is moved to the address that it announces, and the
contact point is used for control connections only.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._base.logs import get_logger, log_each
from cassandra._routing.host import Host
from cassandra._routing.policies.load_balancing import guessed_datacenter

from .contact import find_given

if TYPE_CHECKING:
    from cassandra._net.endpoint import EndPoint
    from cassandra._session.cluster import Cluster
    from cassandra._session.control.nodes import Node, NodeList

log = get_logger("cassandra.cluster")


class TopologyUpdater:
    """Applies node lists of the control connection to ``cluster.metadata``."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._populated = False
        self._warned_of_datacenters = False
        self._advertised: dict[Any, Any] = {}  # host id -> endpoint announced by the nodes, if not ours
        self._tokens: dict[Any, Sequence[str]] = {}  # by host id, as last published
        self._local: Node | None = None  # the queried node, as last listed; read by any thread
        self._shared: set[EndPoint] = set()  # contact points that lead to several hosts

    def take(self, listing: NodeList, rebuild_tokens: bool = False) -> None:
        """Update the metadata to *listing*."""
        local = self._local = listing.local_node
        if local.endpoint in self._shared:
            local.endpoint = self._announced(local) or local.endpoint
        if self._populated:
            self._update(listing, rebuild_tokens)
        else:
            self._populate(listing)

    def _populate(self, listing: NodeList) -> None:
        """Apply the first node list: every host that is not ignored counts as up until it proves otherwise; the state
        of ignored hosts is unknown."""
        cluster = self._cluster
        hosts = [self._make(node) for node in listing.nodes]
        for host in hosts:
            cluster.membership.assume_up(host)
        self._publish(hosts, listing, True)
        cluster.profile_manager.populate(cluster, hosts)
        cluster.profile_manager.check_supported()
        for host in hosts:
            if cluster.membership.is_ignored(host):
                host.is_up = None
        self._populated = True
        for host in hosts:
            cluster.host_listeners.notify("on_add", host)
        self._warn_of_datacenters()
        cluster._versions.update_common_version()

    def _update(self, listing: NodeList, rebuild_tokens: bool) -> None:
        known = {host.host_id: host for host in self._cluster.metadata.all_hosts()}
        owners = {node.endpoint: node.host_id for node in listing.nodes}
        moved: list[tuple[Host, Any]] = []
        added: list[Host] = []
        hosts: list[Host] = []
        for node in listing.nodes:
            host = known.pop(node.host_id, None)
            if host is None:
                host = self._make(node)
                added.append(host)
            else:
                self._describe(host, node)
                if self._has_new_endpoint(host, node, owners):
                    moved.append((host, node.endpoint))
            hosts.append(host)
        kept = [host for host in known.values() if host.endpoint not in owners and _keeps_endpoint(host, listing)]
        removed = [host for host in known.values() if host not in kept]
        self._change_endpoints(moved)
        self._publish([*hosts, *kept], listing, rebuild_tokens or bool(moved))
        heirs = {host.endpoint for host in added}
        self._log_removed(removed)
        for host in removed:
            self._forget(host, keep_pools=host.endpoint in heirs)
        for host, _ in moved:
            self._connect_now(host)
        self._log_added(added)
        for host in added:
            self._welcome(host)
        self._warn_of_datacenters()
        self._cluster._versions.update_common_version()

    def _warn_of_datacenters(self) -> None:
        """Warn once if the local datacenter was guessed although there are several."""
        if self._warned_of_datacenters:
            return
        cluster = self._cluster
        names = sorted({host.datacenter for host in cluster.metadata.all_hosts() if host.datacenter})
        inferred = [guessed_datacenter(policy) for policy in cluster.profile_manager.policies()]
        inferred_one = next((one for one in inferred if one is not None), None)
        if len(names) < 2 or inferred_one is None:
            return
        self._warned_of_datacenters = True
        log.warning(
            "The cluster has the datacenters %s, and no local_dc was given: %r is used as the local one, because "
            "of the contact points, and gets the requests. Set the local datacenter: "
            "ExecutionProfile(TokenAwarePolicy(DCAwareRoundRobinPolicy(local_dc=%r)))",
            ", ".join(map(repr, names)),
            inferred_one,
            inferred_one or names[0],
        )

    # ---- hosts that stay

    def _describe(self, host: Host, node: Node) -> None:
        node.describe(host)
        if (host.datacenter, host.rack) == (node.datacenter, node.rack):
            return
        log.info("Host %s is now in datacenter %s, rack %s", host, node.datacenter, node.rack)
        manager = self._cluster.profile_manager
        is_up = host.is_up
        if is_up is not False:
            manager.on_down(host)
        host.set_location_info(node.datacenter, node.rack)
        self._tokens = {}  # replicas depend on location
        if is_up is not False:
            manager.on_up(host)
        for session in list(self._cluster.sessions):
            session.update_created_pools()

    def _has_new_endpoint(self, host: Host, node: Node, owners: Mapping[Any, Any]) -> bool:
        """Return True if *host* must be reached at the node's endpoint from now on. A host with open connections stays
        at its endpoint: the contact point may be a better one for us than the announced address."""
        if node.endpoint == host.endpoint:
            self._advertised.pop(host.host_id, None)
            return False
        self._advertised[host.host_id] = node.endpoint
        return owners.get(host.endpoint) is not None or not self._is_connected(host)

    def on_connect_failed(self, host: Host) -> None:
        """Handle a failed attempt to reach *host*: try the endpoint announced by the nodes, if it differs."""
        endpoint = self._advertised.pop(host.host_id, None)
        if endpoint is None or endpoint == host.endpoint or self._cluster.metadata.get_host(endpoint) is not None:
            return
        self._move(host, endpoint)

    def is_at_contact_point(self, host: Host) -> bool:
        """True if *host* is reached at a contact point, which is not the address that it announces. Any thread."""
        local = self._local
        if local is None or local.host_id != host.host_id or local.endpoint != host.endpoint:
            return host.host_id in self._advertised
        return host.broadcast_rpc_address != host.endpoint.address

    def leave_contact_point(self, host: Host) -> bool:
        """Move *host*, whose address has led to another host, to the one that it announces, if that is another one.
        Return False if it is not."""
        local = self._local
        is_local = local is not None and local.host_id == host.host_id and local.endpoint == host.endpoint
        endpoint = self._announced(local) if local and is_local else self._advertised.pop(host.host_id, None)
        if endpoint in (None, host.endpoint) or self._cluster.metadata.get_host(endpoint) is not None:
            return False
        if local and is_local:
            log.info("The contact point %s leads to several hosts, it is used for control connections only", host)
            self._shared.add(host.endpoint)
            local.endpoint = endpoint
        self._move(host, endpoint)
        return True

    def _announced(self, node: Node) -> EndPoint | None:
        """Return the endpoint that *node* announces for itself, None if there is none."""
        allowed = self._cluster.allowed_addresses
        try:
            endpoint: EndPoint = self._cluster.endpoint_factory.create(node.row)
        except Exception as error:  # may be a user's code
            log.debug("%s announces no address: %s", node.endpoint, error)
            return None
        return endpoint if allowed is None or allowed.may_host(endpoint) else None

    def _move(self, host: Host, endpoint: EndPoint) -> None:
        before = host.endpoint
        self._change_endpoints([(host, endpoint)])
        self._cluster.metadata.update_host(host, before)
        self._connect_now(host)

    def _change_endpoints(self, moves: list[tuple[Host, Any]]) -> None:
        """Change all at once: hosts may have swapped their endpoints."""
        membership = self._cluster.membership
        lines = [(host.host_id, host.endpoint, endpoint) for host, endpoint in moves]
        log_each(log.info, "Host %s moved from %s to %s", lines)
        for host, _ in moves:
            membership.take_down(host, at_once=False, level=logging.INFO)
            membership.stop_reconnecting(host)
        for host, endpoint in moves:
            host.endpoint = self._with_given_name(endpoint)

    def _with_given_name(self, endpoint: EndPoint) -> EndPoint:
        return find_given(endpoint, self._cluster.contacts.known)

    # ---- hosts that come and go

    def add(self, host: Host) -> tuple[Host, bool]:
        """Add one *host*, and try to reach it. Return the host in the metadata, and True if it is new."""
        host, new = self._cluster.metadata.add_or_return_host(host)
        if new:
            self._log_added([host])
            self._welcome(host)
        return host, new

    def remove(self, host: Host) -> None:
        """Remove one *host*."""
        self._cluster.metadata.remove_host(host)
        self._log_removed([host])
        self._forget(host)

    def _make(self, node: Node) -> Host:
        factory = self._cluster.conviction_policy_factory
        host = Host(self._with_given_name(node.endpoint), factory, node.datacenter, node.rack, node.host_id)
        node.describe(host)
        return host

    def _log_added(self, hosts: list[Host]) -> None:
        lines = [(host, host.datacenter, host.host_id) for host in hosts]
        log_each(log.info, "New host %s found (datacenter %s, id %s)", lines)

    def _log_removed(self, hosts: list[Host]) -> None:
        log_each(log.info, "Host %s (id %s) has been removed", [(host, host.host_id) for host in hosts])

    def _welcome(self, host: Host) -> None:
        self._cluster.profile_manager.on_add(host)
        self._cluster.host_listeners.notify("on_add", host)
        self._connect_now(host)

    def _connect_now(self, host: Host) -> None:
        membership = self._cluster.membership
        if not membership.is_ignored(host):
            membership.reconnect(host, at_once=True)

    def _forget(self, host: Host, keep_pools: bool = False) -> None:
        """Drop *host*. *keep_pools*: another host took its endpoint. The pools lead there already, or are replaced
        once new ones are open, so that no working pool is closed."""
        cluster = self._cluster
        cluster.membership.forget(host)
        self._advertised.pop(host.host_id, None)
        host.set_down()
        cluster.profile_manager.on_remove(host)
        for session in list(cluster.sessions):
            if keep_pools:
                session._pool_set.forget_errors(host)
            else:
                session.on_remove(host)
        cluster.control_connection.on_remove(host)
        cluster.host_listeners.notify("on_remove", host)

    # ---- publishing

    def _publish(self, hosts: list[Host], listing: NodeList, rebuild_tokens: bool) -> None:
        """Publish hosts and ring as one snapshot. An unchanged ring is not rebuilt: it can be large."""
        metadata = self._cluster.metadata
        metadata.cluster_name = listing.cluster_name
        listed = {node.host_id: tuple(node.tokens) for node in listing.nodes if node.tokens}
        tokens: dict[Any, Sequence[str]] = {}
        for host in hosts:
            host_id: Any = host.host_id
            tokens[host_id] = listed.get(host_id, self._tokens.get(host_id, ()))
        if self._cluster.token_metadata_enabled and (
            rebuild_tokens or tokens != self._tokens or metadata.partitioner != listing.partitioner
        ):
            metadata.replace_topology(
                hosts, listing.partitioner, {host: tokens[host.host_id] for host in hosts if tokens[host.host_id]}
            )
            self._tokens = tokens
        elif not self._cluster.token_metadata_enabled:
            metadata.replace_topology(hosts, listing.partitioner)

    def _is_connected(self, host: Host) -> bool:
        if host.is_up is False:
            return False
        pools = [session._pools.get(host) for session in list(self._cluster.sessions)]
        return any(pool is not None and pool.open_count for pool in pools)


def _keeps_endpoint(host: Host, listing: NodeList) -> bool:
    """True if the list has an unusable row about *host*: then the host may still be in the cluster."""
    return any(
        value in listing.unusable for value in (host.host_id, host.broadcast_rpc_address, host.broadcast_address)
    )
