"""The prepared statements of a cluster by id, and preparing them again on a host that has come up.

L5. The registry is weak: a statement that the application dropped is removed, and not prepared again. It has no lock:
any thread adds, copies and drops statements, garbage collection anywhere, each by one atomic operation of a dict.
"""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from weakref import ref

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import ConnectionException, DriverException, NoConnectionsAvailable
from cassandra._base.logs import get_logger
from cassandra._base.randomness import uniform
from cassandra._net.backoff import Pace
from cassandra._session.statements.prepared import describe_change

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._session.cluster import Cluster
    from cassandra._session.statements.prepared import PreparedStatement

log = get_logger("cassandra.cluster")


class PreparedRegistry:
    """Statements by id, while they are referenced elsewhere."""

    def __init__(self) -> None:
        self._statements: dict[bytes, ref[PreparedStatement]] = {}
        self._all: dict[int, ref[PreparedStatement]] = {}  # by id()
        self.ahead: dict[Host, Reprepare] = {}  # hosts that have come up, with statements left to prepare

    def add(self, query_id: bytes, prepared_statement: PreparedStatement) -> None:
        """Register *prepared_statement*, weakly, to prepare it on hosts that come up or lost it; it replaces an earlier
        one with the same id. Earlier ones are marked as outdated if it has other parameters."""
        known = self.get(query_id)

        def forget(gone: ref[PreparedStatement]) -> None:
            if self._statements.get(query_id) is gone:
                self._statements.pop(query_id, None)

        self._statements[query_id] = ref(prepared_statement, forget)
        self.note_copy(prepared_statement)
        if known is not None and describe_change(known._bind_plan, prepared_statement._bind_plan) is not None:
            for one in self.every():
                if one.query_id == query_id and one is not prepared_statement:
                    with contextlib.suppress(DriverException):  # raised again when the statement is executed
                        one._compare(prepared_statement._bind_plan)

    def __len__(self) -> int:
        return len(self._statements)

    def note_copy(self, statement: PreparedStatement) -> None:
        """Register *statement*, a copy of a registered one, for :meth:`every`."""
        key = id(statement)

        def forget(gone: ref[PreparedStatement]) -> None:
            if self._all.get(key) is gone:  # another object may have this address by now
                self._all.pop(key, None)

        self._all[key] = ref(statement, forget)

    def get(self, query_id: bytes) -> PreparedStatement | None:
        """Return the statement with that id, if it is still referenced."""
        known = self._statements.get(query_id)
        return None if known is None else known()

    def every(self) -> list[PreparedStatement]:
        """Return every live statement, also several of one id."""
        return _alive(self._all)

    def all(self) -> list[PreparedStatement]:
        """Return one statement of every id."""
        return _alive(self._statements)

    def recent(self, window: float | None) -> list[bytes]:
        """Return the ids of the statements that were used within *window* seconds (None: of all), the last used ones
        first."""
        uses: dict[bytes, float] = {}
        for statement in self.every():
            uses[statement.query_id] = max(statement._last_use.at, uses.get(statement.query_id, 0.0))
        first = 0.0 if window is None else monotonic() - window
        return sorted((one for one, at in uses.items() if at >= first), key=lambda one: uses[one], reverse=True)

    def note_prepared(self, host: Host, query_id: bytes) -> None:
        """Record that *host* has the statement with that id, because of a request."""
        ahead = self.ahead.get(host)
        if ahead is not None:
            ahead.skip(query_id)


def _alive(references: Mapping[Any, ref[PreparedStatement]]) -> list[PreparedStatement]:
    return [statement for one in list(references.values()) if (statement := one()) is not None]


class Reprepare:
    """Prepares the statements that were used recently on *host*, which has come up, the last used ones first.

    One at a time, at the pace of ``reprepare_rate``: every client of the cluster does so at the same time. No request
    waits for it: one for a statement whose turn has not come has it prepared itself, once for all requests that need it
    (``request/preparing.py``), and it is skipped here. Failures are logged and otherwise ignored.

    It owns no connection: it uses the pool of a session that has the keyspace of the statement, and ends with the pools
    of the host. Steps run on the I/O thread, one after the other; any thread cancels it, and skips statements.
    """

    def __init__(self, cluster: Cluster, host: Host) -> None:
        """Begin. On the strand of the membership."""
        self._cluster = cluster
        self._host = host
        self._pace = Pace()
        self._queue = deque(cluster.prepared.recent(cluster.reprepare_window))
        self._skipped: set[bytes] = set()
        self._failed = 0
        self._is_over = False
        cluster.prepared.ahead[host] = self
        rate = cluster.reprepare_rate
        self._later(0.0 if rate is None else uniform(0.0, 1.0 / rate))

    def cancel(self) -> None:
        """Prepare no more statements. Idempotent."""
        self._is_over = True
        if self._cluster.prepared.ahead.get(self._host) is self:
            self._cluster.prepared.ahead.pop(self._host, None)

    def skip(self, query_id: bytes) -> None:
        """Do not prepare the statement with that id: a request has had it prepared."""
        self._skipped.add(query_id)

    def _later(self, delay: float) -> None:
        try:
            self._cluster.reactor.call_later(delay, self._next)
        except (RuntimeError, ConnectionException) as error:  # the cluster was shut down
            log.debug("No statements are prepared on %s: %s", self._host, error)
            self.cancel()

    def _next(self) -> None:
        """Prepare the next statement that is still referenced, and that one of the sessions can prepare."""
        while self._queue and not self._is_over and not self._cluster.is_shutdown:
            query_id = self._queue.popleft()
            statement = None if query_id in self._skipped else self._cluster.prepared.get(query_id)
            if statement is not None and statement._outdated is None and self._prepare(statement):
                return
        self._end()

    def _prepare(self, statement: PreparedStatement) -> bool:
        """Prepare *statement*. Return False if no session can: nothing will be called then."""
        for session in list(self._cluster.sessions):
            pool = None if session.is_shutdown else session._pools.get(self._host)
            if pool is None:
                continue
            try:
                connection = pool.pick()
            except NoConnectionsAvailable:
                continue
            by_request = ProtocolVersion.uses_keyspace_flag(connection.protocol_version)
            if by_request or connection.keyspace == statement._home:  # before, the id depends on the connection's
                on_done, timeout = partial(self._on_prepared, statement), self._cluster.control_timeout
                session._repreparing.prepare_ahead(self._host, connection, statement, timeout, on_done)
                return True
        return False

    def _on_prepared(self, statement: PreparedStatement, error: BaseException | None) -> None:
        if error is not None:
            self._failed += 1
            level = logging.DEBUG if statement._outdated is None else logging.WARNING
            log.log(level, "A statement could not be prepared on %s: %s", self._host, error)
        self._later(self._pace.reserve(self._cluster.reprepare_rate))

    def _end(self) -> None:
        if self._failed and not self._is_over:
            log.warning("%d statements could not be prepared on %s", self._failed, self._host)
        self.cancel()
