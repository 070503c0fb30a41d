"""What servers push to the control connection: collected, spread over a window, and handed on once.

L5. :meth:`EventRouter.on_event` runs on the I/O thread and only takes notes (under ``_lock``) and sets timers. A
window is the longest delay in seconds: the delay is random within it, so that not all clients of a cluster ask at
the same moment, and what arrives meanwhile is handled together. Zero means at once, a negative window that events of
that kind are ignored.
"""

from __future__ import annotations

from random import random
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import SchemaChangeType, SchemaTargetType
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._routing.schema import SchemaTarget
from cassandra._routing.schema.target import EVERYTHING, KEYSPACE_CONTENTS

if TYPE_CHECKING:
    from cassandra._wire.messages.events import EventMessage

    from ..background.scheduler import Task
    from ..cluster.cluster import Cluster
    from .control import ControlConnection

log = get_logger("cassandra.cluster")

EVENT_TYPES = ("TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE")
CLIENT_ROUTES_CHANGE = "CLIENT_ROUTES_CHANGE"  # registered for by those who use them: only ScyllaDB knows it

MANY_IN_KEYSPACE = 8  # from so many changes on, one keyspace is read as a whole
MANY_KEYSPACES = 16  # and from so many keyspaces on, everything
MOST_NOTED = 1000  # changes that wait to be read; more are one: everything
MOST_COMING_UP = 1000  # addresses whose UP waits to be handled; more are one look at the node list


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
        """Take note of *event*. On the I/O thread."""
        if self._cluster.is_shutdown:
            return
        log.debug("Event from the control connection's node: %s %s", event.event_type, event.event_args)
        if event.event_type == "SCHEMA_CHANGE":
            self._on_schema_change(event.event_args)
        elif event.event_type == "TOPOLOGY_CHANGE":
            self.nodes_changed(self._cluster.options.topology_event_refresh_window)
        elif event.event_type == "STATUS_CHANGE":
            self._on_status_change(event.event_args)
        elif event.event_type == CLIENT_ROUTES_CHANGE:
            routes = self._cluster.options.client_routes
            if routes is not None and routes.concerns(event.event_args["connection_ids"]):
                self.nodes_changed(max(0.0, self._cluster.options.status_event_refresh_window))

    # ---- nodes

    def nodes_changed(self, window: float) -> None:
        """Read the node list again within *window* seconds; one time for any number of events."""
        if window < 0:
            return
        with self._lock:
            if self._nodes_task is None:
                self._nodes_task = self._cluster.scheduler.schedule(random() * window, self._refresh_nodes)

    def _refresh_nodes(self) -> None:
        with self._lock:
            self._nodes_task = None  # what is pushed from now on is not in what will be read
        self._control.refresh_nodes_soon()

    # ---- status

    def _on_status_change(self, args: dict[str, Any]) -> None:
        """The last word on an address counts: a node that goes down before its UP was handled is not connected to."""
        window = self._cluster.options.status_event_refresh_window
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
                self._status[key] = self._cluster.scheduler.schedule(random() * window, self._came_up, key)
        if args["change_type"] == "UP" and too_many:
            self.nodes_changed(window)
        if args["change_type"] == "DOWN":
            self._cluster.membership.event_down(*key)

    def _came_up(self, key: tuple[str, int | None]) -> None:
        with self._lock:
            self._status.pop(key, None)
        self._cluster.membership.event_up(*key)

    # ---- schema

    def _on_schema_change(self, args: dict[str, Any]) -> None:
        metadata = self._cluster.metadata
        if (args.get("change_type"), args.get("target_type")) == (SchemaChangeType.CREATED, SchemaTargetType.KEYSPACE):
            self._cluster.membership.keyspaces_created((args["keyspace"],))
        if self._cluster.options.schema_event_refresh_window >= 0 and self._cluster.options.schema_metadata_enabled:
            self.note_schema([metadata.schema_target(args)])
        elif args.get("change_type") != SchemaChangeType.CREATED:
            metadata.schema_not_read(SchemaTarget.from_event(args))

    def note_schema(self, targets: list[SchemaTarget]) -> None:
        """Read *targets* within the window."""
        window = max(0.0, self._cluster.options.schema_event_refresh_window)
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
                return  # a statement of ours made this change, and its refresh covered it
        self._control.refresh_schema_soon()

    def take_schema(self, wanted: list[SchemaTarget] | None = None) -> list[SchemaTarget]:
        """Forget the changes noted so far, or those that reading *wanted* covers; returns what was forgotten. Call
        it before reading: what is pushed afterwards may not be in what is read."""
        with self._lock:
            taken = [
                target for target in self._schema if wanted is None or any(covers(other, target) for other in wanted)
            ]
            for target in taken:
                del self._schema[target]
        return taken

    def give_back(self, targets: list[SchemaTarget]) -> None:
        """They were taken and could not be read. They are older than what was noted since."""
        with self._lock:
            older = [target for target in targets if target not in self._schema]
            self._schema = {**dict.fromkeys(older), **self._schema}

    def forget(self) -> None:
        """A new connection is about to read everything: what was noted is in it."""
        self.take_schema()

    def stop(self) -> None:
        """Cancel what is pending."""
        with self._lock:
            tasks = [self._schema_task, self._nodes_task, *self._status.values()]
            self._status.clear()
            self._schema.clear()
        for task in tasks:
            if task is not None:
                task.cancel()


def covers(wide: SchemaTarget, narrow: SchemaTarget) -> bool:
    """Whether reading *wide* also reads *narrow*."""
    if wide.kind == EVERYTHING:
        return True
    if wide.keyspace != narrow.keyspace:
        return False
    if wide.kind == KEYSPACE_CONTENTS:
        return narrow.kind != EVERYTHING
    return wide._replace(dropped=False) == narrow._replace(dropped=False)


def merged(targets: list[SchemaTarget]) -> list[SchemaTarget]:
    """The fewest things to read for *targets*, which are in order of arrival: the whole instead of many parts of it,
    nothing twice, the last word on a thing."""
    by_keyspace: dict[str | None, list[SchemaTarget]] = {}
    for target in targets:
        by_keyspace.setdefault(target.keyspace, []).append(target)
    everything = any(target.kind == EVERYTHING for target in targets)
    if everything or len(by_keyspace) > MANY_KEYSPACES:
        return [SchemaTarget.everything()]
    return [target for keyspace, parts in by_keyspace.items() for target in _merged_parts(str(keyspace), parts)]


def _merged_parts(keyspace: str, parts: list[SchemaTarget]) -> list[SchemaTarget]:
    latest = {target._replace(dropped=False): target for target in parts}
    itself = latest.get(SchemaTarget.of_keyspace(keyspace))
    if itself is not None and itself.dropped:
        return [itself]
    was_dropped = any(target.kind == SchemaTargetType.KEYSPACE and target.dropped for target in parts)
    whole = SchemaTarget.of_keyspace(keyspace, contents=True)
    if whole in latest or was_dropped or len(latest) > MANY_IN_KEYSPACE:
        return [whole]
    return list(latest.values())
