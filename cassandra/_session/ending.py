"""Shutdown of a session: at once, or after its requests in flight have finished (``background/draining.py``).

L5. States: *open*, then *draining* if requested (``Session._draining``: new requests are rejected, work in progress
continues), then *shut down* (``Session.is_shutdown``), once, by a command. No lock, although any thread delays steps: a
thread adds a request to the delayed ones before it checks for a shutdown, and the shutdown reads the delayed ones after
it has set its flag: each request is rejected or among those that fail.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException
from cassandra._base.process import catch_up
from cassandra._base.versions import seconds

from .background import commands
from .background.draining import busy, drain

if TYPE_CHECKING:
    from .request.future import ResponseFuture
    from .session import Session


def _nowhere() -> bool:
    return False


class Ending:
    """Shuts down *session*, and fails the requests that wait for a later step."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open = deque([True])
        self._is_waiting_over = False
        self._delayed: dict[int, weakref.ref[ResponseFuture]] = {}  # by id()

    def call_later(self, delay: float, future: ResponseFuture, step: Callable[[], None]) -> Any:
        """Schedule a delayed step of a request; a shutdown of the session fails the requests that wait for one."""
        session = self._session
        key = id(future)

        def forget(gone: weakref.ref[ResponseFuture]) -> None:
            if self._delayed.get(key) is gone:  # another object may have this address by now
                self._delayed.pop(key, None)

        self._delayed[key] = weakref.ref(future, forget)
        if session.is_shutdown:  # checked last: the shutdown reads the delayed requests after it is set
            raise DriverException("The session was shut down while the request waited to be sent again.")
        return session.cluster.reactor.call_later(delay, step)

    def delayed(self) -> list[ResponseFuture]:
        """Return the requests that wait for a step, or did."""
        return [future for one in list(self._delayed.values()) if (future := one()) is not None]

    def leave_to_parent(self) -> None:
        """Drop delayed requests in a forked child: they are the parent's."""
        self._delayed.clear()
        self._session._on_io_thread = _nowhere

    # ---- shutdown

    def end(self, limit: float | None) -> None:
        """Implement :meth:`Session.shutdown`."""
        catch_up()
        session = self._session
        if session.is_shutdown:
            return
        if not seconds("drain", limit):
            commands.run(self._close)
            return
        session._draining = True
        if session._on_io_thread():
            commands.submit(self._drain, limit)
            return
        try:
            commands.run(self._drain, limit)
        except BaseException:  # Ctrl-C ends the wait, not the shutdown
            self._is_waiting_over = True
            raise

    async def end_async(self, limit: float | None) -> None:
        """Implement :meth:`Session.shutdown_async`."""
        catch_up()
        session = self._session
        if session.is_shutdown:
            return
        if not seconds("drain", limit):
            await commands.run_async(self._close)
            return
        session._draining = True
        await commands.run_async(self._drain, limit)

    def _drain(self, limit: float | None) -> None:
        try:
            drain(limit or 0.0, lambda: busy([self._session]), lambda: self._is_waiting_over)
        finally:
            self._close()

    def _close(self) -> None:
        session = self._session
        if session.is_shutdown:
            return
        try:
            self._open.pop()
        except IndexError:  # another thread shuts it down
            return
        session.is_shutdown = True
        delayed = self.delayed()
        self._is_waiting_over = True
        session._pool_set.close()
        session._on_io_thread = _nowhere  # a reference to the session must not keep a reactor alive
        for future in delayed:
            if future._wait(0.0):
                continue  # its response has arrived
            error = DriverException("The session was shut down while the request waited to be sent again.")
            future._fail(future._page, error)
        session.cluster.session_closed(session)
