"""Concurrent execution of statements on an asyncio loop (cassandra.concurrent).

L5. The awaiting or iterating task draws the statements and keeps up to *concurrency* requests in flight. Prepared
statements are sent as a batch (:class:`_LoopBatch`), whose outcomes the loop takes; each other one, and each one that
the batch cannot send, has a ``FutureObserver`` that receives the outcome. None has a task, and the waiting task is
woken at most once per turn of the loop. Only an asynchronous source of statements has a task, as results must be
delivered while the source is awaited. Everything runs on the loop's thread, so there are no locks; other threads pass
outcomes there by ``aio.resolve``.

The handler of a signal may raise on that thread, between any two bytecodes. If it interrupts the task, the task ends
with the exception. If it interrupts the loop's call for outcomes (``_on_outcome``), the exception leaves the loop, and,
if the loop is run again, the call is repeated for the remaining outcomes. This is safe: results and failures are
recorded natively, in the step that also takes the outcome (``transport_parts/batch.pxi``), a :class:`FutureObserver`
gets its outcome in one native step, and waking twice is harmless. No coroutine is made that an interruption could leave
without having begun, as Python would warn of it: only generators and native waiters are awaited here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Generator, Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

from cassandra._base import process
from cassandra._base.objects import public
from cassandra._core.transport import FutureObserver, Results, pair_of
from cassandra._session import aio
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, OF_PROFILE, of_caller

from .concurrent import WINDOW, ConcurrentBatch, ExecutionResult, error_of, plain_session
from .hints import of_item
from .result import ResultSet

if TYPE_CHECKING:
    import asyncio

    from cassandra._session.profiles import ResolvedProfile
    from cassandra._session.session import Session

    from .future import ResponseFuture
    from .plans import ExecutePlan
    from .result import Outcome

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

        async for success, result in execute_concurrent_async(session, statements(), raise_on_first_error=False):
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
        await execute_concurrent_with_args_async(session, insert, ((i, str(i)) for i in range(100_000)))

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
        self._flies = aio.watches_descriptors(run.loop)
        if self._flies:
            aio.deliver_to(run.loop, self)

    def _on_outcome(self) -> None:
        if self._finished:  # abandoned: drop the outcomes queued for the loop by then
            self._take_all()
            return
        self.take_outcomes(self._run.results, self._run.fail if self._run.fail_fast else None)
        self._run.wake()

    def _plan_for(self, statement: Any, profile: ResolvedProfile) -> ExecutePlan | None:
        return super()._plan_for(statement, profile) if self._flies else None

    def watch(self, future: ResponseFuture, *key: Any) -> None:
        self._run.watch(future, *key)


class _AsyncRun:
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
        self._process = process.here()
        self._session = session
        self._concurrency = concurrency
        self.fail_fast = fail_fast
        self._profile = execution_profile
        self._own = own
        self.results = Results()
        self._error: BaseException | None = None
        self._sent = 0
        self._limit: int | None = None  # number of requests that may be sent by now
        self._at_once = 0  # outcomes that were there without a wait since the last turn of the loop
        self._exhausted = False
        self._waiting: list[Any] = []
        self._statements: Iterator[tuple[Any, Any]] = iter(())
        self._batch = _LoopBatch(session, self)
        self._source: AsyncIterable[tuple[Any, Any]] | None = None
        self._feeder: asyncio.Task[None] | None = None  # the task of the source
        if isinstance(statements, AsyncIterable):
            self._source = statements
        else:
            self._statements = iter(statements or ())

    # ---- sending

    def _room(self) -> int:
        """Return the number of requests that may be sent now."""
        room = self._concurrency - len(self._batch.observers) - self._at_once - self._batch.in_flight
        return room if self._limit is None else min(room, self._limit - self._sent)

    def _fill(self) -> None:
        """Send until *concurrency* requests are in flight, the statements are used up, or the limit is reached."""
        room = self._room()
        if self._exhausted or self._source is not None or room <= 0:
            return
        profile = self._batch.profile(self._profile, self._own)
        self._sent, ended = self._batch.fill(self._statements, room, self._sent, profile, self._start)
        self._exhausted |= ended
        self._batch.send()

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
            self.wake()

    def _start(self, index: int, statement: Any, values: Any, error: Exception | None) -> bool:
        """Start a request by a ResponseFuture, or record the *error* of one that cannot be made. Return False to send
        no more."""
        process.check_process(self._process, error)  # the source of the statements may have forked
        if error is None:
            try:
                future = self._session.execute_async(statement, values, execution_profile=self._profile, **self._own)
                process.check_process(self._process, error_of(future))
            except Exception as raised:
                error = raised
                process.check_process(self._process, error)
            else:
                self._at_once += self.watch(future, index)
        if error is not None:
            self.failed(index, error)
            self._at_once += 1
        return self._error is None

    def watch(self, future: ResponseFuture, index: int) -> bool:
        """Receive the outcome of *future*, which is request *index*. Return True if it is there already."""
        observers = self._batch.observers
        single = observers[index] = FutureObserver(self._batch, self.loop, index, future)
        outcome = future._join(self.loop, single)
        if outcome is None:
            return index not in observers  # on some loops it may have arrived meanwhile
        del observers[index]
        self.record(index, future, outcome)
        return True

    # ---- outcomes

    def record(self, index: int, future: ResponseFuture, outcome: Outcome) -> None:
        """Record the *outcome* of request *index*."""
        if outcome[1] is None:
            self.results[index] = ExecutionResult(True, ResultSet._of(future, outcome))
        else:
            self.failed(index, outcome[1])

    def failed(self, index: int, error: BaseException) -> None:
        """Record the *error* of request *index*."""
        if self.fail_fast:
            self.fail(index, error)
        else:
            self.results[index] = ExecutionResult(False, error)

    def fail(self, index: int, error: BaseException) -> None:
        """End the run with the *error* of request *index*."""
        self._exhausted = True
        if self._error is None:
            self._error = of_item(index, error)

    def wake(self) -> None:
        """Wake the waiters."""
        if self._waiting:
            for waiter in self._waiting:
                aio.resolve(waiter, None)
            self._waiting.clear()

    def _change(self) -> Awaitable[None]:
        """Return an awaitable for the next call of :meth:`wake`; awaiting it always yields to the loop."""
        process.check_process(self._process)
        waiter: Awaitable[None] = aio.new_awaiting(self.loop)
        if self._at_once:
            self._at_once = 0
            self.loop.call_soon(self.wake)
        self._waiting.append(waiter)
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
                    self.wake()  # the task of the source may wait for room
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
        self._fill()
        if self._error is not None:
            raise self._error
        batch = self._batch
        return not self._exhausted or bool(batch.observers or self._at_once or batch.in_flight)

    def _stop(self) -> None:
        """Give up the remaining requests."""
        self._exhausted = True
        for single in list(self._batch.observers.values()):
            single.future._leave(single)
        self._batch.abandon()
        feeder = self._feeder
        if feeder is not None and not feeder.done():
            feeder.cancel()
            feeder.add_done_callback(lambda _: self.wake())

    def _feeds(self) -> bool:
        """True if the task of the source has not ended."""
        return self._feeder is not None and not self._feeder.done()
