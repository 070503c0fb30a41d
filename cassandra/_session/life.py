"""The life of a cluster: started by the first connect, ended once by shutdown, from any thread.

L5. States: *new* -> *started* (``_started`` is a future, so that many callers wait for one start) -> *stopped*; in a
forked child a started cluster is *dormant* until it is used (forks.py). ``_lock`` guards the state changes, which run
on driver threads: callers submit commands. It is re-entrant, because a ``__del__`` may shut the cluster down anywhere;
no wait happens with it held. A state change continues when its caller is interrupted: a cluster is never left half
started or half stopped.

No thread waits for itself: a shutdown waits for all other threads, on the I/O thread for none, and only threads that
are neither a worker nor the I/O thread wait for a shutdown begun by another thread.
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Generator
from functools import partial
from time import monotonic
from types import coroutine
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from cassandra._base import threads
from cassandra._base.errors import DriverException
from cassandra._base.locks import IO, driver_lock, enter_driver_thread
from cassandra._base.logs import get_logger
from cassandra._base.process import Event, catch_up, in_child, renew
from cassandra._base.real import Future
from cassandra._core.transport import Reactor
from cassandra._session.request.completion import falls_back

from . import scheduler
from .scheduler import busy, drain, end_idle_threads

if TYPE_CHECKING:
    from .cluster import Cluster

log = get_logger("cassandra.cluster")

SHUTDOWN_LIMIT = 5.0  # seconds for threads to end: the resources that they wait for are closed before they are joined

_alive: WeakSet[Life] = WeakSet()
_alive_lock = driver_lock("Life alive")


class Life:
    """Starts and stops *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = driver_lock("Life")
        self._started: Future[None] | None = None
        self._stopping = False
        self.is_draining = False
        self._is_waiting_over = False
        self._stopped = Event()
        self._is_dormant = False
        self.reactor: Reactor | None = None

    # ---- start

    def prepare(self) -> Reactor:
        """Return the I/O thread; start it if necessary. On driver threads; never blocks."""
        self.awaken()
        with self._lock:
            if self._stopping or self.is_draining:
                raise DriverException("Cluster is already shut down")
            return self.reactor or self._new_reactor()

    def _new_reactor(self) -> Reactor:
        """Make the I/O thread. Locked."""
        reactor = self.reactor = Reactor(pool=self._cluster.memory_pool)
        reactor.call_soon(partial(enter_driver_thread, IO))
        self._cluster.scheduler.retry_on(reactor.call_later)
        with _alive_lock:
            _alive.add(self)
        return reactor

    @property
    def is_started(self) -> bool:
        """True if the cluster was asked to connect, and was not shut down."""
        return self._started is not None and not self._stopping

    def running(self) -> Reactor:
        """Return the I/O thread. Raise DriverException if there is none (yet, or any more)."""
        self.awaken()
        reactor = self.reactor
        if reactor is None:
            shut_down = self._cluster.is_shutdown
            raise DriverException("The cluster was shut down" if shut_down else "Cluster is not connected yet")
        return reactor

    def start(self) -> Future[None]:
        """Connect the control connection, once; return the same future to all callers. On driver threads; the first one
        connects."""
        with self._lock:
            self.prepare()
            started = self._started
            if started is not None:
                return started
            started = self._started = Future()
        self._cluster.scheduler.run_here(self._start, started)
        return started

    def _start(self) -> None:
        """Connect the control connection. On a worker."""
        cluster = self._cluster
        try:
            cluster.control_connection.connect()
            with self._lock:
                if self._stopping or self.reactor is None:
                    raise DriverException("The cluster was shut down while it was connecting")
            cluster.host_listeners.wait_for_delivery(1.0)
        except BaseException:
            log.error("Control connection failed to connect, shutting down the cluster")
            self.stop()
            raise

    def refuse_to_block(self) -> None:
        """Raise DriverException on the I/O thread, which would wait for itself."""
        self.awaken()
        if self.reactor is not None and self.reactor.in_reactor():
            raise DriverException("This call blocks: it cannot be made from a callback on the driver's I/O thread")

    # ---- fork

    def leave_to_parent(self) -> None:
        """Reset the state in a forked child: running work is the parent's, and a shutdown begun by the parent is
        completed here."""
        renew(self._lock)
        self._stopped = Event()
        self._is_waiting_over = False
        self._stopping |= self.is_draining
        self._started = self.reactor = None
        self._is_dormant = self._cluster.control_connection.has_connected and not self._stopping
        if self._stopping:
            self._cluster.is_shutdown = True
            self._stopped.set()

    def awaken(self) -> None:
        """If the cluster is dormant, connect again. Never waits for that."""
        catch_up()
        if self._is_dormant:
            scheduler.run(self._awaken)

    def _awaken(self) -> None:
        with self._lock:
            if not self._is_dormant or self._stopping:
                return
            reactor = self._new_reactor()
            self._started = Future()
            self._started.set_result(None)
            self._is_dormant = False
        self._reopen(reactor)

    def _reopen(self, reactor: Reactor) -> None:
        """Treat every connection as lost: hosts that cannot be reached now are tried again later."""
        cluster = self._cluster
        cluster.control_connection.reconnect()
        cluster.membership.resume()
        for session in cluster.sessions:
            if not session.is_shutdown:
                session._on_io_thread = reactor.in_reactor
                session._pool_set.reopen()

    # ---- stop

    @property
    def has_stopped(self) -> bool:
        """True if nothing is left to stop or to wait for."""
        return self._stopped.is_set()

    def begin_drain(self) -> None:
        """Begin draining: new requests are rejected."""
        self.is_draining = True
        for session in self._cluster.sessions:
            session._draining = True

    def _drain(self, limit: float) -> None:
        """Wait until requests in flight have finished, or a caller stops waiting."""
        cluster = self._cluster
        fallback = falls_back(cluster)

        def open_connections_left() -> int:
            waiting = busy(cluster.sessions) + cluster.schema_changes.count
            for connection in cluster.control_connection.get_connections() if fallback else ():
                waiting += connection.waiting
            return waiting

        drain(limit, open_connections_left, lambda: self._is_waiting_over)

    def stop(self, limit: float = SHUTDOWN_LIMIT, drain: float = 0.0) -> None:
        """Close everything: requests in flight fail, threads end, descriptors close. With *drain*, requests in flight
        may finish before, within so many seconds. Idempotent, bounded, from any thread. If the wait of a caller is
        interrupted, the shutdown continues without draining."""
        catch_up()
        try:
            scheduler.run(self._stop, limit, drain)
        except BaseException:
            self._is_waiting_over = True
            raise
        end_idle_threads()

    async def stop_async(self, drain: float) -> None:
        """Do as :meth:`stop`, for a task of an asyncio loop. When the task is cancelled, the shutdown continues."""
        if self.has_stopped:
            return
        if drain:
            self.begin_drain()
        await scheduler.run_async(self._stop, SHUTDOWN_LIMIT, drain)
        for thread in threads.end_idle():
            while thread.is_alive():  # the thread is about to end
                await _yield_to_loop()

    def _stop(self, limit: float, drain: float) -> None:
        """Shut down. On a driver thread."""
        reactor = self.reactor
        on_io_thread = reactor is not None and reactor.in_reactor()
        if drain and reactor is not None and not self._stopping:
            self.begin_drain()
            if on_io_thread:
                scheduler.submit(self._stop, limit, drain)
                return
            self._drain(drain)
        with self._lock:
            first = not self._stopping
            self._stopping = True
        self._is_waiting_over = True
        if not first:
            if not on_io_thread and not self._cluster.scheduler.in_worker():
                self._stopped.wait(2 * limit)
            return
        try:
            try:
                self._close_all()
            finally:
                self._cluster.scheduler.shutdown(0.0)
                if reactor is not None:
                    reactor.stop(0.0)
            self._end_threads(0.0 if on_io_thread else limit, reactor)
        finally:
            if not on_io_thread:
                self.reactor = None  # a reference to the cluster must not keep descriptors open
            with _alive_lock:
                _alive.discard(self)
            self._stopped.set()
            threads.end_after_call()

    def _close_all(self) -> None:
        """Close all components: no new work begins, and waiters are notified."""
        cluster = self._cluster
        cluster.is_shutdown = True
        steps: list[Any] = [session.shutdown for session in list(cluster.sessions)]
        steps += [cluster.control_connection.shutdown, cluster.schema_changes.shutdown]
        steps += [handler.cancel for host in cluster.metadata.all_hosts() if (handler := host._reconnection_handler)]
        if cluster.metrics is not None:
            steps.append(cluster.metrics.shutdown)
        for step in steps:
            try:
                step()
            except BaseException:
                log.exception("A step of the cluster's shutdown failed")

    def _end_threads(self, limit: float, reactor: Reactor | None) -> None:
        deadline = monotonic() + limit
        scheduler = self._cluster.scheduler
        ended = scheduler.join(limit / 2)
        if reactor is not None:
            ended = reactor.stop(max(0.0, deadline - monotonic())) and ended
        if not ended and limit:
            ended = scheduler.join(max(0.0, deadline - monotonic()))
            log.log(
                logging.DEBUG if ended else logging.WARNING,
                "The cluster's threads %s",
                "ended" if ended else f"were still busy {limit} s after the shutdown began",
            )


@coroutine
def _yield_to_loop() -> Generator[None, None, None]:
    """Yield to the loop once."""
    yield


def _in_child() -> None:
    global _alive
    renew(_alive_lock)
    _alive = WeakSet()


in_child(_in_child)


@atexit.register
def _stop_all() -> None:
    """Stop all clusters when the interpreter exits: an I/O thread must not call into it then."""
    catch_up()
    for life in scheduler.run(_live_instances):
        life.stop(1.0)


def _live_instances() -> list[Life]:
    with _alive_lock:
        return list(_alive)
