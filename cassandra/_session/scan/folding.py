"""Has the rows of a scan folded: by a thread, by a task.

L5. What is wished is checked before anything is sent. Whatever ends the fold, reading is given up first, then the crew
is waited for; then nothing changes any more, and the exception is told how far it had come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import InvalidRequest, SyntaxException, UnsupportedOperation

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

#: How servers say that they do not know a function, or not of that type.
_REFUSED = (InvalidRequest, SyntaxException, UnsupportedOperation)


class Wish:
    """What ``scan.fold`` is asked for."""

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
            raise TypeError(f"resume is a Checkpoint, not {self.resume!r}; Checkpoint.load() reads one from a file")
        self.deterministic = deterministic
        self.workers = workers
        self.pushdown = pushdown_of(options, reducer, self.filter)

    @property
    def folds(self) -> MapReducer:
        """The reducer of what servers answer with."""
        return self.reducer if self.pushdown.reducer is None else self.pushdown.reducer

    def what(self, plan: ScanPlan) -> dict[str, str]:
        """What is folded, for checkpoints: what servers have folded goes on with what they fold."""
        what = description(plan, self.filter, self.reducer)
        return what if self.pushdown.selected is None else {**what, "aggregates": self.pushdown.selected}


def check_reducer(reducer: Any) -> None:
    for name in ("open", "stream", "combine", "finish"):
        if not callable(getattr(reducer, name, None)):
            raise TypeError(f"a reducer has open(), stream(), combine() and finish(); {reducer!r} has no {name}()")


def one_of(name: str, here: Any, there: Any) -> Any:
    """Of a call, or of the scan, which may not both have it."""
    if here is not None and there is not None:
        raise ValueError(f"{name}= was given to the scan already")
    return there if here is None else here


def planned(scan: Scan, wish: Wish) -> _Planned:
    """The plan of the rows, and what is sent. Servers that do not fold what they are asked to change the wish."""
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
            deterministic=wish.deterministic and not is_pushed,  # what servers fold is the same in any order
            workers=wish.workers,
            resume=wish.resume,
            rows_of=rows_of,
            finishes=finishes,
        )
        scan._last = self.fold  # whose checkpoint scan.checkpoint() is
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
    """The accumulator of all rows, how many they were, and whether the reducer has stopped it. Once *is_given_up*,
    nobody wants that any more."""
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
