"""Schema agreement of the nodes, and the schema changes made by the cluster's own sessions.

L5. The driver waits until nodes agree on the schema version after DDL, before a refresh, and on request of the user. No
thread is blocked during the wait: an :class:`AgreementWait` sends queries, handles the responses on the I/O thread, and
repeats from a timer. There are two kinds of rounds: the control connection's node returns the versions of all
(:func:`cluster_round`), or every connected node in a scope returns its own (:func:`session_round`).

:meth:`SchemaChanges.handle` is called on the I/O thread with a SCHEMA_CHANGE response: agreement, one refresh, then
completion of the future. Waiting for agreement takes no thread; changes that agree while a refresh runs are read
together by the next one. While there is no control connection the wait for the refresh is bounded by the time limit of
a response (``control_connection_timeout``).

``_open`` and ``_agreed`` are guarded by ``_lock``; the thread that removes a change from ``_open`` completes it, so
that each is completed exactly once, by a refresh, its limit or the shutdown.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaTargetType
from cassandra._base.errors import DriverException, NoConnectionsAvailable
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._base.process import AutoResetEvent, renew
from cassandra._routing.policies import HostDistance
from cassandra._routing.schema.rows import KEYSPACE_CONTENTS

from .events import reduce_targets
from .queries import Row, gather_async, query, rows_of

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._routing.schema import SchemaTarget
    from cassandra._session.cluster import Cluster
    from cassandra._session.scheduler import Task
    from cassandra._session.session import Session

log = get_logger("cassandra.cluster")

FIRST_PAUSE = 0.02  # seconds between two rounds
LONGEST_PAUSE = 0.2

LOCAL_VERSION = "SELECT schema_version FROM system.local WHERE key='local'"

#: A round of queries: calls back with True (agreed), False (not yet), or the exception that prevented it.
Round = Callable[[float, Callable[[bool | BaseException], None]], None]
#: Completion of a schema change: ``on_done(agreed, error)``.
OnDone = Callable[[bool, BaseException | None], None]


# ---- schema agreement


class SchemaAgreementScope(str, Enum):
    """The nodes that must agree: those of the client's rack, of its datacenter, or all."""

    RACK = "rack"  #: Nodes of the rack of the control connection's node.
    DC = "dc"  #: Nodes of the datacenter of the control connection's node.
    CLUSTER = "cluster"  #: All nodes that are up.


SchemaAgreementScope.__module__ = "cassandra.cluster"


class AgreementWait:
    """Runs rounds until the nodes agree or the time is up; then calls ``on_done(agreed)`` exactly once.

    *on_done* runs on the I/O thread or a worker, or on the calling thread without a wait. One round is always made.
    """

    def __init__(self, cluster: Cluster, run_round: Round, wait_time: float, on_done: Callable[[bool], None]) -> None:
        self._cluster = cluster
        self._query = run_round
        self._deadline = monotonic() + wait_time
        self._next_pause = FIRST_PAUSE
        self._on_done = deque([on_done])

    def start(self) -> None:
        """Run the first round."""
        if self._cluster.is_shutdown:
            self._finish(False)
            return
        timeout = max(0.001, self._deadline - monotonic())
        limit = self._cluster.control_connection_timeout
        try:
            self._query(timeout if limit is None else min(timeout, limit), self._on_agreement_response)
        except Exception as error:
            self._on_agreement_response(error)

    def _on_agreement_response(self, agreed: bool | BaseException) -> None:
        if agreed is True:
            self._finish(True)
            return
        if agreed is not False:
            log.debug("Could not query schema versions: %s", agreed)
        remaining = self._deadline - monotonic()
        if remaining <= 0 or self._cluster.is_shutdown:
            self._finish(False)
            return
        pause, self._next_pause = self._next_pause, min(LONGEST_PAUSE, self._next_pause * 2)
        task = self._cluster.scheduler.schedule(min(pause, remaining), self.start)
        if task.cancelled:  # the cluster was shut down meanwhile
            self._finish(False)

    def _finish(self, agreed: bool) -> None:
        try:
            on_done = self._on_done.pop()
        except IndexError:
            return
        on_done(agreed)


def cluster_round(
    cluster: Cluster, timeout: float, on_done: Callable[[bool | BaseException], None], coordinator: Host | None = None
) -> None:
    """Query one node for its own schema version and those of its peers: *coordinator*, or the control connection's
    node.

    After a schema change it must be the node that made it: the others may still agree on the previous version. The
    control connection's node must agree in any case, since the schema is read from it. Peers that are down, or unknown
    to the driver (yet), do not count: they will catch up when they join.
    """
    control = cluster.control_connection
    own_connection = control.connection
    asked = connection_to(cluster, coordinator) or own_connection
    if asked is None:
        on_done(ConnectionError("no control connection at the moment"))
        return
    versions: set[Any] = set()
    errors: list[BaseException] = []
    separate = own_connection is not None and own_connection.endpoint != asked.endpoint
    waiting = 2 if separate else 1
    lock = driver_lock("agreement")

    def on_response(answers: list[Any]) -> None:
        nonlocal waiting
        with lock:
            for answer in answers:
                if isinstance(answer, BaseException):
                    errors.append(answer)
                else:
                    versions.update(_versions(cluster, rows_of(answer)))
            waiting -= 1
            last = not waiting
        if last:
            on_done(errors[0] if errors else len(versions) <= 1)

    gather_async(asked, [query(LOCAL_VERSION), query(control.peers_version_query)], timeout, on_response)
    if separate and own_connection is not None:
        gather_async(own_connection, [query(LOCAL_VERSION)], timeout, on_response)


def _versions(cluster: Cluster, rows: Iterable[Row]) -> Iterator[Any]:
    """Yield the schema versions that count: of the node itself, and of peers that are not down."""
    for row in rows:
        if "host_id" in row:
            host = cluster.metadata.get_host_by_host_id(row["host_id"]) if row["host_id"] else None
            if host is None or row["schema_version"] is None or not _is_version_relevant(cluster, host):
                continue
        yield row["schema_version"]


def _is_version_relevant(cluster: Cluster, host: Host) -> bool:
    """True if the version of *host* counts. Hosts that all policies ignore have no connections: their state is known
    from events only."""
    return bool(host.is_up or (host.is_up is None and not cluster.membership.is_ignored(host)))


def connection_to(cluster: Cluster, host: Host | None) -> Connection | None:
    """Return any open connection of the sessions' pools to *host*."""
    if host is None:
        return None
    for session in cluster.sessions:
        pool = session._pools.get(host)
        if pool is not None:
            with contextlib.suppress(NoConnectionsAvailable):
                return pool.pick()
    return None


def session_round(
    session: Session, scope: SchemaAgreementScope, timeout: float, on_done: Callable[[bool | BaseException], None]
) -> None:
    """Query every host in *scope* to which *session* is connected; a host that does not respond counts as a
    disagreement."""
    connections = []
    for host in hosts_in_scope(session, scope):
        pool = session._pools.get(host)
        if pool is None:
            continue
        try:
            connections.append(pool.pick())
        except NoConnectionsAvailable as error:
            on_done(error)
            return
    answers: list[Any] = []
    lock = driver_lock("agreement")

    def on_response(answer: Any) -> None:
        with lock:
            answers.extend(answer)
            if len(answers) < len(connections):
                return
        error = next((one for one in answers if isinstance(one, BaseException)), None)
        versions = set() if error else {row["schema_version"] for one in answers for row in rows_of(one)}
        on_done(error if error is not None else len(versions) <= 1)

    if not connections:
        on_done(NoConnectionsAvailable("the session is not connected to any host in the scope"))
    for connection in connections:
        gather_async(connection, [query(LOCAL_VERSION)], timeout, on_response)


def hosts_in_scope(session: Session, scope: SchemaAgreementScope) -> list[Host]:
    """Return the hosts of *scope* that are not down. The client's own rack and datacenter are those of its nearest
    host."""
    cluster = session.cluster
    hosts = [host for host in session._pools if host.is_up is not False]
    if scope is SchemaAgreementScope.CLUSTER or not hosts:
        return hosts
    own_connection = nearest(cluster, hosts)
    same_dc = [host for host in hosts if host.datacenter == own_connection.datacenter]
    if scope is SchemaAgreementScope.DC:
        return same_dc
    return [host for host in same_dc if host.rack == own_connection.rack]


def nearest(cluster: Cluster, hosts: Iterable[Host]) -> Host:
    """Return the nearest host by the policies; among equals the control connection's, which represents the location of
    the client."""
    order = [HostDistance.LOCAL_RACK, HostDistance.LOCAL, HostDistance.REMOTE, HostDistance.IGNORED]
    control = cluster.get_control_connection_host()

    def rank(host: Host) -> tuple[int, bool]:
        return order.index(cluster.profile_manager.distance(host)), host is not control

    return min(hosts, key=rank)


def wait_in_session(
    session: Session, wait_time: float | None, scope: SchemaAgreementScope | str, default_wait: float
) -> bool:
    """Implement :meth:`Session.wait_for_schema_agreement`; blocks the caller."""
    try:
        wanted = SchemaAgreementScope(scope)
    except ValueError:
        names = ", ".join(f"SchemaAgreementScope.{known.name}" for known in SchemaAgreementScope)
        raise ValueError(f"Unknown scope {scope!r}: expected one of {names}") from None
    limit = default_wait if wait_time is None else wait_time
    if limit <= 0:
        raise ValueError(f"wait_time should be more than 0 seconds, not {limit!r}")

    def run_round(timeout: float, on_done: Callable[[bool | BaseException], None]) -> None:
        session_round(session, wanted, timeout, on_done)

    return block(session.cluster, run_round, limit)


def block(cluster: Cluster, run_round: Round, wait_time: float) -> bool:
    """Wait on the calling thread."""
    done = AutoResetEvent()
    outcome = [False]

    def finish(agreed: bool) -> None:
        outcome[0] = agreed
        done.set()

    AgreementWait(cluster, run_round, wait_time, finish).start()
    done.wait(wait_time + 5.0)
    return outcome[0]


# ---- changes by the cluster's own sessions


class SchemaChange:
    """One DDL statement with a pending future."""

    __slots__ = ("agreed", "has_waited", "is_being_read", "limit", "on_done", "target", "wait")

    def __init__(self, target: SchemaTarget, on_done: OnDone, wait: float) -> None:
        self.target = target
        self.on_done = on_done
        self.wait = wait  # seconds for agreement
        self.has_waited = False
        self.agreed = False
        self.is_being_read = False
        self.limit: Task | None = None

    @property
    def stage(self) -> str:
        """Description of the pending step."""
        if not self.has_waited:
            return "the nodes did not agree on the schema yet"
        agreed = "the nodes agree on the schema, but" if self.agreed else "the nodes do not agree on the schema, and"
        return f"{agreed} the metadata were not read yet"


class SchemaChanges:
    """The pending changes of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._closed = False
        self._lock = driver_lock("SchemaChanges")
        self.leave_to_parent()

    def leave_to_parent(self) -> None:
        """Reset the state: no change is pending, initially and in a forked child, where pending changes are the
        parent's."""
        renew(self._lock)
        self._open: dict[SchemaChange, None] = {}
        self._agreed: list[SchemaChange] = []

    def handle(
        self, event: dict[str, Any] | None, host: Host | None, on_done: OnDone, wait: float | None = None
    ) -> SchemaChange | None:
        """Handle a change made by *host*: wait for agreement, refresh, then call ``on_done(agreed, error)`` exactly
        once. Never blocks. *wait* overrides the cluster's time for agreement. Return None once the cluster is shut
        down."""
        cluster = self._cluster
        wait = cluster.max_schema_agreement_wait if wait is None else wait
        change = SchemaChange(cluster.metadata.schema_target(event or {}), on_done, wait)
        with self._lock:
            closed = self._closed
            if not closed:
                self._open[change] = None
        if closed:
            on_done(False, DriverException("The cluster was shut down"))
            return None
        if wait > 0:
            AgreementWait(
                cluster,
                lambda timeout, done: cluster_round(cluster, timeout, done, host),
                wait,
                lambda agreed: self._on_agreement(change, agreed),
            ).start()
        else:
            self._on_agreement(change, True)
        return change

    @property
    def count(self) -> int:
        """Number of pending changes: without agreement, or not read yet."""
        return len(self._open)

    def pending_targets(self) -> list[SchemaTarget]:
        """Return the targets of refreshes that have not begun: their events need no fetch of their own."""
        with self._lock:
            return [change.target for change in self._open if not change.is_being_read]

    def _on_agreement(self, change: SchemaChange, agreed: bool) -> None:
        change.agreed, change.has_waited = agreed, True
        if not agreed:
            log.warning("The nodes did not agree on the schema within %.3g s", change.wait)
        target = change.target
        if target.keyspace and target.kind in (SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS) and not target.dropped:
            self._cluster.membership.keyspaces_created((target.keyspace,))  # everywhere by now
        if not self._cluster.schema_metadata_enabled:
            self._complete([change], None)
            return
        with self._lock:
            self._agreed.append(change)
        if not self._cluster.control_connection.strand.post(self._refresh):
            self._complete([change], None)
            return
        self._limit(change)

    def _limit(self, change: SchemaChange) -> None:
        """Bound the wait for the refresh of *change*: there may be no control connection, and finding one can take
        long."""
        limit = self._cluster.scheduler.schedule(self._cluster.control_timeout, self._on_refresh_overdue, change)
        with self._lock:
            change.limit = limit
            needed = change in self._open and not change.is_being_read
        if not needed:
            limit.cancel()

    def _on_refresh_overdue(self, change: SchemaChange) -> None:
        with self._lock:
            if change not in self._open or change.is_being_read:
                return
        if self._cluster.control_connection.search.is_under_way:
            text = "no control connection at the moment; the metadata is refreshed when there is one"
            self._complete([change], DriverException(text))
        else:
            self._limit(change)  # others are being read; each read is bounded

    def _refresh(self) -> None:
        """Read all waiting changes. On the control connection's strand."""
        with self._lock:
            changes, self._agreed = self._agreed, []
            for change in changes:
                change.is_being_read = True
        if not changes:
            return
        targets = reduce_targets([change.target for change in changes])
        error: BaseException | None = None
        try:
            self._cluster.control_connection.refresh_targets(targets)
        except Exception as exception:
            error = exception
            self._cluster.control_connection.events.add_pending_schema(
                targets
            )  # their events were left to this refresh
        self._complete(changes, error)

    def _complete(self, changes: list[SchemaChange], error: BaseException | None) -> None:
        with self._lock:
            completed = [change for change in changes if change in self._open]
            for change in completed:
                del self._open[change]
        for change in completed:
            if change.limit is not None:
                change.limit.cancel()
            try:
                change.on_done(change.agreed, error)
            except Exception:
                log.exception("The completion callback of a schema change failed")

    def shutdown(self) -> None:
        """Complete all pending changes."""
        with self._lock:
            self._closed = True
            changes = list(self._open)
            self._agreed.clear()
        self._complete(changes, DriverException("The cluster was shut down"))
