"""Folds the rows of a scan: on a thread, or in a task.

L5. Options are checked before any request. On any end of the fold, first reading is abandoned, then the worker pool is
waited for; after that nothing changes, and the checkpoint is attached to the exception.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import InvalidRequest, UnsupportedOperation
from cassandra._base.server_errors import SyntaxException

from .checkpoint import Checkpoint
from .explain import Explanation
from .fold import Fold, left_over, with_checkpoint
from .progress import Tally, description, shown
from .pushdown import pushdown_of, refused
from .reading import Reading

if TYPE_CHECKING:
    from .plan import ScanPlan
    from .protocol import MapReducer
    from .question import Question
    from .scan import Scan

    _Planned = tuple[ScanPlan, ScanPlan, tuple[Question, Question]]

#: Errors of servers for an unknown function, or one that does not support the type.
_REFUSED = (InvalidRequest, SyntaxException, UnsupportedOperation)


class Wish:
    """Options of ``scan.fold``."""

    def __init__(
        self,
        scan: Scan,
        reducer: MapReducer,
        *,
        filter: Any = None,
        deterministic: bool = False,
        workers: int | None = None,
        resume: Checkpoint | None = None,
    ) -> None:
        options = scan._options
        check_reducer(reducer)
        self.reducer = reducer
        self.filter = one_of("filter", filter, options.filter)
        self.resume = one_of("resume", resume, options.resume)
        if self.resume is not None and not isinstance(self.resume, Checkpoint):
            raise TypeError(f"resume must be a Checkpoint, got {self.resume!r}; use Checkpoint.load() to read a file")
        self.deterministic = deterministic
        self.workers = workers
        self.pushdown = pushdown_of(options, reducer, self.filter)

    @property
    def folds(self) -> MapReducer:
        """The reducer of the servers' results."""
        return self.reducer if self.pushdown.reducer is None else self.pushdown.reducer

    def what(self, plan: ScanPlan) -> dict[str, str]:
        """Return the description of the fold for checkpoints: a pushed-down fold can only resume a pushed-down one."""
        what = description(plan, self.filter, self.reducer)
        return what if self.pushdown.selected is None else {**what, "aggregates": self.pushdown.selected}


def check_reducer(reducer: Any) -> None:
    for name in ("open", "stream", "combine", "finish"):
        if not callable(getattr(reducer, name, None)):
            raise TypeError(f"a reducer needs open(), stream(), combine() and finish(); {reducer!r} has no {name}()")


def one_of(name: str, here: Any, there: Any) -> Any:
    """Return the option given in the call or in the scan; ValueError if both have it."""
    if here is not None and there is not None:
        raise ValueError(f"{name}= is already set in the scan")
    return there if here is None else here


def planned(scan: Scan, wish: Wish) -> _Planned:
    """Return the plan of the rows, and the plan and page templates to send. If the servers refuse the push-down, *wish*
    is changed."""
    plan, questions = scan._plan()
    while wish.pushdown.selected is not None:
        try:
            pushed, aggregates = wish.pushdown.scan(scan)._plan(plan.ranges)
            return plan, pushed, aggregates
        except _REFUSED as error:
            wish.pushdown = refused(f"the server refuses it: {error}", scan._options.pushdown)
    return plan, plan, questions


async def planned_async(scan: Scan, wish: Wish) -> _Planned:
    """As :func:`planned`, without blocking the running loop."""
    plan, questions = await scan._plan_async()
    while wish.pushdown.selected is not None:
        try:
            pushed, aggregates = await wish.pushdown.scan(scan)._plan_async(plan.ranges)
            return plan, pushed, aggregates
        except _REFUSED as error:
            wish.pushdown = refused(f"the server refuses it: {error}", scan._options.pushdown)
    return plan, plan, questions


class _Run:
    """One fold, from the plan to the result."""

    def __init__(self, scan: Scan, wish: Wish, found: _Planned, finishes: bool = True) -> None:
        plan, sent, questions = found
        is_pushed = wish.pushdown.selected is not None
        what, rows_of = wish.what(plan), wish.pushdown.rows_of
        self.fold = Fold(
            wish.folds,
            plan.ranges,
            what,
            filter=wish.filter,
            deterministic=wish.deterministic and not is_pushed,  # results of servers are the same in any order
            workers=wish.workers,
            resume=wish.resume,
            rows_of=rows_of,
            finishes=finishes,
        )
        scan._last = self.fold  # source of scan.checkpoint()
        self.reading = Reading(scan._session, sent.replace(ranges=tuple(self.fold.ranges)), questions, halves=is_pushed)
        self.reading.tally = Tally(what, self.fold.ranges, scan._options.progress, wish.resume, rows_of)
        scan._failed = self.reading.failed

    def fail(self, error: BaseException) -> None:
        self.close()
        with_checkpoint(error, self.fold)

    def close(self) -> None:
        self.reading.close()
        self.fold.close()


def fold(scan: Scan, wish: Wish) -> Any:
    """See Scan.fold."""
    return _folded(_Run(scan, wish, planned(scan, wish)))


def fold_part(scan: Scan, wish: Wish, is_given_up: Callable[[], bool]) -> tuple[Any, int, bool]:
    """Return the accumulator of all rows, their number, and whether the reducer has stopped the fold. When
    *is_given_up* returns True, the result is not needed and the fold ends."""
    run = _Run(scan, wish, planned(scan, wish), finishes=False)
    return _folded(run, is_given_up), run.fold.rows, run.fold.stopped


def _folded(run: _Run, is_given_up: Callable[[], bool] = bool) -> Any:
    try:
        for piece in run.reading:
            run.fold.take(piece)
            if run.fold.stopped or is_given_up():
                break
            run.fold.wait()
        run.reading.close()
        return run.fold.result(run.reading.schema)
    except BaseException as error:
        run.fail(error)
        raise
    finally:
        run.close()


async def fold_async(scan: Scan, wish: Wish) -> Any:
    """See Scan.fold_async."""
    run = _Run(scan, wish, await planned_async(scan, wish))
    try:
        async for piece in run.reading.aiter():
            run.fold.take(piece)
            if run.fold.stopped:
                break
            await run.fold.wait_async()
        run.reading.close()
        return await run.fold.result_async(run.reading.schema)
    except BaseException as error:
        run.fail(error)
        raise
    finally:
        run.close()


def explain(scan: Scan, reducer: MapReducer | None, filter: Any) -> Explanation:
    """See Scan.explain."""
    options = scan._options
    filter = one_of("filter", filter, options.filter)
    wish = None if reducer is None else Wish(scan, reducer, filter=None if options.filter is not None else filter)
    if wish is None:
        plan, _ = scan._plan()
        sent, what = plan, description(plan, filter)
    else:
        plan, sent, _ = planned(scan, wish)
        what = wish.what(plan)
    ranges = plan.ranges
    if options.resume is not None:
        options.resume.check(what)
        ranges = tuple(left_over(ranges, options.resume))
    return Explanation(
        sent,
        ranges,
        reducer=None if reducer is None else shown(reducer),
        filter=None if filter is None else shown(filter),
        pushdown=None if wish is None else wish.pushdown.selected is not None,
        why=None if wish is None else wish.pushdown.why,
        done=0.0 if options.resume is None else options.resume.fraction,
    )
