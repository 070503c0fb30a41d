"""A simulated node: its listeners, its connections, its state."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from cassandra.testing import _wire as wire
from cassandra.testing._connection import EVENT_STREAM, Connection, Response
from cassandra.testing._engine import Prepared
from cassandra.testing._reactor import READ, Ports, Reactor
from cassandra.testing._requests import GRACEFUL, LWT, LWT_MASK, METADATA_ID, RATE_LIMIT, V1, V2, Run
from cassandra.testing._rules import Arrival
from cassandra.testing._topology import IGNORE_MSB
from cassandra.testing._wire import NUMBERS, Frame
from cassandra.testing.errors import RateLimit

if TYPE_CHECKING:
    from cassandra.testing._cluster import SimulatedCluster

T = TypeVar("T")
BACKLOG = 128


def hold_port(address: str, port: int) -> socket.socket:
    """Return a socket that reserves *port* while no listener uses it."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
    except OSError:
        sock.close()
        raise
    return sock


class SimulatedNode:
    """A node of a :class:`~cassandra.testing.SimulatedCluster`, which creates it. Methods are for any thread."""

    def __init__(
        self, cluster: SimulatedCluster, index: int, address: str, ports: Ports, *, datacenter: str,
        rack: str, shards: int, tokens: Sequence[int], host_id: UUID,
    ) -> None:  # fmt: skip
        self.cluster = cluster  #: The cluster.
        self.index = index  #: Number of the node in ``cluster.nodes``.
        self.address = address  #: Address that it listens on.
        #: The same as *port*, with TLS.
        #: TCP port at which the client's port selects the shard.
        #: The same as *shard_aware_port*, with TLS.
        self.port, self.shard_aware_port, self.tls_port, self.shard_aware_tls_port = ports  #: TCP port.
        self.ports = ports  #: All of its ports.
        self.datacenter = datacenter  #: Name of the datacenter.
        self.rack = rack  #: Name of the rack.
        self.shards = shards  #: Number of shards.
        self.tokens = tokens  #: Tokens on the ring.
        self.host_id = host_id  #: Id of the node, a UUID.
        self.generation = 1  #: Number of its starts.
        self.release_version = cluster.release_version  #: Version that the node reports.
        self.versions: tuple[int, ...] = cluster.protocol_versions  #: Protocol versions of the node.
        self.prepared: dict[bytes, Prepared] = {}  #: Prepared statements by id.
        self.member = True  #: False after the node has left the cluster.
        self.advertise_shard_aware_port = True  #: False does not announce the shard-aware port.
        """True if SUPPORTED lists the shard-aware port."""
        self.port_shift = 0  #: Added to the client's port, as a NAT does.
        """Offset that an address translation adds to the ports of clients: their shard differs from the one they
        computed."""
        self._schema_version: UUID | None = None
        self._running = False
        self._paused = False
        self._refusing = False
        self._draining = False
        self._drained = threading.Event()  # set when a draining node has no connection left
        self._connections: list[Connection] = []
        self._accepted = 0
        self._listeners: list[socket.socket] = []
        self._held = [hold_port(address, port) for port in set(ports)]

    def __repr__(self) -> str:
        state = "paused" if self._paused else "up" if self._running else "down"
        return f"<SimulatedNode {self.index} {self.address}:{self.port} {self.datacenter}/{self.rack} {state}>"

    # -- properties

    @property
    def reactor(self) -> Reactor:
        """The thread of the cluster, for the cluster."""
        return self.cluster.reactor

    @property
    def packed_address(self) -> bytes:
        """:attr:`address` as the bytes of an ``inet``."""
        return ipaddress.ip_address(self.address).packed

    @property
    def alive(self) -> bool:
        """True if the other nodes consider it up."""
        return self._running and not self._paused

    @property
    def schema_version(self) -> UUID:
        """The schema version that it reports; see :meth:`disagree`."""
        return self._schema_version or self.cluster.database.schema.version

    def _call(self, action: Callable[[], T]) -> T:
        return self.reactor.call(action)

    @property
    def connections(self) -> int:
        """The current number of connections."""
        return self._call(lambda: len(self._connections))

    def connections_by_shard(self) -> dict[int, int]:
        """Return the current number of connections by shard."""

        def count() -> dict[int, int]:
            found = dict.fromkeys(range(self.shards), 0)
            for connection in self._connections:
                found[connection.shard] = found.get(connection.shard, 0) + 1
            return found

        return self._call(count)

    # -- life

    def start(self) -> None:
        """Listen; the other nodes report it as up. No effect if it runs."""
        self._call(lambda: self._start(announce=True))

    def _start(self, announce: bool) -> None:
        if self._running:
            return
        self._running, self._paused, self._draining = True, False, False
        self._listen()
        if announce:
            self.cluster.announce("STATUS_CHANGE", "UP", self)

    def stop(self) -> None:
        """Shut down in order: connections close, prepared statements are dropped, the others report it as down."""
        self._call(self._stop)

    def _stop(self) -> None:
        if not self._running:
            return
        self._running = False
        self._deafen()
        self._drop()
        self.prepared.clear()
        self.generation += 1
        self.cluster.announce("STATUS_CHANGE", "DOWN", self)

    def drain(self, limit: float = 10.0) -> None:
        """Shut down in order, as :meth:`stop`, but announce it first (GRACEFUL_DISCONNECT, CEP-59): new connections are
        refused, requests are still handled, and the node stops when its clients have closed their connections, at the
        latest after *limit* seconds. Blocks until then. Only clients of a cluster with ``graceful_disconnect=True`` can
        register for the announcement::

            for node in simulated.nodes:  # a rolling restart
                node.drain()
                node.start()
        """
        self._call(self._drain)
        self._drained.wait(limit)
        self.stop()

    def _drain(self) -> None:
        if not self._running:
            self._drained.set()
            return
        self._draining = True
        self._drained.clear()
        self._deafen()
        self.push(GRACEFUL, wire.string(GRACEFUL))
        if not self._connections:
            self._drained.set()

    def push_event(self, body: bytes, kind: str | None = None) -> None:
        """Push an EVENT message with this *body*, well-formed or not, to every client that has finished its handshake;
        with *kind*, to those that have registered for this type of events."""

        def push() -> None:
            for connection in list(self._connections):
                if connection.state.ready and (kind is None or kind in connection.state.events):
                    connection.send(Response(NUMBERS["EVENT"], body), EVENT_STREAM)

        self._call(push)

    def kill(self) -> None:
        """Stop as :meth:`stop`, but with connections reset, as when the machine of the node restarts."""
        self._call(self._kill)

    def _kill(self) -> None:
        self._drop(reset=True)
        self._stop()

    def restart(self) -> None:
        """Call :meth:`stop` and :meth:`start`."""

        def both() -> None:
            self._stop()
            self._start(announce=True)

        self._call(both)

    def reshard(self, shards: int) -> None:
        """Restart with another number of shards; tablets move to shards that exist."""

        def change() -> None:
            self._stop()
            self.shards = shards
            self.cluster.shards_changed(self)
            self._start(announce=True)

        self._call(change)

    def pause(self) -> None:
        """Stop reading, responding and accepting without closing anything, as SIGSTOP does."""
        self._call(lambda: self._pause(True))

    def resume(self) -> None:
        """Continue after :meth:`pause`: requests that arrived meanwhile are handled now."""
        self._call(lambda: self._pause(False))

    def _pause(self, paused: bool) -> None:
        self._paused = paused
        for listener in self._listeners:
            self.reactor.watch(listener, 0 if paused else READ, lambda events: None)
        if not paused:
            self._deafen()
            self._listen()
        for connection in list(self._connections):
            connection.pause(paused)

    def refuse_connections(self, refuse: bool = True) -> None:
        """Refuse new connections; open ones stay."""

        def change() -> None:
            self._refusing = refuse
            self._deafen()
            self._listen()

        self._call(change)

    def drop_connections(self) -> None:
        """Close all connections; new ones are accepted."""
        self._call(self._drop)

    def _drop(self, reset: bool = False) -> None:
        for connection in list(self._connections):
            connection.close(reset)

    def forget_prepared(self) -> None:
        """Drop prepared statements: clients get UNPREPARED."""
        self._call(self.prepared.clear)

    def disagree(self, disagrees: bool = True) -> None:
        """Report a schema version of its own, like a node that has not received a change yet."""

        def change() -> None:
            self._schema_version = uuid.uuid4() if disagrees else None

        self._call(change)

    def _vanish(self) -> None:
        """Stop without notice, and release the ports."""
        self._drop(reset=True)
        self.close()

    def close(self) -> None:
        """Release all resources, for the cluster."""
        self._running = False
        self._deafen()
        self._drop()
        for sock in self._held:
            sock.close()

    # -- connections

    def _listen(self) -> None:
        if not self._running or self._refusing or self._paused or self._draining:
            return
        for port in (self.port, self.shard_aware_port):
            self._listen_at(port, self.tls if port in (self.tls_port, self.shard_aware_tls_port) else None)
        if self.tls is not None and self.tls_port != self.port:
            for port in (self.tls_port, self.shard_aware_tls_port):
                self._listen_at(port, self.tls)

    def _listen_at(self, port: int, tls: ssl.SSLContext | None) -> None:
        listener = hold_port(self.address, port)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        self._listeners.append(listener)
        by_port = port in (self.shard_aware_port, self.shard_aware_tls_port)
        self.reactor.watch(listener, READ, self._acceptor(listener, by_port, tls))

    def _deafen(self) -> None:
        for listener in self._listeners:
            self.reactor.watch(listener, 0, lambda events: None)
            listener.close()
        self._listeners = []

    @property
    def tls(self) -> ssl.SSLContext | None:
        """The TLS context of the server, or None."""
        return self.cluster.ssl_context

    def _acceptor(self, listener: socket.socket, by_port: bool, tls: ssl.SSLContext | None) -> Callable[[int], None]:
        def accept(events: int) -> None:
            try:
                sock, peer = listener.accept()
            except OSError:  # the client closed it between the event and now
                return
            number = self._accepted
            self._accepted += 1
            shard = (peer[1] + self.port_shift if by_port else number) % self.shards
            if tls is not None:
                sock = tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
            connection = Connection(sock, self, shard, number, by_port)
            self._connections.append(connection)
            self.cluster.arrived(Arrival(self, connection))

        return accept

    def closed(self, connection: Connection) -> None:
        """Remove a closed connection. Called by the connection."""
        if connection in self._connections:
            self._connections.remove(connection)
        if self._draining and not self._connections:
            self._drained.set()

    def received(self, connection: Connection, frame: Frame) -> None:
        """Handle a request. Called by its connection."""
        self.cluster.handle(Run(self, connection, frame))

    def push(self, kind: str, body: bytes) -> None:
        """Send an event to every client that registered for its kind."""
        for connection in list(self._connections):
            if kind in connection.state.events:
                connection.send(Response(NUMBERS["EVENT"], body), EVENT_STREAM)

    @property
    def clients(self) -> list[Connection]:
        """The connections, for the cluster's thread."""
        return self._connections

    def supported(self, connection: Connection) -> dict[str, list[str]]:
        """Return the options that SUPPORTED lists on *connection*."""
        options = {
            "COMPRESSION": list(wire.NAMES),
            "CQL_VERSION": ["3.3.1"],
            "PROTOCOL_VERSIONS": [f"{version}/v{version}" for version in sorted(self.versions)],
            "SCYLLA_HOST_ID": [str(self.host_id)],
            "SCYLLA_SHARD": [str(connection.shard)],
            "SCYLLA_NR_SHARDS": [str(self.shards)],
            "SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.Murmur3Partitioner"],
            "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
            "SCYLLA_SHARDING_IGNORE_MSB": [str(IGNORE_MSB)],
            LWT: [f"LWT_OPTIMIZATION_META_BIT_MASK={LWT_MASK}"],
            RATE_LIMIT: [f"ERROR_CODE={RateLimit.CODE}"],
            METADATA_ID: [""],
        }
        if self.advertise_shard_aware_port:
            if self.tls is None or self.tls_port != self.port:
                options["SCYLLA_SHARD_AWARE_PORT"] = [str(self.shard_aware_port)]
            if self.tls is not None:
                options["SCYLLA_SHARD_AWARE_PORT_SSL"] = [str(self.shard_aware_tls_port)]
        if self.cluster.tablets_enabled:
            options[V1] = [""]
            if self.cluster.tablets_v2:
                options[V2] = [""]
        if self.cluster.graceful_disconnect:
            options[GRACEFUL] = ["true"]
        return {name: values for name, values in options.items() if name not in self.cluster.without}
