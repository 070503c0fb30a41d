"""Concurrent execution of statements (cassandra.concurrent).

L5. The calling thread draws the statements, keeps up to *concurrency* requests in flight and collects the outcomes.
So an application's generator runs on the application's own thread, nothing recurses, and with an endless generator
memory stays bounded by the window. Prepared statements are sent as a batch
(:class:`~cassandra._session.concurrent.volley.Volley`), all others by a ResponseFuture each, which reports to the batch
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._base import process
from cassandra._core.transport import Results

from ..cluster.profiles import EXEC_PROFILE_DEFAULT
from ..own_options import OF_PROFILE, of_caller
from .calls import volley_of
from .volley import ExecutionResult, error_of

if TYPE_CHECKING:
    from ..session import Session

WINDOW = 2  # limit of requests sent ahead of the oldest result not yet yielded, as a multiple of the concurrency


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
    """One call of execute_concurrent. Runs on the calling thread, except for the methods that Volley documents."""

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
        self._volley = volley_of(session)
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
            self._volley.abandon()
        found: list[ExecutionResult] = results.all(self._sent)
        return found

    def in_order(self, window: int) -> Iterator[ExecutionResult]:
        self._fill(window)
        self._volley.send()
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
            self._volley.abandon()

    def _fill(self, limit: int | None) -> None:
        """Start requests until *concurrency* are in flight, the statements are used up, or *limit* have been sent."""
        process.stay(self._process)
        room = self._concurrency - self._in_flight
        if limit is not None:
            room = min(room, limit - self._sent)
        if room <= 0 or self._exhausted:
            return
        profile = self._volley.profile(self._profile, self._own)
        before = self._sent
        self._sent, ended = self._volley.fill(self._statements, room, before, profile, self._start)
        self._in_flight += self._sent - before
        self._exhausted |= ended

    def _start(self, index: int, statement: Any, values: Any, error: Exception | None) -> bool:
        """Start a request by a ResponseFuture, or record the *error* of one that cannot be made. Return False to send
        no more."""
        process.stay(self._process, error)  # the source of the statements may have forked
        if error is None:
            try:
                future = self._session.execute_async(statement, values, execution_profile=self._profile, **self._own)
                process.stay(self._process, error_of(future))
                self._volley.watch(future, index)
                return True
            except Exception as raised:
                error = raised
                process.stay(self._process, error)
        self._volley.did_not_start(index, error)
        self._exhausted |= self._fail_fast
        return not self._fail_fast

    def _collect(self, results: Results) -> None:
        """Wait until a request has ended, and add the outcomes that are there."""
        process.stay(self._process)
        before = len(results)
        self._volley.collect(results, _raise if self._fail_fast else None, self._most)
        self._in_flight -= len(results) - before


def _raise(index: int, error: BaseException) -> NoReturn:
    raise error
