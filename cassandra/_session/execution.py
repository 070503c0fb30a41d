"""Execution: what the outcomes of a request's attempts mean, from rows to retries.

L5. The native half of a request (``Operation``) hands each outcome of an attempt to exactly one thread: a caller
blocked in ``result()``, the asyncio loop that awaits, or, for errors and registered callbacks, the I/O thread. That
thread runs ``_process``; nothing in it blocks.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ResultKind
from cassandra._base.errors import (
    ConnectionException,
    DriverException,
    ErrorMessage,
    PreparedQueryNotFound,
)
from cassandra._core.transport import Failure, Frame
from cassandra._wire.messages.results import ResultMessage
from cassandra._wire.rows import apply_factory, decode_page

from .attempts import (
    IGNORE,
    MAYBE_EXECUTED,
    RETRY,
    RETRY_NEXT_HOST,
    Attempt,
    Decision,
    ask_policy,
    connection_error,
    is_timeout,
)
from .sending import Sending

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .prepared import PreparedStatement

log = logging.getLogger("cassandra.cluster")
server_log = logging.getLogger("cassandra.protocol")

REPREPARE_LIMIT = 5  # per statement and host; one that forgets quicker than that is not asked again


class Execution(Sending):
    """Processes the outcomes of attempts: results, errors, retries, statements a host has forgotten."""

    # ---- outcomes

    def _on_outcome(self) -> None:
        while (outcome := self._take()) is not None:
            number, answer = outcome
            attempt = self._attempts.pop(number, None)
            if attempt is not None and not self._concluded:
                try:
                    self._process(attempt, answer)
                except Exception as error:  # a policy, a row factory or a malformed body: this request's error only
                    self._fail(error)
                except BaseException as error:  # Ctrl-C: the answer is lost with it, nobody must wait for another
                    self._fail(error)
                    raise

    def _process(self, attempt: Attempt, answer: Frame | Failure) -> None:
        self.coordinator_host = attempt.host
        if isinstance(answer, Failure):
            self._unsure |= answer.sent and attempt.reprepares is None
            if is_timeout(answer):
                self._time_out(attempt)
            else:
                self._connection_lost(attempt, answer)
            return
        message = self._decode(attempt, answer)
        if attempt.reprepares is not None:
            self._reprepared(attempt, attempt.reprepares, message)
        else:
            self._set_result(attempt, message)

    def _decode(self, attempt: Attempt, frame: Frame) -> Any:
        handler = self.session.client_protocol_handler
        if handler is self.session._default_protocol_handler:
            return attempt.connection.decode(frame, self._result_plan)
        return attempt.connection.decode_with(handler, frame, self._result_plan)

    def _set_result(self, attempt: Attempt, message: Any) -> None:
        self._warnings = message.warnings
        for warning in message.warnings or ():
            server_log.warning("Server warning: %s", warning)
        self._custom_payload = message.custom_payload
        if message.trace_id is not None:
            self._add_trace(message.trace_id)
        if not isinstance(message, ResultMessage):
            self._on_error(attempt, message)
            return
        kind = message.kind
        if kind == ResultKind.ROWS:
            self._set_rows(message)
        elif kind == ResultKind.VOID:
            self._conclude(None)
        elif kind == ResultKind.PREPARED:
            self._conclude(message)
        elif kind == ResultKind.SET_KEYSPACE:
            attempt.connection.keyspace = message.new_keyspace
            self.session._keyspace_changed(message.new_keyspace or "", self._keyspace_set)
        elif kind == ResultKind.SCHEMA_CHANGE:
            self.session.cluster.handle_schema_change(message.schema_change_event, attempt.host, self._schema_agreed)
        else:
            self._fail(DriverException(f"unknown kind of RESULT: {kind!r}"))

    def _set_rows(self, message: ResultMessage) -> None:
        self._paging_state = message.paging_state
        self._plan = message.plan
        if message.metadata_changed and self.prepared_statement is not None:
            self.prepared_statement.update_result_metadata(message.plan, message.result_metadata_id)
        page = message.page
        if page is None:  # a custom protocol handler decoded the rows itself
            self._columns = (message.column_names, message.column_types)
            self._conclude(apply_factory(self.row_factory, message.column_names, message.parsed_rows))
        else:
            self._conclude(decode_page(page, self.row_factory))

    def _keyspace_set(self, errors: Mapping[Host, Any]) -> None:
        if errors:
            self._fail(ConnectionException(f"Failed to set keyspace on all hosts: {dict(errors)}"))
        else:
            self._conclude(None)

    def _schema_agreed(self, agreed: bool, error: BaseException | None) -> None:
        if error is not None:
            log.warning("The schema metadata could not be refreshed after a schema change: %s", error)
        self.is_schema_agreed = agreed
        self._conclude(None)

    # ---- errors

    def _on_error(self, attempt: Attempt, message: Any) -> None:
        if not isinstance(message, ErrorMessage):
            self._fail(ConnectionException(f"Got unexpected response: {message!r}", attempt.host.endpoint))
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
            self.send_request()

    def _consider_retry(self, attempt: Attempt, error: Any) -> None:
        self._unsure |= attempt.reprepares is None and isinstance(error, MAYBE_EXECUTED)
        consistency = getattr(self.message, "consistency_level", None)
        decision = None
        if self._retry_policy is not None:
            decision = ask_policy(self._retry_policy, self.query, consistency, error, self._retries)
        if self._metrics is not None:
            self._metrics.on_error(error, decision)
        if decision is None or decision.action not in (RETRY, RETRY_NEXT_HOST, IGNORE):
            self._fail(self._public_error(attempt, error))
        elif decision.action == IGNORE:
            self._conclude(None)
        else:
            self._errors[attempt.host] = self._public_error(attempt, error)
            self._retry(attempt, decision)

    def _retry(self, attempt: Attempt, decision: Decision) -> None:
        self._retries += 1
        consistency = getattr(self.message, "consistency_level", None)  # PREPARE has none
        if consistency is not None and decision.consistency not in (None, consistency):
            self.message.consistency_level = decision.consistency
            self._frame = None
        same_host = decision.action == RETRY

        def send() -> None:
            if not (same_host and self._send_to(attempt.host)):
                self.send_request()

        if decision.delay > 0:
            self._later(decision.delay, send)
        else:
            send()

    # ---- UNPREPARED

    def _reprepare(self, attempt: Attempt, message: PreparedQueryNotFound) -> None:
        """The host forgot a statement (or never had it): prepare it there and send the request again; the server
        answered without executing, so this is safe for any statement."""
        query_id = message.info
        prepared = self._prepared_of(query_id)
        if prepared is None:
            self._fail(
                DriverException(
                    f"{attempt.host} does not know the prepared statement {query_id.hex()} and the driver does "
                    "not either; prepare it again"
                )
            )
        elif self._is_other_keyspace(attempt, prepared):
            self._fail(
                ValueError(
                    f"The Session's current keyspace ({attempt.connection.keyspace}) does not match the keyspace "
                    f"the statement was prepared with ({prepared.keyspace})"
                )
            )
        elif self._counts_reprepare(attempt.host, query_id) > REPREPARE_LIMIT:
            self._fail(
                DriverException(
                    f"{attempt.host} forgot the prepared statement {query_id.hex()} {REPREPARE_LIMIT} times at once; "
                    f"is its cache of prepared statements too small? Query: {prepared.query_string}"
                )
            )
        elif not self._submit(Attempt(attempt.host, attempt.pool, attempt.connection), prepared):
            self.send_request()

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
            self._fail(ConnectionException(f"Got unexpected response to PREPARE: {message!r}", attempt.host.endpoint))
        elif message.query_id != prepared.query_id:
            self._fail(
                DriverException(
                    f"{attempt.host} gave the statement another id ({(message.query_id or b'').hex()}) than it was "
                    f"prepared with ({prepared.query_id.hex()}): is the current keyspace another one? "
                    f"Query: {prepared.query_string}"
                )
            )
        else:
            prepared.update_result_metadata(message.plan, message.result_metadata_id)
            if prepared is self.prepared_statement:
                self._result_plan, self.message.result_metadata_id = prepared._snapshot
                self.message.skip_meta = self._result_plan is not None
                self._frame = None
            if not self._submit(Attempt(attempt.host, attempt.pool, attempt.connection), None):
                self.send_request()
