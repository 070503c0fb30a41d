"""``cluster.metadata`` and the state of the cluster as one immutable value: hosts, ring, schema, tablets (L4).

:class:`Metadata` is the only writer. Each of its methods that changes something makes a new :class:`ClusterState` from
the current one and publishes it under a lock, by one assignment. The control connection calls them. Readers read
:attr:`Metadata.state` once and see hosts, ring and replicas of the same moment, without a lock. Keyspaces may be newer:
they and their dict are objects that programs hold, and follow changes (``schema/update.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra._base.constants import SchemaTargetType
from cassandra._base.display import rich_display
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger, printable
from cassandra._base.objects import not_copied, public
from cassandra._base.threads import command
from cassandra._core.routing import MetadataFields
from cassandra._routing.schema.rows import EVERYTHING, SchemaRows, SchemaTarget
from cassandra._routing.schema.update import change_item, definition_of, is_item, keep_dict, update_keyspaces

from .display import metadata_tables, metadata_text
from .replication import TokenMap, _ReplicationStrategy, finder_for
from .tablets import Tablet, TabletCleaner, Tablets
from .tokens import MAX_LONG, MIN_LONG, Murmur3Token, ReplicaMap, Ring, Token, TokenRange, token_class_of, token_ranges

if TYPE_CHECKING:
    from cassandra._routing.schema.model import KeyspaceMetadata

    from .host import Host

log = get_logger("cassandra.metadata")

UNSPECIFIED = frozenset(("0.0.0.0", "::"))

#: Hosts with their tokens as text, as in the system tables.
TokensByHost = Mapping["Host", Iterable[str]]


# ---- hosts and ring


class Topology:
    """Hosts and ring; immutable. Replica maps are made on first use of a strategy and live as long as the topology: a
    schema change does not discard them."""

    __slots__ = ("_replica_maps", "by_endpoint", "by_id", "hosts", "partitioner", "ring")

    def __init__(self, hosts: Iterable[Host] = (), ring: Ring | None = None, partitioner: str | None = None) -> None:
        self.hosts = tuple(hosts)
        self.by_endpoint: dict[Any, Host] = {host.endpoint: host for host in self.hosts}
        self.by_id: dict[UUID, Host] = {host.host_id: host for host in self.hosts if host.host_id is not None}
        self.ring = ring
        self.partitioner = partitioner
        self._replica_maps: dict[tuple[type, _ReplicationStrategy], ReplicaMap | None] = {}

    def replica_map(self, strategy: _ReplicationStrategy | None) -> ReplicaMap | None:
        """Return the replicas under *strategy*; None if it cannot be used for routing."""
        if strategy is None or not self.ring:
            return None
        key = (type(strategy), strategy)  # a subclass may be equal to its base but place replicas differently
        try:
            return self._replica_maps[key]
        except KeyError:
            find = finder_for(strategy, self.ring)
            made = ReplicaMap(self.ring, find) if find is not None else None
            return self._replica_maps.setdefault(key, made)

    def with_hosts(self, hosts: Iterable[Host]) -> Topology:
        """Return a topology with the same ring and other hosts; the ring is rebuilt separately, from new tokens."""
        return Topology(hosts, self.ring, self.partitioner)


# ---- snapshot of the cluster


class ClusterState:
    """A snapshot. After construction only lazily filled caches and *tablets* change: responses of servers contain
    tablets, and each table has its own snapshot of them."""

    __slots__ = ("_found", "_replica_maps", "keyspaces", "tablets", "topology")

    def __init__(
        self, topology: Topology, keyspaces: Mapping[str, KeyspaceMetadata], tablets: Tablets | None = None
    ) -> None:
        self.topology = topology
        self.keyspaces = keyspaces
        self.tablets = tablets
        self._replica_maps: dict[str, ReplicaMap | None] = {}
        self._found: dict[str, Host] = {}  # cache of look-ups by announced address

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self.topology.hosts

    def replica_map(self, keyspace: str) -> ReplicaMap | None:
        """Return the replicas of the ranges of *keyspace*; None if it or its replication strategy is unknown."""
        try:
            return self._replica_maps[keyspace]
        except KeyError:
            pass
        known = self.keyspaces.get(keyspace)
        if known is None:  # not cached: there is no limit to unknown names
            return None
        made = self.topology.replica_map(known.replication_strategy)
        return self._replica_maps.setdefault(keyspace, made)

    def replicas(self, keyspace: str, token: Any) -> tuple[Host, ...]:
        """Return the replicas of the partition with *token* (a value of this cluster's partitioner), in ring order."""
        found = self.replica_map(keyspace)
        return found.replicas(token) if found is not None else ()

    def tablet(self, keyspace: str | None, table: str | None, token: Any) -> Tablet | None:
        """Return the tablet of *table* that covers *token* (Murmur3); None if it is not known."""
        if token is None or self.tablets is None or self.topology.ring is None or not self.topology.ring.murmur3:
            return None
        return self.tablets.get_tablet_for_key(keyspace, table, token)

    def has_leaders(self, keyspace: str | None) -> bool:
        """True if *keyspace* is strongly consistent: its tablets have leaders."""
        known = None if keyspace is None else self.keyspaces.get(keyspace)
        return known is not None and known._has_leaders

    def token_of(self, key: bytes) -> Any:
        """Return the token value of a serialised partition key; None while there is no ring."""
        ring = self.topology.ring
        return ring.token_of(key) if ring is not None else None

    def routing_token(self, token: int | None, statement: Any) -> Any:
        """Return the token value for routing a request: *token* (Murmur3) if the cluster uses that partitioner, else
        from the statement's routing key; None if there is neither, or no ring."""
        ring = self.topology.ring
        if ring is None:
            return None
        if ring.murmur3:
            if token is None:
                token = getattr(statement, "routing_token", None)
            if token is not None:
                return token
        key = getattr(statement, "routing_key", None)
        if isinstance(key, str):
            key = key.encode()
        return ring.token_of(key) if key is not None else None

    def host_at(self, address: Any, port: int | None = None) -> Host | None:
        """Return the host with this endpoint, or with this address (and port) for clients; None if there is none."""
        if not isinstance(address, str):
            return self.topology.by_endpoint.get(address)
        known = self._found.get(address) if port is None else None
        if known is not None and _announced_address(known) == address:
            return known
        for host in self.topology.hosts:
            if port is not None and port != (host.broadcast_rpc_port or port):
                continue
            if address == _announced_address(host):
                if port is None:
                    self._found[address] = host
                return host
        for host in self.topology.hosts:
            if address == host.address and (port is None or port == host.endpoint.port):
                return host
        return None


def _announced_address(host: Host) -> str | None:
    """Return the address by which servers announce *host*: the one for clients or, if it is bound to all its addresses,
    the one for other nodes."""
    address = host.broadcast_rpc_address
    return host.broadcast_address if address in UNSPECIFIED else address


EMPTY = ClusterState(Topology(), {})


# ---- published metadata


class TopologyChange:
    """Hosts added and removed by a published topology."""

    __slots__ = ("added", "removed")

    def __init__(self, added: tuple[Host, ...], removed: tuple[Host, ...]) -> None:
        self.added = added
        self.removed = removed


@public("cassandra.metadata")
@rich_display(metadata_tables, metadata_text)
class Metadata(MetadataFields):
    """The cluster as described by its nodes: hosts, token ring, schema. Available as ``cluster.metadata``.

    Updated by the control connection. A keyspace, table, view, index, type or function object is not changed after it
    was read; after a schema change another object replaces it. The dicts that contain them follow changes.
    """

    #: Name of the cluster.
    cluster_name: str | None = None
    #: True for a managed service (never detected: DSE is not supported).
    dbaas = False

    def __init__(self) -> None:
        #: Hosts and shards that hold a token of a table; updated from responses of servers.
        self._tablets = Tablets({})
        #: The current snapshot: one attribute, which requests compare with the one they were compiled with.
        self.state: ClusterState = ClusterState(Topology(), {}, self._tablets)
        self._token_map: tuple[ClusterState, TokenMap | None] = (EMPTY, None)
        self._lock = driver_lock("Metadata")
        self._tablet_cleaner = TabletCleaner()
        self._uncached_tablets: set[tuple[str, str]] = set()  # tables with a malformed tablet in a response

    __reduce__ = not_copied("it follows its cluster; its keyspaces, tables and hosts can be")

    # ---- reading the state

    @property
    def keyspaces(self) -> Mapping[str, KeyspaceMetadata]:
        """Keyspaces by name. The dict follows changes; when the whole schema is read again, a new dict replaces it."""
        return self.state.keyspaces

    @keyspaces.setter
    @command
    def keyspaces(self, keyspaces: Mapping[str, KeyspaceMetadata]) -> None:
        with self._lock:
            self._publish(keyspaces=keyspaces)

    @property
    def partitioner(self) -> str | None:
        """Class name of the cluster's partitioner, None until known."""
        return self.state.topology.partitioner

    @partitioner.setter
    @command
    def partitioner(self, partitioner: str | None) -> None:
        with self._lock:
            topology = self.state.topology
            self._publish(topology=Topology(topology.hosts, topology.ring, partitioner))

    @property
    def token_map(self) -> TokenMap | None:
        """The ring, empty if no tokens were read; None until the partitioner is known, or if it is not
        supported."""
        state = self.state
        made_for, token_map = self._token_map
        if made_for is not state:
            token_map = TokenMap._of(state)
            self._token_map = (state, token_map)
        return token_map

    @token_map.setter
    def token_map(self, token_map: TokenMap | None) -> None:
        """Override the property until the cluster changes; requests are routed by :attr:`state`."""
        self._token_map = (self.state, token_map)

    def token_ranges(self, keyspace: str, table: str | None = None) -> list[TokenRange]:
        """Return the ranges of the ring, ascending, each with the hosts that hold it: the tablets of *table* where they
        are known (``session.prefetch_tablets`` reads all of them), else the ranges between the tokens of the hosts.
        Every token is in exactly one range.

        Names are spelled as in :attr:`keyspaces`. Raises ValueError for an unknown keyspace,
        :exc:`~cassandra.UnsupportedOperation` for another partitioner than Murmur3. Example::

            for part in cluster.metadata.token_ranges("shop", "orders"):
                print(part.start, part.end, [host.address for host in part.replicas])

        .. versionadded:: 4.0
        """
        return token_ranges(self.state, keyspace, table)

    def all_hosts(self) -> list[Host]:
        """Return all known hosts."""
        return list(self.state.topology.hosts)

    def all_hosts_items(self) -> list[tuple[UUID | None, Host]]:
        """Return all known hosts, each with its id."""
        return [(host.host_id, host) for host in self.state.topology.hosts]

    def get_host(self, endpoint_or_address: Any, port: int | None = None) -> Host | None:
        """Return the host with this endpoint, or with this address (and port) for clients; None if there is none."""
        return self.state.host_at(endpoint_or_address, port)

    def get_host_by_host_id(self, host_id: UUID) -> Host | None:
        """Return the host with this id; None if there is none."""
        return self.state.topology.by_id.get(host_id)

    def get_replicas(self, keyspace: str, key: bytes) -> list[Host]:
        """Return the hosts that hold the partition with the serialised key *key*, in ring order; an empty list if they
        are not known."""
        state = self.state
        token = state.token_of(key)
        return list(state.replicas(keyspace, token)) if token is not None else []

    def can_support_partitioner(self) -> bool:
        """Return True always. (Requests are not routed by token with an unknown partitioner.)"""
        return True

    def export_schema_as_string(self) -> str:
        """Return the statements that create all keyspaces with their contents."""
        return "\n\n".join(keyspace.export_as_string() for keyspace in self.keyspaces.values())

    # ---- changes of hosts and ring

    @command
    def add_or_return_host(self, host: Host) -> tuple[Host, bool]:
        """Add *host* unless one with its id (or, without an id, its endpoint) is known.

        Returns the known host, and True if it is new.
        """
        with self._lock:
            topology = self.state.topology
            known = self._current_host(topology, host)
            if known is not None:
                return known, False
            self._publish_hosts((*topology.hosts, host))
            return host, True

    @command
    def update_host(self, host: Host, old_endpoint: Any) -> Host:
        """Publish a changed endpoint or id of *host*, or add *host* if it is not known. Returns the known host."""
        with self._lock:
            known, added = self.add_or_return_host(host)
            if not added:
                self._publish_hosts(self.state.topology.hosts)
            return known

    @command
    def remove_host(self, host: Host) -> bool:
        """Remove *host* and its tokens; False if it was not known."""
        with self._lock:
            return self._remove(self._current_host(self.state.topology, host))

    @command
    def remove_host_by_host_id(self, host_id: UUID, endpoint: Any = None) -> bool:
        """Remove the host with this id (and, if given, this endpoint); False if it was not known."""
        with self._lock:
            known = self.state.topology.by_id.get(host_id)
            if known is not None and endpoint is not None and known.endpoint != endpoint:
                known = None
            return self._remove(known)

    @command
    def rebuild_token_map(self, partitioner: str | None, token_map: TokensByHost) -> None:
        """Replace the ring. *token_map*: the tokens of each host as text, as in the system tables.

        Needed whenever tokens, datacenters or racks changed.
        """
        ring = _make_ring(partitioner, token_map)
        with self._lock:
            self._publish(topology=Topology(self.state.topology.hosts, ring, partitioner))

    @command
    def replace_topology(
        self, hosts: Iterable[Host], partitioner: str | None = None, token_map: TokensByHost | None = None
    ) -> TopologyChange:
        """Publish the hosts and the ring as one snapshot. Without *token_map* there is no ring.

        *hosts* must hold the :class:`Host` object that is known already for every node that stays.
        """
        ring = _make_ring(partitioner, token_map) if token_map is not None else None
        with self._lock:
            before = self.state.topology
            after = Topology(hosts, ring, partitioner)
            self._publish(topology=after)
        kept = {id(host) for host in after.hosts} & {id(host) for host in before.hosts}
        return TopologyChange(
            tuple(host for host in after.hosts if id(host) not in kept),
            tuple(host for host in before.hosts if id(host) not in kept),
        )

    # ---- changes of the schema

    def schema_target(self, event: Mapping[str, Any]) -> SchemaTarget:
        """Return the part of the schema to read after a schema change event. An unknown keyspace is read completely."""
        return self.complete_target(SchemaTarget.from_event(event))

    def complete_target(self, target: SchemaTarget) -> SchemaTarget:
        """Return the target to read for *target*: the whole keyspace if it is not known (any more, or yet)."""
        if target.kind == EVERYTHING or target.keyspace is None or target.keyspace in self.keyspaces:
            return target
        if target.dropped:
            return target
        return SchemaTarget.of_keyspace(target.keyspace, contents=True)

    def apply_schema(self, target: SchemaTarget, rows: SchemaRows) -> None:
        """Publish *target* as it was read: *rows* by query name (see ``schema_queries``). A dropped target has
        no rows. Tablets of changed tables are dropped."""
        self.apply_changes([(target, rows)])

    @command
    def apply_changes(self, changes: Iterable[tuple[SchemaTarget, SchemaRows]]) -> None:
        """Publish several targets, which were read before: no reader waits for the next one in between."""
        with self._lock:
            for target, rows in changes:
                self._apply(target, rows)

    def _apply(self, target: SchemaTarget, rows: SchemaRows) -> None:
        before = self.state.keyspaces
        if not is_item(target):
            after = update_keyspaces(before, target, rows)
            self._tablet_cleaner.on_keyspaces_read(self._tablets, target, before, after)
            self._publish(keyspaces=keep_dict(before, after, target))
            return
        keyspace = before.get(target.keyspace or "")
        is_table = target.kind == SchemaTargetType.TABLE and target.name is not None
        has_tablets = is_table and self._tablets.table_has_tablets(target.keyspace, target.name)
        definition = definition_of(keyspace, target.name or "") if has_tablets else None
        if keyspace is not None:
            change_item(keyspace, target, rows)
        if is_table:
            self._tablet_cleaner.on_table_read(self._tablets, target, definition, keyspace)
        self._publish(keyspaces=before)

    @command
    def schema_not_read(self, target: SchemaTarget) -> None:
        """Drop the tablets that may be wrong after *target* was altered or dropped (everything: possibly), for a driver
        that does not read the schema."""
        with self._lock:
            self._tablet_cleaner.on_schema_not_read(self._tablets, target)

    # ---- publishing a state

    @staticmethod
    def _current_host(topology: Topology, host: Host) -> Host | None:
        if any(other is host for other in topology.hosts):  # its id or endpoint may be newer than the index
            return host
        if host.host_id is not None and host.host_id in topology.by_id:
            return topology.by_id[host.host_id]
        known = topology.by_endpoint.get(host.endpoint)
        if known is None or None in (known.host_id, host.host_id):
            return known
        return None  # another node at the same address

    def _remove(self, host: Host | None) -> bool:
        if host is None:
            return False
        topology = self.state.topology
        hosts = tuple(other for other in topology.hosts if other is not host)
        ring = topology.ring.without(host) if topology.ring is not None else None
        self._publish(topology=Topology(hosts, ring, topology.partitioner))
        return True

    def _publish_hosts(self, hosts: Iterable[Host]) -> None:
        self._publish(topology=self.state.topology.with_hosts(hosts))

    def _publish(
        self, *, topology: Topology | None = None, keyspaces: Mapping[str, KeyspaceMetadata] | None = None
    ) -> None:
        """Publish a new state. The lock is held. No other method sets the current state."""
        current = self.state
        self.state = ClusterState(
            current.topology if topology is None else topology,
            current.keyspaces if keyspaces is None else keyspaces,
            self._tablets,
        )
        if topology is not None:
            self._tablet_cleaner.on_hosts_changed(self._tablets, current.topology, topology)


def _token_values(token_class: type[Token], texts: Iterable[str]) -> list[Any]:
    """Return the values of tokens. Raises ValueError if one is not valid for the partitioner."""
    if token_class is not Murmur3Token:
        return [token_class.from_string(text).value for text in texts]
    values = list(map(int, texts))  # a cluster may have a quarter of a million
    for value in (min(values, default=0), max(values, default=0)):
        if not MIN_LONG <= value <= MAX_LONG:
            raise ValueError(f"{printable(str(value), 40)} has more than 64 bits")
    return values


def _make_ring(partitioner: str | None, token_map: TokensByHost) -> Ring | None:
    """Return the ring of *token_map*; None if the partitioner is unknown or no host has tokens."""
    token_class = token_class_of(partitioner)
    if token_class is None:
        return None
    owners: dict[Any, Host] = {}
    for host, tokens in token_map.items():
        try:
            owners.update(dict.fromkeys(_token_values(token_class, tokens), host))
        except Exception as error:
            log.warning("Invalid tokens of %s, requests are not routed to it by token: %s", host, error)
    return Ring(token_class, owners) if owners else None
