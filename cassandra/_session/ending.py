"""How a session ends: at once, or when what is in flight has finished (``background/draining.py``).

L5. Base of :class:`Session`. States: *open*, then *draining* if somebody wants that (``_draining``: nothing new is
taken, what was begun goes on), then *shut down* (``is_shutdown``, ``_closed``), once, under the request lock. Delayed
steps of requests are begun under it too, so that each is either refused or among those that fail.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._base.errors import DriverException, NoHostAvailable

from .background.draining import apart, busy, drain
from .cluster.awaitable import on_a_thread
from .cluster.config import seconds
from .request.sending import CLOSED

if TYPE_CHECKING:
    from .cluster.cluster import Cluster
    from .pools import PoolSet
    from .request.future import ResponseFuture

Self = TypeVar("Self", bound="Ending")


def _nowhere() -> bool:
    return False


class Ending:
    """Methods of :class:`Session` about its end."""

    cluster: Cluster
    is_shutdown: bool = False
    _draining: bool = False
    _closed: threading.Event
    _delayed: weakref.WeakSet[Any]
    _on_io_thread: Callable[[], bool]
    _pool_set: PoolSet
    _request_lock: threading.RLock

    def _check_open(self) -> None:
        if self.is_shutdown or self._draining:
            raise NoHostAvailable(CLOSED, {})

    def _call_later(self, delay: float, future: ResponseFuture, step: Callable[[], None]) -> Any:
        """A delayed step of a request; shutdown fails the requests that wait for one."""
        with self._request_lock:
            if self.is_shutdown:
                raise DriverException("The session was shut down while the request waited to be sent again.")
            self._delayed.add(future)
        return self.cluster.reactor.call_later(delay, step)

    def shutdown(self, drain: float | None = None) -> None:
        """Close all connections. Idempotent, callable from any thread.

        With *drain* nothing new is taken from now on, and what is in flight may finish within so many seconds; what has
        not finished then, and without *drain* everything, fails. In a callback, on the I/O thread, it does not wait.
        """
        if not seconds("drain", drain) or self.is_shutdown:
            self._close()
            return
        self._draining = True
        if self._on_io_thread():
            apart(lambda: self._drain(drain))
        else:
            self._drain(drain)

    async def shutdown_async(self, drain: float | None = None) -> None:
        """As :meth:`shutdown`, without blocking the running loop."""
        if not seconds("drain", drain) or self.is_shutdown:
            self._close()
            return
        self._draining = True
        await on_a_thread(self.cluster.life.reactor, lambda: self._drain(drain))

    def _drain(self, limit: float | None) -> None:
        try:
            drain(limit or 0.0, lambda: busy([self]), self._closed)
        finally:  # Ctrl-C ends the waiting, not the end
            self._close()

    def _close(self) -> None:
        with self._request_lock:
            if self.is_shutdown:
                return
            self.is_shutdown = True
            delayed = list(self._delayed)
        self._closed.set()
        self._pool_set.close()
        self._on_io_thread = _nowhere  # a session that is kept keeps no reactor alive
        for future in delayed:
            if future._wait(0.0):
                continue  # its answer has come, whoever will ask for it
            error = DriverException("The session was shut down while the request waited to be sent again.")
            future._fail(future._page, error)
        self.cluster.session_closed(self)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, *args: object) -> None:
        self.shutdown()

    def __del__(self) -> None:
        pools = getattr(self, "_pool_set", None)
        if pools is not None and not self.is_shutdown:
            pools.close()
