"""Execution: what the outcomes of a request's attempts mean, from rows to retries.

L5. The native half of a request (``Operation``) hands each outcome of an attempt to exactly one thread: a caller
blocked in ``result()``, the asyncio loop that awaits, or, for errors and registered callbacks, the I/O thread. That
thread runs ``_process``; nothing in it blocks.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ResultKind
from cassandra._base.errors import (
    ConnectionException,
    DriverException,
    ErrorMessage,
    OperationTimedOut,
    PreparedQueryNotFound,
)
from cassandra._core.codec import is_plain_rows
from cassandra._core.routing import Place
from cassandra._core.transport import Attempt, Failure, Frame
from cassandra._wire.messages.results import ResultMessage
from cassandra._wire.rows import apply_factory, decode_page

from . import completing
from .attempts import (
    IGNORE,
    MAYBE_EXECUTED,
    RETRY,
    RETRY_NEXT_HOST,
    Decision,
    ask_policy,
    connection_error,
    is_timeout,
)
from .conclusion import NOTHING, Beside, Came
from .sending import Sending
from .tablet_routing import learn_tablet

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from ..statements.prepared import PreparedStatement

log = logging.getLogger("cassandra.cluster")
server_log = logging.getLogger("cassandra.protocol")

ITS_OWN_TIME = 0.01  # seconds: a request that has no more than this left has timed out itself
REPREPARE_LIMIT = 5  # per statement and host; one that forgets quicker than that is not asked again


class Execution(Sending):
    """Processes the outcomes of attempts: results, errors, retries, statements a host has forgotten."""

    # ---- outcomes

    def _process(self, attempt: Attempt, answer: Frame | Failure) -> None:
        connection = attempt.connection
        if isinstance(answer, Failure):
            if self._tracking is not None:
                self._tracking.ended(self, attempt, connection_error(answer, attempt.host))
            self._unanswered(attempt, answer)
            return
        if self._handler is None:
            message = connection.decode(answer, attempt.plan)
        else:
            message = connection.decode_with(self._handler, answer, attempt.plan)
        if self._tracking is not None:
            self._tracking.ended(self, attempt, message.to_exception() if isinstance(message, ErrorMessage) else None)
        if attempt.reprepares is None:
            self._set_result(attempt, message)
        else:
            self._reprepared(attempt, attempt.reprepares, message)

    def _unanswered(self, attempt: Attempt, failure: Failure) -> None:
        self._unsure |= failure.sent and attempt.reprepares is None
        if is_timeout(failure):
            remaining = self._remaining()
            if attempt.reprepares is None or (remaining is not None and remaining <= ITS_OWN_TIME):
                self._time_out(attempt)
            else:  # of the request that it was prepared again for
                self._not_reprepared(attempt, _slow(attempt.host), True)
        else:
            self._connection_lost(attempt, failure)

    # ---- results

    def _set_result(self, attempt: Attempt, message: Any) -> None:
        if is_plain_rows(message):  # nearly all
            plan, sent_with = message.plan, attempt.plan
            if sent_with is not None and sent_with is not plan:
                self._described(message)
            rows = decode_page(message.page, self.row_factory)
            self._conclude(attempt.page, rows, None, (plan, message.paging_state, None))
        elif isinstance(message, ResultMessage):
            self._set_other_result(attempt, message, message.kind)
        else:
            self._take_note(attempt, message)
            self._on_error(attempt, message)

    def _set_other_result(self, attempt: Attempt, message: ResultMessage, kind: int | None) -> None:
        """All but plain rows, the frequent ones first."""
        self._take_note(attempt, message)
        if message.custom_payload is not None:
            learn_tablet(self.session, attempt.connection.features, self.query, message.custom_payload)
        if kind == ResultKind.ROWS:
            self._set_rows(attempt, message)
        elif kind == ResultKind.VOID or kind == ResultKind.PREPARED:
            self._conclude(attempt.page, None if kind == ResultKind.VOID else message, None, beside(message))
        elif kind == ResultKind.SET_KEYSPACE:
            completing.follow(self, attempt, message.new_keyspace or "", beside(message))
        elif kind == ResultKind.SCHEMA_CHANGE:
            completing.agree(self, attempt, message.schema_change_event, beside(message))
        else:
            self._fail(attempt.page, DriverException(f"unknown kind of RESULT: {kind!r}"))

    def _take_note(self, attempt: Attempt, message: Any) -> None:
        """What may come with any answer, an ERROR too."""
        attempt.answered = True
        if message.warnings is not None:
            for warning in message.warnings:
                server_log.warning("Server warning: %s", warning)
        if message.trace_id is not None:
            self._add_trace(message.trace_id)

    def _set_rows(self, attempt: Attempt, message: ResultMessage) -> None:
        if message.metadata_changed:
            if self.prepared_statement is not None:
                self.prepared_statement.update_result_metadata(message.plan, message.result_metadata_id)
                self._use_snapshot(self.prepared_statement)
        elif attempt.plan is not None and attempt.plan is not message.plan:
            self._described(message)
        names = types = None
        if message.page is not None:
            rows = decode_page(message.page, self.row_factory)
        else:  # a custom protocol handler decoded the rows itself
            names, types = message.column_names, message.column_types
            rows = apply_factory(self.row_factory, names, message.parsed_rows)
        rest = Beside(message.warnings, message.custom_payload, names, types)
        self._conclude(attempt.page, rows, None, (message.plan, message.paging_state, rest))

    def _described(self, message: ResultMessage) -> None:
        """Rows of a prepared statement came with metadata of their own, which hold for them. Where the server has no
        metadata ids, this is how the driver learns that a table was altered."""
        prepared = self.prepared_statement
        if prepared is not None and prepared.result_metadata_id is None and message.plan is not None:
            prepared.update_result_metadata(message.plan, None)

    def _use_snapshot(self, prepared: PreparedStatement) -> None:
        """What is sent from now on, and the next pages, go by the statement's current result metadata."""
        plan, metadata_id = prepared._snapshot
        skip = plan is not None and metadata_id is not None
        self._change_message(plan, result_metadata_id=metadata_id, skip_meta=skip)

    # ---- errors

    def _on_error(self, attempt: Attempt, message: Any) -> None:
        if not isinstance(message, ErrorMessage):
            error = ConnectionException(f"Got unexpected response: {message!r}", attempt.host.endpoint)
            self._fail(attempt.page, error)
        elif isinstance(message, PreparedQueryNotFound):
            self._reprepare(attempt, message)
        else:
            self._consider_retry(attempt, message)

    def _connection_lost(self, attempt: Attempt, failure: Failure) -> None:
        error = connection_error(failure, attempt.host)
        if failure.sent and attempt.reprepares is None:
            self._consider_retry(attempt, error)
        else:  # provably not executed: as good as never tried
            self._errors[attempt.host] = error
            self._send_page(attempt.page)

    def _consider_retry(self, attempt: Attempt, error: Any) -> None:
        self._unsure |= attempt.reprepares is None and isinstance(error, MAYBE_EXECUTED)
        consistency = getattr(self.message, "consistency_level", None)
        decision = None
        if self._retry_policy is not None:
            decision = ask_policy(self._retry_policy, self.query, consistency, error, self._retries)
        if self._metrics is not None:
            self._metrics.on_error(error, decision)
        if decision is None or decision.action not in (RETRY, RETRY_NEXT_HOST, IGNORE):
            self._conclude(attempt.page, None, self._public_error(attempt, error), beside(error))
        elif decision.action == IGNORE:
            self._conclude(attempt.page, None, None, beside(error))
        else:
            self._errors[attempt.host] = self._public_error(attempt, error)
            self._retry(attempt, decision)

    def _retry(self, attempt: Attempt, decision: Decision) -> None:
        self._retries += 1
        consistency = getattr(self.message, "consistency_level", None)  # PREPARE has none
        if consistency is not None and decision.consistency not in (None, consistency):
            self._change_message(self._result_plan, consistency_level=decision.consistency)
        same_host = decision.action == RETRY

        def send(page: int) -> None:
            if not (same_host and self._send_to(Place(attempt.host, attempt.connection.shard), page)):
                self._send_page(page)

        if decision.delay > 0:
            self._later(decision.delay, attempt.page, send)
        else:
            send(attempt.page)

    # ---- UNPREPARED

    def _reprepare(self, attempt: Attempt, message: PreparedQueryNotFound) -> None:
        """The host forgot a statement (or never had it): prepare it there and send the request again; the server
        answered without executing, so this is safe for any statement."""
        query_id = message.info
        prepared = self._prepared_of(query_id)
        if prepared is not None and prepared._outdated is not None:
            self._fail(attempt.page, self._public_error(attempt, prepared._outdated_error()))
        elif prepared is None:
            self._fail(
                attempt.page,
                DriverException(
                    f"{attempt.host} does not know the prepared statement {query_id.hex()} and the driver does "
                    "not either; prepare it again"
                ),
            )
        elif self._is_other_keyspace(attempt, prepared):
            self._fail(
                attempt.page,
                ValueError(
                    f"The Session's current keyspace ({attempt.connection.keyspace}) does not match the keyspace "
                    f"the statement was prepared with ({prepared.keyspace})"
                ),
            )
        elif self._counts_reprepare(attempt.host, query_id) > REPREPARE_LIMIT:
            self._fail(
                attempt.page,
                DriverException(
                    f"{attempt.host} forgot the prepared statement {query_id.hex()} {REPREPARE_LIMIT} times at once; "
                    f"is its cache of prepared statements too small? Query: {prepared.query_string}"
                ),
            )
        else:
            again = Attempt(attempt.host, attempt.pool, attempt.connection, attempt.page, prepared)
            self.session._repreparing.join(self, again)

    def _not_reprepared(self, attempt: Attempt, error: Exception, may_go_on: bool) -> None:
        """PREPARE could not be sent, or was not answered; another host may have the statement."""
        if may_go_on:
            self._errors[attempt.host] = error
            self._send_page(attempt.page)
        else:
            self._fail(attempt.page, error)

    def _counts_reprepare(self, host: Host, query_id: bytes) -> int:
        if self._reprepares is None:
            self._reprepares = Counter()
        self._reprepares[host, query_id] += 1
        return self._reprepares[host, query_id]

    @staticmethod
    def _is_other_keyspace(attempt: Attempt, prepared: PreparedStatement) -> bool:
        connection = attempt.connection
        return bool(connection.protocol_version < 5 and prepared.keyspace) and (
            connection.keyspace is not None and connection.keyspace != prepared.keyspace
        )

    def _prepared_of(self, query_id: bytes) -> PreparedStatement | None:
        if self.prepared_statement is not None and self.prepared_statement.query_id == query_id:
            return self.prepared_statement
        of_batch = getattr(self.query, "_prepared", None)
        if of_batch and query_id in of_batch:
            return of_batch[query_id]  # type: ignore[no-any-return]
        return self.session.cluster.get_prepared(query_id)

    def _reprepared(self, attempt: Attempt, prepared: PreparedStatement, message: Any) -> None:
        if isinstance(message, ErrorMessage):
            self._consider_retry(attempt, message)
        elif not isinstance(message, ResultMessage) or message.kind != ResultKind.PREPARED:
            error = ConnectionException(f"Got unexpected response to PREPARE: {message!r}", attempt.host.endpoint)
            self._fail(attempt.page, error)
        elif message.query_id != prepared.query_id:
            self._fail(
                attempt.page,
                DriverException(
                    f"{attempt.host} gave the statement another id ({(message.query_id or b'').hex()}) than it was "
                    f"prepared with ({prepared.query_id.hex()}): is the current keyspace another one? "
                    f"Query: {prepared.query_string}"
                ),
            )
        else:
            try:
                prepared._compare(message.bind_plan)
            except DriverException as error:
                self._fail(attempt.page, self._public_error(attempt, error))
                return
            prepared.update_result_metadata(message.plan, message.result_metadata_id)
            if prepared is self.prepared_statement:
                self._use_snapshot(prepared)
            if not self._submit(Attempt(attempt.host, attempt.pool, attempt.connection, attempt.page)):
                self._send_page(attempt.page)


def _slow(host: Host) -> OperationTimedOut:
    return OperationTimedOut({str(host.endpoint): "The statement was not prepared again in time"}, host)


def beside(answer: Any) -> Came:
    """What is kept of an answer without rows; of an error that is no answer, nothing."""
    if not isinstance(answer, (ResultMessage, ErrorMessage)):
        return NOTHING
    warnings, payload = answer.warnings, answer.custom_payload
    return NOTHING if warnings is None and payload is None else (None, None, Beside(warnings, payload))
