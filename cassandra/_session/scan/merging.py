"""Merges partitions: pages of many sources into batches in one order, on the thread of the consumer.

L5. A :class:`Merging` belongs to one consumer at a time, as a reading does, and requests pages while the consumer
requests batches. States of a source:

  *new*      no page was requested
  *asked*    a page is in flight, or *queued* to be sent, or *due*, to be sent again at a set time
  *here*     its next page has arrived, and the merge still has rows of the page before
  *over*     its last page was merged, or as many of its rows as the limit of the merge

A source may have one page here or requested while another one is merged. Pages that the merge *needs* are requested
first; pages ahead only while there is memory, and no source is new. A page is added to the merge when the merge needs
it.

Sources are merged in *levels*: one merge for each ``max_open`` sources, and further merges of their results. Equal rows
are in the order of their sources, as each level has its sources in that order.

States of the whole: *going*, then *over*, *broken* (each further call raises the error again) or closed.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import ConnectionShutdown, DriverException, NoHostAvailable, annotate
from cassandra._core.columns import Merge, RecordBatch, decode
from cassandra._wire.arrow import column_plan, decrypted
from cassandra._wire.rows import decode_page

from ..request.columns import SchemaChanged
from ..request.retry import backoff
from .asking import Asking
from .pieces import ScanError
from .question import PATIENCE, REFUSED, Asked, Came
from .reading import turn

if TYPE_CHECKING:
    from cassandra._core.codec import Bound
    from cassandra._core.columns import ColumnPlan

    from ..session import Session
    from .order import OrderPlan

LOOK = 1.0  # longest wait in seconds
RESTARTS = 3  # limit for one source
PART_ROWS = 8192  # rows of a batch between two levels
SHOWN = 200  # characters of a key in a message
REFUSALS = 4  # refusals by hosts without room after which no further page is tried

SENT, AHEAD, NEEDED = range(3)


class Source:
    """A partition. *fed*: rows added to its merge; *again*: it is read again, without those rows."""

    __slots__ = ("again", "asked", "bound", "fed", "here", "number", "over", "page", "queue", "restarts")

    def __init__(self, number: int, bound: Bound) -> None:
        self.number = number
        self.bound = bound
        self.asked: Asked | None = None
        self.here: Came | None = None
        self.page = 0  # number of the requested or current page
        self.fed = self.restarts = 0
        self.again = self.over = False
        self.queue = SENT  # the queue of its page request


class Level:
    """A merge of sources, or of levels below."""

    def __init__(self, merging: Merging, below: Sequence[Source | Level]) -> None:
        plan = merging.plan
        self._merging = merging
        self.below = below
        self.merge = Merge(plan.schema, plan.columns, len(below), plan.slice_rows)
        self._rows: list[deque[Any]] | None = [deque() for _ in below] if merging.makes_rows else None

    def fill(self, wanted: int) -> bool:
        """Merge until *wanted* rows are pending. Return False if that needs pages that are not here; True, with fewer
        rows, if there are no more."""
        merge = self.merge
        while merge.advance(wanted) < wanted:
            hungry = merge.hungry()
            if not hungry:
                return True
            fed = [self._feed(index) for index in hungry]  # all of them: each requests the page that it needs
            if not any(fed):
                return False
        return True

    def take(self) -> tuple[RecordBatch, list[Any] | None] | None:
        """Return the pending rows, as a batch and, if the merging makes rows, as rows; None if there are none."""
        batch = self.merge.take()
        if batch is None:
            return None
        rows: list[Any] | None = None
        if self._rows is not None:
            rows = []
            for index, count in self.merge.origins:
                popped = self._rows[index].popleft
                rows.extend([popped() for _ in range(count)])
        return batch, rows

    def _feed(self, index: int) -> bool:
        """Add rows of the source or level at *index*. Return True if there were any, or if it is over."""
        below = self.below[index]
        if isinstance(below, Source):
            return self._merging.feed(self, index, below)
        is_all = below.fill(PART_ROWS)
        taken = below.take()
        if taken is not None:
            self.add(index, *taken)
        elif is_all:
            self.merge.end(index)
        return taken is not None or is_all

    def add(self, index: int, batch: RecordBatch, rows: Any) -> None:
        self.merge.feed(index, batch)
        if self._rows is not None:
            self._rows[index].extend(rows)


class Merging:
    """Batches of *plan*; with a *factory*, lists of its rows instead."""

    def __init__(self, session: Session, plan: OrderPlan, factory: Callable[..., Any] | None = None) -> None:
        self.plan = plan
        self.makes_rows = factory is not None
        self.retries = 0
        self.pages = 0
        self.most_in_flight = 0
        self._factory = factory
        self._pool = session.cluster.memory_pool
        self._budget = self._pool.max_bytes // 2
        self._asking = Asking(session, plan.parallelism, plan.timeout)
        sources = [Source(number, bound) for number, bound in enumerate(plan.bounds)]
        self._new = deque(sources)
        self._needed: deque[Asked] = deque()
        self._ahead: deque[Asked] = deque()
        self._due: list[tuple[float, int, Asked]] = []
        self._dues = 0
        self._held = 0  # bytes of pages that are here
        self._left = plan.limit  # rows up to the limit
        self._described: tuple[Any, ColumnPlan] | None = None  # result plan and column plan of the page before
        self._level: Level | None = self._levels(sources)
        self._pieces: deque[Any] = deque()
        self._broken: Exception | None = None
        self.closed = False

    def _levels(self, sources: Sequence[Source | Level]) -> Level:
        most = self.plan.max_open
        while len(sources) > most:
            sources = [Level(self, sources[at : at + most]) for at in range(0, len(sources), most)]
        return Level(self, sources)

    # ---- batches

    def next(self) -> Any:
        """Return the next batch, or list of rows; None at the end."""
        while True:
            piece = self._ask()
            if piece is not None or self.closed:
                return piece
            self._asking.wait(self._wait_time())

    async def next_async(self) -> Any:
        """As :meth:`next`, without blocking the running loop, which gets a turn before each."""
        self._asking.use_loop()
        await turn()
        while True:
            piece = self._ask()
            if piece is not None or self.closed:
                return piece
            await self._asking.wait_async(self._wait_time())

    def close(self) -> None:
        """Give up the pages in flight, and drop pending batches. May be called again."""
        if not self.closed:
            self.closed = True
            self._stop()
            self._pieces.clear()

    def _stop(self) -> None:
        """Stop requesting and reading pages."""
        self._asking.close()
        for waiting in (self._new, self._needed, self._ahead, self._due):
            waiting.clear()
        self._level = None

    def __del__(self) -> None:
        if getattr(self, "closed", True) is False:
            self.close()

    def _ask(self) -> Any:
        """Return the next batch or list of rows if there is one, after one step; else None."""
        if self._broken is not None:
            raise self._broken
        if not self._pieces and not self.closed:
            self._try_step()
        if self._pieces:
            return self._pieces.popleft()
        if self._level is None:
            self.close()
        return None

    def _try_step(self) -> None:
        if self._level is None:
            return
        try:
            self._step(self._level)
        except ConnectionShutdown:
            raise  # in a forked child: the parent process continues the merge
        except ScanError as error:
            self._break(error)
        except (DriverException, NoHostAvailable) as error:
            self._break(self._error(None, error))
        except BaseException as error:  # Ctrl-C, no memory: rows may be lost, which must not look like the end
            self.close()
            self._broken = self._error(None, DriverException(f"it was interrupted by {error!r}"))
            raise

    def _break(self, error: ScanError) -> None:
        self.close()
        self._broken = error
        raise error

    def _wait_time(self) -> float:
        return min(LOOK, max(0.0, self._due[0][0] - monotonic())) if self._due else LOOK

    # ---- one step

    def _step(self, level: Level) -> None:
        """Process outcomes, merge the pages that are here, request the pages needed, and return merged rows: a whole
        batch, or, instead of waiting, a part of one."""
        asking = self._asking
        asking.check()
        for asked, outcome in asking.outcomes():
            source = asked.owner
            if source.asked is not asked:
                continue
            if type(outcome) is Came:
                source.here = outcome
                self._held += outcome.page.nbytes
            else:
                self._failed(source, asked, outcome)
        wanted = self.plan.target_rows if self._left is None else min(self.plan.target_rows, self._left)
        has_all = level.fill(wanted)
        pending = level.merge.pending
        if not has_all and asking.has_news:  # the next step will add to the batch
            self._send()
            return
        if self._left is not None:
            self._left -= pending
        ends = (has_all and pending < wanted) or self._left == 0
        if not ends:
            self._send()
        while (taken := level.take()) is not None:
            self._pieces.append(taken[0] if taken[1] is None else taken[1])
        if ends:
            self._stop()

    def feed(self, level: Level, index: int, source: Source) -> bool:
        """Add the next page of *source* to the merge, and request the one after it. If the page is not here, mark it as
        needed, and return False."""
        came = source.here
        if came is None:
            if source.over:
                level.merge.end(index)
                return True
            self._need(source)
            return False
        source.here = None
        self._held -= came.page.nbytes
        self.pages += 1
        try:
            batch, rows = self._decoded(source, came)
            if source.again and len(batch):
                known = level.merge.known(index, batch)
                batch = batch.slice(known)
                source.again = not len(batch)
                rows = rows[known:] if rows is not None else None
            if len(batch):
                level.add(index, batch, rows)
        except (DriverException, ValueError) as error:
            raise self._error(source, error) from error
        source.page += 1
        source.fed += len(batch)
        enough = self.plan.limit is not None and source.fed >= self.plan.limit
        if came.paging_state is None or enough:
            source.over = True
            level.merge.end(index)
        else:
            source.asked = Asked(source, self.plan.question, source.bound, source.bound.token, came.paging_state)
            self._queue(source.asked, AHEAD if len(batch) else NEEDED)
        return source.over or len(batch) > 0

    def _decoded(self, source: Source, came: Came) -> tuple[RecordBatch, list[Any] | None]:
        page = came.page
        if self._described is None or self._described[0] is not page.plan:
            schema = column_plan(page.plan, self._pool, self.plan.types)
            if schema != self.plan.schema:
                raise SchemaChanged(f"the columns were {self.plan.schema!r} and are {page.plan!r}", None)
            self._described = (page.plan, schema)
        batch = decode(self._described[1], decrypted(page))
        if self._factory is None:
            return batch, None
        rows = list(decode_page(page, self._factory))
        if len(rows) != len(batch):
            raise DriverException(
                f"rows() needs a row factory that makes one row for each; {self._factory!r} made {len(rows)} rows for "
                f"{len(batch)}"
            )
        return batch, rows

    # ---- requests

    def _need(self, source: Source) -> None:
        """Mark the next page of *source* as needed: the merge cannot continue without it."""
        if source.queue == AHEAD and source.asked is not None:
            self._queue(source.asked, NEEDED)

    def _queue(self, asked: Asked, queue: int) -> None:
        """Queue *asked* to be sent; a page may be in both queues, and is sent from the first one served."""
        asked.owner.queue = queue
        (self._needed if queue == NEEDED else self._ahead).append(asked)

    def _send(self) -> None:
        now = monotonic()
        while self._due and self._due[0][0] <= now:
            asked = heapq.heappop(self._due)[2]
            if asked.owner.asked is asked:
                self.retries += 1
                self._queue(asked, NEEDED)
        self._send_queued(self._needed)
        while self._new and not self._needed and self._asking.in_flight < self.plan.parallelism:
            self._begin(self._new.popleft())
            self._send_queued(self._needed)
        if not self._new and not self._needed and self._held <= self._budget:
            self._send_queued(self._ahead)
        self.most_in_flight = max(self.most_in_flight, self._asking.in_flight)

    def _begin(self, source: Source) -> None:
        """Read *source* from its first row."""
        source.asked = Asked(source, self.plan.question, source.bound, source.bound.token, None)
        self._queue(source.asked, NEEDED)

    def _send_queued(self, queue: deque[Asked]) -> None:
        refusals = 0
        for _ in range(len(queue)):
            if self._asking.in_flight >= self.plan.parallelism or refusals == REFUSALS:
                return
            asked = queue.popleft()
            source = asked.owner
            if source.asked is not asked or source.queue == SENT:
                continue
            sent = self._asking.send(asked)
            if sent is False:
                queue.append(asked)
                refusals += 1
                continue
            source.queue = SENT
            if sent is not True:
                self._failed(source, asked, sent)

    # ---- errors

    def _failed(self, source: Source, asked: Asked, outcome: object) -> None:
        decision = asked.failed(outcome)
        refused = isinstance(decision.error, REFUSED)
        if asked.host is not None:
            asked.tried.add(asked.host)
            if decision.is_congestion:
                self._asking.windows[asked.host].congested(asked.sent)
        now = monotonic()
        if asked.failed_since is None:
            asked.failed_since = now
        if refused and asked.paging_state is not None and source.restarts < RESTARTS:
            self._read_again(source, decision.error)
        elif decision.again and now - asked.failed_since < PATIENCE:
            self._dues += 1
            heapq.heappush(self._due, (now + backoff(asked.failures), self._dues, asked))
        else:
            raise self._error(source, decision.error)

    def _read_again(self, source: Source, error: Exception) -> None:
        """Read *source* again from its beginning, as the server does not continue from the end of the last page; skip
        all rows up to the last merged one. That requires an order in which no two rows of a source are equal."""
        if not self.plan.order.is_exact:
            raise self._error(source, error)
        source.restarts += 1
        source.again = True
        self._begin(source)

    def _error(self, source: Source | None, cause: Exception) -> ScanError:
        plan = self.plan
        if source is None:
            error = ScanError(f"The merge of partitions of {plan.name} has failed: {cause}")
        else:
            key = repr(plan.keys[source.number])
            shown = key if len(key) <= SHOWN else f"{key[:SHOWN]}..."
            error = ScanError(
                f"The merge of partitions of {plan.name} has failed: page {source.page} of key {source.number}, "
                f"{shown}: {cause}",
                page=source.page,
            )
            error.key = plan.keys[source.number]
            if (asked := source.asked) is not None:
                since = None if asked.failed_since is None else monotonic() - asked.failed_since
                annotate(error, host=asked.host, attempts=asked.attempts, elapsed=since)
        error.__cause__ = cause
        return error
