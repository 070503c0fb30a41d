"""The public class of the simulated cluster, and its commands that move tablets."""

from __future__ import annotations

import random
import ssl
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from re import Pattern
from types import TracebackType
from typing import Any, TypeVar

from cassandra.testing import _wire as wire
from cassandra.testing._database import Database, NodeFacts
from cassandra.testing._node import SimulatedNode
from cassandra.testing._plan import Rows, SchemaChange, SetKeyspace
from cassandra.testing._reactor import Allocator, Ports, Reactor, packed
from cassandra.testing._requests import Request, Routing, Run, Tally, event, schema_change
from cassandra.testing._rules import CONNECT, Arrival, Condition, Exchange, Reaction, Rule
from cassandra.testing._topology import MAX_TOKEN, MIN_TOKEN, TabletInfo, TabletMap, pick_replicas

T = TypeVar("T")
VNODES = 16
REMEMBERED = 100_000


class SimulatedCluster:
    """A ScyllaDB cluster inside this process, for tests of applications and of drivers.

    It implements the native protocol on real sockets of this machine, keeps data in memory, and has shards, tablets,
    system tables, events, and faults on demand. It rejects unsupported requests with an error that names the
    unsupported part.

    :param nodes: number of nodes; node *n* is in ``dcs[n % len(dcs)]`` and in one of *racks* in turn.
    :param shards: number of shards of each node.
    :param tablets: True if keyspaces of NetworkTopologyStrategy have tablets by default.
    :param tablets_v2: True if the experimental second version of tablet routing is offered too.
    :param protocol_versions: ScyllaDB supports 3 and 4; add 5 to test it.
    :param users: names and passwords; None disables authentication.
    :param ssl_context: server context for TLS: all ports use it, or with ``tls_only=False`` the nodes have separate TLS
        ports (``tls_port`` and ``shard_aware_tls_port``).
    :param address: one address for all nodes, each with ports of its own; by default every node has an address in
        127.0.0.0/8, which only Linux has without being configured.
    :param without: names of options that SUPPORTED does not list, to test with older servers.
    :param graceful_disconnect: True offers clients to announce that a node stops (CEP-59), as newer versions of
        Cassandra do; see :meth:`SimulatedNode.drain`.
    :param seed: seed of all random choices of the cluster (host ids, tokens, probabilities of faults).

    It starts when it is entered, and :meth:`close` releases its thread and its sockets::

        with SimulatedCluster(nodes=3, shards=4) as simulated:
            cluster = Cluster(simulated.contact_points, port=simulated.port)
            session = cluster.connect()

    All methods may be called from any thread, but not from the code of a fault.
    """

    def __init__(
        self, nodes: int = 3, shards: int = 4, *, tablets: bool = True, tablets_v2: bool = False,
        racks: Sequence[str] = ("rack1",), dcs: Sequence[str] = ("dc1",), protocol_versions: Iterable[int] = (3, 4),
        users: Mapping[str, str] | None = None, ssl_context: ssl.SSLContext | None = None, tls_only: bool = True,
        address: str | None = None,
        name: str = "simulated", release_version: str = "3.0.8", without: Collection[str] = (), seed: int = 1,
        graceful_disconnect: bool = False,
    ) -> None:  # fmt: skip
        if nodes < 1 or shards < 1:
            raise ValueError("a cluster needs at least one node with one shard")
        self.name = name  #: Name of the cluster.
        self.release_version = release_version  #: Version that the nodes report.
        self.protocol_versions = tuple(sorted(protocol_versions))  #: Supported protocol versions.
        self.tablets_enabled, self.tablets_v2 = tablets, tablets_v2  #: True if nodes have versions of tablets.
        self.users: dict[str, str] = dict(users or {})  #: Passwords by user; None without authentication.
        self.ssl_context = ssl_context  #: TLS context of the nodes; None without TLS.
        self.without = frozenset(without)  #: Protocol extensions that the nodes do not have.
        self.graceful_disconnect = graceful_disconnect  #: True if nodes announce that they stop.
        self._racks, self._dcs = tuple(racks), tuple(dcs)
        self._rng = random.Random(seed)
        self._ports = Allocator(address, ssl_context is not None and not tls_only)
        self._nodes: list[SimulatedNode] = []
        self._wanted = [shards] * nodes
        self._tally = Tally()
        self._requests: deque[list[Request]] = deque(maxlen=REMEMBERED)  # each in a list of its own: it may be replaced
        self._rules: list[Rule] = []
        self._reactor: Reactor | None = None
        self._database: Database | None = None

    # -- life

    def start(self) -> SimulatedCluster:
        """Start all nodes; once."""
        if self._reactor is not None:
            raise RuntimeError("a simulated cluster starts only once")
        self._reactor = Reactor(f"simulated cluster {self.name}")
        try:
            self._reactor.call(self._start_nodes)
        except BaseException:
            self.close()
            raise
        return self

    def _start_nodes(self) -> None:
        self._database = Database(self, self.members, self.tablets_enabled, self._rng)
        for shards in self._wanted:
            self._new_node(shards, None, None)._start(announce=False)

    def _new_node(self, shards: int, dc: str | None, rack: str | None) -> SimulatedNode:
        n = len(self._nodes)
        address, ports = self._ports.next()
        dc = dc or self._dcs[n % len(self._dcs)]
        rack = rack or self._racks[n // len(self._dcs) % len(self._racks)]
        return self._make_node(address, ports, shards, dc, rack)

    def _make_node(self, address: str, ports: Ports, shards: int, dc: str, rack: str) -> SimulatedNode:
        node = SimulatedNode(
            self, len(self._nodes), address, ports, shards=shards, datacenter=dc, rack=rack,
            tokens=sorted(self._rng.randint(MIN_TOKEN + 1, MAX_TOKEN) for _ in range(VNODES)),
            host_id=uuid.UUID(int=self._rng.getrandbits(128), version=4),
        )  # fmt: skip
        self._nodes.append(node)
        return node

    def close(self) -> None:
        """Stop everything. Idempotent."""
        if self._reactor is None:
            return
        try:
            self._reactor.call(self._close_nodes)
        except RuntimeError:
            return  # closed already
        self._reactor.close()

    def _close_nodes(self) -> None:
        for node in self._nodes:
            node.close()

    def __enter__(self) -> SimulatedCluster:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def reactor(self) -> Reactor:
        """The thread of the cluster, for its own parts. Raise RuntimeError before the start."""
        if self._reactor is None:
            raise RuntimeError("the simulated cluster has not started")
        return self._reactor

    @property
    def database(self) -> Database:
        """The data, for the cluster's own parts, and only on its thread."""
        assert self._database is not None
        return self._database

    def _call(self, action: Callable[[], T]) -> T:
        return self.reactor.call(action)

    # -- properties

    @property
    def nodes(self) -> list[SimulatedNode]:
        """All nodes, also removed ones, by index."""
        return list(self._nodes)

    @property
    def contact_points(self) -> list[str]:
        """The addresses of the nodes."""
        return list(dict.fromkeys(node.address for node in self._nodes if node.member))

    @property
    def port(self) -> int:
        """The port of the nodes (of the first one where each has its own)."""
        return self._nodes[0].port

    def members(self) -> Sequence[SimulatedNode]:
        """Return the current member nodes, for the cluster's own parts."""
        return [node for node in self._nodes if node.member]

    def clients(self, node: NodeFacts) -> Iterable[dict[str, Any]]:
        """Yield the rows of ``system.clients``."""
        assert isinstance(node, SimulatedNode)
        for connection in node.clients:
            state = connection.state
            yield {
                "address": packed(connection.peer[0]), "port": connection.peer[1], "client_type": "cql",
                "client_options": tuple(sorted(state.options.items())), "username": state.user or "anonymous",
                "connection_stage": "READY" if state.ready else "ESTABLISHED", "protocol_version": state.version,
                "driver_name": state.options.get("DRIVER_NAME"), "shard_id": connection.shard,
                "ssl_enabled": connection.encrypted, "driver_version": state.options.get("DRIVER_VERSION"),
            }  # fmt: skip

    # -- data

    def execute(self, query: str, keyspace: str | None = None) -> list[dict[str, Any]]:
        """Run a statement without a client: to make a schema, to read data. Values have the form of the simulation:
        whole numbers for dates and times, tuples for collections. Raise :mod:`cassandra.testing.errors`."""

        def run() -> list[dict[str, Any]]:
            engine = self.database.engine
            env = engine.env(())
            env.node = self._nodes[0]
            result = engine.run(engine.compile(query, keyspace), env)
            if isinstance(result, SchemaChange):
                self.schema_changed(result)
            if isinstance(result, SetKeyspace):
                raise ValueError("give the keyspace as an argument")
            if not isinstance(result, Rows):
                return []
            return [
                {
                    spec.name: None if cell is None else spec.type.decode(cell)
                    for spec, cell in zip(result.columns, row, strict=True)
                }
                for row in result.rows
            ]

        return self._call(run)

    def advance(self, seconds: float) -> None:
        """Advance the clock of the servers, so that data with a TTL expires."""

        def change() -> None:
            self.database.engine.clock.offset += seconds

        self._call(change)

    # -- requests and faults

    def handle(self, run: Run) -> None:
        """Respond to a request, or apply a rule to it, for connections."""
        rule = self._rule_for(run, run.record.consistency)
        if rule is None:
            response = run.execute()
            self._requests.append([run.record])  # before the response: a client with a response finds its request here
            self._tally.add(run.record)
            run.send(response)
        else:
            noted = [run.record]
            self._requests.append(noted)
            run.noted = lambda: self._note(run, noted)
            rule.reaction.react(run)
            noted[0] = run.record

    def _note(self, run: Run, noted: list[Request]) -> None:
        noted[0] = run.record
        self._tally.add(run.record)

    def arrived(self, arrival: Arrival) -> None:
        """Accept a new connection, or apply a rule to it, for nodes."""
        if any(rule.condition.opcode == CONNECT for rule in self._rules):
            rule = self._rule_for(arrival, None)
            if rule is not None:
                arrival.connection.keep_waiting()
                rule.reaction.react(arrival)

    def _rule_for(self, exchange: Exchange, consistency: str | None) -> Rule | None:
        for rule in self._rules:
            if rule.caught(exchange, consistency, self._rng):
                return rule
        return None

    def inject(
        self, reaction: Reaction, *, query: str | Pattern[str] | None = None, opcode: str | None = None,
        node: int | None = None, shard: int | None = None, connection: int | None = None, control: bool | None = None,
        consistency: str | None = None, probability: float | None = None,
        when: Callable[[Exchange], bool] | None = None, times: int | None = None, after: int = 0,
    ) -> Rule:  # fmt: skip
        """Apply *reaction* to the requests that match all conditions given, from now on; the first matching rule
        counts.

        :param query: text that the statement contains (case-insensitive), or a compiled pattern.
        :param opcode: ``"QUERY"``, ``"EXECUTE"``, ``"STARTUP"``, ...; ``"CONNECT"`` is a new connection.
        :param node: index of the node.
        :param connection: number of the connection at its node, from 0 in order of arrival.
        :param control: True for connections on which the client has registered for events.
        :param when: a function of the :class:`~cassandra.testing.faults.Exchange`.
        :param times: number of applications; None is unlimited.
        :param after: number of matching requests to skip first.

        Raises ValueError for an unknown opcode and for a reaction that cannot be applied to a new connection, and
        TypeError for an object without ``react()``.
        """
        if isinstance(reaction, type) or not callable(getattr(reaction, "react", None)):
            raise TypeError(f"a reaction is an object of cassandra.testing.faults, such as Drop(), not {reaction!r}")
        condition = Condition(query, opcode, node, shard, connection, control, consistency, probability, when)
        rule = Rule(condition, reaction, times, after, self._call)
        self._call(lambda: self._rules.append(rule))
        return rule

    def clear_faults(self) -> None:
        """Remove all rules."""

        def clear() -> None:
            for rule in self._rules:
                rule.remove()
            self._rules.clear()

        self._call(clear)

    @property
    def requests(self) -> list[Request]:
        """The requests since the start or :meth:`clear_requests`, in order of arrival; 100,000 at most."""
        return self._call(lambda: [noted[0] for noted in self._requests])

    def clear_requests(self) -> None:
        """Remove all recorded requests and their counts."""

        def clear() -> None:
            self._requests.clear()
            self._tally.clear()

        self._call(clear)

    def statements(self, table: str | None = None) -> list[Request]:
        """Return the requests that ran a statement on a table (``keyspace.table``; None: any non-system table)."""
        found = [item for item in self.requests if item.is_statement]
        if table is None:
            return [item for item in found if not str(item.keyspace).startswith("system")]
        return [item for item in found if f"{item.keyspace}.{item.table}" == table]

    def shard_hits(self, table: str | None = None) -> dict[tuple[int, int], int]:
        """Return the number of statements on a table that reached each (node, shard) since the start or
        :meth:`clear_requests`, without limit (*table* as for :meth:`statements`)."""
        return self._call(lambda: self._tally.hits(table))

    def routing(self, table: str | None = None) -> Routing:
        """Return how many statements on one partition reached a shard that owns it; counted and selected as for
        :meth:`shard_hits`::

            assert simulated.routing("shop.orders").share == 1.0
        """
        return self._call(lambda: self._tally.routing(table))

    # -- events

    def announce(self, kind: str, change: str, node: SimulatedNode) -> None:
        """Push an event about *node* to the clients of all other nodes, for nodes."""
        body = event(kind, wire.string(change) + wire.inet(node.packed_address, node.port))
        for other in self._nodes:
            if other is not node and other.alive:
                other.push(kind, body)

    def push_event(self, kind: str, change: str, node: int) -> None:
        """Push a STATUS_CHANGE or TOPOLOGY_CHANGE about *node* from every other node, true or not."""
        self._call(lambda: self.announce(kind, change, self._nodes[node]))

    def schema_changed(self, change: SchemaChange) -> None:
        """Notify the clients of a schema change, for requests."""
        body = event("SCHEMA_CHANGE", schema_change(change))
        for node in self._nodes:
            if node.alive:
                node.push("SCHEMA_CHANGE", body)

    # -- nodes

    def add_node(self, *, dc: str | None = None, rack: str | None = None, shards: int | None = None) -> SimulatedNode:
        """Add a node; tablets stay unchanged until :meth:`rebalance`."""

        def add() -> SimulatedNode:
            node = self._new_node(shards or self._wanted[0], dc, rack)
            node._start(announce=False)
            self.announce("TOPOLOGY_CHANGE", "NEW_NODE", node)
            self.announce("STATUS_CHANGE", "UP", node)
            return node

        return self._call(add)

    def remove_node(self, node: SimulatedNode) -> None:
        """Remove *node*; its tablets move to others first."""

        def remove() -> None:
            node.member = False
            self._leave(node)
            node._stop()
            self.announce("TOPOLOGY_CHANGE", "REMOVED_NODE", node)

        self._call(remove)

    def replace_node(self, node: SimulatedNode) -> SimulatedNode:
        """Let another node take the address and the ports of *node*, as a new pod does: one with another host id and
        without connections. *node* leaves; its tablets move to others. No event tells of it, but the system tables do.
        """

        def replace() -> SimulatedNode:
            node.member = False
            self._leave(node)
            node._vanish()
            new = self._make_node(node.address, node.ports, node.shards, node.datacenter, node.rack)
            new._start(announce=False)
            return new

        return self._call(replace)

    def set_client_routes(self, connection_id: str, routes: Mapping[int, tuple[str, int]]) -> None:
        """Write ``system.client_routes``: node index -> (address, port) under *connection_id*; clients that registered
        for CLIENT_ROUTES_CHANGE get an event."""

        def change() -> None:
            hosts = []
            for n, (address, port) in routes.items():
                host = self._nodes[n].host_id
                hosts.append(str(host))
                self._write_route(connection_id, host, address, port)
            body = (
                wire.string("UPDATE_NODES") + wire.string_list([connection_id] * len(hosts)) + wire.string_list(hosts)
            )
            for node in self._nodes:
                if node.alive:
                    node.push("CLIENT_ROUTES_CHANGE", event("CLIENT_ROUTES_CHANGE", body))

        self._call(change)

    def _write_route(self, connection_id: str, host: uuid.UUID, address: str, port: int) -> None:
        table = self.database.schema.keyspaces["system"].tables["client_routes"]
        table.virtual = False
        try:
            engine = self.database.engine
            text = connection_id.replace("'", "''")
            engine.run(engine.compile(
                "INSERT INTO system.client_routes (connection_id, host_id, address, port) "
                f"VALUES ('{text}', {host}, '{address}', {port})", None,
            ), engine.env(()))  # fmt: skip
        finally:
            table.virtual = True

    # -- tablets of tables, which are named ``keyspace.table``

    def tablets(self, table: str) -> list[TabletInfo]:
        """Return the tablets of a table, in token order."""
        return self._call(lambda: list(self._map(table).tablets))

    def _map(self, table: str) -> TabletMap:
        return self.database.tablets_of(table)[1]

    def migrate_tablet(self, table: str, token: int, source: int, target: int, shard: int = 0) -> TabletInfo:
        """Move the replica of the tablet of *token* from node *source* to *shard* of node *target* (indexes; the same
        node twice moves it between shards). Return the changed tablet."""

        def move() -> TabletInfo:
            found, tablets = self._map(table), self.nodes
            at = found.index(token)
            tablet = found.tablets[at]
            gone, new = tablets[source].host_id, tablets[target].host_id
            hosts = [host for host, _ in tablet.replicas]
            if gone not in hosts or (new in hosts and new != gone):
                raise ValueError(f"the tablet has replicas at {hosts}")
            if not 0 <= shard < tablets[target].shards:
                raise ValueError(f"node {target} has {tablets[target].shards} shards")
            replicas = tuple((new, shard) if host == gone else (host, old) for host, old in tablet.replicas)
            moved = replace(tablet, replicas=replicas)
            found.replace(at, 1, moved)
            return moved

        return self._call(move)

    def split_tablets(self, table: str) -> int:
        """Split every tablet in two halves, with the same replicas. Return the new number of tablets."""

        def split() -> int:
            found = self._map(table)
            halves = []
            for tablet in found.tablets:
                middle = (tablet.first_token + tablet.last_token) // 2
                halves += [replace(tablet, last_token=middle), replace(tablet, first_token=middle)]
            found.tablets = halves
            return len(halves)

        return self._call(split)

    def merge_tablets(self, table: str) -> int:
        """Merge each two neighbours, with the replicas of the first. Return the new number of tablets."""

        def merge() -> int:
            found = self._map(table)
            old = found.tablets
            if len(old) < 2:
                raise ValueError(f"{table} has only one tablet")
            found.tablets = [replace(old[n], last_token=old[n + 1].last_token) for n in range(0, len(old), 2)]
            return len(found.tablets)

        return self._call(merge)

    def rebalance(self) -> None:
        """Distribute all tablets over the current nodes, as for new tables."""

        def spread() -> None:
            for keyspace in self.database.schema.keyspaces.values():
                self.database.place_again(keyspace)

        self._call(spread)

    def shards_changed(self, node: SimulatedNode) -> None:
        """Move tablets off shards that no longer exist. For nodes."""
        self._each_replica(lambda host, shard: (host, shard % node.shards if host == node.host_id else shard))

    def _each_replica(self, change: Callable[[Any, int], tuple[Any, int]]) -> None:
        for table in self.database.schema.tables():
            if table.tablets is not None:
                table.tablets.tablets = [
                    replace(tablet, replicas=tuple(change(*replica) for replica in tablet.replicas))
                    for tablet in table.tablets.tablets
                ]

    def _leave(self, node: SimulatedNode) -> None:
        """Give the tablets of *node*, which left the cluster, to others."""
        for table in self.database.schema.tables():
            if table.tablets is None:
                continue
            factors = self.database.schema.keyspaces[table.keyspace].factors
            assert isinstance(factors, dict)
            for at, tablet in enumerate(table.tablets.tablets):
                if node.host_id in dict(tablet.replicas):
                    table.tablets.tablets[at] = self._without(tablet, node, factors, at)

    def _without(self, tablet: TabletInfo, node: SimulatedNode, factors: dict[str, int], turn: int) -> TabletInfo:
        held = dict(tablet.replicas)
        candidates = [other for other in self.members() if other.datacenter == node.datacenter]
        free = [other for other in candidates if other.host_id not in held]
        if not free:
            return replace(tablet, replicas=pick_replicas(factors, self.members(), turn))
        new = free[turn % len(free)]
        replicas = tuple(
            (new.host_id, turn % new.shards) if host == node.host_id else (host, shard)
            for host, shard in tablet.replicas
        )
        return replace(tablet, replicas=replicas)
