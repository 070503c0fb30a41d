"""Reconnecting to one host, on the reconnection policy's schedule or because of an event.

L5. Owner: everything here runs on the membership strand, except the results of ``Connection.open``, which are posted to
it. An attempt never blocks a thread while it connects.

States of a reconnector and their transitions::

    waiting      for the next attempt (``_task``)              -> connecting: it is due, or an event
    connecting   one attempt is under way                      -> waiting: it failed; done: it succeeded
    urgent       no host is up: an attempt begins within one second, then within two, then within four each time, also
                 while others are under way (a lost packet of one is only repeated after seconds), and also when
                 the schedule has ended                        -> waiting: a host is up; the schedule restarts
    idle         the schedule has ended                        -> connecting: an event; urgent: the last host went down
    done         cancelled, or reached

A node has many clients, and all of them lose it, and hear that it is up, at the same moment. So every delay is random
between zero and the one that the exponential policy names (*full jitter*), and so is the delay after an event.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cassandra._base.errors import AuthenticationFailed
from cassandra._base.logs import get_logger
from cassandra._net.backoff import Delays, FailureLog, full_jitter
from cassandra._net.connection import Connection
from cassandra._routing.policies import ExponentialReconnectionPolicy, ReconnectionPolicy

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._session.cluster import Cluster
    from cassandra._session.scheduler import Strand, Task

log = get_logger("cassandra.cluster")

URGENT = (1.0, 4.0)  # longest delay of the first attempt while no host is up, and of all; it doubles in between
MAX_CONCURRENT_ATTEMPTS = 3  # concurrent attempts while no host is up


def outage_delay(attempt: int) -> float:
    """Return the delay before an attempt (0 for the first one) while no host is up."""
    shortest, longest = URGENT
    return full_jitter(min(shortest * 2 ** min(attempt, 10), longest))


def new_schedule(policy: ReconnectionPolicy) -> Iterator[float]:
    """Return a schedule of *policy*: with full jitter, if that is the exponential one; others may mean their delays."""
    schedule = policy.new_schedule()
    return iter(map(full_jitter, schedule) if type(policy) is ExponentialReconnectionPolicy else schedule)


class Reconnector:
    """Tries to connect to *host* until it succeeds or :meth:`cancel` is called; then calls ``on_reached(host,
    connection)``.

    The callee owns the connection and closes it. When the schedule of the policy ends, it waits for :meth:`try_now`.
    """

    def __init__(
        self,
        cluster: Cluster,
        strand: Strand,
        host: Host,
        on_reached: Callable[[Host, Connection], None],
        on_failed: Callable[[Host, BaseException], None],
        is_urgent: Callable[[], bool] = lambda: False,
    ) -> None:
        """*is_urgent*: returns True while no host is up."""
        self._cluster = cluster
        self._strand = strand
        self.host = host
        self._on_reached = on_reached
        self._on_failed = on_failed
        self._delays = Delays(lambda: new_schedule(cluster.reconnection_policy))
        self._task: Task | None = None
        self._attempts_in_progress = 0
        self._retry_immediately = False
        self._is_soon = False  # the next attempt is due by an event
        self._urgent_attempts = 0
        self._failure_log = FailureLog()
        self._cancelled = False
        self._is_urgent = is_urgent

    def start(self, at_once: bool, within: float = 0.0) -> None:
        """Begin the schedule, with an attempt now, *within* seconds, or after its first delay."""
        if at_once:
            self.try_now(within)
        else:
            self._wait()

    def try_now(self, within: float = 0.0) -> None:
        """Attempt now, or at a random time *within* seconds, without waiting for the next scheduled attempt: the host
        is probably back, and other clients know it, too."""
        if self._cancelled or (self._is_soon and within):
            return
        if self._attempts_in_progress:
            self._retry_immediately = True  # the attempt under way may have started just too early
            return
        self._stop_waiting()
        self._delays.reset()  # a host with signs of life gets short delays again
        self._urgent_attempts = 0
        if within:
            self._is_soon = True
            self._schedule(full_jitter(within))
        else:
            self._attempt()

    def shorten_delay(self) -> None:
        """Shorten the delay: the last host went down."""
        if not self._cancelled:
            self._wait()

    def restart_schedule(self) -> None:
        """Restart the schedule, because the first host is back; the next attempt stays scheduled as it is."""
        self._delays.reset()
        self._urgent_attempts = 0

    def cancel(self) -> None:
        """Stop. A connection that is still being opened is closed when it is open."""
        self._cancelled = True
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        self._is_soon = False
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _wait(self) -> None:
        self._stop_waiting()
        delay = self._delays.next()
        if self._is_urgent():
            limit = outage_delay(self._urgent_attempts)
            self._urgent_attempts += 1
            delay = limit if delay is None else min(delay, limit)
        if delay is None:
            log.warning("No more attempts to reconnect to %s: the reconnection schedule ended", self.host)
            return
        self._schedule(delay)

    def _schedule(self, delay: float) -> None:
        log.debug("Next attempt to reconnect to %s in %.2f s", self.host, delay)
        self._task = self._cluster.scheduler.schedule(delay, self._strand.post, self._attempt)

    def _attempt(self) -> None:
        self._task, self._is_soon = None, False
        if self._cancelled or self._cluster.is_shutdown:
            return
        urgent = self._is_urgent()
        if self._attempts_in_progress < (MAX_CONCURRENT_ATTEMPTS if urgent else 1):
            self._attempts_in_progress += 1
            try:
                self._cluster.connections.open(self.host.endpoint, self._on_result, host_id=self.host.host_id)
            except Exception as error:  # invalid options, or the cluster is being shut down
                self._conclude(error)
        if urgent and self._attempts_in_progress and not self._cancelled and self._task is None:
            self._wait()

    def _on_result(self, outcome: Connection | BaseException) -> None:
        """Pass on the result of an attempt. On the I/O thread."""
        if not self._strand.post(self._conclude, outcome) and isinstance(outcome, Connection):
            outcome.close()  # the cluster was shut down meanwhile

    def _conclude(self, outcome: Connection | BaseException) -> None:
        self._attempts_in_progress -= 1
        if isinstance(outcome, Connection):
            if self._cancelled:
                outcome.close()
            else:
                self.cancel()
                self._on_reached(self.host, outcome)
            return
        if self._cancelled or self._cluster.is_shutdown:
            return
        level = logging.DEBUG if self._is_urgent() else logging.INFO  # the membership logs one line for all of these
        level = self._failure_log.level(logging.ERROR if isinstance(outcome, AuthenticationFailed) else level, outcome)
        log.log(level, "Could not connect to %s: %s", self.host, outcome)
        self._on_failed(self.host, outcome)
        self._schedule_next()

    def _schedule_next(self) -> None:
        if self._cancelled:  # by the callback
            return
        if self._retry_immediately:
            self._retry_immediately = False
            self._stop_waiting()
            self._attempt()
        elif self._task is None and not self._attempts_in_progress:
            self._wait()
