"""Fold: the result of a reducer over the rows of a scan, each counted once, on a thread or in a task (L6).

Each range has its own accumulator, opened with its first rows; it is added to the totals when the range is done, and
dropped when the range restarts. So each row is in the result once, independent of failures and retries.

Threads and owners:

* The *consumer*, the thread or task that folds, takes the scan events of the reading. It streams them into their
  range's accumulator itself, or, with workers, submits that to a worker pool (:class:`FoldWorkers`) with a queue per
  range: no two operations on one range run concurrently.
* ``combine`` and ``finish`` always run in the pool, under the lock of the totals. Signal handlers run on the main
  thread, where their exceptions (Ctrl-C) could leave a half-combined accumulator, and no state to resume from. A range
  that is interrupted while it is streamed is only read again.
* Any thread may request a checkpoint at any time. That takes the lock of the totals, which is held while the foreign
  functions ``combine`` and ``finish`` are called: the state is only known after they return. A reducer that requests a
  checkpoint from within them acquires the lock again (it is recursive), and gets the previous state.

The order of combination determines the result of sums of floating-point numbers: :class:`AsTheyCome` combines in the
order of arrival, :class:`InOrder` in the order of the ranges.

States of a fold: *running*; *stopped* (a reducer raised StopScan); *failed* (``combine`` failed, and the state of the
totals is unknown); *over*. Options are checked before any request. On any end of the fold, first reading is abandoned,
then the worker pool is waited for; after that nothing changes, and the checkpoint is attached to the exception.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._base import process, threads
from cassandra._base.errors import ConnectionShutdown, DriverException, InvalidRequest, UnsupportedOperation
from cassandra._base.locks import caller_lock, driver_lock
from cassandra._base.objects import public
from cassandra._base.real import threading
from cassandra._base.server_errors import SyntaxException
from cassandra._routing.tokens import FULL_RING, TokenRange
from cassandra._session import aio

from .checkpoint import (
    Checkpoint,
    CheckpointError,
    Coverage,
    Part,
    ProgressRecorder,
    SavedAccumulator,
    Span,
    description,
    shown,
)
from .expressions import Masks
from .plan import Explanation
from .pushdown import not_possible, pushdown_of
from .reading import BATCH, DONE, Reading, ScanEvent
from .reducers import MapReducer, StopScan, fold_batch

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan, RecordBatch

    from .pages import PageTemplate
    from .plan import ScanPlan
    from .scan import Scan

    _Planned = tuple[ScanPlan, ScanPlan, tuple[PageTemplate, PageTemplate]]

Job = Callable[[], object]
Combine = Callable[[Any, Any], Any]

QUEUED = 2  # waiting scan events per worker

#: Errors of servers for an unknown function, or one that does not support the type.
_REFUSED = (InvalidRequest, SyntaxException, UnsupportedOperation)


# ---- the worker pool


class RangeQueue:
    """Queue of jobs that run in order."""

    __slots__ = ("is_busy", "jobs")

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.is_busy = False  # a thread runs its jobs, or it is in the ready queue


class FoldWorkers:
    """Worker pool: up to *threads* concurrent driver threads, until :meth:`close`. *room* is the limit of unfinished
    jobs.

    Work is submitted to *per-range queues* (:class:`RangeQueue`): the jobs of one queue run in order, one at a time;
    jobs of different queues run concurrently.

    Threads and owners: the *consumer*, one caller's thread or task, submits jobs, and leaves no more waiting than
    *room* permits. It appends to a queue, and the queue to ``_filled_queues`` (``deque.append`` is atomic), and starts
    a driver thread unless one is certain to read ``_filled_queues`` later; it acquires no lock, so a signal handler
    that interrupts it anywhere leaves no lock held. ``_submitted`` belongs to it. Everything else changes on driver
    threads, under the lock, which is held briefly and not while a job runs. A consumer that is interrupted between the
    steps closes the pool, as its fold has failed.

    No job is lost: the consumer appends first and then reads ``_is_starting`` and ``_running``. A thread that was
    started to look clears ``_is_starting`` first and then reads ``_filled_queues``; one that ends subtracts itself from
    ``_running`` first and then reads ``_filled_queues`` again.

    ``error`` is the first exception of a job: no job starts after it, and :meth:`check` raises it.
    """

    def __init__(self, threads: int, room: int) -> None:
        self.error: BaseException | None = None
        self.on_change: Callable[[], object] | None = None  # called on a pool thread after each job
        self._size = threads
        self._room = room
        self._lock = driver_lock("FoldWorkers")
        self._worker_ended = threading.Condition(self._lock)  # for close()
        self._filled_queues: deque[RangeQueue] = deque()  # queues that got a job
        self._ready: deque[RangeQueue] = deque()  # queues with jobs that no thread has taken
        self._is_starting = False  # a thread was started that has not read _filled_queues yet
        self._running = 0  # number of threads that run jobs
        self._submitted = 0
        self._completed = 0
        self._closed = False
        self._event = process.AutoResetEvent()  # for the consumer
        self._process = process.here()

    def submit(self, queue: RangeQueue, job: Job) -> None:
        """Submit *job*, to run after the other jobs of *queue*."""
        process.check_process(self._process)  # a forked child has none of the threads
        self._submitted += 1
        queue.jobs.append(job)
        self._filled_queues.append(queue)
        if not self._is_starting and self._running < self._size:
            self._start_worker(bool(self._running))

    @property
    def has_room(self) -> bool:
        """True if another job may be submitted; also after an error, when no more jobs run."""
        return self._submitted - self._completed < self._room or self.error is not None

    @property
    def is_idle(self) -> bool:
        """True if all jobs are done, or no more jobs run after an error."""
        return self._submitted == self._completed or self.error is not None

    def check(self) -> None:
        """Raise the first exception of a job, if any."""
        if self.error is not None:
            raise self.error

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until *condition* is true; it is checked after each job."""
        while not condition():
            self._event.wait()

    def close(self) -> None:
        """Start no more jobs, and wait for the running ones."""
        if self._process is process.current:
            self._closed = True
            threads.run(self._close)

    def _close(self) -> None:
        with self._lock:
            while self._running:
                self._worker_ended.wait()

    # ---- on driver threads

    def _run_worker(self) -> None:
        self._is_starting = False
        while self._may_start():
            self._work()

    def _may_start(self) -> bool:
        """Return True if this thread is to run jobs."""
        with self._lock:
            self._collect_filled()
            starts = self._can_continue and self._running < self._size
            self._running += starts
        return starts

    @property
    def _can_continue(self) -> bool:
        return bool(self._ready) and not self._closed and self.error is None

    def _collect_filled(self) -> None:
        while self._filled_queues:
            queue = self._filled_queues.popleft()
            if not queue.is_busy and queue.jobs:
                queue.is_busy = True
                self._ready.append(queue)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._collect_filled()
                if not self._can_continue:
                    self._running -= 1
                    self._worker_ended.notify_all()
                    return
                queue = self._ready.popleft()
                job = queue.jobs.popleft()
                needs_worker = bool(self._ready) and self._running < self._size and not self._is_starting
            if needs_worker:
                self._start_worker(True)
            try:
                job()
            except BaseException as error:
                if self.error is None:
                    self.error = error
            del job
            with self._lock:
                self._completed += 1
                if queue.jobs:
                    self._ready.append(queue)
                else:
                    queue.is_busy = False
            self._event.set()
            changed = self.on_change
            if changed is not None:
                changed()

    def _start_worker(self, are_enough: bool) -> None:
        """Start a thread. If that is not possible, the running ones do all; raise RuntimeError unless *are_enough*."""
        self._is_starting = True
        try:
            threads.start(self._run_worker)
        except RuntimeError:
            self._is_starting = False
            if not are_enough:
                raise


# ---- totals: the combined accumulators of completed ranges


class _Nothing:
    def __repr__(self) -> str:
        return "<no accumulator>"


#: Accumulator of a range without rows.
NOTHING: Any = _Nothing()


def combined(combine: Combine, first: Any, second: Any) -> Any:
    if first is NOTHING:
        return second
    return first if second is NOTHING else combine(first, second)


class AsTheyCome:
    """One total, to which each range is added when it is complete. The caller holds the lock."""

    cuts: Sequence[Span] | None = None

    def __init__(self, combine: Combine) -> None:
        self._combine = combine
        self._total = NOTHING
        self._completed = Coverage()

    def add(self, span: Span, acc: Any) -> None:
        """Add *acc*, of a completed range, which the caller no longer uses."""
        self._total = combined(self._combine, self._total, acc)
        self._completed.add(span)

    def restore(self, part: Part) -> None:
        """Add the state of a former fold."""
        if part.kept is not None:
            self._total = combined(self._combine, self._total, part.kept.fresh())
        for span in part.spans:
            self._completed.add(span)

    def parts(self, keep: Callable[[Any], SavedAccumulator]) -> list[Part]:
        """Return the current state, for a checkpoint."""
        kept = None if self._total is NOTHING else keep(self._total)
        return [Part(self._completed.spans, kept)] if self._completed.size else []

    def result(self, last: tuple[Span, Any] | None = None) -> Any:
        """Return the total, combined with the accumulator of an incomplete range; nothing is added after that."""
        return self._total if last is None else combined(self._combine, self._total, last[1])


class InOrder:
    """A tree over the ranges *cuts*, which are in order and do not overlap. The caller holds the lock.

    It is built once: two neighbours are combined as soon as both are there, so that the result depends on the ranges
    and not on when they were complete, and few accumulators wait. (One running total from the left would need no tree,
    but ranges complete in no particular order, and then all of them would wait for the first.)

    Its node (level, place) stands for the ranges from ``place << level`` on, ``1 << level`` of them, or as many as
    there are: at the right edge a node may have only a left child, and is then equal to it.
    """

    def __init__(self, combine: Combine, cuts: Iterable[Span]) -> None:
        self._combine = combine
        self.cuts: Sequence[Span] = tuple(cuts)
        self._nodes: dict[tuple[int, int], Any] = {}  # complete nodes that wait for their neighbour
        self._starts = {start: place for place, (start, _) in enumerate(self.cuts)}
        self._ends = {end: place + 1 for place, (_, end) in enumerate(self.cuts)}

    def add(self, span: Span, acc: Any) -> None:
        self._combine_upwards(0, self._starts[span[0]], acc)

    def restore(self, part: Part) -> None:
        first, behind = self._starts.get(part.spans[0][0]), self._ends.get(part.spans[-1][1], 0)
        level = 0 if first is None or behind <= first else (behind - first - 1).bit_length()
        if first is None or first % (1 << level) or self._spans(level, first >> level) != part.spans:
            raise CheckpointError("damaged checkpoint: the completed parts are not ranges of the fold that made it")
        self._combine_upwards(level, first >> level, NOTHING if part.kept is None else part.kept.fresh())

    def _combine_upwards(self, level: int, place: int, acc: Any) -> None:
        nodes = self._nodes
        while 1 << level < len(self.cuts):
            sibling = place ^ 1
            if sibling << level < len(self.cuts):
                if (level, sibling) not in nodes:
                    break
                other = nodes[level, sibling]
                pair = (other, acc) if sibling < place else (acc, other)
                acc = combined(self._combine, *pair)
                del nodes[level, sibling]
            level, place = level + 1, place >> 1
        nodes[level, place] = acc

    def _spans(self, level: int, place: int) -> tuple[Span, ...]:
        return Coverage(self.cuts[place << level : (place + 1) << level]).spans

    def parts(self, keep: Callable[[Any], SavedAccumulator]) -> list[Part]:
        return [
            Part(self._spans(*node), None if acc is NOTHING else keep(acc)) for node, acc in sorted_nodes(self._nodes)
        ]

    def result(self, last: tuple[Span, Any] | None = None) -> Any:
        nodes = dict(self._nodes)
        if last is not None:
            nodes[0, self._starts[last[0][0]]] = last[1]
        total = NOTHING
        for _, acc in sorted_nodes(nodes):
            total = combined(self._combine, total, acc)
        return total


def sorted_nodes(nodes: dict[tuple[int, int], Any]) -> list[tuple[tuple[int, int], Any]]:
    """Return the nodes in the order of their ranges."""
    return sorted(nodes.items(), key=lambda item: item[0][1] << item[0][0])


# ---- one fold


class _Range:
    """A range being read. Its accumulator belongs to the thread that runs its queue."""

    __slots__ = ("acc", "queue", "rows", "tokens", "void")

    def __init__(self, tokens: TokenRange, queue: RangeQueue) -> None:
        self.tokens = tokens
        self.queue = queue
        self.acc = NOTHING
        self.rows = 0
        self.void = False  # True if rows are missing in the accumulator

    @property
    def span(self) -> Span:
        return self.tokens.start, self.tokens.end


class Fold:
    """One fold, by *reducer*, of the rows of *ranges* that match *filter*.

    *what* describes the scan, for checkpoints; *workers* is the number of threads that stream, None for the consumer
    itself. ``ranges`` are the ranges still to read, reduced by *resume*.
    """

    def __init__(
        self,
        reducer: MapReducer,
        ranges: Sequence[TokenRange],
        what: Mapping[str, str],
        *,
        filter: Any = None,
        deterministic: bool = False,
        workers: int | None = None,
        resume: Checkpoint | None = None,
        rows_of: Callable[[RecordBatch], int] = len,
        finishes: bool = True,
    ) -> None:
        if workers is not None and (type(workers) is not int or workers < 1):
            raise ValueError(f"workers must be a positive int or None, got {workers!r}")
        self.reducer = reducer
        self.what = dict(what)
        self.stopped = False
        self._predicate = None if filter is None else Masks(filter)
        self._rows_of = rows_of
        self._finishes = finishes  # False: the result is the accumulator
        self._streams = workers is None  # True: on the consumer's thread
        self._lock = caller_lock("of the totals of a fold")
        self._process = process.here()
        self._failed = False
        self._is_over = False
        self._rows = 0  # rows of completed ranges
        self._open: dict[int, _Range] = {}
        self._last: tuple[Span, Any] | None = None  # range and accumulator of StopScan
        self._result: Any = None
        self.totals, self.ranges = self._begin(ranges, deterministic, resume)
        self._workers = FoldWorkers(workers or 1, (workers or 1) * (QUEUED + 1))

    def _begin(
        self, ranges: Sequence[TokenRange], deterministic: bool, resume: Checkpoint | None
    ) -> tuple[AsTheyCome | InOrder, list[TokenRange]]:
        if resume is not None:
            self._check(ranges, deterministic, resume)
        left = remaining_parts(ranges, resume)
        totals: AsTheyCome | InOrder
        if not deterministic:
            totals = AsTheyCome(self.reducer.combine)
        elif resume is None or resume.cuts is None:
            totals = InOrder(self.reducer.combine, sorted((one.start, one.end) for one in ranges))
        else:  # with the former cuts: others would give sums of another tree
            totals = InOrder(self.reducer.combine, resume.cuts)
            done = Coverage(resume.done)
            left = [TokenRange(*cut, _replicas(ranges, cut)) for cut in resume.cuts if not done.has(cut)]
        if resume is not None:
            self._rows = resume.rows
            for part in resume.parts:
                totals.restore(part)
        return totals, left

    def _check(self, ranges: Sequence[TokenRange], deterministic: bool, resume: Checkpoint) -> None:
        resume.check(self.what)
        ours = Coverage((one.start, one.end) for one in ranges)
        if not all(map(ours.has, resume.done)):
            raise CheckpointError("the checkpoint is of another scan: it has tokens outside of the range of this scan")
        if deterministic and resume.parts and (resume.cuts is None or Coverage(resume.cuts).spans != ours.spans):
            raise CheckpointError("deterministic=True can only resume a deterministic fold of the same range")

    # ---- scan events

    def take(self, event: ScanEvent) -> None:
        """Fold *event*, or submit it. Exceptions of the reducer are raised by this or a later call."""
        process.check_process(self._process)
        self._workers.check()
        one = self._open.get(event.number)
        if one is None:
            one = self._open[event.number] = _Range(event.token_range, RangeQueue())
        batch = event.batch
        if event.kind == BATCH and batch is not None:
            self._do(one, lambda: self._stream(one, batch))
        elif event.kind == DONE:
            del self._open[event.number]
            self._workers.submit(one.queue, lambda: self._add(one))
        else:  # the range restarts, or was abandoned
            one.void = True
            self._open[event.number] = _Range(event.token_range, one.queue)
        self._workers.check()

    def _do(self, one: _Range, job: Callable[[], None]) -> None:
        if self._streams:
            job()
        else:
            self._workers.submit(one.queue, job)

    def _stream(self, one: _Range, batch: RecordBatch) -> None:
        if self.stopped or one.void:
            one.void = True
            return
        try:
            if one.acc is NOTHING:
                one.acc = self.reducer.open(batch.schema, one.tokens)
            one.acc = fold_batch(self.reducer, one.acc, batch, self._predicate)
        except StopScan as stop:
            one.void = True
            with self._lock:
                if not self.stopped:
                    self.stopped, self._last = True, (one.span, stop.acc)
            return
        one.rows += self._rows_of(batch)

    def _add(self, one: _Range) -> None:
        if one.void:
            return
        with self._lock:
            self._failed = True
            self.totals.add(one.span, one.acc)
            self._rows += one.rows
            self._failed = False

    # ---- the end

    @property
    def rows(self) -> int:
        """Number of rows of completed ranges."""
        return self._rows

    def wait(self) -> None:
        """Wait until another scan event may be taken."""
        if not self._workers.has_room:
            self._workers.wait(lambda: self._workers.has_room)

    async def wait_async(self) -> None:
        await self._until(lambda: self._workers.has_room)

    def result(self, schema: ColumnPlan | None) -> Any:
        """Return the result, after all events were taken, or after a stop. *schema*: of the rows, if there were
        none."""
        self._workers.wait(lambda: self._workers.is_idle)
        self._conclude_by_crew(schema)
        self._workers.wait(lambda: self._workers.is_idle)
        self._workers.check()
        return self._result

    async def result_async(self, schema: ColumnPlan | None) -> Any:
        await self._until(lambda: self._workers.is_idle)
        self._conclude_by_crew(schema)
        await self._until(lambda: self._workers.is_idle)
        self._workers.check()
        return self._result

    def _conclude_by_crew(self, schema: ColumnPlan | None) -> None:
        self._workers.check()
        self._workers.submit(RangeQueue(), lambda: self._conclude(schema))

    def _conclude(self, schema: ColumnPlan | None) -> None:
        with self._lock:
            self._failed = self._last is not None  # result() then changes the totals
            acc = self.totals.result(self._last)
            if acc is NOTHING:
                if schema is None:
                    raise DriverException(
                        "the scan has no rows, and the server has not described the columns of the statement"
                    )
                acc = self.reducer.open(schema, FULL_RING)
            self._result = self.reducer.finish(acc) if self._finishes else acc

    async def _until(self, condition: Callable[[], bool]) -> None:
        loop = aio.running_loop()
        while not condition():
            changed = aio.new_awaiting(loop)
            self._workers.on_change = partial(aio.resolve, changed, None)
            if not condition():
                await changed
        self._workers.on_change = None

    def close(self) -> None:
        """Stop folding. Waits for running jobs."""
        self._workers.close()
        self._is_over = True

    # ---- checkpoints

    def checkpoint(self) -> Checkpoint:
        """See Scan.checkpoint."""
        process.check_process(self._process)  # the lock in a forked child belongs to the parent
        with self._lock:
            if self.stopped and self._failed:
                raise CheckpointError("the fold was ended by StopScan and cannot be resumed")
            if self._failed:
                raise CheckpointError("combine() of the reducer failed: the state of the totals is unknown")
            keep = SavedAccumulator if self._is_over else SavedAccumulator.frozen
            return Checkpoint(self.what, self.totals.parts(keep), self._rows, self.totals.cuts)


def remaining_parts(ranges: Sequence[TokenRange], resume: Checkpoint | None) -> list[TokenRange]:
    """Return the parts of *ranges* that *resume* does not cover, in their order."""
    if resume is None:
        return list(ranges)
    done = Coverage(resume.done)
    return [TokenRange(*span, one.replicas) for one in ranges for span in done.left_of((one.start, one.end))]


def _replicas(ranges: Sequence[TokenRange], cut: Span) -> Sequence[Any]:
    return next((one.replicas for one in ranges if one.contains(cut[1])), ())


# ---- checkpoints of errors


def with_checkpoint(error: BaseException, fold: Fold) -> None:
    """Attach the checkpoint of *fold* to *error*, which ended it."""
    try:
        checkpoint = fold.checkpoint()
    except (CheckpointError, ConnectionShutdown):
        return
    error.__dict__["checkpoint"] = checkpoint
    add_note: Any = getattr(error, "add_note", None)  # Python 3.11
    if add_note is not None:
        add_note(
            f"The scan of {fold.what.get('table')} was ended: {100 * checkpoint.fraction:.1f} % of the ring are done. "
            "cassandra.scan.checkpoint_of(error) returns the checkpoint to resume from."
        )


@public("cassandra.scan")
def checkpoint_of(error: BaseException) -> Checkpoint | None:
    """Return the checkpoint of the scan that *error* ended, for any exception: a :class:`ScanError`,
    ``KeyboardInterrupt``, or an exception of a reducer. None if it has no checkpoint."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        checkpoint = found.__dict__.get("checkpoint")
        if isinstance(checkpoint, Checkpoint):
            return checkpoint
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return None


# ---- folding a scan


class FoldOptions:
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
        self.filter = exclusive_option("filter", filter, options.filter)
        self.resume = exclusive_option("resume", resume, options.resume)
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


def exclusive_option(name: str, here: Any, there: Any) -> Any:
    """Return the option given in the call or in the scan; ValueError if both have it."""
    if here is not None and there is not None:
        raise ValueError(f"{name}= is already set in the scan")
    return there if here is None else here


def planned(scan: Scan, fold_options: FoldOptions) -> _Planned:
    """Return the plan of the rows, and the plan and page templates to send. If the servers refuse the push-down,
    *fold_options* is changed."""
    plan, templates = scan._plan()
    while fold_options.pushdown.selected is not None:
        try:
            pushed, aggregates = fold_options.pushdown.scan(scan)._plan(plan.ranges)
            return plan, pushed, aggregates
        except _REFUSED as error:
            fold_options.pushdown = not_possible(f"the server refuses it: {error}", scan._options.pushdown)
    return plan, plan, templates


async def planned_async(scan: Scan, fold_options: FoldOptions) -> _Planned:
    """As :func:`planned`, without blocking the running loop."""
    plan, templates = await scan._plan_async()
    while fold_options.pushdown.selected is not None:
        try:
            pushed, aggregates = await fold_options.pushdown.scan(scan)._plan_async(plan.ranges)
            return plan, pushed, aggregates
        except _REFUSED as error:
            fold_options.pushdown = not_possible(f"the server refuses it: {error}", scan._options.pushdown)
    return plan, plan, templates


class _Run:
    """One fold, from the plan to the result."""

    def __init__(self, scan: Scan, fold_options: FoldOptions, found: _Planned, finishes: bool = True) -> None:
        plan, sent, templates = found
        is_pushed = fold_options.pushdown.selected is not None
        what, rows_of = fold_options.what(plan), fold_options.pushdown.rows_of
        self.fold = Fold(
            fold_options.folds,
            plan.ranges,
            what,
            filter=fold_options.filter,
            deterministic=fold_options.deterministic and not is_pushed,  # results of servers are the same in any order
            workers=fold_options.workers,
            resume=fold_options.resume,
            rows_of=rows_of,
            finishes=finishes,
        )
        scan._last = self.fold  # source of scan.checkpoint()
        self.reading = Reading(scan._session, sent.replace(ranges=tuple(self.fold.ranges)), templates, halves=is_pushed)
        self.reading.recorder = ProgressRecorder(
            what, self.fold.ranges, scan._options.progress, fold_options.resume, rows_of
        )
        scan._failed = self.reading.failed

    def fail(self, error: BaseException) -> None:
        self.close()
        with_checkpoint(error, self.fold)

    def close(self) -> None:
        self.reading.close()
        self.fold.close()


def fold(scan: Scan, fold_options: FoldOptions) -> Any:
    """See Scan.fold."""
    return _run_fold(_Run(scan, fold_options, planned(scan, fold_options)))


def fold_part(scan: Scan, fold_options: FoldOptions, is_given_up: Callable[[], bool]) -> tuple[Any, int, bool]:
    """Return the accumulator of all rows, their number, and whether the reducer has stopped the fold. When
    *is_given_up* returns True, the result is not needed and the fold ends."""
    run = _Run(scan, fold_options, planned(scan, fold_options), finishes=False)
    return _run_fold(run, is_given_up), run.fold.rows, run.fold.stopped


def _run_fold(run: _Run, is_given_up: Callable[[], bool] = bool) -> Any:
    try:
        for event in run.reading:
            run.fold.take(event)
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


async def fold_async(scan: Scan, fold_options: FoldOptions) -> Any:
    """See Scan.fold_async."""
    run = _Run(scan, fold_options, await planned_async(scan, fold_options))
    try:
        async for event in run.reading.aiter():
            run.fold.take(event)
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
    filter = exclusive_option("filter", filter, options.filter)
    fold_options = (
        None if reducer is None else FoldOptions(scan, reducer, filter=None if options.filter is not None else filter)
    )
    if fold_options is None:
        plan, _ = scan._plan()
        sent, what = plan, description(plan, filter)
    else:
        plan, sent, _ = planned(scan, fold_options)
        what = fold_options.what(plan)
    ranges = plan.ranges
    if options.resume is not None:
        options.resume.check(what)
        ranges = tuple(remaining_parts(ranges, options.resume))
    return Explanation(
        sent,
        ranges,
        reducer=None if reducer is None else shown(reducer),
        filter=None if filter is None else shown(filter),
        pushdown=None if fold_options is None else fold_options.pushdown.selected is not None,
        why=None if fold_options is None else fold_options.pushdown.why,
        done=0.0 if options.resume is None else options.resume.fraction,
    )
