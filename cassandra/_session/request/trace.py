"""Query traces read from ``system_traces`` (cassandra.query)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import OperationTimedOut, TraceUnavailable
from cassandra._base.objects import public, set_state, state_of
from cassandra._base.temporal import datetime_from_uuid1
from cassandra._base.versions import seconds
from cassandra._session.statements.statement import SimpleStatement
from cassandra._wire.rows import tuple_factory

if TYPE_CHECKING:
    from ..session import Session

FIRST_DELAY = 0.003  # seconds between reads of a trace that the server is still writing; doubled each time

SESSIONS = (
    "SELECT request, duration, started_at, coordinator, parameters, client FROM system_traces.sessions "
    "WHERE session_id = %s"
)
EVENTS = "SELECT activity, event_id, source, source_elapsed, thread FROM system_traces.events WHERE session_id = %s"


@public("cassandra.query")
class QueryTrace:
    """Trace of the execution of one request by the servers; filled by :meth:`populate`."""

    trace_id: UUID  #: Id of the trace, a UUID.
    request_type: str | None = None  #: What was executed.
    duration: timedelta | None = None  #: Duration at the server, a timedelta.
    client: str | None = None  #: Address of the client.
    coordinator: str | None = None  #: Address of the coordinator.
    started_at: datetime | None = None  #: Beginning, a datetime in UTC.
    parameters: Mapping[str, str] | None = None  #: Parameters of the request, a dict.
    events: list[TraceEvent] | None = None  #: The events, a list of :class:`TraceEvent`.

    def __init__(self, trace_id: UUID, session: Session) -> None:
        self.trace_id = trace_id
        self._session = session

    def __getstate__(self) -> dict[str, Any]:
        return state_of(self, ("_session",))

    def __setstate__(self, state: dict[str, Any]) -> None:
        set_state(self, state)

    def populate(
        self,
        max_wait: float | None = 2.0,
        wait_for_complete: bool = True,
        query_cl: int | None = None,
    ) -> None:
        """Read the trace, waiting up to *max_wait* seconds (None: as long as it takes) until the server has written it.

        With *wait_for_complete* False a partial trace is accepted. Raises :exc:`TraceUnavailable` when time is up, and
        if this object was unpickled: it has no session to read with.
        """
        if self._session is None:
            raise TraceUnavailable(f"The trace {self.trace_id} was unpickled: it has no session to read with.")
        seconds("max_wait", max_wait, negative=True)
        start = time.monotonic()
        delay = FIRST_DELAY
        while True:
            elapsed = time.monotonic() - start
            if max_wait is not None and elapsed >= max_wait:
                raise TraceUnavailable(
                    f"Trace information was not available within {max_wait:f} seconds. Consider raising "
                    "Session.max_trace_wait."
                )
            remaining = None if max_wait is None else max_wait - elapsed
            rows = self._read(SESSIONS, query_cl, remaining)
            if rows and (rows[0][1] is not None or not wait_for_complete):
                self._fill(rows[0], query_cl, remaining)
                return
            if not wait_for_complete:
                raise TraceUnavailable(f"There is no trace {self.trace_id} yet.")
            time.sleep(delay if remaining is None else min(delay, remaining))
            delay *= 2

    def _fill(self, row: Any, query_cl: int | None, timeout: float | None) -> None:
        self.request_type, micros, self.started_at, self.coordinator, self.parameters, self.client = row
        self.duration = None if micros is None else timedelta(microseconds=micros)
        self.events = [TraceEvent(*event) for event in self._read(EVENTS, query_cl, timeout)]

    def _read(self, query: str, query_cl: int | None, timeout: float | None) -> list[Any]:
        statement = SimpleStatement(
            query, consistency_level=ConsistencyLevel.LOCAL_ONE if query_cl is None else query_cl, is_idempotent=True
        )
        try:
            return self._session._execute_with(statement, (self.trace_id,), timeout, tuple_factory).all()
        except OperationTimedOut as error:
            raise TraceUnavailable(f"Trace information was not available: {error}") from error

    def __str__(self) -> str:
        return (
            f"{self.request_type} [{self.trace_id}] coordinator: {self.coordinator}, started at: {self.started_at}, "
            f"duration: {self.duration}, parameters: {self.parameters}"
        )


@public("cassandra.query")
class TraceEvent:
    """One step of a trace: description, node, thread, and time since the node began."""

    def __init__(
        self, description: str, timeuuid: UUID, source: str, source_elapsed: int | None, thread_name: str
    ) -> None:
        self.description = description  #: What happened.
        self.datetime = datetime_from_uuid1(timeuuid).replace(tzinfo=timezone.utc)  #: Time of the event, in UTC.
        self.source = source  #: Address of the node.
        #: Time since the beginning at this node.
        self.source_elapsed: timedelta | None = (
            None if source_elapsed is None else timedelta(microseconds=source_elapsed)
        )
        self.thread_name = thread_name  #: Name of the server's thread.

    def __str__(self) -> str:
        return f"{self.description} on {self.source}[{self.thread_name}] at {self.datetime}"
