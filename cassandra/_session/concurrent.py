"""Many statements at a time (cassandra.concurrent).

L5. The calling thread draws the statements, keeps up to *concurrency* requests in flight and collects the outcomes
from a
queue that callbacks on the I/O thread fill; so an application's generator runs on the application's own thread, nothing
recurses, and with an endless generator memory stays bounded by the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from .profiles import EXEC_PROFILE_DEFAULT
from .result import ResultSet

if TYPE_CHECKING:
    from .session import Session

WINDOW = 2  # how many times the concurrency may be sent ahead of the oldest result not yet yielded


class ExecutionResult(NamedTuple):
    """One statement's outcome: a :class:`ResultSet`, or the exception when *success* is False."""

    success: bool
    result_or_exc: Any


ExecutionResult.__module__ = "cassandra.concurrent"

Outcome = tuple[int, ExecutionResult]


def execute_concurrent(
    session: Session,
    statements_and_parameters: Iterable[tuple[Any, Any]],
    concurrency: int = 100,
    raise_on_first_error: bool = True,
    results_generator: bool = False,
    execution_profile: Any = EXEC_PROFILE_DEFAULT,
) -> list[ExecutionResult] | Iterator[ExecutionResult]:
    """Execute (statement, parameters) pairs, at most *concurrency* at a time; outcomes in the order of the statements.

    :param raise_on_first_error: raise the first failure, leaving the rest unsent; else failures are in the outcomes.
    :param results_generator: return an iterator instead of a list; the first requests are sent at once, the others
        while it is consumed.

    ValueError when *concurrency* is not positive.
    """
    if concurrency <= 0:
        raise ValueError("concurrency must be greater than 0")
    run = _Run(session, iter(statements_and_parameters or ()), concurrency, raise_on_first_error, execution_profile)
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


class _Run:
    """One call of execute_concurrent. Only ``_outcomes`` is touched by more than the calling thread."""

    def __init__(
        self,
        session: Session,
        statements: Iterator[tuple[Any, Any]],
        concurrency: int,
        fail_fast: bool,
        execution_profile: Any,
    ) -> None:
        self._execute: Callable[..., Any] = session.execute_async
        self._statements = statements
        self._concurrency = concurrency
        self._fail_fast = fail_fast
        self._profile = execution_profile
        self._outcomes: SimpleQueue[Outcome] = SimpleQueue()
        self._sent = 0
        self._in_flight = 0
        self._exhausted = False

    def all(self) -> list[ExecutionResult]:
        results: dict[int, ExecutionResult] = {}
        self._fill(None)
        while self._in_flight:
            index, result = self._next_outcome()
            results[index] = result
            self._fill(None)
        return [results[index] for index in range(self._sent)]

    def in_order(self, window: int) -> Iterator[ExecutionResult]:
        self._fill(window)
        return self._in_order(window)

    def _in_order(self, window: int) -> Iterator[ExecutionResult]:
        waiting: dict[int, ExecutionResult] = {}
        position = 0
        while self._in_flight or waiting:
            while position not in waiting:
                index, result = self._next_outcome()
                waiting[index] = result
                self._fill(position + window)
            yield waiting.pop(position)
            position += 1
            self._fill(position + window)

    def _fill(self, limit: int | None) -> None:
        """Send until *concurrency* requests are in flight, the statements are used up, or *limit* have been sent."""
        while self._in_flight < self._concurrency and not self._exhausted and (limit is None or self._sent < limit):
            try:
                statement, parameters = next(self._statements)
            except StopIteration:
                self._exhausted = True
                return
            index = self._sent
            self._sent += 1
            self._in_flight += 1
            try:
                future = self._execute(statement, parameters, execution_profile=self._profile)
            except Exception as error:
                self._exhausted |= self._fail_fast
                self._outcomes.put((index, ExecutionResult(False, error)))
            else:
                future.add_callbacks(self._succeeded, self._failed, (future, index), None, (index,))

    def _next_outcome(self) -> Outcome:
        index, result = self._outcomes.get()
        self._in_flight -= 1
        if self._fail_fast and not result.success:
            self._exhausted = True
            raise result.result_or_exc
        return index, result

    def _succeeded(self, rows: Any, future: Any, index: int) -> None:
        future.clear_callbacks()
        self._outcomes.put((index, ExecutionResult(True, ResultSet(future, rows))))

    def _failed(self, error: BaseException, index: int) -> None:
        self._outcomes.put((index, ExecutionResult(False, error)))
