"""Steps of a reading: what the readings of ranges and of partitions have in common (L6).

A :class:`PageReader` belongs to one consumer at a time, a thread or a task. It works only while the consumer requests
the next event: one *step* takes the outcomes of page requests, sends others, and makes events from pages. Between two
steps it waits for an outcome, or until a page is *due*, which is one that failed and is sent again at a set time.

States: *going*, then *over* (all events were returned), *broken* (each further call raises the error again) or closed.
An exception in a step that is not the reading's own, such as Ctrl-C, breaks it: the step is incomplete, and rows that
it lost must not look like the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from time import monotonic
from types import coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cassandra._base.errors import ConnectionShutdown, DriverException, NoHostAvailable, annotate, tells
from cassandra._base.objects import public
from cassandra._session.request.many import PATIENCE, Schedule

from .pages import REFUSED, PageFetcher, PageRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cassandra._routing.token_ranges import TokenRange
    from cassandra._session.request.retry import RepeatDecision
    from cassandra._session.session import Session

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
        self._pool = session.cluster.memory_pool
        self._budget = self._pool.max_bytes // 2
        self._fetcher = PageFetcher(session, parallelism, timeout)
        self._delayed_requests: Schedule[PageRequest] = Schedule()
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
                self._fetcher.wait(self._wait_time())

    async def next_async(self) -> Event | None:
        """As :meth:`next`, without blocking the running loop, which gets a turn before each event."""
        self._fetcher.use_loop()
        await yield_to_loop()
        while True:
            event = self._next_event()
            if event is not None or self.is_over:
                return event
            if not self._events and not self._has_page:
                await self._fetcher.wait_async(self._wait_time())

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

    def _wait_time(self) -> float:
        due = self._delayed_requests.wait_time()
        return LOOK if due is None else min(LOOK, due)

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
        if request.host is not None:
            request.tried_hosts.add(request.host)
            if decision.is_congestion:
                self._fetcher.windows[request.host].congested(request.sent)
        if request.failed_since is None:
            request.failed_since = monotonic()

    def _may_restart(self, owner: Any, request: PageRequest, decision: RepeatDecision) -> bool:
        """True if the server does not accept the paging state of *request*, and *owner* may be read from its first
        page."""
        refused = isinstance(decision.error, REFUSED)
        return refused and request.paging_state is not None and owner.restarts < RESTARTS

    def _send_later(self, request: PageRequest, decision: RepeatDecision) -> bool:
        """Schedule *request* to be sent again, if *decision* permits it and the page has failed for less than
        ``PATIENCE``. Return False if it is given up."""
        now = monotonic()
        since = now if request.failed_since is None else request.failed_since
        if not decision.again or now - since >= PATIENCE:
            return False
        self._delayed_requests.add(request, request.failures)
        return True

    def _take_due(self) -> Iterator[PageRequest]:
        """Yield the current page requests that are due, which are not due any more."""
        for request in self._delayed_requests.take_due():
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
