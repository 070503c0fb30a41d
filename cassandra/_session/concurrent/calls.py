"""Choice between a batch and calls of ``execute_async`` for concurrent statements.

L5. Statements of an unmodified session are sent as a batch, without ``execute_async``. If that method was replaced (by
a tracer, a subclass, a wrapper around the session, a mock), the replacement is called for each statement.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from types import MethodType
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException
from cassandra._base.process import Bell
from cassandra._core.transport import Request

from ..background import aio
from ..request.result import ResultSet
from ..session import EXECUTE_ASYNC, Session
from .volley import ExecutionResult, Volley

if TYPE_CHECKING:
    from cassandra._core.transport import Results

    from .volley import Start

_LOOK = 1.0  # seconds between two checks; the event ends a wait


def plain_session(session: Any) -> Session | None:
    """Return the session that the ``execute_async`` of *session*, which may be a wrapper, is bound to; None if it is
    not the driver's function."""
    asked = session.execute_async
    if type(asked) is MethodType and asked.__func__ is EXECUTE_ASYNC:
        found: Any = asked.__self__
        return found  # type: ignore[no-any-return]
    return None


def volley_of(session: Any) -> Volley | Calls:
    """Return the sender of statements for *session*."""
    plain = plain_session(session)
    if plain is not None:
        return Volley(plain)
    if issubclass(type(session), Session):  # not isinstance: a mock claims to be an instance
        return Volley(session, one_by_one=True)
    return Calls()


class Calls:
    """Replacement of :class:`Volley` for sessions of another class: it adds callbacks to their futures."""

    in_flight = 0
    """In-flight requests of a batch: none."""

    def __init__(self) -> None:
        self._ended: deque[tuple[int, bool, Any]] = deque()
        self._bell = Bell()
        self._on_io_thread: Callable[[], bool] | None = None

    def profile(self, key: Any, own: dict[str, Any]) -> Any:
        """Return None: the session itself resolves *key*."""

    def fill(
        self, pairs: Iterator[tuple[Any, Any]], count: int, index: int, profile: Any, start: Start
    ) -> tuple[int, bool]:
        """See :meth:`Volley.fill`."""
        for number in range(index, index + count):
            try:
                statement, values = next(pairs)
            except StopIteration:
                return number, True
            if not start(number, statement, values, None):
                return number + 1, False
        return index + count, False

    def send(self) -> None:
        aio.send_waiting()

    def watch(self, future: Any, index: int) -> None:
        """Add callbacks to *future*, which is request *index*."""
        if issubclass(type(future), Request):
            self._on_io_thread = future.session._on_io_thread
        future.add_callbacks(
            callback=self._succeeded, callback_args=(future, index), errback=self._failed, errback_args=(index,)
        )

    def _succeeded(self, rows: Any, future: Any, index: int) -> None:
        future.clear_callbacks()
        self._ended.append((index, True, ResultSet(future, rows)))
        self._bell.ring()

    def _failed(self, error: BaseException, index: int) -> None:
        self._ended.append((index, False, error))
        self._bell.ring()

    def did_not_start(self, index: int, error: BaseException) -> None:
        """Record the *error* of request *index*, which could not be made."""
        self._failed(error, index)

    def collect(self, results: Results, failed: Callable[[int, BaseException], object] | None, most: int) -> None:
        """Wait until a request has ended, and take all outcomes that are there. Ctrl-C interrupts the wait."""
        self.send()
        if not self._ended and self._on_io_thread is not None and self._on_io_thread():
            raise DriverException("cannot wait for requests on the driver's I/O thread (in a callback)")
        while not self._ended:
            self._bell.wait(_LOOK)
        while self._ended:
            index, success, value = self._ended.popleft()
            if success or failed is None:
                results[index] = ExecutionResult(success, value)
            else:
                failed(index, value)

    def abandon(self) -> None:
        """Do nothing: outcomes that are still to come are dropped with this object."""
