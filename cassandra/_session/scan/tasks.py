"""ScanTask: a part of a scan that another process can run (cassandra.scan).

L5. A task has the arguments of :meth:`Session.scan`, its part of the ring, and the reducer, unchanged; its session
comes from ``workers.py``. It keeps no state between runs, so that a lost task can be run again, anywhere.

A fold over an executor (:func:`fold_by`) has outcomes of tasks as scan events: a task is one range, which is done when
its outcome is there; the rest (each range once, the order, checkpoints) is that of every fold. Futures complete on
threads of the executor, which only enqueue them and set an event; they belong to the thread that folds.

Exceptions of a task are returned in its outcome; a future that fails itself has lost its worker, and the task is
submitted again. A broken executor, such as a pool of processes after one of them died, accepts no more tasks: it is
replaced by a new one, or, without a function that makes one, the remaining tasks run in this process.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cassandra._base import process
from cassandra._base.errors import DriverException
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.real import Future
from cassandra._routing.token_ranges import TokenRange

from .fold import Fold, left_over, with_checkpoint
from .folding import Wish, fold_part, planned
from .pieces import BATCH, DONE, FAILED, Piece
from .progress import Tally, description, shown
from .protocol import MapReducer, StopScan
from .workers import Importable, Origin

if TYPE_CHECKING:
    from ..session import Session
    from .scan import Scan

log = get_logger("cassandra.cluster")

TASKS = 64
ATTEMPTS = 3  # per task


class Outcome:
    """Result of a part of a fold: its accumulator, or the error."""

    __slots__ = ("acc", "error", "rows", "skipped", "stopped")
    schema = None  # no accumulator is opened for an outcome

    def __init__(
        self,
        acc: Any = None,
        rows: int = 0,
        stopped: bool = False,
        error: Exception | None = None,
        skipped: Exception | None = None,
    ) -> None:
        self.acc = acc
        self.rows = rows
        self.stopped = stopped
        self.error = error
        self.skipped = skipped  # why some of its rows are missing (on_error="skip")

    def __len__(self) -> int:
        return self.rows


@public("cassandra.scan")
class ScanTask:
    """A part of a scan; made by :meth:`Scan.tasks`. It can be pickled, and run anywhere, any number of times.

    ``token_range`` is its part of the ring, ``hosts`` are the addresses of its first replicas.
    """

    def __init__(
        self,
        origin: Origin,
        asked: dict[str, Any],
        ranges: Sequence[TokenRange],
        reducer: MapReducer | None,
        deterministic: bool = False,
    ) -> None:
        self._origin = origin
        self._asked = asked
        self._ranges = tuple(TokenRange(one.start, one.end) for one in ranges)
        self._reducer = reducer
        self._deterministic = deterministic
        self.token_range = TokenRange(ranges[0].start, ranges[-1].end)
        self._given_up = False  # in this process: the result is not needed
        firsts = (str(one.replicas[0].address) for one in ranges if one.replicas)
        self.hosts = tuple(dict.fromkeys(firsts))

    def run(self) -> Any:
        """Read it, and return the accumulator of its rows, without ``finish`` of the reducer; a ``pyarrow.Table``
        without a reducer. The first task of a process connects the session. Raises :exc:`ScanError`."""
        if self._reducer is None:
            with self._origin.session() as session:
                return self._scan(session).to_arrow()
        return self._folded().acc

    def _scan(self, session: Session) -> Scan:
        asked = dict(self._asked)
        text = asked.pop("prepared", None)
        table = asked.pop("table") if text is None else session.prepare(text)
        return session.scan(table, token_range=self._ranges, **asked)

    def _folded(self) -> Outcome:
        assert self._reducer is not None
        with self._origin.session() as session:
            scan = self._scan(session)
            wish = Wish(scan, self._reducer, deterministic=self._deterministic)
            outcome = Outcome(*fold_part(scan, wish, lambda: self._given_up))
            if scan.failed_ranges:
                outcome.skipped = _portable(scan.failed_ranges[0][1])
            return outcome

    def __reduce__(self) -> Any:
        """Reduce to a function of this module: cloudpickle finds it independent of which public modules are
        imported."""
        spans = [(one.start, one.end) for one in self._ranges]
        return _restored, (self._origin, self._asked, spans, self._reducer, self._deterministic, self.hosts)

    def __repr__(self) -> str:
        what = self._asked.get("table") or self._asked.get("prepared")
        by = "" if self._reducer is None else f" by {shown(self._reducer)}"
        return f"<ScanTask of {what}{by}: {self.token_range.start} to {self.token_range.end}>"


def _restored(origin: Origin, asked: Any, spans: Any, reducer: Any, deterministic: bool, hosts: Any) -> ScanTask:
    task = ScanTask(origin, asked, [TokenRange(*span) for span in spans], reducer, deterministic)
    task.hosts = hosts
    return task


def run_for_fold(task: ScanTask) -> Outcome:
    """Run a task on a worker; return its error in the outcome."""
    try:
        return task._folded()
    except Exception as error:
        return Outcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Return *error*, or an exception with the same text, if it cannot be pickled."""
    error.__dict__.pop("checkpoint", None)  # of a part, which is not resumed
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return DriverException(f"{type(error).__name__}: {error}")
    return error


def parts_of(ranges: Iterable[TokenRange], count: int) -> list[list[TokenRange]]:
    """Return *ranges*, ascending, in about *count* lists of adjacent ranges."""
    runs: list[list[TokenRange]] = []
    for one in sorted(ranges):
        if runs and runs[-1][-1].end == one.start:
            runs[-1].append(one)
        else:
            runs.append([one])
    total = sum(map(len, runs)) or 1
    parts = []
    for run in runs:
        cuts = max(1, round(count * len(run) / total))
        bounds = [len(run) * cut // cuts for cut in range(cuts + 1)]
        parts += [run[first:last] for first, last in pairwise(bounds) if first < last]
    return parts


class _OfTasks:
    """*reducer*, applied to outcomes of tasks."""

    def __init__(self, reducer: MapReducer) -> None:
        self.combine = reducer.combine
        self.finish = reducer.finish
        self._reducer = reducer

    def open(self, schema: Any, token_range: TokenRange) -> Any:
        return None if schema is None else self._reducer.open(schema, token_range)

    def stream(self, acc: Any, outcome: Any) -> Any:
        if outcome.stopped:
            raise StopScan(outcome.acc)
        return outcome.acc


# ---- the process that submits the tasks


class Terms:
    """Options for creating tasks: see Scan.tasks."""

    def __init__(self, connect: Importable | None, credentials: Importable | None, tasks: int | None) -> None:
        if tasks is not None and (type(tasks) is not int or tasks < 1):
            raise ValueError(f"tasks must be a positive int, got {tasks!r}")
        self.connect = connect
        self.credentials = credentials
        self.tasks = tasks or TASKS


def tasks_of(scan: Scan, reducer: MapReducer | None, terms: Terms) -> list[ScanTask]:
    """See Scan.tasks."""
    options = scan._options
    plan, _ = scan._plan()
    ranges: Iterable[TokenRange] = plan.ranges
    if options.resume is not None:
        options.resume.check(description(plan, options.filter, reducer))
        ranges = left_over(plan.ranges, options.resume)
    origin = Origin(scan._session, terms.connect, terms.credentials)
    asked = {**options.asked, "pushdown": "never"}  # accumulators are those of the reducer
    if "columns" in asked and asked["columns"] is None:
        asked["columns"] = plan.columns  # the current ones, also for a task that runs later
    return [ScanTask(origin, asked, part, reducer) for part in parts_of(ranges, terms.tasks)]


class _Here:
    """Executor that runs a function at once, on the calling thread."""

    def submit(self, function: Callable[[ScanTask], Outcome], task: ScanTask) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(function(task))
        return future


class _Executors:
    """*given*: an executor, or a function that makes one, which is shut down at the end."""

    def __init__(self, given: Any) -> None:
        self._make: Callable[[], Any] | None = None
        self._own: list[Any] = []
        if not hasattr(given, "submit"):
            if not callable(given):
                raise TypeError(
                    f"executor must have submit(), as in concurrent.futures, or be a function that makes one: {given!r}"
                )
            self._make = given
        self.current = given if self._make is None else self._new()
        self._left = ATTEMPTS

    def _new(self) -> Any:
        assert self._make is not None
        self._own.append(self._make())
        return self._own[-1]

    def replace(self, error: BaseException) -> None:
        """Replace the current executor, broken by *error*."""
        self._left -= 1
        if self._make is not None and self._left:
            log.warning("A worker of a fold was lost; its executor is replaced: %s", error)
            self.current = self._new()
        else:
            log.warning("A worker of a fold was lost with its executor; remaining tasks run in this process: %s", error)
            self.current = _Here()

    def close(self) -> None:
        for executor in self._own:
            executor.shutdown(wait=False, cancel_futures=True)


class _Farm:
    """Runs *tasks* by the executors; yields their numbers and outcomes as they complete."""

    def __init__(self, executors: _Executors, tasks: Sequence[ScanTask]) -> None:
        self._executors = executors
        self._tasks = tasks
        self._attempts = [0] * len(tasks)
        self._going: dict[Any, tuple[int, Any]] = {}  # by future: number of the task, and its executor
        self._ended: deque[Any] = deque()
        self._bell = process.Bell()

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        waiting = deque(range(len(self._tasks)))
        while waiting or self._going:
            while waiting and not self._ended:
                self._submit(waiting.popleft())
            while not self._ended:
                self._bell.wait()
            future = self._ended.popleft()
            number, executor = self._going.pop(future)
            error = _error_of(future)
            if error is None:
                yield number, future.result()
            else:
                self._lost(number, executor, error)
                waiting.append(number)

    def _submit(self, number: int) -> None:
        while True:
            executor = self._executors.current
            try:
                future = executor.submit(run_for_fold, self._tasks[number])
            except BrokenExecutor as error:
                self._executors.replace(error)
                continue
            self._attempts[number] += 1
            self._going[future] = (number, executor)
            future.add_done_callback(self._note)
            return

    def _note(self, future: Any) -> None:
        self._ended.append(future)
        self._bell.ring()

    def _lost(self, number: int, executor: Any, error: BaseException) -> None:
        if isinstance(error, BrokenExecutor):  # broken by this or another task
            if executor is self._executors.current:
                self._executors.replace(error)
        elif self._attempts[number] >= ATTEMPTS:
            raise error

    def close(self) -> None:
        for future, (number, _) in self._going.items():
            self._tasks[number]._given_up = True  # threads check it at their next page
            future.cancel()


def _error_of(future: Any) -> BaseException | None:
    try:
        error: BaseException | None = future.exception()
    except CancelledError as cancelled:
        return cancelled
    return error


def fold_by(scan: Scan, wish: Wish, executor: Any, terms: Terms) -> Any:
    """See Scan.fold."""
    if wish.workers is not None:
        raise ValueError("workers= and executor= are mutually exclusive: an executor has its own workers")
    plan, sent, _ = planned(scan, wish)
    what = wish.what(plan)
    pushdown = "never" if wish.pushdown.selected is None else "always"  # as decided in this process
    spans = [TokenRange(part[0].start, part[-1].end) for part in parts_of(plan.ranges, terms.tasks)]
    fold = Fold(_OfTasks(wish.folds), spans, what, deterministic=wish.deterministic, resume=wish.resume)
    scan._last, scan._failed = fold, []
    origin = Origin(scan._session, terms.connect, terms.credentials)
    asked = {**scan._options.asked, "filter": wish.filter, "pushdown": pushdown}
    tasks = [ScanTask(origin, asked, _cut(plan.ranges, one), wish.reducer, wish.deterministic) for one in fold.ranges]
    tally = Tally(what, fold.ranges, scan._options.progress, wish.resume)
    executors = _Executors(executor)
    farm = _Farm(executors, tasks)
    whole = False
    try:
        for number, outcome in farm.outcomes():
            if outcome.error is not None:
                raise outcome.error
            ends = DONE
            if outcome.skipped is not None:
                ends = FAILED
                scan._failed.append((fold.ranges[number], outcome.skipped))
            for kind, batch in ((BATCH, outcome), (ends, None)):
                piece = Piece(number, fold.ranges[number], kind, batch)  # type: ignore[arg-type]
                fold.take(piece)
                tally.take(piece)
            if fold.stopped:
                break
            fold.wait()
        result = fold.result(sent.schema)
        whole = not fold.stopped
        return result
    except BaseException as error:
        fold.close()
        with_checkpoint(error, fold)
        raise
    finally:
        farm.close()
        executors.close()
        fold.close()
        tally.end(whole)


def _cut(ranges: Iterable[TokenRange], span: TokenRange) -> list[TokenRange]:
    return [part for one in ranges if (part := one.intersect(span)) is not None]
