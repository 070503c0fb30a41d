"""The outcome of a request, page by page: decided exactly once each, and told to whoever waits.

L5. A request is *pending* (``_outcome`` is None: attempts in flight, or a step such as schema agreement under way) or
*concluded*. Each page is a request of its own: ``_begin_page`` makes a concluded request pending again and counts
``_page``. Everything that belongs to a page carries its number, so that whatever comes late (an answer that is still
being decoded, a delayed retry, a timer) can neither conclude another page nor be sent for it.

``_outcome``, ``_page``, ``_attempts``, ``_timer``, callbacks and waiters change only under ``_lock``, and all at once:
between two pages there is nothing that one of them could take from the other. Foreign code (callbacks, connections)
is called without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import CancelledError
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cassandra._base.errors import ConnectionShutdown, DriverException, annotate
from cassandra._core.codec import ResultPlan
from cassandra._core.transport import Request

from ..background import aio

if TYPE_CHECKING:
    import asyncio

    from ..session import Session
log = logging.getLogger("cassandra.cluster")

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class Beside(NamedTuple):
    """What an answer has that plain rows have not."""

    warnings: list[str] | None
    custom_payload: Mapping[str, bytes | None] | None
    column_names: list[str] | None = None  # of rows that a custom protocol handler decoded
    column_types: list[Any] | None = None


#: What is kept of an answer: how its rows were decoded, where the next page begins, the rest. Not the message: its
#: bytes are not needed any more, and may be many.
Came = tuple[ResultPlan | None, bytes | None, Beside | None]
#: What a page came to: its rows (or None, or a PREPARED message), the exception, what is kept of the answer, its page.
Outcome = tuple[Any, BaseException | None, Came, int]

NOTHING: Came = (None, None, None)


class Waiter(aio.Waiter[Outcome], Protocol):
    """Hears of an outcome: an asyncio future, or what behaves like one."""


class Conclusion(Request):
    """The state of a request that more than one thread may change. It is concluded natively."""

    __slots__ = ()

    session: Session
    message: Any
    _outcome: Outcome | None

    # ---- the end of a page

    def _fail(self, page: int, error: BaseException) -> bool:
        return self._conclude(page, None, error)

    def _on_forked(self) -> None:
        self._fail(
            self._page, ConnectionShutdown("The request was made by the parent of this process, which gets its answer")
        )

    def _is_over(self, page: int) -> bool:
        """Whether nobody waits for *page* any more."""
        return self._outcome is not None or self._page != page

    def cancel(self) -> bool:
        """Give the request up; a late answer is dropped. False if it was over.

        A thread in ``result()`` and errbacks get :exc:`concurrent.futures.CancelledError`, tasks that await it
        ``asyncio.CancelledError``."""
        return self._fail(self._page, self._cancelled())

    def _cancelled(self) -> CancelledError:
        """What a request that was given up ends with. It is an ordinary exception, as of any future of threads: that
        of asyncio is none, and would end a thread as if it were asked to stop. Tasks get theirs, see future.py."""
        error = CancelledError("The request was cancelled")
        annotate(
            error,
            attempts=len(self.attempted_hosts),
            elapsed=monotonic() - self._start_time,
            maybe_executed=self._may_be_executed(),
        )
        return error

    def _may_be_executed(self) -> bool:
        """Override. Whether a server may have executed it, or may yet."""
        raise NotImplementedError

    # ---- the next page

    def _begin_page(self, paging_state: bytes | None) -> int:
        """Pending again, for the page at *paging_state*; its number. DriverException if the last one has not come."""
        with self._lock:
            if self._outcome is None:
                raise DriverException("A page of this request is on its way already; wait for it first")
            self._reset(paging_state)
            self._outcome = None
            self._page += 1
            self._rearm()
            return self._page

    def _reset(self, paging_state: bytes | None) -> None:
        """Override. What a page starts with."""

    # ---- who hears of it

    def _add(self, callback: Call | None, errback: Call | None) -> None:
        with self._lock:
            if callback is not None:
                self._callbacks = (*self._callbacks, callback)
            if errback is not None:
                self._errbacks = (*self._errbacks, errback)
            outcome = self._outcome
        aio.send_waiting()
        self._set_eager()  # also when this page is here already: the next one must find the callbacks too
        if outcome is None:
            return
        result, error, _, _ = outcome
        if error is None and callback is not None:
            self._call(callback, result)
        elif error is not None and errback is not None:
            self._call(errback, error)

    def _call(self, call: Call, value: Any) -> None:
        function, args, kwargs = call
        try:
            function(value, *args, **kwargs)
        except Exception:
            log.exception("A callback of a request raised: %r", function)

    def clear_callbacks(self) -> None:
        """Forget all callbacks and errbacks."""
        with self._lock:
            self._callbacks = self._errbacks = ()

    def _settle_async(self) -> Generator[Any, None, Outcome]:
        """As :meth:`_settle`, without blocking the running loop: to be delegated to by what is awaited. A task that is
        cancelled meanwhile gives the page up, unless somebody else waits for it."""
        if self._attached:
            self._on_outcome()  # takes what is here: the loop that it was queued for may have ended
            if self._outcome is not None:
                yield  # the loop has its turn, however fast pages come
                return self._outcome
        self._attached = True
        loop = aio.running_loop()
        waiter: asyncio.Future[Outcome] = loop.create_future()
        outcome: Outcome | None = self._join(loop, waiter)
        if outcome is not None:
            return outcome
        try:
            return (yield from waiter)
        except BaseException:  # cancelled, or the loop ended and the coroutine with it
            self._leave(waiter)
            raise

    def _deliver_to(self, loop: asyncio.AbstractEventLoop) -> None:
        aio.deliver_to(loop, self)

    def _leave(self, waiter: Waiter) -> None:
        """*waiter* does not wait any more. The last one to go gives the page up."""
        with self._lock:
            page, others = self._page, tuple(other for other in self._waiters if other is not waiter)
            if len(others) == len(self._waiters):  # it heard already
                return
            self._waiters = others
            wanted = bool(others or self._callbacks or self._errbacks or self._blocked)
        if not wanted:
            self._fail(page, self._cancelled())
        elif others:
            aio.deliver_to(others[0].get_loop(), self)  # this one's may be about to end

    # ---- what came with it

    @property
    def _final_result(self) -> Any:
        return None if self._outcome is None else self._outcome[0]

    @property
    def _final_exception(self) -> BaseException | None:
        return None if self._outcome is None else self._outcome[1]

    @property
    def _paging_state(self) -> bytes | None:
        """Where the next page begins: as the last answer says, or, when there is none (yet), where it was asked for,
        so that a page that failed can be asked for again."""
        outcome = self._outcome
        if outcome is None or outcome[1] is not None:
            return self.message.paging_state if self._page else None
        return outcome[2][1]

    @property
    def _warnings(self) -> list[str] | None:
        beside = None if self._outcome is None else self._outcome[2][2]
        return None if beside is None else beside.warnings

    @property
    def _custom_payload(self) -> Mapping[str, bytes | None] | None:
        beside = None if self._outcome is None else self._outcome[2][2]
        return None if beside is None else beside.custom_payload
