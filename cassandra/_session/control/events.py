"""Events that servers push to the control connection: collected, spread over a window, and handled once.

L5. :meth:`EventRouter.on_event` runs on the I/O thread and only records events (under ``_lock``) and sets timers. A
window is the longest delay in seconds: the delay is random within it, so that not all clients of a cluster send queries
at the same moment, and events that arrive meanwhile are handled together. Zero means at once; with a negative window
events of that kind are ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaChangeType, SchemaTargetType
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._base.randomness import random
from cassandra._routing.schema import SchemaTarget
from cassandra._routing.schema.rows import EVERYTHING, KEYSPACE_CONTENTS

if TYPE_CHECKING:
    from cassandra._session.cluster import Cluster
    from cassandra._session.scheduler import Task
    from cassandra._wire.messages.responses import EventMessage

    from .control import ControlConnection

log = get_logger("cassandra.cluster")

UP_PART = 0.25  # of the window, within which a node that comes up is tried: requests go there within a second
EVENT_TYPES = ("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")
CLIENT_ROUTES_CHANGE = "CLIENT_ROUTES_CHANGE"  # registered for only if it is used: only ScyllaDB supports it

MANY_IN_KEYSPACE = 8  # from this many changes on, a keyspace is read as a whole
MANY_KEYSPACES = 16  # from this many keyspaces on, everything is read
MOST_NOTED = 1000  # pending changes; more are replaced by one: everything
MOST_COMING_UP = 1000  # addresses with a pending UP; more are replaced by one refresh of the node list


class EventRouter:
    """Turns events into refreshes of *control* and host state changes of *cluster*."""

    def __init__(self, cluster: Cluster, control: ControlConnection) -> None:
        self._cluster = cluster
        self._control = control
        self._lock = driver_lock("EventRouter")
        self._schema: dict[SchemaTarget, None] = {}  # in order of arrival
        self._schema_task: Task | None = None
        self._nodes_task: Task | None = None
        self._status: dict[tuple[str, int | None], Task] = {}

    def on_event(self, event: EventMessage) -> None:
        """Record *event*. On the I/O thread."""
        if self._cluster.is_shutdown:
            return
        log.debug("Event from the control connection's node: %s %s", event.event_type, event.event_args)
        if event.event_type == "SCHEMA_CHANGE":
            self._on_schema_change(event.event_args)
        elif event.event_type == "TOPOLOGY_CHANGE":
            self.nodes_changed(self._cluster.topology_event_refresh_window)
        elif event.event_type == "STATUS_CHANGE":
            self._on_status_change(event.event_args)
        elif event.event_type == CLIENT_ROUTES_CHANGE:
            routes = self._cluster.client_routes
            if routes is not None and routes.concerns(event.event_args["connection_ids"]):
                self.nodes_changed(max(0.0, self._cluster.status_event_refresh_window))

    # ---- nodes

    def nodes_changed(self, window: float) -> None:
        """Read the node list again within *window* seconds; once for any number of events."""
        if window < 0:
            return
        with self._lock:
            if self._nodes_task is None:
                self._nodes_task = self._cluster.scheduler.schedule(random() * window, self._refresh_nodes)

    def _refresh_nodes(self) -> None:
        with self._lock:
            self._nodes_task = None  # later events are not covered by this read
        self._control.refresh_nodes_soon()

    # ---- status

    def _on_status_change(self, args: dict[str, Any]) -> None:
        """Handle a status event. The last event about an address counts: a node that goes down before its UP was
        handled gets no connection."""
        window = self._cluster.status_event_refresh_window
        if window < 0:
            return
        address = args["address"]
        key = (str(address[0]), address[1])
        with self._lock:
            pending = self._status.pop(key, None)
            if pending is not None:
                pending.cancel()
            too_many = len(self._status) >= MOST_COMING_UP
            if args["change_type"] == "UP" and not too_many:
                delay = random() * window * UP_PART
                self._status[key] = self._cluster.scheduler.schedule(delay, self._on_coming_up, key)
        if args["change_type"] == "UP" and too_many:
            self.nodes_changed(window)
        if args["change_type"] == "DOWN":
            self._cluster.membership.event_down(*key)

    def _on_coming_up(self, key: tuple[str, int | None]) -> None:
        with self._lock:
            self._status.pop(key, None)
        self._cluster.membership.event_up(*key)

    # ---- schema

    def _on_schema_change(self, args: dict[str, Any]) -> None:
        if (args.get("change_type"), args.get("target_type")) == (SchemaChangeType.CREATED, SchemaTargetType.KEYSPACE):
            self._cluster.membership.keyspaces_created((args["keyspace"],))
        if self._cluster.schema_event_refresh_window >= 0 and self._cluster.schema_metadata_enabled:
            self.add_pending_schema([SchemaTarget.from_event(args)])
        elif args.get("change_type") != SchemaChangeType.CREATED:
            self._cluster.metadata.schema_not_read(SchemaTarget.from_event(args))

    def add_pending_schema(self, targets: list[SchemaTarget]) -> None:
        """Read *targets* within the window."""
        window = max(0.0, self._cluster.schema_event_refresh_window)
        with self._lock:
            for target in targets:
                self._schema.pop(target, None)
                self._schema[target] = None
            if len(self._schema) > MOST_NOTED:
                self._schema = {SchemaTarget.everything(): None}
            if self._schema_task is None and not self._cluster.is_shutdown:
                self._schema_task = self._cluster.scheduler.schedule(random() * window, self._refresh_schema)

    def _refresh_schema(self) -> None:
        with self._lock:
            self._schema_task = None
            if not self._schema:
                return  # a statement of our own sessions made this change, and its refresh covered it
        self._control.refresh_schema_soon()

    def take_pending_schema(self, wanted: list[SchemaTarget] | None = None) -> list[SchemaTarget]:
        """Remove and return the recorded changes, or those that reading *wanted* covers. Call it before reading: later
        events may not be covered by the read."""
        with self._lock:
            taken = [
                target for target in self._schema if wanted is None or any(covers(other, target) for other in wanted)
            ]
            for target in taken:
                del self._schema[target]
        return taken

    def restore_schema(self, targets: list[SchemaTarget]) -> None:
        """Record *targets* again, which were taken and could not be read. They are older than changes recorded
        since."""
        with self._lock:
            older = [target for target in targets if target not in self._schema]
            self._schema = {**dict.fromkeys(older), **self._schema}

    def forget(self) -> None:
        """Drop recorded changes before a new connection reads everything: they are covered by that."""
        self.take_pending_schema()

    def stop(self) -> None:
        """Cancel pending tasks."""
        with self._lock:
            tasks = [self._schema_task, self._nodes_task, *self._status.values()]
            self._status.clear()
            self._schema.clear()
        for task in tasks:
            if task is not None:
                task.cancel()


def covers(wide: SchemaTarget, narrow: SchemaTarget) -> bool:
    """True if reading *wide* also reads *narrow*."""
    if wide.kind == EVERYTHING:
        return True
    if wide.keyspace != narrow.keyspace:
        return False
    if wide.kind == KEYSPACE_CONTENTS:
        return narrow.kind != EVERYTHING
    return wide._replace(dropped=False) == narrow._replace(dropped=False)


def reduce_targets(targets: list[SchemaTarget]) -> list[SchemaTarget]:
    """Return the fewest targets to read for *targets*, which are in order of arrival: the whole instead of many parts
    of it, no duplicates, the last change of each object."""
    by_keyspace: dict[str | None, list[SchemaTarget]] = {}
    for target in targets:
        by_keyspace.setdefault(target.keyspace, []).append(target)
    everything = any(target.kind == EVERYTHING for target in targets)
    if everything or len(by_keyspace) > MANY_KEYSPACES:
        return [SchemaTarget.everything()]
    return [target for keyspace, parts in by_keyspace.items() for target in _reduce_parts(str(keyspace), parts)]


def _reduce_parts(keyspace: str, parts: list[SchemaTarget]) -> list[SchemaTarget]:
    latest = {target._replace(dropped=False): target for target in parts}
    itself = latest.get(SchemaTarget.of_keyspace(keyspace))
    if itself is not None and itself.dropped:
        return [itself]
    was_dropped = any(target.kind == SchemaTargetType.KEYSPACE and target.dropped for target in parts)
    whole = SchemaTarget.of_keyspace(keyspace, contents=True)
    if whole in latest or was_dropped or len(latest) > MANY_IN_KEYSPACE:
        return [whole]
    return list(latest.values())
