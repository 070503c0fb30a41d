"""Fold: the result of a reducer over the rows of a scan, each counted once.

L5. Each range has its own accumulator, opened with its first rows; it is added to the totals when the range is done,
and dropped when the range restarts. So each row is in the result once, independent of failures and retries.

Threads and owners:

* The *consumer*, the thread or task that folds, takes the scan events of the reading. It streams them into their
  range's accumulator itself, or, with workers, submits that to a worker pool with a queue per range: no two operations
  on one range run concurrently.
* ``combine`` and ``finish`` always run in the pool, under the lock of the totals. Signal handlers run on the main
  thread, where their exceptions (Ctrl-C) could leave a half-combined accumulator, and no state to resume from. A range
  that is interrupted while it is streamed is only read again.
* Any thread may request a checkpoint at any time. That takes the lock of the totals, which is held while the foreign
  functions ``combine`` and ``finish`` are called: the state is only known after they return. A reducer that requests a
  checkpoint from within them acquires the lock again (it is recursive), and gets the previous state.

States: *running*; *stopped* (a reducer raised StopScan); *failed* (``combine`` failed, and the state of the totals is
unknown); *over*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._base import process
from cassandra._base.errors import ConnectionShutdown, DriverException
from cassandra._base.locks import caller_lock
from cassandra._base.objects import public
from cassandra._routing.token_ranges import FULL_RING, TokenRange

from ..background import aio
from .checkpoint import Checkpoint, CheckpointError, Kept
from .coverage import Coverage, Span
from .crew import Chain, Crew
from .expressions import Masks
from .pieces import BATCH, DONE, Piece
from .protocol import MapReducer, StopScan
from .reducers import fold_batch
from .totals import NOTHING, AsTheyCome, InOrder

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan, RecordBatch

QUEUED = 2  # waiting scan events per worker


class _Range:
    """A range being read. Its accumulator belongs to the thread that runs its queue."""

    __slots__ = ("acc", "chain", "rows", "tokens", "void")

    def __init__(self, tokens: TokenRange, chain: Chain) -> None:
        self.tokens = tokens
        self.chain = chain
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
        self._over = False
        self._rows = 0  # rows of completed ranges
        self._open: dict[int, _Range] = {}
        self._last: tuple[Span, Any] | None = None  # range and accumulator of StopScan
        self._result: Any = None
        self.totals, self.ranges = self._begun(ranges, deterministic, resume)
        self._crew = Crew(workers or 1, (workers or 1) * (QUEUED + 1))

    def _begun(
        self, ranges: Sequence[TokenRange], deterministic: bool, resume: Checkpoint | None
    ) -> tuple[AsTheyCome | InOrder, list[TokenRange]]:
        if resume is not None:
            self._check(ranges, deterministic, resume)
        left = left_over(ranges, resume)
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

    def take(self, piece: Piece) -> None:
        """Fold *piece*, or submit it. Exceptions of the reducer are raised by this or a later call."""
        process.stay(self._process)
        self._crew.check()
        one = self._open.get(piece.number)
        if one is None:
            one = self._open[piece.number] = _Range(piece.token_range, Chain())
        batch = piece.batch
        if piece.kind == BATCH and batch is not None:
            self._do(one, lambda: self._stream(one, batch))
        elif piece.kind == DONE:
            del self._open[piece.number]
            self._crew.give(one.chain, lambda: self._add(one))
        else:  # the range restarts, or was abandoned
            one.void = True
            self._open[piece.number] = _Range(piece.token_range, one.chain)
        self._crew.check()

    def _do(self, one: _Range, job: Callable[[], None]) -> None:
        if self._streams:
            job()
        else:
            self._crew.give(one.chain, job)

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
        if not self._crew.has_room:
            self._crew.wait(lambda: self._crew.has_room)

    async def wait_async(self) -> None:
        await self._until(lambda: self._crew.has_room)

    def result(self, schema: ColumnPlan | None) -> Any:
        """Return the result, after all events were taken, or after a stop. *schema*: of the rows, if there were
        none."""
        self._crew.wait(lambda: self._crew.is_idle)
        self._conclude_by_crew(schema)
        self._crew.wait(lambda: self._crew.is_idle)
        self._crew.check()
        return self._result

    async def result_async(self, schema: ColumnPlan | None) -> Any:
        await self._until(lambda: self._crew.is_idle)
        self._conclude_by_crew(schema)
        await self._until(lambda: self._crew.is_idle)
        self._crew.check()
        return self._result

    def _conclude_by_crew(self, schema: ColumnPlan | None) -> None:
        self._crew.check()
        self._crew.give(Chain(), lambda: self._conclude(schema))

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
            self._crew.on_change = partial(aio.resolve, changed, None)
            if not condition():
                await changed
        self._crew.on_change = None

    def close(self) -> None:
        """Stop folding. Waits for running jobs."""
        self._crew.close()
        self._over = True

    # ---- checkpoints

    def checkpoint(self) -> Checkpoint:
        """See Scan.checkpoint."""
        process.stay(self._process)  # the lock in a forked child belongs to the parent
        with self._lock:
            if self.stopped and self._failed:
                raise CheckpointError("the fold was ended by StopScan and cannot be resumed")
            if self._failed:
                raise CheckpointError("combine() of the reducer failed: the state of the totals is unknown")
            keep = Kept if self._over else Kept.frozen
            return Checkpoint(self.what, self.totals.parts(keep), self._rows, self.totals.cuts)


def left_over(ranges: Sequence[TokenRange], resume: Checkpoint | None) -> list[TokenRange]:
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
