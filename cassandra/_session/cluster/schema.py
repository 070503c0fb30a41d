"""Schema changes made by the cluster's own sessions: agreement, one refresh, then completion of the future.

L5. :meth:`SchemaChanges.handle` is called on the I/O thread with a SCHEMA_CHANGE response. Waiting for agreement takes
no thread; changes that agree while a refresh runs are read together by the next one. While there is no control
connection the wait for the refresh is bounded by the time limit of a response (``control_connection_timeout``).

``_open`` and ``_agreed`` are guarded by ``_lock``; the thread that removes a change from ``_open`` completes it, so
that each is completed exactly once, by a refresh, its limit or the shutdown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaTargetType
from cassandra._base.errors import DriverException
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._base.process import renew
from cassandra._routing.schema.queries import KEYSPACE_CONTENTS

from ..control.agreement import AgreementWait, cluster_round
from ..control.events import merged

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.schema import SchemaTarget

    from ..background.scheduler import Task
    from .cluster import Cluster

log = get_logger("cassandra.cluster")

OnDone = Callable[[bool, BaseException | None], None]


class SchemaChange:
    """One DDL statement with a pending future."""

    __slots__ = ("agreed", "being_read", "limit", "on_done", "target", "wait", "was_waited")

    def __init__(self, target: SchemaTarget, on_done: OnDone, wait: float) -> None:
        self.target = target
        self.on_done = on_done
        self.wait = wait  # seconds for agreement
        self.was_waited = False
        self.agreed = False
        self.being_read = False
        self.limit: Task | None = None

    @property
    def stage(self) -> str:
        """Description of the pending step."""
        if not self.was_waited:
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
        wait = cluster.options.max_schema_agreement_wait if wait is None else wait
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

    def will_be_read(self) -> list[SchemaTarget]:
        """Return the targets of refreshes that have not begun: their events need no fetch of their own."""
        with self._lock:
            return [change.target for change in self._open if not change.being_read]

    def _on_agreement(self, change: SchemaChange, agreed: bool) -> None:
        change.agreed, change.was_waited = agreed, True
        if not agreed:
            log.warning("The nodes did not agree on the schema within %.3g s", change.wait)
        target = change.target
        if target.keyspace and target.kind in (SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS) and not target.dropped:
            self._cluster.membership.keyspaces_created((target.keyspace,))  # everywhere by now
        if not self._cluster.options.schema_metadata_enabled:
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
        limit = self._cluster.scheduler.schedule(self._cluster.options.control_timeout, self._overdue, change)
        with self._lock:
            change.limit = limit
            needed = change in self._open and not change.being_read
        if not needed:
            limit.cancel()

    def _overdue(self, change: SchemaChange) -> None:
        with self._lock:
            if change not in self._open or change.being_read:
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
                change.being_read = True
        if not changes:
            return
        targets = merged([change.target for change in changes])
        error: BaseException | None = None
        try:
            self._cluster.control_connection.refresh_targets(targets)
        except Exception as exception:
            error = exception
            self._cluster.control_connection.events.note_schema(targets)  # their events were left to this refresh
        self._complete(changes, error)

    def _complete(self, changes: list[SchemaChange], error: BaseException | None) -> None:
        with self._lock:
            mine = [change for change in changes if change in self._open]
            for change in mine:
                del self._open[change]
        for change in mine:
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
