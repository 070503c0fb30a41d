"""Concurrent execution of statements (cassandra.concurrent).

L5. The calling thread draws the statements, keeps up to *concurrency* requests in flight and collects the outcomes. So
an application's generator runs on the application's own thread, nothing recurses, and with an endless generator memory
stays bounded by the window. Prepared statements of an unmodified session are sent as a batch
(:class:`ConcurrentBatch`), without ``execute_async``; all others are sent by a ResponseFuture each, which reports to
the batch too. If ``execute_async`` was replaced (by a tracer, a subclass, a wrapper around the session, a mock), the
replacement is called for each statement.

A :class:`ConcurrentBatch` is a batch of compiled requests under one native operation. It belongs to the thread that
made it, which sends its requests, waits for the first outcomes and makes the results; the I/O thread only delivers
outcomes. Its in-flight requests are :class:`InFlightRequest` objects instead of ResponseFutures. Nearly all end with
plain rows or nothing, which is processed natively. A request with another outcome (an error, a timeout, a response with
warnings …) becomes a ResponseFuture, which continues as if it had been one from the beginning, with retries,
re-preparing and the next page.

Other threads append to ``ended``, and then end the wait by ``Operation._wake_up``. If the peer of an in-flight
request is silent, the I/O thread gives the attempt up, and continues with another host as a ResponseFuture.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from cassandra._base import process
from cassandra._base.errors import DriverException
from cassandra._base.process import AutoResetEvent
from cassandra._core.transport import (
    Attempt,
    Request,
    RequestBatch,
    Results,
    has_default_ending,
    pair_of,
)
from cassandra._session import aio
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, OF_PROFILE, of_caller
from cassandra._session.session import EXECUTE_ASYNC, Session
from cassandra._session.statements.prepared import PreparedStatement

from .future import ResponseFuture
from .hints import of_item
from .many import ManyRequests, note_attempt
from .plans import plan_for
from .result import ResultSet

if TYPE_CHECKING:
    from cassandra._core.transport import InFlightRequest
    from cassandra._session.profiles import ResolvedProfile

    from .plans import ExecutePlan

WINDOW = 2  # limit of requests sent ahead of the oldest result not yet yielded, as a multiple of the concurrency
_LOOK = 1.0  # seconds between two checks; the event ends a wait


#: ``start(index, statement, values, error)``
Start = Callable[[int, Any, Any, "Exception | None"], bool]


class ExecutionResult(NamedTuple):
    """Outcome of one statement: a :class:`ResultSet`, or the exception if *success* is False."""

    success: bool
    result_or_exc: Any


ExecutionResult.__module__ = "cassandra.concurrent"


# ---- batch of compiled requests


class ConcurrentBatch(ManyRequests, RequestBatch):
    """Sends compiled requests and collects their outcomes. :attr:`ended`: outcomes of requests that became
    ResponseFutures or could not be made."""

    def __init__(self, session: Session, one_by_one: bool = False) -> None:
        self._replaced: tuple[ResolvedProfile, ResolvedProfile] | None = None
        self._one_by_one = one_by_one  # True to use a ResponseFuture for each request
        self._begin(session, session._pool_set, ResultSet, ExecutionResult)

    # ---- sending

    def profile(self, key: Any, own: dict[str, Any]) -> ResolvedProfile:
        """Return the current profile of *key*, with the caller's *own* options."""
        found: ResolvedProfile = self.session._resolve_profile(key)
        if not own:
            return found
        if self._replaced is None or self._replaced[0] is not found:  # the same object: statements are compiled for it
            self._replaced = (found, found.replace(**own))
        return self._replaced[1]

    def fill(
        self, pairs: Iterator[tuple[Any, Any]], count: int, index: int, profile: ResolvedProfile, start: Start
    ) -> tuple[int, bool]:
        """Queue requests of *pairs* (statement, values), numbered from *index*; at most *count*. *start* is called for
        requests that currently need a ResponseFuture each, and for those whose values cannot be encoded; it returns
        True to continue. Return the number of the next request, and True if *pairs* has ended. Exceptions of *pairs*
        are raised. :meth:`collect` or :meth:`send` sends the queued requests."""
        statement: Any = None
        plan: ExecutePlan | None = None
        end = index + count
        while index < end:
            submitted, rest = self.submit_from(pairs, end - index, index, statement, plan)
            index += submitted
            if not rest:
                return index, rest is not None
            given, values, error = rest
            if given is not statement:
                statement, plan = given, self._plan_for(given, profile)
                try:
                    if plan is not None and self.launch(plan, index, values):
                        index += 1
                        continue
                except Exception as raised:
                    error = raised
            index += 1
            if not start(index - 1, given, values, error):
                break
        return index, False

    def _plan_for(self, statement: Any, profile: ResolvedProfile) -> ExecutePlan | None:
        """Return the plan of requests of *statement*; None if they currently need a ResponseFuture each."""
        if type(statement) is not PreparedStatement or self.session.cluster.metrics is not None:
            return None
        if self._one_by_one or has_default_ending():
            return None
        plan = plan_for(self.session, statement, profile)
        return plan if plan is not None and plan.direct and plan.latency_recorder is None else None

    def did_not_start(self, index: int, error: BaseException) -> None:
        """Record the *error* of request *index*, which could not be made."""
        self.ended.append((index, False, error))

    # ---- outcomes

    def collect(self, results: Results, failed: Callable[[int, BaseException], object] | None, most: int) -> None:
        """Send the queued requests, wait until one has ended, and :meth:`take_outcomes` up to *most* outcomes; the rest
        is left for the next call, which does not wait then. Ctrl-C interrupts the wait."""
        self.send()
        aio.send_waiting()
        if not self._has_outcomes:
            self._ask()
        if not self.ended and not self._has_outcomes:
            if self.session._on_io_thread():
                raise DriverException("cannot wait for requests on the driver's I/O thread (in a callback)")
            self._wait(None)
        self.take_outcomes(results, failed, most)

    def take_outcomes(
        self, results: Results, failed: Callable[[int, BaseException], object] | None, most: int = 0
    ) -> None:
        """Take outcomes: add the results of requests that succeeded to *results*, and call *failed* for the others,
        both by the requests' indexes; without *failed* errors are results as well. Never waits. If the handler of a
        signal interrupts it, outcomes not yet processed are left for the next call."""
        self._take_outcomes(results, failed, self._go_on, most)
        self._take_ended(results, failed, ResultSet._of)

    def _continued(self, future: Any, rows: Any, error: BaseException | None, index: int) -> None:
        if error is not None:
            self.ended.append((index, False, error))
            return
        ours = type(future) is ResponseFuture  # it may be a wrapper
        self.ended.append((index, True, ResultSet._of(future, future._outcome) if ours else ResultSet(future, rows)))

    def _go_on(self, request: InFlightRequest) -> tuple[ResponseFuture, Attempt]:
        """Return the future that takes over *request*, and its attempt; *request* is unchanged until then."""
        future = future_of(request)
        plan = request.plan.result_plan
        attempt = Attempt(request.host, request.pool, request.connection, 0, None, 0, plan)
        attempt.stream = request.stream
        self.watch(future, request.index)
        return future, attempt

    # ---- when a peer is silent

    def _on_silent(self, slot: int) -> None:
        """Send an in-flight request whose peer is silent to another host, if there is one and this is safe. Runs on the
        I/O thread. Once the stream is given up no response is delivered, so the thread that takes outcomes does not
        access the request."""
        request = self._request(slot)
        if request is None or not request.plan.prepared.is_idempotent:
            return
        if not self.has_responsive_host():
            return
        future = future_of(request)
        future._execution.sending.unsure = True  # it was sent
        if request.connection.orphan(request.stream, self, slot):  # else the response has arrived meanwhile
            self.watch(future, request.index)
            self._forget(slot)
            try:
                future._execution.sending.send(future, 0)
            except Exception as error:  # of a user's policy
                future._fail(0, error)

    # ---- the end

    def abandon(self) -> None:
        """Drop the outcomes that are still to come."""
        self._forget()
        self._finish()


def future_of(request: InFlightRequest) -> ResponseFuture:
    """Return a ResponseFuture in the state after *request* as its first attempt."""
    plan: ExecutePlan = request.plan
    timeout = plan.profile.request_timeout
    future = plan.future(request.session, request.frame, request.token, request.values, timeout)
    future._start_time = request.started
    note_attempt(future, request.host)
    return future


def error_of(future: Any) -> BaseException | None:
    """Return the error of a request that has failed already, or None."""
    outcome = getattr(future, "_outcome", None)  # a program may have replaced execute_async: any object is possible
    return outcome[1] if type(outcome) is tuple else None


# ---- calls of execute_async


def plain_session(session: Any) -> Session | None:
    """Return the session that the ``execute_async`` of *session*, which may be a wrapper, is bound to; None if it is
    not the driver's function."""
    asked = session.execute_async
    if type(asked) is MethodType and asked.__func__ is EXECUTE_ASYNC:
        found: Any = asked.__self__
        return found  # type: ignore[no-any-return]
    return None


def batch_of(session: Any) -> ConcurrentBatch | ForeignBatch:
    """Return the sender of statements for *session*."""
    plain = plain_session(session)
    if plain is not None:
        return ConcurrentBatch(plain)
    if issubclass(type(session), Session):  # not isinstance: a mock claims to be an instance
        return ConcurrentBatch(session, one_by_one=True)
    return ForeignBatch()


class ForeignBatch:
    """Replacement of :class:`ConcurrentBatch` for sessions of another class: it adds callbacks to their futures."""

    in_flight = 0
    """Requests in flight of a batch: none."""

    def __init__(self) -> None:
        self._ended: deque[tuple[int, bool, Any]] = deque()
        self._event = AutoResetEvent()
        self._on_io_thread: Callable[[], bool] | None = None

    def profile(self, key: Any, own: dict[str, Any]) -> Any:
        """Return None: the session itself resolves *key*."""

    def fill(
        self, pairs: Iterator[tuple[Any, Any]], count: int, index: int, profile: Any, start: Start
    ) -> tuple[int, bool]:
        """See :meth:`ConcurrentBatch.fill`."""
        for number in range(index, index + count):
            try:
                item = next(pairs)
            except StopIteration:
                return number, True
            statement, values = pair_of(item, number)
            if not start(number, statement, values, None):
                return number + 1, False
        return index + count, False

    def send(self) -> None:
        aio.send_waiting()

    def watch(self, future: Any, index: int) -> None:
        """Add callbacks to *future*, which is request *index*."""
        if issubclass(type(future), Request):
            self._on_io_thread = future.session._on_io_thread
        future.add_callbacks(
            callback=self._succeeded, callback_args=(future, index), errback=self._failed, errback_args=(index,)
        )

    def _succeeded(self, rows: Any, future: Any, index: int) -> None:
        future.clear_callbacks()
        self._ended.append((index, True, ResultSet(future, rows)))
        self._event.set()

    def _failed(self, error: BaseException, index: int) -> None:
        self._ended.append((index, False, error))
        self._event.set()

    def did_not_start(self, index: int, error: BaseException) -> None:
        """Record the *error* of request *index*, which could not be made."""
        self._failed(error, index)

    def collect(self, results: Results, failed: Callable[[int, BaseException], object] | None, most: int) -> None:
        """Wait until a request has ended, and take all outcomes that are there. Ctrl-C interrupts the wait."""
        self.send()
        if not self._ended and self._on_io_thread is not None and self._on_io_thread():
            raise DriverException("cannot wait for requests on the driver's I/O thread (in a callback)")
        while not self._ended:
            self._event.wait(_LOOK)
        while self._ended:
            index, success, value = self._ended.popleft()
            if success or failed is None:
                results[index] = ExecutionResult(success, value)
            else:
                failed(index, value)

    def abandon(self) -> None:
        """Do nothing: outcomes that are still to come are dropped with this object."""


# ---- blocking execution


def execute_concurrent(
    session: Session,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: bool = False,
    execution_profile: Any = EXEC_PROFILE_DEFAULT,
    row_factory: Any = OF_PROFILE,
) -> list[ExecutionResult] | Iterator[ExecutionResult]:
    """Execute (statement, parameters) pairs, at most *concurrency* at a time; outcomes in the order of the statements.

    :param raise_on_first_error: raise the first failure, leaving the rest unsent; else failures are in the outcomes.
    :param results_generator: return an iterator instead of a list; the first requests are sent at once, the others
        while it is consumed.
    :param row_factory: as of :meth:`Session.execute`, for all of them.

    ValueError when *concurrency* is not positive.
    """
    if concurrency <= 0:
        raise ValueError("concurrency must be greater than 0")
    own = of_caller(row_factory, None)
    run = _BlockingRun(
        session, iter(statements_and_parameters or ()), concurrency, raise_on_first_error, execution_profile, own
    )
    return run.in_order(concurrency * WINDOW) if results_generator else run.all()


def execute_concurrent_with_args(
    session: Session, statement: Any, parameters: Iterable[Any], *args: Any, **kwargs: Any
) -> list[ExecutionResult] | Iterator[ExecutionResult]:
    """Execute one *statement* with each item of *parameters*; other arguments as of :func:`execute_concurrent`.

    Example::

        insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        execute_concurrent_with_args(session, insert, ((i, str(i)) for i in range(100_000)))
    """
    return execute_concurrent(session, zip(repeat(statement), parameters), *args, **kwargs)


execute_concurrent.__module__ = execute_concurrent_with_args.__module__ = "cassandra.concurrent"


class _BlockingRun:
    """One call of execute_concurrent. Runs on the calling thread, except for the methods that ConcurrentBatch
    documents."""

    def __init__(
        self,
        session: Session,
        statements: Iterator[tuple[Any, Any]],
        concurrency: int,
        fail_fast: bool,
        execution_profile: Any,
        own: dict[str, Any],
    ) -> None:
        self._session = session
        self._statements = statements
        self._concurrency = concurrency
        # Outcomes collected before new requests are sent: servers are busy while the rest is processed.
        self._most = max(1, concurrency // 2)
        self._fail_fast = fail_fast
        self._profile = execution_profile
        self._own = own
        self._process = process.here()
        self._batch = batch_of(session)
        self._sent = 0
        self._in_flight = 0
        self._exhausted = False

    def all(self) -> list[ExecutionResult]:
        results = Results()
        try:
            self._fill(None)
            while self._in_flight:
                self._collect(results)
                self._fill(None)
        finally:
            self._batch.abandon()
        found: list[ExecutionResult] = results.all(self._sent)
        return found

    def in_order(self, window: int) -> Iterator[ExecutionResult]:
        self._fill(window)
        self._batch.send()
        return self._in_order(window)

    def _in_order(self, window: int) -> Iterator[ExecutionResult]:
        waiting = Results()
        position = 0
        try:
            while self._in_flight or waiting:
                while position not in waiting:
                    self._collect(waiting)
                    self._fill(position + window)
                yield waiting.take(position)
                position += 1
                self._fill(position + window)
        finally:
            self._batch.abandon()

    def _fill(self, limit: int | None) -> None:
        """Start requests until *concurrency* are in flight, the statements are used up, or *limit* have been sent."""
        process.check_process(self._process)
        room = self._concurrency - self._in_flight
        if limit is not None:
            room = min(room, limit - self._sent)
        if room <= 0 or self._exhausted:
            return
        profile = self._batch.profile(self._profile, self._own)
        before = self._sent
        self._sent, ended = self._batch.fill(self._statements, room, before, profile, self._start)
        self._in_flight += self._sent - before
        self._exhausted |= ended

    def _start(self, index: int, statement: Any, values: Any, error: Exception | None) -> bool:
        """Start a request by a ResponseFuture, or record the *error* of one that cannot be made. Return False to send
        no more."""
        process.check_process(self._process, error)  # the source of the statements may have forked
        if error is None:
            try:
                future = self._session.execute_async(statement, values, execution_profile=self._profile, **self._own)
                process.check_process(self._process, error_of(future))
                self._batch.watch(future, index)
                return True
            except Exception as raised:
                error = raised
                process.check_process(self._process, error)
        self._batch.did_not_start(index, error)
        self._exhausted |= self._fail_fast
        return not self._fail_fast

    def _collect(self, results: Results) -> None:
        """Wait until a request has ended, and add the outcomes that are there."""
        process.check_process(self._process)
        before = len(results)
        self._batch.collect(results, _raise if self._fail_fast else None, self._most)
        self._in_flight -= len(results) - before


def _raise(index: int, error: BaseException) -> NoReturn:
    raise of_item(index, error)
