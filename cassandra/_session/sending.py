"""Sending: a request on its way along the query plan, and how it ends.

L5. States: *pending* (attempts in flight, or a step such as schema agreement under way) and *concluded* (a result or
an exception is set, exactly once, in ``_conclude``). What more than one thread may change (conclusion, callbacks,
attempts of speculative executions) is guarded by the session's request lock; the query plan of a request that may be
sent speculatively by a lock of its own. What the answers mean is in execution.py, what callers see in future.py.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import (
    ConnectionBusy,
    ConnectionException,
    ConnectionShutdown,
    ErrorMessage,
    NoConnectionsAvailable,
    NoHostAvailable,
    OperationTimedOut,
    annotate,
)
from cassandra._core.codec import ResultPlan
from cassandra._core.transport import Operation
from cassandra._wire.messages.requests import PrepareMessage

from . import aio
from .attempts import (
    Attempt,
)
from .fallback import send_by_control
from .trace import QueryTrace

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._routing.policies import LoadBalancingPolicy, RetryPolicy, SpeculativeExecutionPlan

    from .prepared import PreparedStatement
    from .session import Session

log = logging.getLogger("cassandra.cluster")

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

KEYSPACE_PER_REQUEST = 5  # first protocol version with a keyspace field in requests
CLOSED = "The session is shut down; open a new one with Cluster.connect()."
NOT_SENT = (NoConnectionsAvailable, ConnectionBusy, ConnectionShutdown)


class Sending(Operation):
    """Sends a request along its query plan, and concludes once with a result or an exception."""

    is_schema_agreed: bool = True
    request_encoded_size: int | None = None
    coordinator_host: Host | None = None

    # Class-level defaults of what most requests never set.
    _frame: bytes | None = None
    _frame_version: int = 0
    _retries: int = 0
    _timer: Any = None
    _picked: Host | None = None
    _plan_lock: threading.Lock | None = None
    _reprepares: Counter[tuple[Host, bytes]] | None = None
    _rest: Iterator[Host] | None = None
    _callbacks: list[Call] | None = None
    _errbacks: list[Call] | None = None
    _waiters: list[asyncio.Future[None]] | None = None
    _traces: list[QueryTrace] | None = None
    _plan: ResultPlan | None = None
    _columns: tuple[list[str] | None, list[Any] | None] = (None, None)  # of a page a custom handler decoded
    _final_result: Any = None
    _final_exception: BaseException | None = None
    _paging_state: bytes | None = None
    _warnings: list[str] | None = None
    _custom_payload: Mapping[str, bytes | None] | None = None
    _concluded: bool = False
    _unsure: bool = False  # an attempt failed in a way that leaves open whether the server executed it

    def __init__(
        self,
        session: Session,
        message: Any,
        query: Any,
        timeout: float | None,
        metrics: Any = None,
        prepared_statement: PreparedStatement | None = None,
        retry_policy: RetryPolicy | None = None,
        row_factory: Callable[..., Any] | None = None,
        load_balancer: LoadBalancingPolicy | None = None,
        start_time: float | None = None,
        speculative_execution_plan: SpeculativeExecutionPlan | None = None,
        continuous_paging_state: Any = None,
        host: Host | None = None,
        bound_result_metadata: ResultPlan | None = None,
        routing_token: int | None = None,
    ) -> None:
        self.session = session
        self.message = message
        self.query = query
        self.timeout = timeout
        self.prepared_statement = prepared_statement
        self.row_factory = row_factory
        self.attempted_hosts: list[Host] = []
        self._metrics = metrics
        self._retry_policy = retry_policy
        self._router = session._router_of(load_balancer or session.cluster.load_balancing_policy)
        if speculative_execution_plan is not None:
            self._plan_lock = threading.Lock()
        self._speculative_plan = speculative_execution_plan
        self._host = host
        self._result_plan = bound_result_metadata
        self._token = routing_token
        self._lock = session._request_lock
        self._errors: dict[Any, Any] = {}
        self._attempts: dict[int, Attempt] = {}
        self._numbers = itertools.count()
        self._start_time = monotonic() if start_time is None else start_time

    # ---- sending

    def _next_host(self) -> Host | None:
        """The next host to try. Speculative attempts and retries may ask from two threads at a time."""
        if self._plan_lock is None:
            return self._advance_plan()
        with self._plan_lock:
            return self._advance_plan()

    def _advance_plan(self) -> Host | None:
        """The policy's pick first; the rest of the plan is made only when that one fails."""
        if self._rest is not None:
            return next(self._rest, None)
        if self._host is not None:
            self._rest = iter(())
            return self._host
        state = self.session.cluster.metadata.state
        keyspace = self._routing_keyspace()
        if self._picked is None:
            self._picked, self._rest = self._router.start(state, keyspace, self._token, self.query)
            return self._picked
        self._rest = self._router.fallback(state, keyspace, self._token, self.query, self._picked)
        return next(self._rest, None)

    def _routing_keyspace(self) -> str | None:
        query = self.query
        return (query.keyspace if query is not None else None) or self.session.keyspace

    @property
    def query_plan(self) -> Iterator[Host]:
        """The hosts that will be tried next, best first; consuming it takes them out of the plan."""
        while (host := self._next_host()) is not None:
            yield host

    def send_request(self, error_no_hosts: bool = True) -> bool:
        """Send to the next host of the plan that takes it. False when none does (then, with *error_no_hosts* and
        unless another attempt is still under way, the future has failed with :exc:`NoHostAvailable`)."""
        closed = self.session.is_shutdown
        while not closed and (host := self._next_host()) is not None:
            if self._concluded or self._send_to(host):
                return True
        if error_no_hosts and not closed and not self._attempts and send_by_control(self):
            return True
        if error_no_hosts and not self._attempts:
            errors = self._errors or ({} if closed else self.session._pool_set.reasons())
            error = NoHostAvailable(CLOSED if closed else "Unable to complete the operation against any hosts", errors)
            annotate(
                error,
                attempts=len(self.attempted_hosts),
                elapsed=monotonic() - self._start_time,
                maybe_executed=self._unsure,
            )
            self._fail(error)
        return False

    def _send_to(self, host: Host, prepare: PreparedStatement | None = None) -> bool:
        """One attempt at *host*: of the request, or of preparing *prepare* before it. False if nothing was sent."""
        pool = self.session._pools.get(host)
        if pool is None:
            self._errors[host] = ConnectionException("Host has been marked down or removed", host.endpoint)
            return False
        try:
            connection = pool.pick(self._token)
        except NOT_SENT as error:
            self._errors[host] = error
            return False
        return self._submit(Attempt(host, pool, connection), prepare)

    def _submit(self, attempt: Attempt, prepare: PreparedStatement | None) -> bool:
        remaining = self._remaining()
        if remaining is not None and remaining <= 0:
            self._time_out(attempt)
            return True
        connection = attempt.connection
        attempt.reprepares = prepare
        number = attempt.number = next(self._numbers)
        self._attempts[number] = attempt
        self.attempted_hosts.append(attempt.host)
        try:
            frame = self._encode(connection, prepare)
            attempt.stream = connection.submit(frame, self, number, remaining)
        except NOT_SENT as error:
            self._attempts.pop(number, None)
            self._errors[attempt.host] = error
            return False
        except Exception as error:  # encoding failed: no host can help
            self._attempts.pop(number, None)
            self._fail(error)
            return True
        if self._concluded:  # another attempt won while this one was being sent
            attempt.abandon(self)
        elif self._speculative_plan is not None and prepare is None:
            self._schedule_speculation(attempt.host)
        return True

    def _encode(self, connection: Connection, prepare: PreparedStatement | None) -> bytes:
        version = connection.protocol_version
        if prepare is not None:
            keyspace = prepare.keyspace if version >= KEYSPACE_PER_REQUEST else None
            return PrepareMessage(prepare.query_string, keyspace).encode(version, features=connection.features)
        if self._frame is None or self._frame_version != version:
            handler = self.session.client_protocol_handler
            if handler is self.session._default_protocol_handler:
                self._frame = self.message.encode(version, features=connection.features)
            else:
                self._frame = handler.encode_message(self.message, 0, version, None, False, connection.features)
            self._frame_version = version
            self.request_encoded_size = len(self._frame)
        return self._frame

    def _remaining(self) -> float | None:
        return None if self.timeout is None else self.timeout - (monotonic() - self._start_time)

    def _schedule_speculation(self, host: Host) -> None:
        if self._speculative_plan is None or not self.query.is_idempotent:
            return
        delay = self._speculative_plan.next_execution(host)
        if delay >= 0:
            self._later(delay, self._speculate)

    def _speculate(self) -> None:
        if self._metrics is not None:
            self._metrics.on_speculative_execution()
        self.send_request(error_no_hosts=False)

    def _later(self, delay: float, step: Callable[[], object]) -> None:
        """Run *step* on the I/O thread after *delay* seconds, unless the request is over by then."""

        def run() -> None:
            if not self._concluded:
                try:
                    step()
                except Exception as error:  # a policy of the user: nobody else would hear of it
                    self._fail(error)

        self._timer = self.session._call_later(delay, self, run)

    # ---- conclusion

    def _fail(self, error: BaseException) -> None:
        self._conclude(None, error)

    def _conclude(self, result: Any, error: BaseException | None = None) -> None:
        with self._lock:
            if self._concluded:
                return
            self._final_result = result
            self._final_exception = error
            self._concluded = True
            calls = self._callbacks if error is None else self._errbacks
            calls = list(calls) if calls else None
            waiters, self._waiters = self._waiters, None
            losers = list(self._attempts.values()) if self._attempts else None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if losers is not None:
            self._attempts.clear()
            for attempt in losers:
                attempt.abandon(self)
        if self._metrics is not None:
            self._metrics.request_timer.addValue(monotonic() - self._start_time)
        self._finish()
        if waiters is not None:
            for waiter in waiters:
                aio.resolve(waiter)
        if calls is not None:
            for call in calls:
                self._call(call, result if error is None else error)

    def _call(self, call: Call, value: Any) -> None:
        function, args, kwargs = call
        try:
            function(value, *args, **kwargs)
        except Exception:
            log.exception("A callback of a request raised: %r", function)

    def cancel(self) -> bool:
        """Give the request up: whoever waits gets CancelledError, a late answer is dropped. False if it was over."""
        if self._concluded:
            return False
        self._fail(asyncio.CancelledError())
        return True

    def _add_trace(self, trace_id: Any) -> None:
        self._traces = [*(self._traces or ()), QueryTrace(trace_id, self.session)]

    def _public_error(self, attempt: Attempt, error: Any) -> BaseException:
        exception: BaseException = error.to_exception() if isinstance(error, ErrorMessage) else error
        annotate(
            exception,
            host=attempt.host,
            attempts=len(self.attempted_hosts),
            elapsed=monotonic() - self._start_time,
            maybe_executed=self._unsure,
        )
        return exception

    def _time_out(self, attempt: Attempt) -> None:
        error = OperationTimedOut(
            {str(attempt.host.endpoint): "Client request timeout. See Session.execute[_async](timeout)"},
            attempt.host,
            self.timeout,
            attempt.connection.in_flight,
        )
        self._unsure |= any(other.reprepares is None for other in self._attempts.values())
        if self._metrics is not None:
            self._metrics.on_client_timeout()
        self._fail(self._public_error(attempt, error))
