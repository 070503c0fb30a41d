"""Has the rows of a scan folded: by a thread, by a task.

L5. What is wished is checked before anything is sent. Whatever ends the fold, reading is given up first, then the crew
is waited for; then nothing changes any more, and the exception is told how far it had come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .checkpoint import Checkpoint
from .explain import Explanation
from .fold import Fold, left_over, with_checkpoint
from .progress import Tally, description, shown
from .reading import Reading

if TYPE_CHECKING:
    from .plan import ScanPlan
    from .protocol import MapReducer
    from .question import Question
    from .scan import Scan


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


def check_reducer(reducer: Any) -> None:
    for name in ("open", "stream", "combine", "finish"):
        if not callable(getattr(reducer, name, None)):
            raise TypeError(f"a reducer has open(), stream(), combine() and finish(); {reducer!r} has no {name}()")


def one_of(name: str, here: Any, there: Any) -> Any:
    """Of a call, or of the scan, which may not both have it."""
    if here is not None and there is not None:
        raise ValueError(f"{name}= was given to the scan already")
    return there if here is None else here


class _Run:
    """One fold, from the plan to the result."""

    def __init__(
        self, scan: Scan, wish: Wish, plan: ScanPlan, questions: tuple[Question, Question], finishes: bool = True
    ) -> None:
        what = description(plan, wish.filter, wish.reducer)
        self.fold = Fold(
            wish.reducer,
            plan.ranges,
            what,
            deterministic=wish.deterministic,
            workers=wish.workers,
            resume=wish.resume,
            finishes=finishes,
        )
        scan._last = self.fold  # whose checkpoint scan.checkpoint() is
        self.reading = Reading(scan._session, plan.replace(ranges=tuple(self.fold.ranges)), questions)
        self.reading.tally = Tally(what, self.fold.ranges, scan._options.progress, wish.resume)
        scan._failed = self.reading.failed

    def fail(self, error: BaseException) -> None:
        self.close()
        with_checkpoint(error, self.fold)

    def close(self) -> None:
        self.reading.close()
        self.fold.close()


def fold(scan: Scan, wish: Wish) -> Any:
    """See Scan.fold."""
    return _folded(_Run(scan, wish, *scan._plan()))


def fold_part(scan: Scan, wish: Wish) -> tuple[Any, int, bool]:
    """The accumulator of all rows, how many they were, and whether the reducer has stopped it."""
    run = _Run(scan, wish, *scan._plan(), finishes=False)
    return _folded(run), run.fold.rows, run.fold.stopped


def _folded(run: _Run) -> Any:
    try:
        for piece in run.reading:
            run.fold.take(piece)
            if run.fold.stopped:
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
    run = _Run(scan, wish, *await scan._plan_async())
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
    if reducer is not None:
        check_reducer(reducer)
    plan, _ = scan._plan()
    ranges = plan.ranges
    if options.resume is not None:
        options.resume.check(description(plan, filter, reducer))
        ranges = tuple(left_over(ranges, options.resume))
    return Explanation(
        plan,
        ranges,
        reducer=None if reducer is None else shown(reducer),
        filter=None if filter is None else shown(filter),
        done=0.0 if options.resume is None else options.resume.fraction,
    )
