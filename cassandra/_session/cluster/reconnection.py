"""Trying to reach one host again, on the reconnection policy's schedule or when an event says it is back.

L5. Owner: everything here runs on the membership strand, except the answers of ``Connection.open``, which are posted
to it. An attempt never blocks a thread while it connects; at most one is under way per host.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra._base.errors import AuthenticationFailed
from cassandra._net.connection import Connection
from cassandra._net.delays import Delays

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from ..background.scheduler import Strand, Task
    from .cluster import Cluster

log = logging.getLogger("cassandra.cluster")


class Reconnector:
    """Tries to connect to *host* until it works or :meth:`cancel` is called; then ``on_reached(host, connection)``.

    The connection is the callee's to use and close. A policy whose schedule ends leaves it waiting for
    :meth:`try_now`.
    """

    def __init__(
        self,
        cluster: Cluster,
        strand: Strand,
        host: Host,
        on_reached: Callable[[Host, Connection], None],
        on_failed: Callable[[Host, BaseException], None],
    ) -> None:
        self._cluster = cluster
        self._strand = strand
        self.host = host
        self._on_reached = on_reached
        self._on_failed = on_failed
        self._delays = Delays(lambda: cluster.reconnection_policy.new_schedule())
        self._task: Task | None = None
        self._connecting = False
        self._again = False
        self._cancelled = False

    def start(self, at_once: bool) -> None:
        """Begin the schedule, with an attempt now or after its first delay."""
        if at_once:
            self.try_now()
        else:
            self._wait()

    def try_now(self) -> None:
        """Do not wait for the next attempt: there is reason to believe that the host is back."""
        if self._cancelled:
            return
        if self._connecting:
            self._again = True  # the attempt under way may have come just too early
            return
        if self._task is not None:
            self._task.cancel()
            self._task = None
        self._delays.reset()  # a host that shows signs of life deserves short delays again
        self._attempt()

    def cancel(self) -> None:
        """Stop. A connection that is still being opened is closed when it is there."""
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _wait(self) -> None:
        delay = self._delays.next()
        if delay is None:
            log.warning("No more attempts to reconnect to %s: the reconnection schedule ended", self.host)
            return
        log.debug("Next attempt to reconnect to %s in %.2f s", self.host, delay)
        self._task = self._cluster.scheduler.schedule(delay, self._strand.post, self._attempt)

    def _attempt(self) -> None:
        if self._cancelled or self._connecting or self._cluster.is_shutdown:
            return
        self._task = None
        self._connecting = True
        try:
            self._cluster.open_connection(self.host.endpoint, self._answered, host_id=self.host.host_id)
        except Exception as error:  # the options could not be made, or the cluster is being shut down
            self._conclude(error)

    def _answered(self, outcome: Connection | BaseException) -> None:
        """On the I/O thread."""
        if not self._strand.post(self._conclude, outcome) and isinstance(outcome, Connection):
            outcome.close()  # the cluster was shut down meanwhile

    def _conclude(self, outcome: Connection | BaseException) -> None:
        self._connecting = False
        if isinstance(outcome, Connection):
            if self._cancelled:
                outcome.close()
            else:
                self._cancelled = True
                self._on_reached(self.host, outcome)
            return
        if self._cancelled or self._cluster.is_shutdown:
            return
        level = logging.ERROR if isinstance(outcome, AuthenticationFailed) else logging.INFO
        log.log(level, "Could not connect to %s: %s", self.host, outcome)
        self._on_failed(self.host, outcome)
        self._go_on()

    def _go_on(self) -> None:
        if self._cancelled:  # by what was just called
            return
        if self._again:
            self._again = False
            self._attempt()
        else:
            self._wait()
