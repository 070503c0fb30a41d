"""Retries of a failed refresh, with growing delays, until it succeeds.

L5. Owner: the control connection's strand. A node may reject queries (it is overloaded, its replicas time out) while
its connection works and still reports changes. The changes must be read all the same, or the metadata would be wrong
until the next change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from random import uniform
from typing import TYPE_CHECKING

from cassandra._base.errors import RequestError
from cassandra._base.logs import get_logger
from cassandra._net.backoff import Delays

if TYPE_CHECKING:
    from ..background.scheduler import Strand, Task
    from ..cluster.cluster import Cluster

log = get_logger("cassandra.cluster")

FIRST = 1.0  # seconds until the second attempt; each further delay is twice as long
LONGEST = 60.0


def _schedule() -> Iterator[float]:
    """Yield delays, jittered so that not all clients of an overloaded node send queries at the same moment."""
    delay = FIRST
    while True:
        yield delay * uniform(0.5, 1.0)
        delay = min(LONGEST, delay * 2)


class Due:
    """Repeats *refresh*, which reads *what*, after a failure until it succeeds."""

    def __init__(self, cluster: Cluster, strand: Strand, what: str, refresh: Callable[[], object]) -> None:
        self._cluster = cluster
        self._strand = strand
        self._what = what
        self._refresh = refresh
        self._delays = Delays(_schedule)
        self._task: Task | None = None
        self._said: str | None = None  # the last error since the last success

    def failed(self, error: BaseException, source: object) -> None:
        """Handle a failed attempt: schedule another one."""
        text = str(error)
        level = logging.DEBUG if text == self._said else logging.WARNING
        self._said = text
        trace = None if isinstance(error, RequestError) else error
        log.log(
            level, "The %s could not be refreshed from %s; retrying until it succeeds: %s",
            self._what, source, text, exc_info=trace,
        )  # fmt: skip
        self.again()

    def again(self) -> None:
        """Schedule another attempt: something is still missing."""
        self._cancel()
        self._task = self._cluster.scheduler.schedule(self._delays.next_or_last(), self._strand.post, self._refresh)

    def worked(self) -> None:
        """Handle a success: everything due was read."""
        self._cancel()
        self._delays.reset()
        if self._said is not None:
            log.info("The %s was refreshed again", self._what)
            self._said = None

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
