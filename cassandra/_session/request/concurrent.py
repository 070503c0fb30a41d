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

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Generator, Iterable, Iterator
from itertools import repeat
from types import MethodType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from cassandra._base import process
from cassandra._base.errors import DriverException
from cassandra._base.objects import public
from cassandra._core.routing import PoolSetFields
from cassandra._core.transport import (
    Attempt,
    FutureObserver,
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
    import asyncio

    from cassandra._core.transport import InFlightRequest
    from cassandra._session.profiles import ResolvedProfile

    from .plans import ExecutePlan
    from .result import Outcome


WINDOW = 2  # limit of requests sent ahead of the oldest result not yet yielded, as a multiple of the concurrency


#: ``start(index, statement, values, error)``
Start = Callable[[int, Any, Any, "Exception | None"], bool]


class ExecutionResult(NamedTuple):
    """Outcome of one statement."""

    success: bool
    """False if the request failed."""
    result_or_exc: Any
    """The :class:`ResultSet`, or the exception if *success* is False."""


ExecutionResult.__module__ = "cassandra.concurrent"


# ---- batch of compiled requests


class ConcurrentBatch(ManyRequests[Any], RequestBatch):
    """Sends compiled requests and collects their outcomes. :attr:`ended`: outcomes of requests that became
    ResponseFutures or could not be made."""

    def __init__(self, session: Session, one_by_one: bool = False) -> None:
        super().__init__(session)
        self._begin(ResultSet, ExecutionResult)
        self._replaced: tuple[ResolvedProfile, ResolvedProfile] | None = None
        self._one_by_one = one_by_one  # True to use a ResponseFuture for each request

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
        are raised. :meth:`collect` or :meth:`flush` sends the queued requests."""
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
        if type(statement) is not PreparedStatement:
            return None
        if self._one_by_one or has_default_ending():
            return None
        tracking = self.session._tracking
        if tracking is not None and tracking.selects():
            return None
        plan = plan_for(self.session, statement, profile)
        if plan is None or plan.writes is not None:  # a page that is cached may be found, or become invalid
            return None
        if not plan.direct or plan.latency_recorder is not None or plan.speculation is not None:
            return None
        return plan

    def did_not_start(self, index: int, error: BaseException) -> None:
        """Record the *error* of request *index*, which could not be made."""
        self.ended.append((index, False, error))

    # ---- outcomes

    def collect(self, most: int) -> None:
        """Send the queued requests, wait until one has ended, and :meth:`take_outcomes` up to *most* outcomes; the rest
        is left for the next call, which does not wait then. Ctrl-C interrupts the wait."""
        self.flush()
        aio.send_waiting()
        if not self._has_outcomes:
            self._ask()
        if not self.ended and not self._has_outcomes:
            if self._on_io_thread():
                raise DriverException("cannot wait for requests on the driver's I/O thread (in a callback)")
            self._wait(None)
        self.take_outcomes(most)

    def _on_io_thread(self) -> bool:
        return bool(self.session._on_io_thread())

    def take_outcomes(self, most: int = 0) -> None:
        """Take outcomes: add the results of requests that succeeded to :attr:`results`, and call :attr:`failed` for the
        others, both by the requests' indexes; without it errors are results as well. Never waits. If the handler of a
        signal interrupts it, outcomes not yet processed are left for the next call."""
        super().take_outcomes(most)
        self._take_ended()

    def _continued(self, future: Any, rows: Any, error: BaseException | None, index: int) -> None:
        if error is not None:
            self.ended.append((index, False, error))
            return
        ours = type(future) is ResponseFuture  # it may be a wrapper
        self.ended.append((index, True, ResultSet._of(future, future._outcome) if ours else ResultSet(future, rows)))

    def _continue(self, request: InFlightRequest) -> tuple[ResponseFuture, Attempt]:
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


class _NoSession:
    """Stands in for the session of a :class:`ForeignBatch`."""

    _pool_set = PoolSetFields()
    _tracking = None


class ForeignBatch(ConcurrentBatch):
    """Batch for a session of another class: each request is a future of that class."""

    def __init__(self) -> None:
        super().__init__(_NoSession(), one_by_one=True)  # type: ignore[arg-type]
        self._asked: Callable[[], bool] | None = None

    def profile(self, key: Any, own: dict[str, Any]) -> Any:
        """Return None: the session itself resolves *key*."""

    def watch(self, future: Any, key: Any) -> None:
        if issubclass(type(future), Request):
            self._asked = future.session._on_io_thread
        super().watch(future, key)

    def _on_io_thread(self) -> bool:
        return self._asked is not None and self._asked()


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
        rows = ((i, str(i)) for i in range(100_000))
        execute_concurrent_with_args(session, insert, rows)
    """
    return execute_concurrent(session, zip(repeat(statement), parameters), *args, **kwargs)


execute_concurrent.__module__ = execute_concurrent_with_args.__module__ = "cassandra.concurrent"


class ConcurrentRun:
    """One execution of statements, blocking or on a loop: draws them, and keeps *concurrency* requests in flight. Runs
    on one thread."""

    def __init__(
        self,
        session: Session,
        statements: Iterator[tuple[Any, Any]],
        concurrency: int,
        fail_fast: bool,
        execution_profile: Any,
        own: dict[str, Any],
        batch: Any,
    ) -> None:
        self._session = session
        self._statements = statements
        self._concurrency = concurrency
        self._fail_fast = fail_fast
        self._profile = execution_profile
        self._own = own
        self._process = process.here()
        self._batch: Any = batch  # a ConcurrentBatch, or has its methods
        self._sent = 0
        self._limit: int | None = None  # number of requests that may be sent by now
        self._exhausted = False  # no more statements are drawn

    @property
    def results(self) -> Results:
        found: Results = self._batch.results
        return found

    def _in_flight(self) -> int:
        """Override. Return the number of requests that count towards the concurrency."""
        raise NotImplementedError

    def _room(self) -> int:
        """Return the number of requests that may be sent now."""
        room = self._concurrency - self._in_flight()
        return room if self._limit is None else min(room, self._limit - self._sent)

    def _fill(self) -> None:
        """Start requests until *concurrency* are in flight, the statements are used up, or the limit is reached."""
        process.check_process(self._process)
        room = self._room()
        if room <= 0 or self._exhausted:
            return
        profile = self._batch.profile(self._profile, self._own)
        self._sent, ended = self._batch.fill(self._statements, room, self._sent, profile, self._start)
        self._exhausted |= ended

    def _start(self, index: int, statement: Any, values: Any, error: Exception | None) -> bool:
        """Start a request by a ResponseFuture, or record the *error* of one that cannot be made. Return False to send
        no more."""
        process.check_process(self._process, error)  # the source of the statements may have forked
        if error is None:
            try:
                future = self._session.execute_async(statement, values, execution_profile=self._profile, **self._own)
                process.check_process(self._process, error_of(future))
                self.watch(future, index)
                return not self._exhausted
            except Exception as raised:
                error = raised
                process.check_process(self._process, error)
        self._did_not_start(index, error)
        return not self._exhausted

    def watch(self, future: Any, index: int) -> None:
        """Receive the outcome of *future*, which is request *index*."""
        self._batch.watch(future, index)

    def _did_not_start(self, index: int, error: Exception) -> None:
        """Override. Record the *error* of request *index*, which could not be made."""
        raise NotImplementedError


class _BlockingRun(ConcurrentRun):
    """One call of execute_concurrent, on the calling thread."""

    def __init__(
        self,
        session: Session,
        statements: Iterator[tuple[Any, Any]],
        concurrency: int,
        fail_fast: bool,
        execution_profile: Any,
        own: dict[str, Any],
    ) -> None:
        super().__init__(session, statements, concurrency, fail_fast, execution_profile, own, batch_of(session))
        if fail_fast:
            self._batch.failed = _raise
        # Outcomes collected before new requests are sent: servers are busy while the rest is processed.
        self._most = max(1, concurrency // 2)
        self._taken = 0  # results that were handed over

    def _in_flight(self) -> int:
        return self._sent - self._taken - len(self.results)

    def all(self) -> list[ExecutionResult]:
        try:
            self._fill()
            while self._in_flight():
                self._collect()
            found: list[ExecutionResult] = self.results.all(self._sent)
            return found
        finally:
            self._batch.abandon()

    def in_order(self, window: int) -> Iterator[ExecutionResult]:
        self._limit = window
        self._fill()
        self._batch.flush()
        return self._in_order(window)

    def _in_order(self, window: int) -> Iterator[ExecutionResult]:
        results = self.results
        try:
            while self._in_flight() or results:
                while self._taken not in results:
                    self._collect()
                self._taken += 1
                yield results.take(self._taken - 1)
                self._limit = self._taken + window
                self._fill()
        finally:
            self._batch.abandon()

    def _did_not_start(self, index: int, error: Exception) -> None:
        self._batch.did_not_start(index, error)
        self._exhausted |= self._fail_fast

    def _collect(self) -> None:
        """Wait until a request has ended, add the outcomes that are there, and send more requests."""
        process.check_process(self._process)
        self._batch.collect(self._most)
        self._fill()


def _raise(index: int, error: BaseException) -> NoReturn:
    raise of_item(index, error)


# ---- execution on an asyncio loop
#
# The awaiting or iterating task draws the statements and keeps up to *concurrency* requests in flight. Prepared
# statements are sent as a batch (``_LoopBatch``), whose outcomes the loop takes; each other one, and each one that the
# batch cannot send, has a ``FutureObserver`` that receives the outcome. None has a task, and the waiting task is woken
# at most once per turn of the loop. Only an asynchronous source of statements has a task, as results must be delivered
# while the source is awaited. Everything runs on the loop's thread, so there are no locks; other threads pass outcomes
# there by ``aio.resolve``.
#
# The handler of a signal may raise on that thread, between any two bytecodes. If it interrupts the task, the task ends
# with the exception. If it interrupts the loop's call for outcomes (``_on_outcome``), the exception leaves the loop,
# and, if the loop is run again, the call is repeated for the remaining outcomes. This is safe: results and failures are
# recorded natively, in the step that also takes the outcome (``transport_parts/batch.pxi``), a ``FutureObserver`` gets
# its outcome in one native step, and waking twice is harmless. No coroutine is made that an interruption could leave
# without having begun, as Python would warn of it: only generators and native waiters are awaited here.


Pairs = Iterable[tuple[Any, Any]] | AsyncIterable[tuple[Any, Any]]


@public("cassandra.concurrent")
class ConcurrentResults:
    """Result of :func:`execute_concurrent_async`: ``await`` it for a list of all outcomes, or iterate over it with
    ``async for`` to get them one by one; use either of them, once. Nothing is sent before that.

    Leaving it early (a cancelled task, an error, ``break``) gives up the requests in flight: the server may still
    execute them.
    """

    def __init__(
        self,
        session: Session,
        statements: Pairs,
        concurrency: int,
        fail_fast: bool,
        execution_profile: Any,
        row_factory: Any = OF_PROFILE,
    ) -> None:
        own = of_caller(row_factory, None)
        self._arguments: tuple[Any, ...] | None = (session, statements, concurrency, fail_fast, execution_profile, own)

    def _begin(self) -> _AsyncRun:
        arguments, self._arguments = self._arguments, None
        if arguments is None:
            raise RuntimeError("the statements were executed already: await or iterate over the results only once")
        return _AsyncRun(*arguments)

    def __await__(self) -> Generator[Any, None, list[ExecutionResult]]:
        return self._begin().all()

    def __aiter__(self) -> AsyncGenerator[ExecutionResult, None]:
        return self._begin().in_order()


@public("cassandra.concurrent")
def execute_concurrent_async(
    session: Session,
    statements_and_parameters: Pairs,
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    execution_profile: Any = EXEC_PROFILE_DEFAULT,
    row_factory: Any = OF_PROFILE,
) -> ConcurrentResults:
    """:func:`execute_concurrent` for asyncio: (statement, parameters) pairs, at most *concurrency* at a time.

    ``await`` returns the outcomes as a list, ``async for`` yields them one after another, both in the order of the
    statements. The pairs may come from any iterable, an asynchronous one too; with ``async for`` it may be endless, as
    the number of requests sent ahead of the oldest result not yet taken is limited.

    :param raise_on_first_error: raise the first failure at once, giving the rest up; else failures are in the outcomes.

    ValueError when *concurrency* is not positive. Example::

        results = execute_concurrent_async(
            session, statements(), raise_on_first_error=False
        )
        async for success, result in results:
            ...

    .. versionadded:: 4.0
    """
    if concurrency <= 0:
        raise ValueError("concurrency must be greater than 0")
    return ConcurrentResults(
        session, statements_and_parameters, concurrency, raise_on_first_error, execution_profile, row_factory
    )


@public("cassandra.concurrent")
def execute_concurrent_with_args_async(
    session: Session,
    statement: Any,
    parameters: Iterable[Any] | AsyncIterable[Any],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    execution_profile: Any = EXEC_PROFILE_DEFAULT,
    row_factory: Any = OF_PROFILE,
) -> ConcurrentResults:
    """Execute one *statement* with each item of *parameters*; the rest as of :func:`execute_concurrent_async`.

    Example::

        insert = await session.prepare_async("INSERT INTO t (k, v) VALUES (?, ?)")
        rows = ((i, str(i)) for i in range(100_000))
        await execute_concurrent_with_args_async(session, insert, rows)

    .. versionadded:: 4.0
    """
    pairs: Pairs
    if isinstance(parameters, AsyncIterable):
        pairs = _with(statement, parameters)
    else:
        pairs = zip(repeat(statement), parameters)
    return execute_concurrent_async(session, pairs, concurrency, raise_on_first_error, execution_profile, row_factory)


async def _with(statement: Any, parameters: AsyncIterable[Any]) -> AsyncGenerator[tuple[Any, Any], None]:
    async for item in parameters:
        yield statement, item


class _LoopBatch(ConcurrentBatch):
    """Batch of the prepared statements of a run. Requests that continue as a ResponseFuture get a
    ``FutureObserver``."""

    def __init__(self, session: Session, run: _AsyncRun) -> None:
        plain = plain_session(session)
        super().__init__(plain or session, one_by_one=plain is None)
        self._run = run
        self._watches_descriptors = aio.watches_descriptors(run.loop)
        if self._watches_descriptors:
            self.use_loop()
        else:
            self._loop = run.loop  # its observers call _on_outcome()

    def _plan_for(self, statement: Any, profile: ResolvedProfile) -> ExecutePlan | None:
        return super()._plan_for(statement, profile) if self._watches_descriptors else None

    def watch(self, future: ResponseFuture, index: int) -> None:
        self._run.watch(future, index)


class _AsyncRun(ConcurrentRun):
    """One execution, from the beginning of the ``await`` or the iteration to its end."""

    def __init__(
        self,
        session: Session,
        statements: Pairs,
        concurrency: int,
        fail_fast: bool,
        execution_profile: Any,
        own: dict[str, Any],
    ) -> None:
        self.loop = aio.running_loop()
        is_async = isinstance(statements, AsyncIterable)
        given: Any = () if is_async else statements or ()
        batch = _LoopBatch(session, self)
        super().__init__(session, iter(given), concurrency, fail_fast, execution_profile, own, batch)
        if fail_fast:
            batch.failed = self._fail
        self._error: BaseException | None = None
        self._at_once = 0  # outcomes that were there without a wait since the last turn of the loop
        self._source: AsyncIterable[tuple[Any, Any]] | None = statements if is_async else None  # type: ignore[assignment]
        self._feeder: asyncio.Task[None] | None = None  # the task of the source

    # ---- sending

    def _in_flight(self) -> int:
        return len(self._batch.observers) + self._at_once + int(self._batch.in_flight)

    async def _feed(self, source: AsyncIterable[tuple[Any, Any]]) -> None:
        """As :meth:`_fill`, from an asynchronous source, as a task."""
        pairs = aiter(source)
        try:
            while not self._exhausted:
                while self._room() <= 0:
                    await self._change()
                statement, values = pair_of(await anext(pairs), self._sent)
                self._sent += 1
                self._start(self._sent - 1, statement, values, None)
        except StopAsyncIteration:
            pass
        except BaseException as error:
            self._error = self._error or error
            if not isinstance(error, Exception):
                raise
        finally:
            self._exhausted = True
            self._batch.wake()

    def watch(self, future: ResponseFuture, index: int) -> None:
        observers = self._batch.observers
        single = observers[index] = FutureObserver(self._batch, self.loop, index, future)
        outcome = future._join(self.loop, single)
        if outcome is None:
            self._at_once += index not in observers  # on some loops it may have arrived meanwhile
            return
        del observers[index]
        self._record(index, future, outcome)
        self._at_once += 1

    # ---- outcomes

    def _record(self, index: int, future: ResponseFuture, outcome: Outcome) -> None:
        """Record the *outcome* of request *index*."""
        error = outcome[1]
        if error is None:
            self.results[index] = ExecutionResult(True, ResultSet._of(future, outcome))
        elif self._fail_fast:
            self._fail(index, error)
        else:
            self.results[index] = ExecutionResult(False, error)

    def _did_not_start(self, index: int, error: Exception) -> None:
        if self._fail_fast:
            self._fail(index, error)
        else:
            self.results[index] = ExecutionResult(False, error)
        self._at_once += 1

    def _fail(self, index: int, error: BaseException) -> None:
        """End the run with the *error* of request *index*."""
        self._exhausted = True
        if self._error is None:
            self._error = of_item(index, error)

    def _change(self) -> Awaitable[None]:
        """Return an awaitable for the next change; awaiting it always yields to the loop."""
        process.check_process(self._process)
        waiter: Awaitable[None] = aio.new_awaiting(self.loop)
        if self._at_once:
            self._at_once = 0
            self.loop.call_soon(self._batch.wake)
        self._batch.add_waiter(waiter)
        return waiter

    # ---- the two forms

    def all(self) -> Generator[Any, None, list[ExecutionResult]]:
        """Return all outcomes; the generator for ``__await__``."""
        try:
            while self._goes_on():
                yield from self._change().__await__()
            found: list[ExecutionResult] = self.results.all(self._sent)
            return found
        finally:
            self._stop()
            while self._feeds():
                yield from self._change().__await__()

    async def in_order(self) -> AsyncGenerator[ExecutionResult, None]:
        """Yield one outcome after another, in the order of the statements."""
        window = self._concurrency * WINDOW
        position = 0
        try:
            while True:
                self._limit = position + window
                going = self._goes_on()
                if self._at_once >= self._concurrency:
                    await self._change()
                elif position in self.results:
                    yield self.results.take(position)
                    position += 1
                    self._batch.wake()  # the task of the source may wait for room
                elif going:
                    await self._change()
                else:
                    return
        finally:
            self._stop()
            while self._feeds():
                await self._change()

    def _goes_on(self) -> bool:
        """Send the requests that may be sent. Return True if there are outcomes to wait for; raise the error that ends
        the run."""
        process.check_process(self._process)
        if self._source is not None and self._feeder is None:
            self._feeder = self.loop.create_task(self._feed(self._source))
        elif self._source is None:
            before = self._sent
            self._fill()
            if self._sent != before:
                self._batch.flush()
        if self._error is not None:
            raise self._error
        return not self._exhausted or self._in_flight() > 0

    def _stop(self) -> None:
        """Give up the remaining requests."""
        self._exhausted = True
        for single in list(self._batch.observers.values()):
            single.future._leave(single)
        self._batch.abandon()
        feeder = self._feeder
        if feeder is not None and not feeder.done():
            feeder.cancel()
            feeder.add_done_callback(self._batch.wake)

    def _feeds(self) -> bool:
        """True if the task of the source has not ended."""
        return self._feeder is not None and not self._feeder.done()
