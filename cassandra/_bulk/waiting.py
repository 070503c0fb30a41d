"""Waits of a command (L6): why it makes no progress, the limit of such a wait, and the limit of rows per second.

All of it runs on the thread of the command. While that waits for servers, it calls :meth:`Waits.look` about once a
second. The reason is what the driver knows of the hosts and replicas; if these should suffice, a request is sent to
find out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import monotonic, sleep
from typing import Any

from cassandra._base.constants import ConsistencyLevel, consistency_value_to_name
from cassandra._base.errors import DriverException, InvalidRequest, NoHostAvailable, OperationTimedOut, Unavailable
from cassandra._routing.policies.base import HostDistance
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT
from cassandra._session.statements.statement import SimpleStatement

from .console import ProgressDisplay
from .tables import Table, quoted
from .writer import SourceBatch

PATIENCE = 5.0  # seconds without progress after which the reason is shown
GIVE_UP = 50.0  # seconds; a row that no server accepts for a minute is rejected, which is to happen later
PROBE_TIMEOUT = 2.0  # seconds
NO_REASON = "the servers respond, but slowly"
MOST_NAMED = 3  # hosts that a reason names
SLICES = 5  # parts of a second that rows are divided into, with a limit of rows per second


class StalledError(RuntimeError):
    """No progress was made for too long."""


class Waits:
    """Shows why a command waits, and ends it with StalledError after *give_up* seconds (0: never)."""

    def __init__(self, display: ProgressDisplay, give_up: float) -> None:
        self._display = display
        self._give_up = give_up
        self._shown = ""
        self._next = 0.0  # time of the next look at the reason

    def look(self, session: Any, table: Table, level: int, failures: Callable[[], str]) -> None:
        """Show the reason, if there was no progress for some seconds of requests to *table* with this consistency
        level. *failures* returns what is known of failed requests, or "". Raise StalledError."""
        now = monotonic()
        waited = now - self._display.moved_at
        if waited < PATIENCE:
            self._shown, self._next = "", 0.0
            return
        is_over = 0 < self._give_up <= waited
        if now < self._next and not is_over:
            return
        reason = reason_of(session, table, level, failures())
        self._next = monotonic() + PATIENCE
        if is_over:
            raise StalledError(f"no progress for {waited:.0f} s (--give-up {self._give_up:g}): {reason}")
        if reason != self._shown:
            self._shown = reason
            self._display.note(f"waiting for {waited:.0f} s: {reason}")

    @contextmanager
    def reading(self, reading: Any, session: Any, table: Table, level: int) -> Iterator[Any]:
        """Enter *reading*, a reading of a scan, and look while it waits."""
        with reading:

            def failures() -> str:
                return "" if reading.last_failure is None else explain(reading.last_failure)

            reading.on_wait = partial(self.look, session, table, level, failures)
            yield reading


# ---- reasons


def reason_of(session: Any, table: Table, level: int, failures: str) -> str:
    """Return the reason why requests to *table* are not answered, as far as it can be found out. *failures*: what is
    known of failed requests, or ""."""
    hosts = session.cluster.metadata.all_hosts()
    down = [host for host in hosts if host.is_up is False]
    if len(down) == len(hosts):
        return f"all hosts are down: {_names(hosts)}"
    return unmet_level(session, table, level) or probe(session, table, level) or failures or NO_REASON


def _names(hosts: Sequence[Any]) -> str:
    names = [str(host.endpoint) for host in hosts[:MOST_NAMED]]
    return ", ".join(names) + (f" and {len(hosts) - MOST_NAMED} more" if len(hosts) > MOST_NAMED else "")


def unmet_level(session: Any, table: Table, level: int) -> str | None:
    """Return the reason if too few replicas are up for *level*; None if they suffice."""
    policy = session.get_execution_profile(EXEC_PROFILE_DEFAULT).load_balancing_policy
    is_local = level in (ConsistencyLevel.LOCAL_ONE, ConsistencyLevel.LOCAL_QUORUM)
    try:
        ranges = session.cluster.metadata.token_ranges(table.keyspace, table.metadata.name)
    except (DriverException, ValueError):
        return None
    worst: tuple[int, int, int] | None = None  # replicas up, needed, all
    missing: dict[Any, None] = {}
    unmet = 0
    for one in ranges:
        replicas = [
            host
            for host in one.replicas
            if not is_local or policy.distance(host) in (HostDistance.LOCAL, HostDistance.LOCAL_RACK)
        ]
        needed, up = needed_replicas(level, len(replicas)), sum(host.is_up is not False for host in replicas)
        if up < needed:
            unmet += one.size
            missing.update(dict.fromkeys(host for host in replicas if host.is_up is False))
            worst = (up, needed, len(replicas)) if worst is None or up < worst[0] else worst
    if worst is None:
        return None
    up, needed, count = worst
    part = unmet / sum(one.size for one in ranges)
    return (
        f"consistency level {consistency_value_to_name(level)} needs {needed} of {count} replicas"
        f"{' of the local datacenter' if is_local else ''}, and {up} {'is' if up == 1 else 'are'} up (too few for "
        f"{part:.0%} of the ring); down: {_names(list(missing))}"
    )


def needed_replicas(level: int, count: int) -> int:
    """Return how many of *count* replicas have to respond for *level*."""
    fixed = {ConsistencyLevel.TWO: 2, ConsistencyLevel.THREE: 3, ConsistencyLevel.ALL: count}
    majorities = (ConsistencyLevel.QUORUM, ConsistencyLevel.LOCAL_QUORUM, ConsistencyLevel.EACH_QUORUM)
    return fixed.get(level, count // 2 + 1 if level in majorities else 1)


def probe(session: Any, table: Table, level: int) -> str | None:
    """Read a row of *table*, and return the reason if that fails."""
    text = f"SELECT {quoted(table.partition_key[:1])} FROM {table.name} LIMIT 1"
    statement = SimpleStatement(text, consistency_level=level, is_idempotent=True)
    try:
        session.execute(statement, timeout=PROBE_TIMEOUT)
    except InvalidRequest:  # the level is for writes only
        return None
    except (NoHostAvailable, DriverException) as error:
        return explain(error)
    return None


def explain(error: Exception) -> str:
    """Return what *error*, of a request, tells about the servers."""
    if isinstance(error, Unavailable) and error.consistency is not None:
        level, alive = consistency_value_to_name(error.consistency), error.alive_replicas
        needed = error.required_replicas
        return f"the servers report: {level} needs {needed} live replicas of a row, and there are {alive}"
    if isinstance(error, OperationTimedOut):
        return "the servers do not respond"
    return f"the servers report {type(error).__name__}: {error}"


# ---- rows per second


class Pace:
    """Limits the rows per second; None: no limit."""

    def __init__(self, display: ProgressDisplay, rate: float | None) -> None:
        self._display = display
        self._rate = rate
        self._due = 0.0

    @property
    def most(self) -> int | None:
        """Rows to take at a time; None: any number."""
        return None if self._rate is None else max(1, int(self._rate / SLICES))

    def wait(self, rows: int) -> None:
        """Wait until *rows* more may be taken; that rows are taken is progress."""
        now = self._display.moved_at = monotonic()
        if self._rate is None:
            return
        if self._due > now:
            sleep(self._due - now)
            now = self._display.moved_at = monotonic()
        self._due = max(self._due, now) + rows / self._rate

    def batches(self, batches: Iterable[SourceBatch]) -> Iterator[SourceBatch]:
        """Yield *batches*, in pieces, no faster than the limit."""
        for batch in batches:
            size = len(batch.numbers)
            step = self.most or max(1, size)
            for at in range(0, max(1, size), step):
                part = batch if step >= size else batch.slice(at, step)
                self.wait(len(part.numbers))
                yield part

    def events(self, reading: Any) -> Iterator[Any]:
        """Yield the events of *reading*, a scan, no faster than the limit."""
        for event in reading:
            if event.batch is not None:
                self.wait(len(event.batch))
            yield event
