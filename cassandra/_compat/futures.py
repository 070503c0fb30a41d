"""Requests that tests of programs create, with a session that is a mock or their own class (L6).

A ``ResponseFuture`` of ``cassandra.cluster`` that is created with any object other than a ``Session`` has this class.
It uses pools, connections and timers of that object under scylla-driver's names; the response is passed to
``_set_result``. ``_guard`` protects the end of the request; no foreign code is called with it held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import monotonic
from typing import Any

from cassandra._base.constants import ResultKind
from cassandra._base.errors import (
    ConnectionException,
    DriverException,
    NoHostAvailable,
    OperationTimedOut,
    QueryExhausted,
)
from cassandra._base.locks import caller_lock
from cassandra._base.objects import public
from cassandra._base.process import Event
from cassandra._base.server_errors import (
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    PreparedQueryNotFound,
    ReadTimeoutErrorMessage,
    ServerError,
    TruncateError,
    UnavailableErrorMessage,
    WriteTimeoutErrorMessage,
)
from cassandra._routing.policies import NoSpeculativeExecutionPlan, RetryPolicy
from cassandra._session.request import future
from cassandra._wire.handlers import ProtocolHandler
from cassandra._wire.messages.requests import PrepareMessage
from cassandra._wire.messages.responses import ResultMessage

from .connection import LONGEST_WAIT
from .hooks import ResultSet
from .names import refresh_schema_and_set_result

WAIT_FOR_CONNECTION = 2.0  # seconds

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

_ASKED_OF_THE_POLICY = (
    (ReadTimeoutErrorMessage, "on_read_timeout"),
    (WriteTimeoutErrorMessage, "on_write_timeout"),
    (UnavailableErrorMessage, "on_unavailable"),
)
_REQUEST_ERRORS = (OverloadedErrorMessage, IsBootstrappingErrorMessage, TruncateError, ServerError)


@public("cassandra.cluster")
class ResponseFuture(future.ResponseFuture):
    """The future response of a session that is not the driver's."""

    # Attributes that native code computes for requests of the driver's sessions.
    session: Any
    row_factory: Any
    message: Any = None
    query: Any = None
    prepared_statement: Any = None
    query_plan: Any = None
    _errors: Any = None
    _retry_policy: Any = None
    _final_result: Any = None
    _final_exception: Any = None
    _paging_state: Any = None
    _warnings: Any = None
    _custom_payload: Any = None
    _callbacks: Any = None
    _errbacks: Any = None
    attempted_hosts: Any = None
    coordinator_host: Any = None
    is_schema_agreed = True
    _connection: Any = None
    _req_id: Any = None
    _current_host: Any = None
    _col_names: Any = None
    _col_types: Any = None
    _query_retries = 0
    _protocol_handler: Any = ProtocolHandler
    _timer: Any = None

    def __init__(
        self,
        session: Any,
        message: Any,
        query: Any,
        timeout: float | None,
        metrics: Any = None,
        prepared_statement: Any = None,
        retry_policy: Any = None,
        row_factory: Callable[..., Any] | None = None,
        load_balancer: Any = None,
        start_time: float | None = None,
        speculative_execution_plan: Any = None,
        continuous_paging_state: Any = None,
        host: Any = None,
        bound_result_metadata: Any = None,
        routing_token: int | None = None,
    ) -> None:
        self.session = session
        self.message = message
        self.query = query
        self.timeout = timeout
        self.prepared_statement = prepared_statement
        self.row_factory = row_factory or session.row_factory
        self._metrics = metrics
        self._retry_policy = retry_policy or RetryPolicy()
        self._load_balancer = load_balancer or session.cluster._default_load_balancing_policy
        self._spec_execution_plan = speculative_execution_plan or NoSpeculativeExecutionPlan()
        self._host = host
        self._start_time = monotonic() if start_time is None else start_time
        self._errors = {}
        self._guard = caller_lock("of a future of a program")
        self._event = Event()
        self._callbacks, self._errbacks, self.attempted_hosts = [], [], []
        self._make_query_plan()
        self._start_timer()

    # ---- sending

    def _make_query_plan(self) -> None:
        hosts = [self._host] if self._host else self._load_balancer.make_query_plan(self.session.keyspace, self.query)
        self.query_plan = iter(hosts)

    def _start_timer(self) -> None:
        if self._timer is None and self.timeout is not None:
            self._timer = self.session.cluster.connection_class.create_timer(self.timeout, self._on_timeout)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def send_request(self, error_no_hosts: bool = True) -> bool:
        for host in self.query_plan:
            request_id = self._query(host)
            if request_id is not None:
                self._req_id = request_id
                return True
        if error_no_hosts:
            text = "Unable to complete the operation against any hosts"
            self._set_final_exception(NoHostAvailable(text, self._errors))
        return False

    def _query(self, host: Any, message: Any = None, cb: Callable[[Any], Any] | None = None) -> int | None:
        """Send *message*, or the request, to *host*; return the request id, None if it cannot be sent."""
        pool = self.session._pools.get(host)
        if not pool or pool.is_shutdown:
            self._errors[host] = ConnectionException("The pool is shut down" if pool else "The host is down or removed")
            return None
        self._current_host = host
        try:
            connection, request_id = pool.borrow_connection(timeout=WAIT_FOR_CONNECTION)
            self._connection = connection
            connection.send_msg(
                message or self.message,
                request_id,
                cb=cb or partial(self._set_result, host, connection, pool),
                encoder=self._protocol_handler.encode_message,
                decoder=self._protocol_handler.decode_message,
                result_metadata=self.prepared_statement.result_metadata if self.prepared_statement else [],
            )
        except Exception as error:
            self._errors[host] = error
            return None
        self.attempted_hosts.append(host)
        return int(request_id) if isinstance(request_id, int) else request_id

    def _retry(self, reuse_connection: bool, consistency_level: int | None, host: Any, delay: float) -> None:
        if self._event.is_set():
            return
        self._query_retries += 1
        if consistency_level is not None:
            self.message.consistency_level = consistency_level
        self.session.cluster.scheduler.schedule(delay, self._retry_task, reuse_connection, host)

    def _retry_task(self, reuse_connection: bool, host: Any) -> None:
        if not self._event.is_set() and not (reuse_connection and self._query(host) is not None):
            self.send_request()

    def _reprepare(self, prepare_message: Any, host: Any, connection: Any, pool: Any) -> None:
        done = partial(self._execute_after_prepare, host, connection, pool)
        if self._query(host, prepare_message, done) is None:
            self.send_request()

    # ---- responses

    def _set_result(self, host: Any, connection: Any, pool: Any, response: Any) -> None:
        self.coordinator_host = host
        if pool:
            pool.return_connection(connection)
        self._warnings = getattr(response, "warnings", None)
        self._custom_payload = getattr(response, "custom_payload", None)
        if isinstance(response, ResultMessage):
            self._set_answer(connection, response)
        elif isinstance(response, PreparedQueryNotFound):
            self._prepare_again(host, connection, pool, response.info)
        elif isinstance(response, Exception):
            self._set_error(host, connection, response)
        else:
            error = ConnectionException(f"Got unexpected message: {response!r}", host)
            if connection is not None:
                connection.defunct(error)
            self._set_final_exception(error)

    def _set_answer(self, connection: Any, response: Any) -> None:
        session = self.session
        if response.kind == ResultKind.SET_KEYSPACE:
            session._set_keyspace_for_all_pools(getattr(response, "new_keyspace", None), self._set_keyspace_completed)
        elif response.kind == ResultKind.SCHEMA_CHANGE:
            self.is_schema_agreed = False
            control, event = session.cluster.control_connection, response.schema_change_event
            session.submit(refresh_schema_and_set_result, control, self, connection, **event)
        elif response.kind == ResultKind.ROWS:
            self._paging_state = response.paging_state
            self._col_names = response.column_names
            self._col_types = getattr(response, "column_types", None)
            self._set_final_result(self.row_factory(response.column_names, response.parsed_rows))
        else:
            self._set_final_result(None if response.kind == ResultKind.VOID else response)

    def _set_keyspace_completed(self, errors: Any) -> None:
        if errors:
            self._set_final_exception(ConnectionException(f"Failed to set the keyspace on all hosts: {errors}"))
        else:
            self._set_final_result(None)

    def _set_error(self, host: Any, connection: Any, response: Any) -> None:
        error = response.to_exception() if hasattr(response, "to_exception") else response
        policy, retries = self._retry_policy, self._query_retries
        ask = next((name for kind, name in _ASKED_OF_THE_POLICY if isinstance(response, kind)), None)
        if ask is not None:
            decision = getattr(policy, ask)(self.query, retry_num=retries, **response.info)
        elif isinstance(response, (ConnectionException, *_REQUEST_ERRORS)):
            if isinstance(response, ConnectionException) and connection is not None:
                connection.defunct(response)
            level = getattr(self.message, "consistency_level", None)
            decision = policy.on_request_error(self.query, level, error=response, retry_num=retries)
        else:
            self._set_final_exception(error)
            return
        self._errors[host] = error
        what, level, delay = (*decision, 0)[:3]
        if what in (RetryPolicy.RETRY, RetryPolicy.RETRY_NEXT_HOST):
            self._retry(what == RetryPolicy.RETRY, level, host, delay)
        elif what == RetryPolicy.IGNORE:
            self._set_final_result(None)
        else:
            self._set_final_exception(error)

    def _prepare_again(self, host: Any, connection: Any, pool: Any, query_id: Any) -> None:
        prepared = self.prepared_statement
        try:
            if prepared is None:
                prepared = self.session.cluster._prepared_statements[query_id]
        except KeyError:
            self._set_final_exception(DriverException(f"The server does not know {query_id!r}, nor does the cluster"))
            return
        keyspace, current = prepared.keyspace, getattr(self._connection, "keyspace", None)
        if keyspace and current != keyspace:
            text = f"Keyspace of the connection ({current}) is not that of the statement ({keyspace})"
            self._set_final_exception(ValueError(text))
            return
        self.session.submit(self._reprepare, PrepareMessage(query=prepared.query_string), host, connection, pool)

    def _execute_after_prepare(self, host: Any, connection: Any, pool: Any, response: Any) -> None:
        if pool:
            pool.return_connection(connection)
        if self._event.is_set():
            return
        prepared = self.prepared_statement
        if not isinstance(response, ResultMessage) or response.kind != ResultKind.PREPARED:
            known = isinstance(response, Exception)
            self._set_final_exception(
                response if known else ConnectionException(f"Got unexpected message: {response!r}")
            )
        elif prepared is not None and prepared.query_id != response.query_id:
            text = f"The server prepared {response.query_id!r} where {prepared.query_id!r} was known"
            self._set_final_exception(DriverException(text))
        elif self._query(host) is None:
            self.send_request()

    def _on_timeout(self, _attempts: int = 0) -> None:
        if self._event.is_set():
            return
        host, connection = self._current_host, self._connection
        text = "Client request timeout. See Session.execute[_async](timeout)"
        requests = getattr(connection, "_requests", None)
        if requests is not None:
            if self._req_id not in requests:
                text = "Connection defunct by heartbeat"
            elif pool := self.session._pools.get(host):
                del requests[self._req_id]
                with connection.lock:
                    connection.orphaned_request_ids.add(self._req_id)
                pool.return_connection(connection, stream_was_orphaned=True)
        self._set_final_exception(OperationTimedOut({host: text}, host))

    # ---- the end

    def _set_final_result(self, response: Any) -> None:
        self._end_with(response, None)

    def _set_final_exception(self, response: Any) -> None:
        self._end_with(None, response)

    def _end_with(self, result: Any, error: Any) -> None:
        self._cancel_timer()
        with self._guard:
            if self._event.is_set():
                return
            self._final_result, self._final_exception = result, error
            calls, what = (self._callbacks, result) if error is None else (self._errbacks, error)
            self._event.set()
        for fn, args, kwargs in list(calls):
            fn(what, *args, **kwargs)

    def _add(self, callback: Call | None, errback: Call | None) -> None:
        with self._guard:
            if callback is not None:
                self._callbacks.append(callback)
            if errback is not None:
                self._errbacks.append(errback)
            over, error = self._event.is_set(), self._final_exception
        now, what = (callback, self._final_result) if error is None else (errback, error)
        if over and now is not None:
            fn, args, kwargs = now
            fn(what, *args, **kwargs)

    def clear_callbacks(self) -> None:
        with self._guard:
            self._callbacks, self._errbacks = [], []

    def _wait_for_outcome(self) -> Any:
        if not self._event.wait(LONGEST_WAIT):
            raise OperationTimedOut({self._current_host: f"No answer for {LONGEST_WAIT} s"}, self._current_host)
        if self._final_exception is not None:
            raise self._final_exception
        return self._final_result

    def result(self) -> Any:
        return ResultSet(self, self._wait_for_outcome())

    def __await__(self) -> Iterator[Any]:  # type: ignore[override]
        import asyncio

        return asyncio.to_thread(self.result).__await__()

    # ---- pages

    def start_fetching_next_page(self) -> None:
        if not self._paging_state:
            raise QueryExhausted("There are no more pages")
        self._make_query_plan()
        self.message.paging_state = self._paging_state
        with self._guard:
            self._event.clear()
            self._final_result = self._final_exception = self._timer = None
        self._start_timer()
        self.send_request()

    def __repr__(self) -> str:
        result = self._final_result if self._event.is_set() else "(no result yet)"
        return (
            f"<ResponseFuture: query={str(self.query)!r} request_id={self._req_id} result={result} "
            f"exception={self._final_exception!r} coordinator_host={self.coordinator_host}>"
        )

    __str__ = __repr__
