"""PREPARE: for an application, and again for requests on a host that has forgotten their statement.

L5. An application's statement is prepared on one host for the response, on the others so that the first execution there
is fast. Preparing twice changes nothing. So if a host has not responded after a part of the timeout, PREPARE is sent to
the next one as well, and the first response is used. The other hosts, where the statement is prepared ahead, get as
much time, and never more than the whole call; a host that misses it prepares the statement when it first gets an
execution. Preparing is a command. If the wait of a caller is interrupted, the command continues: the statement is
registered as if the caller had received it, but weakly, so it is dropped.

After a restart of a node every request in flight gets UNPREPARED at about the same time. The first request for a
statement on a host begins a *preparation*, which belongs to none of them: it is prepared once for all requests that
need it there. A host that has come up has statements prepared ahead of requests (``Reprepare``), by preparations of the
same kind, which requests join. Each request, the first too, *waits* with an attempt of its own that has no stream,
until the preparation has ended, the request's own time is up, or the request is over for another reason. The response,
or its absence, is passed to all waiters at that time; ``execution.py`` interprets it for each.

From the moment that a host gets PREPARE the id of the statement is valid there again, and the host executes all other
requests with it that are in flight. If the table was dropped and created again with other types, their values have the
wrong types. So the types are compared first, with the schema tables, and a request is only sent again if the host
would still decode its bound values with the same types. If the tables do not prove that nothing has changed (other
types, user types, parameters that are not columns), the statement is first prepared under another id, by a blank after
its text, and compared with that response.

States of a preparation: *asking* for the columns, *looking* at the statement under the other id, *preparing*. In these
states it is in ``_under_way``; it ends exactly once, in ``_end``, ``_fail`` or ``_refuse``, which remove it. Its
waiters and ``_under_way`` are guarded by ``_lock``; no foreign code is called while it is held. Its steps run one after
the other: the first on the thread of the first waiter, the others on the I/O thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ResultKind
from cassandra._base.errors import DriverException, UnsupportedOperation
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._base.server_errors import ErrorMessage
from cassandra._core.transport import Attempt, Failure, Frame
from cassandra._net.exchange import Exchange, failure_error
from cassandra._routing.policies import SpeculativeExecutionPlan
from cassandra._session import scheduler
from cassandra._session.control.queries import query, rows_of
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT
from cassandra._session.statements.prepared import PreparedStatement, columns_query, has_types_of
from cassandra._session.statements.statement import NOT_SET, Sentinel, SimpleStatement
from cassandra._wire.messages.requests import PrepareMessage
from cassandra._wire.messages.responses import ResultMessage

from .future import ResponseFuture
from .retry import KEYSPACE_PER_REQUEST, NOT_SENT, is_timeout

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._session.session import Session

log = get_logger("cassandra.cluster")

FURTHER_HOSTS = 3  # at most, besides the first one
PER_HOST = 2.0  # seconds, or less with a short timeout: preparing takes a few milliseconds

Payload = Mapping[str, bytes | None]
#: Host, statement id, keyspace. Before protocol 5 the connection's keyspace is part of the prepared statement.
Key = tuple["Host", bytes, str | None]


# ---- for an application


class NextHost(SpeculativeExecutionPlan):
    """Tries the next host, up to *others* times, when one has not responded within its part of *timeout*."""

    def __init__(self, timeout: float | None, others: int) -> None:
        self._other_hosts = others
        self._delay = PER_HOST if timeout is None else min(PER_HOST, timeout / (others + 2))

    def next_execution(self, host: Host | None) -> float:
        self._other_hosts -= 1
        return self._delay if self._other_hosts >= 0 else -1


class Preparer:
    """Prepares the statements of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def prepare(self, query: str, custom_payload: Payload | None, keyspace: str | None) -> PreparedStatement:
        """See Session.prepare."""
        return scheduler.run(self._prepare, query, custom_payload, keyspace)

    def _prepare(self, query: str, custom_payload: Payload | None, keyspace: str | None) -> PreparedStatement:
        """Prepare, on a driver thread."""
        self._check_text(query, keyspace)
        future = self._send(query, keyspace, custom_payload)
        statement = self._make_statement(future, future._wait_for_result(), query, keyspace)
        for other in self._prepare_on_other_hosts(query, keyspace, future):
            self._wait_quietly(other)
        return statement

    async def prepare_async(
        self, query: str, custom_payload: Payload | None, keyspace: str | None
    ) -> PreparedStatement:
        """See Session.prepare_async."""
        return await scheduler.run_async(self._prepare, query, custom_payload, keyspace)

    @scheduler.command
    def prepare_on_all_hosts(self, query: str, excluded_host: Host | None, keyspace: str | None) -> None:
        """See Session.prepare_on_all_hosts."""
        for future in self._forward(query, excluded_host, keyspace, NOT_SET):
            self._wait_quietly(future)

    def _check_text(self, query: str, keyspace: str | None) -> None:
        """Raise DriverException if the text has values of encrypted columns: then PREPARE is not sent."""
        cluster = self._session.cluster
        if cluster.column_encryption_policy is not None:
            cluster.encryption.check_text(query, keyspace or self._session.keyspace)

    def _send(
        self,
        query: str,
        keyspace: str | None,
        payload: Payload | None = None,
        host: Host | None = None,
        timeout: float | Sentinel | None = NOT_SET,
    ) -> ResponseFuture:
        session = self._session
        session._check_open()
        profile = session._resolve_profile(EXEC_PROFILE_DEFAULT)
        versioned = session.cluster.protocol_version >= KEYSPACE_PER_REQUEST
        if keyspace is not None and not versioned and keyspace != session.keyspace:
            raise UnsupportedOperation(
                f"prepare(keyspace={keyspace!r}) requires protocol version 5, and the version is "
                f"{session.cluster.protocol_version}; qualify the table in the statement, or use a session with that "
                "keyspace"
            )
        if isinstance(timeout, Sentinel):
            timeout = profile.request_timeout
        others = 0 if host is not None else min(FURTHER_HOSTS, len(session._pools) - 1)
        message = PrepareMessage(query, keyspace if versioned else None)
        message.update_custom_payload(payload)
        metrics = session.cluster.metrics
        future = ResponseFuture(
            session,
            message,
            SimpleStatement(query, keyspace=keyspace, is_idempotent=True),  # parsing twice changes nothing
            timeout,
            metrics=None if metrics is None else metrics.of_message(message, profile._name),
            retry_policy=profile.retry_policy,
            load_balancer=profile.load_balancing_policy,
            speculative_execution_plan=NextHost(timeout, others) if others > 0 else None,
            host=host,
        )
        future.send_request()
        return future

    def _make_statement(
        self, future: ResponseFuture, message: Any, query: str, keyspace: str | None
    ) -> PreparedStatement:
        cluster = self._session.cluster
        statement = PreparedStatement.from_message(
            message.query_id,
            message.bind_plan,
            message.pk_indexes,
            cluster.metadata,
            query,
            keyspace,
            cluster.protocol_version,
            message.plan,
            message.result_metadata_id,
            message.is_lwt,
        )
        statement._session_keyspace = self._session.keyspace
        statement._binds_strictly = getattr(cluster, "strict_binding", False)  # mocks of clusters have none
        if future._custom_payload:
            statement.custom_payload = future._custom_payload
        cluster.add_prepared(message.query_id, statement)
        statement._registry = cluster.prepared
        if cluster.column_encryption_policy is not None:
            cluster.encryption.apply(statement)
            statement._check_encryption()
        return statement

    def _prepare_on_other_hosts(self, query: str, keyspace: str | None, future: ResponseFuture) -> list[ResponseFuture]:
        """Send PREPARE, as of *future*, to all other hosts, if that is enabled and there is time; return the
        futures."""
        remaining = future._remaining()
        late = self._session._draining or (remaining is not None and remaining <= 0)
        if late or not self._session.cluster.prepare_on_all_hosts:
            return []
        timeout = PER_HOST if remaining is None else min(PER_HOST, remaining)
        return self._forward(query, future.coordinator_host, keyspace, timeout)

    def _forward(
        self, query: str, excluded: Host | None, keyspace: str | None, timeout: float | Sentinel
    ) -> list[ResponseFuture]:
        """Send PREPARE to every connected host except *excluded*, concurrently; return the futures."""
        hosts = [host for host in self._session._pools if host != excluded and host.is_up and not host.is_suspect]
        return [self._send(query, keyspace, host=host, timeout=timeout) for host in hosts]

    @staticmethod
    def _wait_quietly(future: ResponseFuture) -> None:
        try:
            future._wait_for_result()
        except Exception as error:
            _log_failure(future, error)


def _log_failure(future: ResponseFuture, error: BaseException) -> None:
    log.warning(
        "A statement could not be prepared on %s ahead of its use: %s", future._execution.sending.plan.only, error
    )


# ---- again, for requests


class Waiting:
    """A waiter: a request, its waiting attempt, and the timer of the request's own timeout."""

    __slots__ = ("attempt", "request", "timer")

    def __init__(self, request: ResponseFuture, attempt: Attempt) -> None:
        self.request = request
        self.attempt = attempt
        self.timer: Any = None

    def wake(self) -> bool:
        """End the wait. Return False if it was over already."""
        if self.timer is not None:
            self.timer.cancel()
        return self.request._drop_attempt(self.attempt.number)


class Repreparing:
    """The preparations under way for the requests of one session."""

    def __init__(self) -> None:
        self._lock = driver_lock("Repreparing")
        self._under_way: dict[Key, Preparation] = {}

    @scheduler.command
    def join(self, request: ResponseFuture, attempt: Attempt) -> None:
        """Process *attempt* when its statement was prepared on its host, or cannot be prepared there."""
        remaining = request._remaining()
        if remaining is not None and remaining <= 0:
            request._execution.sending.time_out(request, attempt)
            return
        attempt.number = request._execution.sending.next_number(request)
        if not request._register(attempt):
            return
        key = (attempt.host, attempt.reprepares.query_id, attempt.connection.keyspace)
        waiting = Waiting(request, attempt)
        if remaining is not None:
            waiting.timer = request.session.cluster.reactor.call_later(remaining, partial(_is_late, waiting))
        begun = None
        with self._lock:
            preparation = self._under_way.get(key)
            if preparation is None:
                preparation = Preparation(self, key, attempt.connection, attempt.reprepares, remaining)
                begun = self._under_way[key] = preparation
            preparation.waiting.append(waiting)
        if begun is not None:
            begun.start()

    def prepare_ahead(
        self,
        host: Host,
        connection: Connection,
        statement: PreparedStatement,
        timeout: float,
        on_done: Callable[[BaseException | None], None],
    ) -> None:
        """Prepare *statement* by *connection* to *host*, or await the preparation that is under way; then call
        *on_done* exactly once, with None or the error. On the I/O thread."""
        key = (host, statement.query_id, connection.keyspace)
        begun = None
        with self._lock:
            preparation = self._under_way.get(key)
            if preparation is None:
                begun = preparation = self._under_way[key] = Preparation(self, key, connection, statement, timeout)
            preparation.ahead.append(on_done)
        if begun is not None:
            begun.start()

    def _remove(self, preparation: Preparation) -> list[Waiting]:
        """Remove *preparation*, which has ended, and return its waiters."""
        with self._lock:
            if self._under_way.get(preparation.key) is preparation:
                del self._under_way[preparation.key]
            waiting, preparation.waiting = preparation.waiting, []
        return waiting


class Preparation:
    """A statement that is being prepared again on a host."""

    def __init__(
        self,
        owner: Repreparing,
        key: Key,
        connection: Connection,
        statement: PreparedStatement,
        remaining: float | None,
    ) -> None:
        self._owner = owner
        self.key = key
        self.waiting: list[Waiting] = []
        self.ahead: list[Callable[[BaseException | None], None]] = []  # called when it ends
        self._connection = connection
        self._statement = statement
        self._deadline = None if remaining is None else monotonic() + remaining

    def start(self) -> None:
        """Take the first step."""
        if not len(self._statement._bind_plan):
            self._prepare()  # without values there are no types to compare
            return
        question = columns_query(self._statement)
        if question is None:
            self._read_columns()
        else:
            self._send(lambda: query(question), self._on_first_response)

    def _on_first_response(self, outcome: Frame | Failure) -> None:
        if isinstance(outcome, Failure):
            self._end(outcome)
            return
        try:
            unchanged = has_types_of(self._statement, rows_of(self._connection.decode(outcome)))
        except Exception:  # an ERROR, or not decodable: compare with the statement itself
            unchanged = False
        if unchanged:
            self._prepare()
        else:
            self._read_columns()

    def _read_columns(self) -> None:
        self._send(lambda: self._message(" "), self._on_columns)

    def _on_columns(self, outcome: Frame | Failure) -> None:
        try:
            message = None if isinstance(outcome, Failure) else self._connection.decode(outcome)
        except Exception as error:
            self._fail(error)
            return
        if isinstance(message, ResultMessage) and message.kind == ResultKind.PREPARED:
            self._refuse(message.bind_plan)
        else:
            self._end(outcome)

    def _refuse(self, bind_plan: Any) -> None:
        """Fail the waiters with values of other types; prepare the statement for the rest."""
        with self._owner._lock:
            here = list(self.waiting)
        refused: list[tuple[Waiting, DriverException]] = []
        for waiting in here:
            try:
                waiting.attempt.reprepares._compare(bind_plan)
            except DriverException as outdated:
                refused.append((waiting, outdated))
        outdated_error: BaseException | None = None
        try:
            self._statement._compare(bind_plan)
        except DriverException as outdated:
            outdated_error = outdated
        with self._owner._lock:
            gone = {waiting for waiting, _ in refused}
            self.waiting = [waiting for waiting in self.waiting if waiting not in gone]
            over = not self.waiting and (not self.ahead or outdated_error is not None)
            if over:
                del self._owner._under_way[self.key]
        for waiting, error in refused:
            if waiting.wake():
                request, attempt = waiting.request, waiting.attempt
                request._fail(attempt.page, request._execution.sending.error_of(request, attempt, error))
        if over:
            self._end_ahead(outdated_error)
        else:
            self._prepare()

    def _prepare(self) -> None:
        self._send(self._message, self._end)

    def _message(self, behind: str = "") -> PrepareMessage:
        keyspace = self._statement._home if self._connection.protocol_version >= KEYSPACE_PER_REQUEST else None
        return PrepareMessage(self._statement.query_string + behind, keyspace)

    def _send(self, make: Callable[[], Any], then: Callable[[Frame | Failure], None]) -> None:
        connection = self._connection
        try:
            frame = make().encode(connection.protocol_version, features=connection.features)
            remaining = None if self._deadline is None else max(0.001, self._deadline - monotonic())
            connection.submit(frame, Exchange(then), 0, remaining)
        except Exception as error:
            self._fail(error)

    def _end(self, outcome: Frame | Failure) -> None:
        """End the preparation with the last response, or its absence."""
        lost = isinstance(outcome, Failure) and not is_timeout(outcome)
        self._wake_all(lost, lambda request, attempt: request._handle(attempt, outcome))
        registry = self._statement._registry
        if self.ahead or (registry is not None and registry.ahead):
            error = self._error_of(outcome)
            if error is None and registry is not None:
                registry.note_prepared(self.key[0], self._statement.query_id)
            self._end_ahead(error)

    def _error_of(self, outcome: Frame | Failure) -> BaseException | None:
        """Return None if *outcome* is the response to a PREPARE of the statement, and it has the same types."""
        try:
            if isinstance(outcome, Failure):
                raise outcome.cause or failure_error(outcome, self._connection.endpoint)
            message = self._connection.decode(outcome)
            if isinstance(message, ErrorMessage):
                raise message.to_exception()
            if message.query_id == self._statement.query_id:
                self._statement._compare(message.bind_plan)
        except Exception as error:
            return error
        return None

    def _end_ahead(self, error: BaseException | None) -> None:
        """Call the callbacks of ``prepare_ahead``. Other threads do not find this preparation any more."""
        with self._owner._lock:
            ahead, self.ahead = self.ahead, []
        for on_done in ahead:
            on_done(error)

    def _fail(self, error: Exception) -> None:
        may_go_on = isinstance(error, NOT_SENT)
        self._wake_all(
            may_go_on, lambda request, attempt: request._execution.not_reprepared(request, attempt, error, may_go_on)
        )
        self._end_ahead(error)

    def _wake_all(self, lost: bool, tell: Callable[[ResponseFuture, Attempt], object]) -> None:
        """Call *tell* for each waiter. If the connection is *lost*, waiters with another connection to the host begin
        again with that one."""
        for waiting in self._owner._remove(self):
            request, attempt = waiting.request, waiting.attempt
            if not waiting.wake():
                continue
            if lost and attempt.connection is not self._connection:
                again = Attempt(attempt.host, attempt.pool, attempt.connection, attempt.page, attempt.reprepares)
                self._owner.join(request, again)
            else:
                tell(request, attempt)


def _is_late(waiting: Waiting) -> None:
    if waiting.wake():
        waiting.request._execution.sending.time_out(waiting.request, waiting.attempt)
