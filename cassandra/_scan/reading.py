"""Reading: the ranges of a plan, turned into scan events on the thread of the consumer (L6).

A :class:`Reading` belongs to one consumer at a time. It requests pages only while the consumer requests scan events
(:class:`ScanEvent`, a value): a slow consumer stops the requests, and at most one page per open range is buffered.
Pages are decoded here, on the consumer's thread, while the next ones are in flight.

States of a range:

  *pending*  no page was requested (``_pending``, which chooses the next range to open)
  *open*     one page of it is requested (in flight; *ready* to be sent; or *due*, to be sent again at a set time), or
             is *here*; while a page is decoded, the next one is in flight
  *over*     complete, or given up

The next range to open (:class:`Pending`) is chosen round-robin over the home shards of the ranges, so that all shards
have work. The *home* of a range is the shard that its first page would go to; when a range ends, a range of the same
home is opened. So each shard has as many open ranges as any other, as long as it has ranges left; after that it is
idle.

A range may restart when the server refuses to continue from its paging state, or when its columns have changed. A page
request is a ``PageRequest``; one that is not the current one of its range any more is ignored. An *ordered* reading
takes only the pages of the first open range; the others wait with their first page.

The reading is *over* when all ranges are.
"""

from __future__ import annotations

import itertools
import random
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from functools import partial
from time import monotonic
from types import coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cassandra._base.errors import ConnectionShutdown, DriverException, NoHostAvailable, annotate, tells
from cassandra._base.objects import public
from cassandra._core.columns import ColumnBuilder, decode, select
from cassandra._routing.tokens import MIN_LONG
from cassandra._session.request.columns import MOST_BYTES, SchemaChanged
from cassandra._wire.arrow import column_plan, decrypt_page
from cassandra._wire.rows import decode_page

from .expressions import Masks
from .pages import REFUSED, TOO_LARGE, BatchSize, PageFetcher, PageRequest, PageResponse, Range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cassandra._core.codec import RowsPage
    from cassandra._core.columns import ColumnPlan, RecordBatch
    from cassandra._routing.tokens import TokenRange
    from cassandra._session.request.retry import RepeatDecision
    from cassandra._session.session import Session

    from .checkpoint import ProgressRecorder
    from .pages import PageTemplate
    from .plan import ScanPlan


# ---- steps of a reading: what the readings of ranges and of partitions have in common
#
# A ``PageReader`` belongs to one consumer at a time, a thread or a task. It works only while the consumer requests the
# next event: one *step* takes the outcomes of page requests, sends others, and makes events from pages. Between two
# steps it waits for an outcome, or until a page is *due*, which is one that failed and is sent again at a set time.
#
# States: *going*, then *over* (all events were returned), *broken* (each further call raises the error again) or
# closed. An exception in a step that is not the reading's own, such as Ctrl-C, breaks it: the step is incomplete, and
# rows that it lost must not look like the end.


LOOK = 1.0  # longest wait in seconds
RESTARTS = 3  # limit of restarts, of one range or partition

Event = TypeVar("Event")


@public("cassandra.scan")
@tells("host", "attempts", "elapsed")
class ScanError(DriverException):
    """A scan has ended because a part of the table could not be read; the cause is ``__cause__``.

    ``token_range`` is the part, ``page`` the number of its page, from 0, ``host`` the last coordinator. ``checkpoint``
    is the state of the fold before (see ``scan.fold``), None if nothing was folded. For ``scan_order`` the part is
    ``key``, one of the given keys.
    """

    token_range: TokenRange | None = None  #: The range that could not be read.
    key: Any = None  #: The key, for ``scan_order``.
    page: int | None = None  #: Number of the page, from 0.
    checkpoint: Any = None  #: State of the fold before; None if nothing was folded.

    def __init__(self, message: str, token_range: TokenRange | None = None, page: int | None = None) -> None:
        super().__init__(message)
        self.token_range = token_range
        self.page = page


class PageReader(Generic[Event]):
    """Base of readings. The owner of a page request, ``request.owner``, has its current one in ``request``; outcomes of
    others are ignored. Constructors end with ``closed = False``: there is nothing to close after an interrupted one."""

    closed = True

    def __init__(self, session: Session, parallelism: int, timeout: float | None) -> None:
        self.retries = 0
        self.pages = 0
        self.most_in_flight = 0
        #: Called before each wait of :meth:`next`; what it raises ends that call, and the reading can be continued.
        self.on_wait: Callable[[], object] | None = None
        self.last_failure: Exception | None = None  # of a page request
        self._pool = session.cluster.memory_pool
        self._budget = self._pool.max_bytes // 2
        self._fetcher = PageFetcher(session, parallelism, timeout)
        self._held_bytes = 0  # bytes of pages that are here
        self._events: deque[Event] = deque()
        self._fatal_error: Exception | None = None

    # ---- implemented by subclasses

    @property
    def is_over(self) -> bool:
        """Override. True if all events were returned."""
        raise NotImplementedError

    def close(self) -> None:
        """Override. Give up the pages in flight, and drop pending events. May be called again."""
        raise NotImplementedError

    def _step(self) -> None:
        """Override. Process outcomes, send requests, and make events."""
        raise NotImplementedError

    def _error(self, owner: Any, cause: Exception) -> ScanError:
        """Override. Return the error of *owner*, of a page request, or of the whole reading (None)."""
        raise NotImplementedError

    @property
    def _has_page(self) -> bool:
        """Override. True if the next step has a page to process, so that it must not wait for one."""
        return False

    # ---- events

    def next(self) -> Event | None:
        """Return the next event; None at the end."""
        while True:
            event = self._next_event()
            if event is not None or self.is_over:
                return event
            if not self._events and not self._has_page:
                if self.on_wait is not None:
                    self.on_wait()
                self._fetcher.wait(LOOK)

    async def next_async(self) -> Event | None:
        """As :meth:`next`, without blocking the running loop, which gets a turn before each event."""
        self._fetcher.use_loop()
        await yield_to_loop()
        while True:
            event = self._next_event()
            if event is not None or self.is_over:
                return event
            if not self._events and not self._has_page:
                await self._fetcher.wait_async(LOOK)

    def _next_event(self) -> Event | None:
        """Return the next event if there is one, after one step; else None."""
        if self._fatal_error is not None:
            raise self._fatal_error
        if not self._events and not self.is_over:
            try:
                self._step()
            except ConnectionShutdown:
                raise  # in a forked child: the parent process continues the reading
            except ScanError as error:
                self._break(error)
            except (DriverException, NoHostAvailable) as error:
                self._break(self._error(None, error))
            except BaseException as error:  # of a filter, or Ctrl-C
                self.close()
                self._fatal_error = self._error(None, DriverException(f"it was interrupted by {error!r}"))
                raise
        return self._events.popleft() if self._events else None

    def _break(self, error: ScanError) -> None:
        self.close()
        self._fatal_error = error
        raise error

    def __del__(self) -> None:
        if not self.closed:
            self.close()

    # ---- failed page requests

    def _outcomes(self) -> Iterator[tuple[Any, Any]]:
        """Yield the outcomes of current page requests, with their owners."""
        self._fetcher.check()
        for request, outcome in self._fetcher.outcomes():
            if request.owner.request is request:
                yield request.owner, outcome

    def _record_failure(self, request: PageRequest, decision: RepeatDecision) -> None:
        """Record a failure of *request*: another host is tried next, and an overloaded one gets fewer pages."""
        self.last_failure = decision.error
        if request.host is not None:
            request.tried_hosts.add(request.host)
            if decision.is_congestion:
                self._fetcher.window(request.host).congested(request.sent)
        if request.failed_since is None:
            request.failed_since = monotonic()

    def _may_restart(self, owner: Any, request: PageRequest, decision: RepeatDecision) -> bool:
        """True if the server does not accept the paging state of *request*, and *owner* may be read from its first
        page."""
        refused = isinstance(decision.error, REFUSED)
        return refused and request.paging_state is not None and owner.restarts < RESTARTS

    def _send_later(self, request: PageRequest, decision: RepeatDecision) -> bool:
        """Schedule *request* to be sent again. Return False if it is given up."""
        age = 0.0 if request.failed_since is None else monotonic() - request.failed_since
        return self._fetcher.send_later(request, decision, request.failures, age) is not None

    def _take_due(self) -> Iterator[PageRequest]:
        """Yield the current page requests that are due, which are not due any more."""
        for request in self._fetcher.delayed.take_due():
            if request.owner.request is request:
                self.retries += 1
                yield request

    def _annotate(self, error: ScanError, request: PageRequest | None, cause: Exception) -> ScanError:
        """Add the state of *request* and the *cause* to *error*, and return it."""
        if request is not None:
            since = None if request.failed_since is None else monotonic() - request.failed_since
            annotate(error, host=request.host, attempts=request.attempts, elapsed=since)
        error.__cause__ = cause
        return error


@coroutine
def yield_to_loop() -> Generator[None, None, None]:
    """Yield to the loop once."""
    yield


# Kinds of scan events.
BATCH = "batch"  # rows of the range, in the order of tokens, then of the clustering key
DONE = "done"  # the range is complete
RESTARTED = "restarted"  # the range restarts: its previous batches are void
FAILED = "failed"  # the range is abandoned (on_error="skip"): its batches are incomplete

SEED = 20170328  # seed of the order in which ranges are considered
AHEAD = 4096  # limit of ranges whose home is computed, so that a scan of a million ranges starts at once
LEAST_HALVED = 1 << 40  # tokens: a smaller range has too few rows for halving to help, in any table


# ---- scan events


class ScanEvent:
    """A scan event of the range with this *number* in ``plan.ranges``. *batch*: for ``BATCH``; *error*: the reason of a
    restart or failure."""

    __slots__ = ("batch", "error", "kind", "number", "token_range")

    def __init__(
        self,
        number: int,
        token_range: TokenRange,
        kind: str,
        batch: RecordBatch | None = None,
        error: Exception | None = None,
    ) -> None:
        self.number = number
        self.token_range = token_range
        self.kind = kind
        self.batch = batch
        self.error = error

    def __repr__(self) -> str:
        what = "" if self.batch is None else f" of {len(self.batch)} rows"
        return f"<ScanEvent {self.number}: {self.kind}{what}>"


# ---- the next range to open


class Pending:
    """Ranges not opened yet, by *home_of*; if that is None, they are opened in their order."""

    def __init__(self, ranges: Iterable[Range], home_of: Callable[[Range], object] | None) -> None:
        found = list(ranges)
        if home_of is not None:
            random.Random(SEED).shuffle(found)
        self._ranges = deque(found)
        self._home_of = home_of
        self._by_home: OrderedDict[object, deque[Range]] = OrderedDict()  # by home; the first is the next in turn
        self._home_count = 0  # number of ranges in _by_home
        self._ended_homes: deque[object] = deque()  # homes of ranges that have ended, one entry for each

    def __len__(self) -> int:
        return len(self._ranges) + self._home_count

    def next(self) -> Range:
        """Remove and return the next range to open."""
        if self._home_of is None:
            return self._ranges.popleft()
        while self._ranges and self._home_count < AHEAD:
            one = self._ranges.popleft()
            one.home = self._home_of(one)
            self._by_home.setdefault(one.home, deque()).append(one)
            self._home_count += 1
        home = self._next_home()
        ranges_there = self._by_home[home]
        one = ranges_there.popleft()
        self._home_count -= 1
        if ranges_there:
            self._by_home.move_to_end(home)
        else:
            del self._by_home[home]
        return one

    def _next_home(self) -> object:
        while self._ended_homes:
            home = self._ended_homes.popleft()
            if home in self._by_home:
                return home
        return next(iter(self._by_home))

    def mark_ended(self, one: Range) -> None:
        """Record that *one* is no longer open."""
        if self._home_of is not None:
            self._ended_homes.append(one.home)

    def push(self, ranges: Sequence[Range]) -> None:
        """Add ranges; without homes, before all others."""
        self._ranges.extendleft(reversed(ranges))

    def clear(self) -> None:
        for some in (self._ranges, self._by_home, self._ended_homes):
            some.clear()
        self._home_count = 0


# ---- the reading


class Reading(PageReader[ScanEvent]):
    """Scan events of the ranges of *plan*. *templates*: the page templates for ranges with a lower bound, and for the
    first range. *ordered*: read range after range, in the order of the plan; else in any order. *rows*: the events have
    lists of rows made by this factory, one for each page. *filter*: only rows that match it are returned. *halves*:
    ranges that time out are divided in two, which have numbers of their own."""

    def __init__(
        self,
        session: Session,
        plan: ScanPlan,
        templates: tuple[PageTemplate, PageTemplate],
        *,
        ordered: bool = False,
        rows: Callable[..., Any] | None = None,
        filter: Any = None,
        halves: bool = False,
    ) -> None:
        super().__init__(session, plan.parallelism, plan.timeout)
        self.plan = plan
        self._mask = None if filter is None else Masks(filter)
        self._splits_on_timeout = halves
        self._numbers = itertools.count(len(plan.ranges))  # for halves
        self._rows = rows
        self.schema: ColumnPlan | None = plan.schema
        self.recorder: ProgressRecorder | None = None  # progress; gets each event when the next one is requested
        self.failed: list[tuple[TokenRange, Exception]] = []
        self._templates = templates
        self._ordered = ordered
        pending = (Range(number, one) for number, one in enumerate(plan.ranges))
        self._pending = Pending(pending, None if ordered else partial(_home_of, self._fetcher, templates))
        self._open: dict[int, Range] = {}
        self._ready: deque[PageRequest] = deque()
        self._ranges_with_page: deque[Range] = deque()
        self._building_bytes = 0  # bytes of batches that are being built
        self._batch_size = BatchSize(plan.target_rows, min(MOST_BYTES, self._budget // plan.parallelism) // 2)
        self._last_event: ScanEvent | None = None  # the event returned last
        self.closed = False

    # ---- scan events

    def __iter__(self) -> Reading:
        return self

    def __next__(self) -> ScanEvent:
        self._count()
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def aiter(self) -> AsyncScanEvents:
        """Return the iterator for ``async for``."""
        return AsyncScanEvents(self)

    async def next_async(self) -> ScanEvent | None:
        self._count()
        return await super().next_async()

    @property
    def is_over(self) -> bool:
        """True if all events were returned."""
        return self.closed or not (self._events or self._open or self._pending)

    def _next_event(self) -> ScanEvent | None:
        self._last_event = super()._next_event()
        return self._last_event

    def _count(self) -> None:
        """Count the event that was returned last: the consumer has processed it."""
        given, self._last_event = self._last_event, None
        if self.recorder is None:
            return
        try:
            if given is not None:
                self.recorder.take(given)
            if self.is_over and not self.closed:
                self.recorder.end(True)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give up the pages in flight, and drop pending events. May be called again."""
        if not self.closed:
            self.closed = True
            self._fetcher.close()
            for waiting in (self._pending, self._ready, self._ranges_with_page, self._events):
                waiting.clear()
            self._open.clear()
            if self.recorder is not None:
                self.recorder.end(False)

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- one step

    def _step(self) -> None:
        """Process outcomes, send requests while there is room, and make events from one page."""
        for one, outcome in self._outcomes():
            if type(outcome) is PageResponse:
                one.response = outcome
                self._held_bytes += outcome.page.nbytes
                self._ranges_with_page.append(one)
            else:
                self._on_failure(one, one.request, outcome)
        self._send()
        one = self._next_range_with_page()
        if one is not None:
            self._take(one)

    @property
    def _has_page(self) -> bool:
        return self._next_range_with_page() is not None

    def _next_range_with_page(self) -> Range | None:
        """Return the range whose page is taken next; None if that page is not here."""
        if not self._ranges_with_page:
            return None
        if not self._ordered:
            return self._ranges_with_page[0]
        first = next(iter(self._open.values()))
        return first if first.response is not None else None

    # ---- sending

    def _send(self) -> None:
        self._ready.extend(self._take_due())
        if self._is_full:
            return
        for _ in range(len(self._ready)):
            request = self._ready.popleft()
            if request.owner.request is request:
                self._send_request(request)
        while self._pending and not self._ready and len(self._open) < self.plan.parallelism:
            self._open_next_range()
        self.most_in_flight = max(self.most_in_flight, self._fetcher.in_flight)

    @property
    def _is_full(self) -> bool:
        """True if the memory budget is used up, so that no page is requested; False if the reading could not continue
        without a request."""
        return self._held_bytes + self._building_bytes > self._budget and bool(
            self._next_range_with_page() or self._fetcher.in_flight
        )

    def _send_request(self, request: PageRequest) -> None:
        sent = self._fetcher.send(request)
        if sent is False:
            self._ready.append(request)
        elif sent is not True:
            self._on_failure(request.owner, request, sent)

    def _open_next_range(self) -> None:
        one = self._pending.next()
        self._open[one.number] = one
        one.request = self._first_request(one)
        self._send_request(one.request)

    def _first_request(self, one: Range) -> PageRequest:
        """Return the request for the first page of a range."""
        bounds, template = one.token_range, _template_of(one, self._templates)
        prepared = template.prepared
        tokens = (bounds.start, bounds.end) if len(prepared._bind_plan) > len(self.plan.values) + 1 else (bounds.end,)
        bound = prepared._bind_plan.bind((*self.plan.values, *tokens), prepared.protocol_version)
        return PageRequest(one, template, bound, bounds.end, None)

    # ---- errors

    def _on_failure(self, one: Range, request: PageRequest, outcome: object) -> None:
        decision, page_size = request.failed(outcome), request.template.page_size
        refused = isinstance(decision.error, REFUSED)
        if refused and page_size.has_grown(request.page_size):
            page_size.shrink()  # a limit of the server (guardrails of Cassandra) may be below the page size
            self._ready.append(request)
            return
        self._record_failure(request, decision)
        if isinstance(decision.error, TOO_LARGE):
            page_size.shrink()
        if self._splits_on_timeout and isinstance(decision.error, TOO_LARGE) and one.token_range.size > LEAST_HALVED:
            self._split_range(one)
            return
        if self._may_restart(one, request, decision):
            self._restart(one, decision.error)
        elif not self._send_later(request, decision):
            self._abandon_range(one, decision.error)

    def _restart(self, one: Range, error: Exception) -> None:
        """Restart the range from its first page."""
        if one.has_emitted:
            self._events.append(ScanEvent(one.number, one.token_range, RESTARTED, error=error))
        self._discard_range(one)
        one.restarts += 1
        one.begin()
        one.request = self._first_request(one)
        self._ready.append(one.request)

    def _split_range(self, one: Range) -> None:
        """Replace the range by its halves; none of its rows were returned."""
        self._discard_range(one)
        self._remove_range(one)
        self._pending.push([Range(next(self._numbers), half) for half in one.token_range.split(2)])

    def _remove_range(self, one: Range) -> None:
        """Remove the range from the open ones."""
        one.request = None
        if self._open.pop(one.number, None) is not None:
            self._pending.mark_ended(one)

    def _discard_range(self, one: Range) -> None:
        """Drop the page request, the page and the unfinished batch of the range."""
        if one.request is not None:
            self._fetcher.forget(one.request)
        if one.response is not None:
            self._held_bytes -= one.response.page.nbytes
            self._ranges_with_page.remove(one)
            one.response = None
        if one.builder:
            self._building_bytes -= one.builder.nbytes

    def _abandon_range(self, one: Range, error: Exception) -> None:
        if self.plan.on_error != "skip":
            raise self._error(one, error)
        self._discard_range(one)
        self._remove_range(one)
        self.failed.append((one.token_range, error))
        self._events.append(ScanEvent(one.number, one.token_range, FAILED, error=error))

    def _error(self, one: Range | None, cause: Exception) -> ScanError:
        name = f"{self.plan.keyspace}.{self.plan.table}"
        if one is None:
            return self._annotate(ScanError(f"The scan of {name} has failed: {cause}"), None, cause)
        where = f"page {one.page} of {one.token_range}"
        error = ScanError(f"The scan of {name} has failed: {where}: {cause}", one.token_range, one.page)
        return self._annotate(error, one.request, cause)

    # ---- pages to batches

    def _take(self, one: Range) -> None:
        """Make events from the page of *one* that is here, while the next one is in flight."""
        response, request = one.response, one.request
        assert response is not None and request is not None
        self._ranges_with_page.remove(one)
        one.response = None
        self._held_bytes -= response.page.nbytes
        self.pages += 1
        request.template.page_size.record(response.page)
        if (metrics := self._fetcher.session.cluster.metrics) is not None:
            metrics.rows_scanned(len(response.page))
        last = response.paging_state is None
        page = self._fitting(one, response.page)
        if page is None:
            self._send()
            return
        one.page += 1
        if last:
            self._remove_range(one)
        else:
            one.request = PageRequest(one, request.template, request.bound, request.token, response.paging_state)
            self._ready.append(one.request)
        self._send()
        try:
            if self._rows is None:
                self._add(one, decrypt_page(page), last)
            elif len(page):
                self._emit_rows(one, page)
        except DriverException as error:
            self._abandon_range(one, error)
            return
        if last:
            self._events.append(ScanEvent(one.number, one.token_range, DONE))

    def _fitting(self, one: Range, page: RowsPage) -> RowsPage | None:
        """Return *page* if it has the columns of the range; else None, and the range restarts, or is given up."""
        if page.plan is one.result_plan:
            return page
        schema = column_plan(page.plan, self._pool, self.plan.types)
        if one.schema is None:
            if self.schema is None or schema != self.schema:
                self.schema = schema
            one.schema = self.schema
        elif schema != one.schema:
            error = SchemaChanged(f"the columns were {one.result_plan!r} and are {page.plan!r}", None)
            if one.restarts < RESTARTS:
                self._restart(one, error)
            else:
                self._abandon_range(one, error)
            return None
        one.result_plan = page.plan
        return page

    def _add(self, one: Range, page: RowsPage, last: bool) -> None:
        builder, target = one.builder, self.plan.target_rows
        assert one.schema is not None
        if not builder and (last or len(page) >= target):
            if len(page):
                self._emit(one, decode(one.schema, page))
            return
        if builder is None:
            builder = one.builder = ColumnBuilder(one.schema, target, self._batch_size.estimate(page))
        before = builder.nbytes if builder else 0
        while not builder.append(page):
            self._building_bytes -= before
            self._finish(one)
            before = 0
        self._building_bytes += builder.nbytes - before
        if last or len(builder) >= target or builder.nbytes >= MOST_BYTES:
            self._building_bytes -= builder.nbytes
            self._batch_size.record(len(builder))
            self._finish(one)
        elif self._building_bytes > self._budget:
            self._finish_largest()

    def _finish(self, one: Range) -> None:
        if one.builder:
            self._emit(one, one.builder.finish())

    def _finish_largest(self) -> None:
        """Finish the largest batch that is being built: it is smaller than its target, but the memory budget is used
        up."""
        one = max((one for one in self._open.values() if one.builder), key=lambda one: one.builder.nbytes)  # type: ignore[union-attr]
        assert one.builder is not None
        self._building_bytes -= one.builder.nbytes
        self._finish(one)

    def _emit_rows(self, one: Range, page: RowsPage) -> None:
        rows = decode_page(page, self._rows)
        if self._mask is not None:
            assert one.schema is not None
            kept = self._mask(decode(one.schema, decrypt_page(page)))
            rows = [row for row, keep in zip(rows, kept.tolist(), strict=True) if keep]
        if rows:
            self._give(one, rows)

    def _emit(self, one: Range, batch: RecordBatch) -> None:
        if self._mask is not None:
            kept = self._mask(batch)
            if kept.count < len(batch):
                batch = select(batch, kept)
        if len(batch):
            self._give(one, batch)

    def _give(self, one: Range, batch: Any) -> None:
        one.has_emitted = True
        self._events.append(ScanEvent(one.number, one.token_range, BATCH, batch))


class AsyncScanEvents:
    """Scan events of a reading, for one task."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __aiter__(self) -> AsyncScanEvents:
        return self

    async def __anext__(self) -> ScanEvent:
        event = await self._reading.next_async()
        if event is None:
            raise StopAsyncIteration
        return event


def _template_of(one: Range, templates: tuple[PageTemplate, PageTemplate]) -> PageTemplate:
    return templates[0 if one.token_range.start != MIN_LONG else 1]


def _home_of(fetcher: PageFetcher, templates: tuple[PageTemplate, PageTemplate], one: Range) -> object:
    """Return the shard that the first page of *one* would go to."""
    target = fetcher.target_of(_template_of(one, templates), one.token_range.end)
    return None if target is None else (target.host, target.shard)
