"""Preparing a statement again on a host that has forgotten it: once for all requests that need it there.

L5. After a restart of a node every request in flight is told UNPREPARED at about the same time. The first one of a
statement on a host sends PREPARE, which belongs to none of them; each, the first too, *waits* with an attempt of its
own that is on no stream, until the one answer is here, its own time is up, or it is over for another reason. The
answer, or that there will be none, is handed to all who wait then; what it means to each is in execution.py.

States of a (host, statement): not in ``_waiting``: nobody prepares; in it: one PREPARE is on its way, or is being given
to its connection. Whoever put it there takes it out, exactly once: by the answer, or when it could not be sent.
``_waiting`` is guarded by ``_lock``; nothing is called with it held.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._core.transport import Attempt, Failure, Frame
from cassandra._net.exchange import Exchange

from .attempts import NOT_SENT

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .execution import Execution

#: Of a statement on a host; before protocol 5 the keyspace is the connection's, and part of what is prepared.
Key = tuple["Host", bytes, str | None]


class Waiting:
    """A request, its attempt that waits, and the timer of its own timeout."""

    __slots__ = ("attempt", "request", "timer")

    def __init__(self, request: Execution, attempt: Attempt) -> None:
        self.request = request
        self.attempt = attempt
        self.timer: Any = None

    def wake(self) -> bool:
        """It waits no longer. False if it was over already."""
        if self.timer is not None:
            self.timer.cancel()
        return self.request._attempts.pop(self.attempt.number, None) is not None


class Repreparing:
    """What is being prepared again for the requests of one session."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a __del__ that garbage collection runs may make a request anywhere
        self._waiting: dict[Key, list[Waiting]] = {}

    def join(self, request: Execution, attempt: Attempt) -> None:
        """Have *attempt* answered when its statement is prepared on its host, or cannot be."""
        remaining = request._remaining()
        if remaining is not None and remaining <= 0:
            request._time_out(attempt)
            return
        number = attempt.number = request._next_number()
        if not request._register(number, attempt):
            return
        connection = attempt.connection
        key = (attempt.host, attempt.reprepares.query_id, connection.keyspace)
        waiting = Waiting(request, attempt)
        if remaining is not None:
            waiting.timer = request.session.cluster.reactor.call_later(remaining, partial(_late, waiting))
        with self._lock:
            others = self._waiting.get(key)
            first = others is None
            self._waiting.setdefault(key, []).append(waiting)
        if first:
            self._prepare(key, waiting, remaining)

    def _prepare(self, key: Key, first: Waiting, remaining: float | None) -> None:
        request, attempt = first.request, first.attempt
        try:
            frame = request._encode(attempt)
            attempt.connection.submit(frame, Exchange(partial(self._answered, key)), 0, remaining)
        except Exception as error:
            for waiting in self._taken(key):
                if waiting.wake():
                    waiting.request._not_reprepared(waiting.attempt, error, isinstance(error, NOT_SENT))

    def _answered(self, key: Key, outcome: Frame | Failure) -> None:
        """On the I/O thread."""
        for waiting in self._taken(key):
            if waiting.wake():
                waiting.request._handle(waiting.attempt, outcome)

    def _taken(self, key: Key) -> list[Waiting]:
        with self._lock:
            return self._waiting.pop(key, [])


def _late(waiting: Waiting) -> None:
    if waiting.wake():
        waiting.request._time_out(waiting.attempt)
