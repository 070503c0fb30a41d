"""Execution: the slow path of one request: errors, retries, non-row results, re-preparing.

L5. For nearly all requests of prepared statements, native code alone sends the request and processes the response
(``transport_parts/request.pxi``). The rest is in an object of this class, made on demand: :attr:`sending` has the
content and the targets, this object interprets the outcomes of attempts. Neither refers to the request, which is a
parameter of each step, and which alone owns attempts, page, outcome and deadline.

Callers wait, the I/O thread decides: ``process`` and its consequences run on the I/O thread, one outcome of a request
after the other, where no handler of a signal can interrupt them between two changes. They never block. Callers run
``read_plain``, which decodes a result and changes nothing, so that it may be interrupted anywhere and repeated. Callers
also run the steps that make a request and begin a page, before anything is in flight: until then no other thread has
the attempts, and an exception ends the page.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel, ResultKind, consistency_value_to_name
from cassandra._base.errors import ConnectionException, DriverException, OperationTimedOut
from cassandra._base.logs import get_logger, log_server_warnings
from cassandra._base.server_errors import ErrorMessage, PreparedQueryNotFound
from cassandra._core.codec import is_plain_rows
from cassandra._core.routing import Place
from cassandra._core.transport import Attempt, Failure, Frame, RequestHooks
from cassandra._wire.messages.responses import ResultMessage
from cassandra._wire.rows import apply_factory, rows_and_page

from . import completing
from .attempts import connection_error, is_timeout
from .outcome import NOTHING, Beside, Came, beside, has_extras
from .retry import IGNORE, RETRY, RETRY_NEXT_HOST, Decision, decide, meaning_of
from .sending import Sending
from .tablet_routing import learn_tablet
from .trace import QueryTrace

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.policies import RetryPolicy

    from ..statements.prepared import PreparedStatement
    from .future import ResponseFuture

log = get_logger("cassandra.cluster")

ITS_OWN_TIME = 0.01  # seconds: with no more time left than this, the request itself has timed out
REPREPARE_LIMIT = 5  # per statement and host: a request that needs more re-preparations fails


class Execution(RequestHooks):
    """Processes the outcomes of attempts: results, errors, retries, statements that a host has forgotten."""

    __slots__ = ("_reprepares", "_retries", "content", "retry_policy", "sending", "traces")

    def __init__(self, sending: Sending, retry_policy: RetryPolicy | None) -> None:
        self.sending = sending
        self.content = sending.content
        self.retry_policy = retry_policy
        self.traces: tuple[QueryTrace, ...] = ()
        self._retries = 0
        self._reprepares: Counter[tuple[Host, bytes]] | None = None

    def begin_page(self, request: ResponseFuture, paging_state: bytes | None) -> None:
        """Reset for the page at *paging_state*; called by the thread that requested the page."""
        sending = self.sending
        self.content.message.paging_state = paging_state
        sending.unsure = False
        sending.restart(request)
        self._retries = 0

    # ---- called by native code

    def send(self, request: ResponseFuture, page: int) -> None:
        self.sending.send(request, page)

    def send_to(self, request: ResponseFuture, place: Place, page: int) -> bool:
        return self.sending.send_to(request, place, page)

    def look(self, request: ResponseFuture) -> None:
        self.sending.look(request)

    def is_repeatable(self) -> bool:
        return bool(self.content.is_idempotent)

    def gave_up(self, request: ResponseFuture, attempt: Attempt) -> None:
        self.sending.gave_up(request, attempt)

    def may_be_executed(self, request: ResponseFuture) -> bool:
        return self.sending.may_be_executed(request)

    # ---- outcomes

    def read_plain(self, request: ResponseFuture, attempt: Attempt, frame: Frame) -> tuple[Any, Came] | None:
        """Return the rows of a result and its ``Came`` if it needs no further step; else None.

        Changes nothing: it runs on callers' threads, which the handler of a signal may interrupt anywhere."""
        if attempt.reprepares is not None:
            return None
        message = self._message(request, attempt, frame)
        if is_plain_rows(message):  # nearly all
            plan = message.plan
            if attempt.plan is not None and attempt.plan is not plan:
                return None
            rows, kept = rows_and_page(message.page, request.row_factory, False)
            return rows, (plan, message.paging_state, None, kept)
        if not isinstance(message, ResultMessage) or has_extras(message):
            return None
        if message.kind == ResultKind.VOID:
            return None, NOTHING
        if message.kind != ResultKind.ROWS or message.metadata_changed:
            return None
        if attempt.plan is not None and attempt.plan is not message.plan:
            return None
        return self._rows(request, message)

    def _message(self, request: ResponseFuture, attempt: Attempt, frame: Frame) -> Any:
        if self.content.handler is not None:
            return attempt.connection.decode_with(self.content.handler, frame, attempt.plan)
        message = attempt.connection.decode(frame, attempt.plan)
        encryption = getattr(request.session, "_encryption", None)
        if encryption is not None and encryption.is_on:
            encryption.describe(message, self.content)
        return message

    def process(self, request: ResponseFuture, attempt: Attempt, answer: Frame | Failure) -> None:
        if isinstance(answer, Failure):
            if request._tracking is not None:
                request._tracking.ended(request, attempt, connection_error(answer, attempt.host))
            self._unanswered(request, attempt, answer)
            return
        try:
            message = self._message(request, attempt, answer)
        except Exception as error:
            if request._tracking is not None:
                request._tracking.ended(request, attempt, error)
            self._not_understood(request, attempt, error)
            return
        if request._tracking is not None:
            request._tracking.ended(
                request, attempt, message.to_exception() if isinstance(message, ErrorMessage) else None
            )
        if attempt.reprepares is None:
            self.set_result(request, attempt, message)
        else:
            self._reprepared(request, attempt, attempt.reprepares, message)

    def _not_understood(self, request: ResponseFuture, attempt: Attempt, error: Exception) -> None:
        """Fail the request, whose response cannot be decoded: the server may have executed it. After a USE the keyspace
        of the connection is unknown."""
        attempt.answered = False
        self.sending.unsure |= attempt.reprepares is None
        self.sending.gave_up(request, attempt)
        request._fail(attempt.page, self.sending.error_of(request, attempt, error))

    def _unanswered(self, request: ResponseFuture, attempt: Attempt, failure: Failure) -> None:
        self.sending.unsure |= failure.sent and attempt.reprepares is None
        if is_timeout(failure):
            remaining = request._remaining()
            if attempt.reprepares is None or (remaining is not None and remaining <= ITS_OWN_TIME):
                self.sending.time_out(request, attempt)
            else:  # the request still has time: only the re-preparation was too slow
                self.not_reprepared(request, attempt, _slow(attempt.host), True)
        else:
            self._connection_lost(request, attempt, failure)

    # ---- results

    def set_result(self, request: ResponseFuture, attempt: Attempt, message: Any) -> None:
        if is_plain_rows(message):  # nearly all
            plan, sent_with = message.plan, attempt.plan
            if sent_with is not None and sent_with is not plan:
                self._described(message)
            rows, kept = rows_and_page(message.page, request.row_factory, bool(request._callbacks))
            request._conclude(attempt.page, rows, None, (plan, message.paging_state, None, kept))
        elif isinstance(message, ResultMessage):
            self._set_other_result(request, attempt, message, message.kind)
        else:
            self._take_note(request, attempt, message)
            self._on_error(request, attempt, message)

    def _set_other_result(
        self, request: ResponseFuture, attempt: Attempt, message: ResultMessage, kind: int | None
    ) -> None:
        """Process results other than plain rows, the frequent kinds first."""
        self._take_note(request, attempt, message)
        if message.custom_payload is not None:
            learn_tablet(request.session, attempt.connection.features, self.content.statement, message.custom_payload)
        if kind == ResultKind.ROWS:
            self._set_rows(request, attempt, message)
        elif kind == ResultKind.VOID or kind == ResultKind.PREPARED:
            request._conclude(attempt.page, None if kind == ResultKind.VOID else message, None, beside(message))
        elif kind == ResultKind.SET_KEYSPACE:
            completing.follow(request, attempt, message.new_keyspace or "", beside(message))
        elif kind == ResultKind.SCHEMA_CHANGE:
            completing.agree(request, attempt, message.schema_change_event, beside(message))
        else:
            request._fail(attempt.page, DriverException(f"unknown kind of RESULT: {kind!r}"))

    def _take_note(self, request: ResponseFuture, attempt: Attempt, message: Any) -> None:
        """Process the parts that any response may have, an ERROR too."""
        attempt.answered = True
        if message.warnings is not None:
            log_server_warnings(message.warnings)
        if message.trace_id is not None:
            self.traces = (*self.traces, QueryTrace(message.trace_id, request.session))

    def _set_rows(self, request: ResponseFuture, attempt: Attempt, message: ResultMessage) -> None:
        if message.metadata_changed:
            if self.content.prepared is not None:
                self.content.prepared.update_result_metadata(message.plan, message.result_metadata_id)
                self.content.use_snapshot(self.content.prepared)
        elif attempt.plan is not None and attempt.plan is not message.plan:
            self._described(message)
        rows, came = self._rows(request, message)
        request._conclude(attempt.page, rows, None, came)

    def _rows(self, request: ResponseFuture, message: ResultMessage) -> tuple[Any, Came]:
        names = types = kept = None
        if message.page is not None:
            rows, kept = rows_and_page(message.page, request.row_factory, bool(request._callbacks))
        else:  # a custom protocol handler decoded the rows itself
            names, types = message.column_names, message.column_types
            rows = apply_factory(request.row_factory, names, message.parsed_rows)
        extras = None
        if names is not None or has_extras(message):
            extras = Beside(message.warnings, message.custom_payload, names, types)
        return rows, (message.plan, message.paging_state, extras, kept)

    def _described(self, message: ResultMessage) -> None:
        """Adopt the metadata in *message*, rows of a prepared statement, for later requests, if the statement has no
        metadata id. Without ids this is the only way to learn that a table was altered."""
        prepared = self.content.prepared
        if prepared is not None and prepared.result_metadata_id is None and message.plan is not None:
            prepared.update_result_metadata(message.plan, None)

    # ---- errors

    def _on_error(self, request: ResponseFuture, attempt: Attempt, message: Any) -> None:
        if not isinstance(message, ErrorMessage):
            self._not_understood(
                request, attempt, ConnectionException(f"Got unexpected response: {message!r}", attempt.host.endpoint)
            )
        elif isinstance(message, PreparedQueryNotFound):
            self._reprepare(request, attempt, message)
        else:
            self._consider_retry(request, attempt, message)

    def _connection_lost(self, request: ResponseFuture, attempt: Attempt, failure: Failure) -> None:
        error = connection_error(failure, attempt.host)
        if failure.sent and attempt.reprepares is None:
            self._consider_retry(request, attempt, error)
        else:  # provably not executed: the next host may execute it
            self.sending.errors[attempt.host] = error
            self.sending.send(request, attempt.page)

    def _consider_retry(self, request: ResponseFuture, attempt: Attempt, error: Any) -> None:
        self.sending.unsure |= attempt.reprepares is None and meaning_of(error).may_be_executed
        content, decision = self.content, None
        if self.retry_policy is not None:
            decision = decide(self.retry_policy, content.statement, content.consistency, error, self._retries)
        if request._metrics is not None:
            request._metrics.on_error(error, decision)
        if decision is None or decision.action not in (RETRY, RETRY_NEXT_HOST, IGNORE):
            request._conclude(attempt.page, None, self.sending.error_of(request, attempt, error), beside(error))
        elif decision.action == IGNORE:
            request._conclude(attempt.page, None, None, beside(error))
        else:
            self.sending.errors[attempt.host] = self.sending.error_of(request, attempt, error)
            self._retry(request, attempt, decision)

    def _retry(self, request: ResponseFuture, attempt: Attempt, decision: Decision) -> None:
        self._retries += 1
        content = self.content
        consistency = content.consistency
        if consistency is not None and decision.consistency not in (None, consistency):
            if ConsistencyLevel.is_serial(consistency):
                _warn_of_serial(self.retry_policy, consistency, decision.consistency)
            else:
                content.change(content.result_plan, consistency_level=decision.consistency)
        same_host = decision.action == RETRY

        def send(request: ResponseFuture, page: int) -> None:
            place = Place(attempt.host, attempt.connection.shard)
            if not (same_host and self.sending.send_to(request, place, page)):
                self.sending.send(request, page)

        if decision.delay > 0:
            self.sending.later(request, decision.delay, attempt.page, send)
        else:
            send(request, attempt.page)

    # ---- UNPREPARED

    def _reprepare(self, request: ResponseFuture, attempt: Attempt, message: PreparedQueryNotFound) -> None:
        """Prepare a statement on the host that does not have it (any more), then send the request again. The server
        responded without executing it, so this is safe for any statement."""
        query_id = message.info
        prepared = self._prepared_of(request, query_id)
        if prepared is not None and prepared._outdated is not None:
            request._fail(attempt.page, self.sending.error_of(request, attempt, prepared._outdated_error()))
        elif prepared is None:
            request._fail(
                attempt.page,
                DriverException(
                    f"neither {attempt.host} nor the driver has the prepared statement {query_id.hex()}; "
                    "prepare it again"
                ),
            )
        elif self._is_other_keyspace(attempt, prepared):
            request._fail(
                attempt.page,
                ValueError(
                    f"The Session's current keyspace ({attempt.connection.keyspace}) does not match the keyspace "
                    f"the statement was prepared with ({prepared._home})"
                ),
            )
        elif self._counts_reprepare(attempt.host, query_id) > REPREPARE_LIMIT:
            request._fail(
                attempt.page,
                DriverException(
                    f"{attempt.host} evicted the prepared statement {query_id.hex()} {REPREPARE_LIMIT} times during "
                    f"one request; its cache of prepared statements may be too small. Query: {prepared.query_string}"
                ),
            )
        else:
            again = Attempt(attempt.host, attempt.pool, attempt.connection, attempt.page, prepared)
            request.session._repreparing.join(request, again)

    def not_reprepared(self, request: ResponseFuture, attempt: Attempt, error: Exception, may_go_on: bool) -> None:
        """Process a PREPARE that could not be sent, or had no response. If *may_go_on*, try the next host, which may
        have the statement; else fail with *error*."""
        if may_go_on:
            self.sending.errors[attempt.host] = error
            self.sending.send(request, attempt.page)
        else:
            request._fail(attempt.page, error)

    def _counts_reprepare(self, host: Host, query_id: bytes) -> int:
        if self._reprepares is None:
            self._reprepares = Counter()
        self._reprepares[host, query_id] += 1
        return self._reprepares[host, query_id]

    @staticmethod
    def _is_other_keyspace(attempt: Attempt, prepared: PreparedStatement) -> bool:
        connection = attempt.connection
        return bool(connection.protocol_version < 5 and prepared._home) and (
            connection.keyspace is not None and connection.keyspace != prepared._home
        )

    def _prepared_of(self, request: ResponseFuture, query_id: bytes) -> PreparedStatement | None:
        if self.content.prepared is not None and self.content.prepared.query_id == query_id:
            return self.content.prepared
        of_batch = getattr(self.content.statement, "_prepared", None)
        if of_batch and query_id in of_batch:
            return of_batch[query_id]  # type: ignore[no-any-return]
        return request.session.cluster.get_prepared(query_id)

    def _reprepared(self, request: ResponseFuture, attempt: Attempt, prepared: PreparedStatement, message: Any) -> None:
        if isinstance(message, ErrorMessage):
            self._consider_retry(request, attempt, message)
        elif not isinstance(message, ResultMessage) or message.kind != ResultKind.PREPARED:
            error = ConnectionException(f"Got unexpected response to PREPARE: {message!r}", attempt.host.endpoint)
            request._fail(attempt.page, error)
        elif message.query_id != prepared.query_id:
            request._fail(
                attempt.page,
                DriverException(
                    f"{attempt.host} prepared the statement under the id {(message.query_id or b'').hex()} instead of "
                    f"{prepared.query_id.hex()}; the current keyspace may be different from that of the first "
                    f"preparation. Query: {prepared.query_string}"
                ),
            )
        else:
            try:
                prepared._compare(message.bind_plan)
            except DriverException as error:
                request._fail(attempt.page, self.sending.error_of(request, attempt, error))
                return
            prepared.update_result_metadata(message.plan, message.result_metadata_id)
            if prepared is self.content.prepared:
                self.content.use_snapshot(prepared)
            if not self.sending.submit(request, Attempt(attempt.host, attempt.pool, attempt.connection, attempt.page)):
                self.sending.send(request, attempt.page)


_warned: set[tuple[type, int]] = set()  # (class of policy, serial level) pairs that were logged


def _warn_of_serial(policy: RetryPolicy | None, level: int, wanted: int | None) -> None:
    """Log, once for each class of policies and level, that a retry keeps the serial *level*. At another level a read
    would not see the decisions of Paxos."""
    key = (type(policy), level)
    if key not in _warned:
        _warned.add(key)
        log.warning(
            "%s decided to retry a request of consistency level %s at %s. It is retried at %s, as another level would "
            "not be linearizable",
            type(policy).__name__,
            consistency_value_to_name(level),
            consistency_value_to_name(wanted),
            consistency_value_to_name(level),
        )


def _slow(host: Host) -> OperationTimedOut:
    return OperationTimedOut({str(host.endpoint): "The statement was not prepared again in time"}, host)
