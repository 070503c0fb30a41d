"""Cluster: where applications connect (cassandra.cluster). The composition root of the session layer.

L5. A cluster is options (``cluster/options.py``) plus parts, each with one task and its own owner rules::

    scheduler           worker threads                      scheduler.py
    reactor             the I/O thread                      _core/transport
    metadata            hosts, ring, schema                 _routing/metadata.py
    control_connection  keeps the metadata fresh            control.py, events.py, refresh.py, agreement.py
    versions            the protocol version to speak       versions.py
    topology            which hosts there are               cluster/topology.py
    membership          whether they are up                 cluster/membership.py, reconnection.py
    schema_changes      DDL of the cluster's own sessions   cluster/schema.py
    prepared            prepared statements by id           cluster/prepared_cache.py
    host_listeners      users' HostStateListeners           listeners.py
    life                start and shutdown                  cluster/life.py

Two strands order what happens: the control connection's (what is read) and the membership's (what follows from it).
The first waits for the second, never the other way round. Locks are held for moments and never while something else
is called.
"""

from __future__ import annotations

import logging
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import DriverException, NoHostAvailable, OperationTimedOut
from cassandra._base.public import public
from cassandra._core.codec import TypeContext
from cassandra._net.connection import Connection
from cassandra._routing.metadata import Metadata
from cassandra._wire.types.registry import resolve_custom
from cassandra._wire.types.udt import UserType

from ..background import forks
from ..background.scheduler import Scheduler
from ..control.agreement import SchemaAgreementScope, wait_in_session
from ..control.control import ControlConnection
from ..control.queries import UNBOUNDED
from ..request.fallback import falls_back
from ..session import Session
from . import contact
from .awaitable import connect, shutdown
from .config import seconds
from .hosts import ClusterHosts
from .life import Life
from .listeners import Listeners
from .membership import Membership
from .options import check_profile, made
from .prepared_cache import PreparedRegistry
from .schema import SchemaChanges
from .sessions import SessionSet
from .topology import TopologyUpdater
from .versions import Versions

if TYPE_CHECKING:
    from cassandra._net.endpoint import EndPoint
    from cassandra._net.handshake.options import ConnectionOptions

    from ..ending import Ending
    from ..statements.prepared import PreparedStatement
    from .metrics import Metrics
    from .profiles import ExecutionProfile

log = logging.getLogger("cassandra.cluster")

Pools = Iterable["Future[bool]"]


@public("cassandra.cluster")
class Cluster(ClusterHosts):
    """A cluster of nodes as the driver knows it; makes :class:`Session` objects by :meth:`connect`.

    One per application and cluster of servers is right: all its sessions share the metadata and the threads.
    Example::

        with Cluster(["10.0.0.1", "10.0.0.2"]) as cluster:
            session = cluster.connect("app")

    and in asyncio ``async with Cluster([...]) as cluster: session = await cluster.connect_async("app")``.

    Contact:
        *contact_points* (addresses, names, ``(address, port)`` pairs or end points; 127.0.0.1), *port*,
        *endpoint_factory*,
        *address_translator*; *client_routes_config* (:class:`cassandra.client_routes.ClientRoutesConfig`) for nodes of
        ScyllaDB behind private links.
    Connections:
        *protocol_version* (the highest that all nodes speak, unless given), *allow_beta_protocol_version*,
        *compression* (True: the best both sides have; False; ``"lz4"``, ``"snappy"``), *auth_provider*, *ssl_context*
        (or *ssl_options*, ``{}``
        included, for TLS),
        *ssl_session_cache*, *sockopts*, *connect_timeout* (seconds for the whole opening), *cql_version*,
        *no_compact*,
        *idle_heartbeat_interval* and *idle_heartbeat_timeout* (seconds; 0 turns heartbeats off), *application_info*,
        *shard_aware_options*. *connection_class* is accepted and not used: there is one transport.
    Requests:
        *execution_profiles* (``{name: ExecutionProfile}``), or the legacy *load_balancing_policy* and
        *default_retry_policy*;
        *timestamp_generator*, *prepare_on_all_hosts*, *reprepare_on_up*, *metrics_enabled*,
        *allow_control_connection_query_fallback*; *request_tracker* (a :class:`RequestTracker`, which hears of every
        request and its attempts), *slow_request_threshold* (seconds: requests that take longer are logged by
        ``cassandra.slow``, with host, attempts and statement, without values).
    Limits:
        *max_requests_per_connection*, *max_requests_per_host*, *max_requests_per_session* (requests in flight; None:
        what the protocol allows, no limit, no limit); where they are reached requests wait, *max_waiting_requests* of
        them, up to *max_request_wait* seconds (None: as long as their own timeout lets them).
    Hosts:
        *reconnection_policy* (how long to wait before a host that is down is tried again: from one second up to one
        minute), *conviction_policy_factory*.
    Metadata:
        *control_connection_timeout* (seconds per query), *max_schema_agreement_wait* (seconds after a schema change;
        0 does not wait),
        *schema_metadata_enabled*, *token_metadata_enabled*, *schema_metadata_page_size*, *metadata_request_timeout*
        (ScyllaDB), and the
        longest delay in seconds before an event is acted on: *schema_event_refresh_window*,
        *topology_event_refresh_window*,
        *status_event_refresh_window* (0: at once, negative: never).
    Threads and memory:
        *executor_threads* for background work; *memory_pool*, a :class:`cassandra.memory.MemoryPool` that frames are
        received into.

    Wrong options raise TypeError or ValueError; *cloud*, *scylla_cloud* and *column_encryption_policy* are not
    supported (NotImplementedError).
    """

    is_shutdown: bool = False
    endpoints_resolved: list[EndPoint]
    unresolved: Mapping[str, Exception]  # contact points that could not be looked up
    metrics: Metrics | None = None
    scheduler: Scheduler = made()
    executor: Scheduler = made()

    def _build(self) -> None:
        self.endpoints_resolved, self.unresolved = [], {}
        self._told_unresolved: set[str] = set()
        self.metadata = Metadata()
        self.sessions = SessionSet()
        self.user_types: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self.prepared = PreparedRegistry()
        self.type_context = TypeContext(resolve_custom, self._resolve_udt)
        self.scheduler = self.executor = Scheduler(self.executor_threads)
        self.host_listeners = Listeners(self.scheduler)
        self.versions = Versions(self)
        self.membership = Membership(self)
        self.topology = TopologyUpdater(self)
        self.schema_changes = SchemaChanges(self)
        self.control_connection = ControlConnection(
            self,
            self.control_connection_timeout,
            self.schema_event_refresh_window,
            self.topology_event_refresh_window,
            self.status_event_refresh_window,
            self._schema_metadata_enabled,
            self._token_metadata_enabled,
            self.schema_metadata_page_size,
        )
        self.life = Life(self)
        forks.watch(self)
        if self.metrics_enabled:
            from .metrics import Metrics

            self.metrics = Metrics(weakref.proxy(self))

    # ---- connecting

    def connect(self, keyspace: str | None = None, wait_for_all_pools: bool = False) -> Session:
        """Connect, and make a session that uses *keyspace*.

        Returns when the session is connected to a host, or with *wait_for_all_pools* when it tried all. Raises
        :exc:`NoHostAvailable` with an error per host, :exc:`UnresolvableContactPoints`, :exc:`DriverException` after
        a shutdown. When the very first connect finds no node, the cluster is shut down.
        """
        self.life.refuse_to_block()
        self._result(self.life.start())
        session = self._new_session(keyspace)
        try:
            self._await_pools(session, session.update_created_pools(), wait_for_all_pools)
        except BaseException:
            session.shutdown()
            raise
        return session

    async def connect_async(self, keyspace: str | None = None, wait_for_all_pools: bool = False) -> Session:
        """As :meth:`connect`, without blocking the running loop.

        .. versionadded:: 4.0
        """
        return await connect(self, keyspace, wait_for_all_pools)

    def _new_session(self, keyspace: str | None) -> Session:
        session = Session(self, self.metadata.all_hosts(), keyspace or None)
        self.sessions.add(session)
        if self.is_shutdown or self.life.is_draining:
            session.shutdown()
            raise DriverException("Cluster is already shut down")
        return session

    def _await_pools(self, session: Session, opening: Pools, wait_for_all: bool) -> None:
        deadline = monotonic() + 2 * (UNBOUNDED if self.connect_timeout is None else self.connect_timeout) + 5.0
        pending = set(opening)
        while pending and (wait_for_all or not session._pools):
            _, pending = wait(pending, max(0.0, deadline - monotonic()), return_when=FIRST_COMPLETED)
            if monotonic() >= deadline:
                break  # pools have time limits of their own; this is the belt to their braces
        self._check_pools(session)

    def _check_pools(self, session: Session) -> None:
        if session._pools or falls_back(self):
            return
        if self.is_shutdown:
            raise DriverException("The cluster was shut down while it was connecting")
        using = f" using keyspace '{session.keyspace}'" if session.keyspace else ""
        raise NoHostAvailable(f"Unable to connect to any servers{using}", session._pool_set.reasons())

    @staticmethod
    def _result(future: Future[Any]) -> Any:
        try:
            return future.result()
        except CancelledError:
            raise DriverException("The cluster was shut down") from None

    def resolve_contact_points(self) -> list[EndPoint]:
        """End points of all contact points in random order, names looked up now. Blocks; UnresolvableContactPoints if
        nothing is left."""
        found = self.look_up()
        found.wait()
        return contact.shuffled(self.contacts_found(found))

    def look_up(self) -> contact.LookUp:
        """Begin to look up the contact points. Does not block."""
        return contact.LookUp(self.contact_points, self.port, self._told_unresolved)

    def contacts_found(self, found: contact.LookUp) -> list[EndPoint]:
        """Use what was looked up so far, in the order given; UnresolvableContactPoints if that is nothing."""
        endpoints, self.unresolved = found.endpoints(), found.unresolved()
        if not endpoints:
            raise found.nothing()
        self.endpoints_resolved = endpoints
        return endpoints

    # ---- for the parts

    def control_timeout(self) -> float:
        """``control_connection_timeout``, or the finite time that None means."""
        timeout = self.control_connection_timeout
        return UNBOUNDED if timeout is None else timeout

    def open_connection(
        self, endpoint: EndPoint, on_done: Callable[[Connection | BaseException], None], host_id: Any = None
    ) -> None:
        """Open a connection outside of pools. Does not block; *on_done* is called on the I/O thread."""
        options = self.asking_options()
        Connection.open(self.reactor, endpoint, options, on_done, context=self.type_context, host_id=host_id)

    def asking_options(self) -> ConnectionOptions:
        """``connection_options`` for a connection that finds out which protocol version its node speaks."""
        return self.connection_options().replace(begin_high=not self._protocol_version_explicit)

    def _connection_opened(self, connection: Connection) -> None:
        self.versions.heard(connection)

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        """Run *fn* on a background thread; the future is cancelled if the cluster is shut down before."""
        return self.scheduler.submit(fn, *args, **kwargs)

    def session_closed(self, session: Ending) -> None:
        """A session was shut down."""
        self.sessions.discard(session)

    def wait_for_schema_agreement(self, session: Session, wait_time: float | None, scope: SchemaAgreementScope) -> bool:
        """Body of :meth:`Session.wait_for_schema_agreement`."""
        self.life.refuse_to_block()
        return wait_in_session(session, wait_time, scope, self.max_schema_agreement_wait)

    def protocol_downgrade(self, host_endpoint: EndPoint, previous_version: int) -> None:
        """Use the next lower protocol version from now on. DriverException when the version was given, or there is
        none lower."""
        if self._protocol_version_explicit:
            raise DriverException(
                f"{host_endpoint} does not speak protocol version {previous_version}, which was given"
            )
        lower = ProtocolVersion.get_lower_supported(previous_version)
        if not lower:
            raise DriverException(f"{host_endpoint} speaks no protocol version that this driver does")
        self._protocol_version = lower

    # ---- prepared statements and user types

    def add_prepared(self, query_id: bytes, prepared_statement: PreparedStatement) -> None:
        """Remember *prepared_statement*, weakly, to prepare it on hosts that come up or lost it."""
        self.prepared.add(query_id, prepared_statement)

    def get_prepared(self, query_id: bytes) -> PreparedStatement | None:
        """The prepared statement with that id, if the application still has it."""
        return self.prepared.get(query_id)

    def register_user_type(self, keyspace: str, user_type: str, klass: type) -> None:
        """Read values of ``keyspace.user_type`` as instances of *klass*, made with the fields as keyword arguments,
        and let simple statements write them. Holds for statements that were prepared before, too, in requests made from
        now on. Raises :exc:`UserTypeDoesNotExist` on a connected cluster without that
        type."""
        for session in self.sessions:
            session.user_type_registered(keyspace, user_type, klass)
        self.user_types[keyspace][user_type] = klass
        UserType.evict_udt_class(keyspace, user_type)
        self.type_context.clear()
        for statement in self.prepared.every():
            statement._read_as(keyspace, user_type, klass)

    def _resolve_udt(self, keyspace: str, name: str) -> Any:
        types = self.user_types.get(keyspace)
        return types.get(name) if types is not None else None

    # ---- profiles

    def add_execution_profile(self, name: Any, profile: ExecutionProfile, pool_wait_timeout: float | None = 5) -> None:
        """Add a profile to a running cluster, and open the pools it needs.

        Waits at most *pool_wait_timeout* seconds for them, then raises :exc:`OperationTimedOut`; the profile stays.
        None does not wait. ValueError for a name in use, or when legacy parameters were set.
        """
        check_profile(name, profile)
        if name in self.profile_manager.profiles:
            raise ValueError(f"Profile {name!r} already exists")
        self.check_profiles_allowed()
        self.membership.strand.call(self._add_profile, name, profile)
        opening = {future for session in self.sessions for future in session.update_created_pools()}
        if opening and pool_wait_timeout is not None:
            _, late = wait(opening, pool_wait_timeout)
            if late:
                hosts = f"Failed to create all new connection pools in the {pool_wait_timeout}s timeout."
                raise OperationTimedOut({str(name): hosts})

    def _add_profile(self, name: Any, profile: ExecutionProfile) -> None:
        """On the membership's strand, so that no change of a host is missed."""
        hosts = self.metadata.all_hosts()
        policy = profile.load_balancing_policy
        if all(policy is not known for known in self.profile_manager.policies()) and hosts:
            policy.populate(self, hosts)
            for host in hosts:
                if host.is_up is False:
                    policy.on_down(host)
            policy.check_supported()
        self.profile_manager.profiles = {**self.profile_manager.profiles, name: profile}
        for host in hosts:
            if host.is_up is False and not self.membership.is_ignored(host):
                self.membership.reconnect(host, at_once=False)

    # ---- the end

    def shutdown(self, drain: float | None = None) -> None:
        """Close all sessions and connections. Idempotent, bounded, from any thread, callbacks included.

        With *drain* nothing new is taken from now on, and what is in flight (retries and agreement on schema changes
        included) may finish within so many seconds; what has not finished then, and without *drain* everything, fails.
        In a callback, on the I/O thread, it does not wait.

        A cluster that was connected lives until this is called, or the process exits: its threads refer to it, so
        that it keeps its connections although the program has let go of it.
        """
        self.life.stop(drain=seconds("drain", drain) or 0.0)

    async def shutdown_async(self, drain: float | None = None) -> None:
        """As :meth:`shutdown`, without blocking the running loop.

        .. versionadded:: 4.0
        """
        await shutdown(self.life, seconds("drain", drain) or 0.0)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()

    async def __aenter__(self) -> Cluster:
        return self

    async def __aexit__(self, *args: object) -> None:
        await self.shutdown_async()
