"""A refresh that failed is due until it works: it is tried again, ever later.

L5. Owner: the control connection's strand. A node may refuse to be read (it is overloaded, its replicas time out)
while its connection is fine and goes on to tell of changes. What has changed must be read all the same, or the
metadata would be wrong until the next change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from random import uniform
from typing import TYPE_CHECKING

from cassandra._base.errors_context import RequestError
from cassandra._base.logs import get_logger
from cassandra._net.delays import Delays

if TYPE_CHECKING:
    from ..background.scheduler import Strand, Task
    from ..cluster.cluster import Cluster

log = get_logger("cassandra.cluster")

FIRST = 1.0  # seconds until the second attempt; each further delay is twice as long
LONGEST = 60.0


def _schedule() -> Iterator[float]:
    """Jittered, so that not all clients of an overloaded node ask at the same moment."""
    delay = FIRST
    while True:
        yield delay * uniform(0.5, 1.0)
        delay = min(LONGEST, delay * 2)


class Due:
    """*refresh*, which reads *what*, whenever it has failed and until it has worked."""

    def __init__(self, cluster: Cluster, strand: Strand, what: str, refresh: Callable[[], object]) -> None:
        self._cluster = cluster
        self._strand = strand
        self._what = what
        self._refresh = refresh
        self._delays = Delays(_schedule)
        self._task: Task | None = None
        self._said: str | None = None  # of the attempts since it last worked: what went wrong

    def failed(self, error: BaseException, source: object) -> None:
        """An attempt failed: make another one later."""
        text = str(error)
        level = logging.DEBUG if text == self._said else logging.WARNING
        self._said = text
        trace = None if isinstance(error, RequestError) else error
        log.log(
            level, "The %s could not be refreshed from %s, it is tried again until it can: %s",
            self._what, source, text, exc_info=trace,
        )  # fmt: skip
        self.again()

    def again(self) -> None:
        """Something is missing still: make another attempt later."""
        self._cancel()
        self._task = self._cluster.scheduler.schedule(self._delays.next_or_last(), self._strand.post, self._refresh)

    def worked(self) -> None:
        """All that was due was read."""
        self._cancel()
        self._delays.reset()
        if self._said is not None:
            log.info("The %s is read again", self._what)
            self._said = None

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None
