"""The pools of one session, updated with host states and distances.

L5. ``pools`` is an immutable dict replaced as a whole under the lock; requests read it without one. A pool enters the
dict when its first connection is open and leaves it before it is closed. ``_opening`` holds pools that are being
opened, so that a host never gets two pools at a time.

A host that is up and has no pool gets one: when its state changes to up, or else, when it rejected the connection or is
up for another session, by ``_retries``, on the reconnection schedule. A host that is down is not tried: its pools are
opened when it comes up. ``_opening``, ``_retry_once``, ``_retries`` and ``_delays`` are guarded by the lock; no other
component is called with it held. It is a driver lock, so pools are opened, replaced and closed by driver threads only:
an interrupted caller leaves no unfinished opening behind. Callers read ``pools``.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import AuthenticationFailed, ConnectionException
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._base.real import Future
from cassandra._core.routing import PoolSetFields
from cassandra._core.transport import ChannelGroup
from cassandra._net.backoff import Delays, FailureLog
from cassandra._net.handshake import NodeDraining, UnexpectedHost
from cassandra._net.pool import SILENCE_LIMIT, HostPool
from cassandra._routing.policies import HostDistance
from cassandra._session import scheduler
from cassandra._session.request.admission import Admission

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._session.scheduler import Task
    from cassandra._session.session import Session

log = get_logger("cassandra.cluster")


class PoolSet(PoolSetFields):
    """Opens, renews and closes the pools of *session*."""

    def __init__(self, session: Session, reopening: bool = False) -> None:
        """*reopening*: in a forked child, requests wait until :meth:`reopen` has opened the first pool."""
        self._session = session
        self._cluster = session.cluster
        self._lock = driver_lock("PoolSet")
        self._opening: dict[Host, tuple[Future[bool], HostPool]] = {}
        self._retry_once: set[Host] = set()  # hosts with a pool being opened that are tried once more if that fails
        self._retries: dict[Host, Task] = {}
        self._delays: dict[Host, Delays] = {}
        self._failure_logs: dict[Host, FailureLog] = {}  # only for the I/O thread
        self._closed = False
        self.reopens = reopening
        self._waiting: list[Callable[[], None]] | None = [] if reopening else None
        self.admission = Admission(session)
        self.pools: dict[Host, HostPool] = {}
        self.errors: dict[Host, BaseException] = {}
        self.channels = ChannelGroup()

    @scheduler.command
    def add_or_renew(self, host: Host, is_host_addition: bool) -> Future[bool] | None:
        """Open a pool to *host*; it replaces the current one once it is open. The future has True if that succeeded.
        Return None when the host is ignored by every policy."""
        distance = self._cluster.profile_manager.distance(host)
        if distance == HostDistance.IGNORED:
            return None
        with self._lock:
            opening = self._opening.get(host)
            if opening is not None:
                return opening[0]
            done: Future[bool] = Future()
            done.set_running_or_notify_cancel()  # it is shared: no caller may cancel it
            if self._closed:
                done.set_result(False)
                return done
            pool = self._new_pool(host, distance)
            self._opening[host] = done, pool
        pool.open(lambda error: self._on_pool_opened(pool, error, is_host_addition, done))
        return done

    def _new_pool(self, host: Host, distance: int) -> HostPool:
        return HostPool(
            host,
            distance,
            self._session,
            reactor=self._cluster.reactor,
            options=self._connection_options,
            context=self._cluster.type_context,
            keyspace=self._session.keyspace,
            delays=self._cluster.membership.new_schedule,
            on_defunct=self._cluster.signal_connection_failure,
            max_requests=self._cluster.max_requests_per_host,
            retry_budget=self._cluster.retry_budget,
            limit=self.admission.limit,
            group=self.channels,
            on_room=self.admission.look,
            shards=self._cluster.shard_aware_options,
            silence_limit=self._silence_limit(),
            on_suspect=self._cluster.membership.on_suspect,
            on_drain=self._cluster.membership.on_drain,
            pace=self._cluster.membership.pace_of(host),
            connection_rate=lambda: self._cluster.connection_rate,
            unverified=self.reopens or host in self.errors or self._cluster.topology.is_at_contact_point(host),
        )

    def _silence_limit(self) -> float:
        """Return the seconds after which a silent connection is closed: a dead host is down within two heartbeat
        intervals, even if no response was pending when it died."""
        interval = self._cluster.idle_heartbeat_interval
        return max(1.0, min(0.75 * interval, self._cluster.idle_heartbeat_timeout) if interval else SILENCE_LIMIT)

    def _connection_options(self) -> Any:
        return self._cluster.connections.options(self._session.keyspace)

    def _on_pool_opened(
        self, pool: HostPool, error: BaseException | None, is_host_addition: bool, done: Future[bool]
    ) -> None:
        """Handle the result of opening *pool*. Runs on the I/O thread."""
        host, replaced = pool.host, None
        with self._lock:
            keyspace = self._session.keyspace
            entry = self._opening.get(host)
            is_current = entry is not None and entry[0] is done
            has_old_keyspace = is_current and error is None and bool(keyspace) and pool.keyspace != keyspace
            is_retried = is_current and error is not None and host in self._retry_once
            self._retry_once.discard(host)
            if is_retried:
                successor = self._new_pool(host, pool.host_distance)
                self._opening[host] = done, successor
            elif is_current and not has_old_keyspace:
                del self._opening[host]
                if error is not None:
                    self.errors[host] = error
                else:
                    replaced = self.pools.get(host)
                    others = {known: other for known, other in self.pools.items() if known != host}
                    self.pools = {**others, host: pool}  # an equal host, replaced at its address, must not stay as key
                    self.errors.pop(host, None)
                    self._forget_retry(host)
        if is_retried:
            pool.close()
            successor.open(lambda error: self._on_pool_opened(successor, error, is_host_addition, done))
            return
        if has_old_keyspace:  # a USE was executed meanwhile
            pool.set_keyspace(
                keyspace or "",
                lambda errors: self._on_pool_opened(pool, errors[0] if errors else None, is_host_addition, done),
            )
            return
        if replaced is not None:
            replaced.close()
        if not is_current or error is not None:
            pool.close()
        if is_current and error is not None:
            self._report(host, error, is_host_addition)
            self._try_later(host)
        elif is_current:
            self._failure_logs.pop(host, None)
            self._cluster.membership.on_pool_opened(host)
        done.set_result(is_current and error is None)

    def _report(self, host: Host, error: BaseException, is_host_addition: bool) -> None:
        level = self._failure_logs.setdefault(host, FailureLog()).level(logging.WARNING, error)
        if isinstance(error, (NodeDraining, UnexpectedHost)):
            level = logging.DEBUG  # the membership logs it
        log.log(level, "Could not open a connection pool to %s: %s", host, error)
        if isinstance(error, AuthenticationFailed):
            error = ConnectionException(str(error), host.endpoint)
        self._cluster.signal_connection_failure(host, error, is_host_addition=is_host_addition)

    def _try_later(self, host: Host) -> None:
        """Schedule another attempt: the host may stay up though this pool could not be opened."""
        with self._lock:
            if self._closed:
                return
            delays = self._delays.setdefault(host, Delays(self._cluster.membership.new_schedule))
        delay = delays.next_or_last()  # one opening at a time: this schedule has no other user
        task = self._cluster.scheduler.schedule(delay, self._retry, host)
        with self._lock:
            before = self._retries.pop(host, None)
            is_current = not self._closed and host in self._delays
            if is_current:
                self._retries[host] = task
        if before is not None:
            before.cancel()
        if not is_current:
            task.cancel()

    def _retry(self, host: Host) -> None:
        """Open the pool of *host* again if it is still needed. On a worker."""
        is_member = host in self._cluster.metadata.all_hosts()
        needed = host.is_up is not False and is_member
        if not is_member:  # it left while its pool was being opened
            self.forget_errors(host)
        with self._lock:
            self._retries.pop(host, None)
            needed = needed and host not in self.pools
            if not needed:
                self._delays.pop(host, None)
        if needed:
            self.add_or_renew(host, is_host_addition=False)

    @scheduler.command
    def try_now(self) -> None:
        """Open missing pools without waiting for their next attempt: hosts may accept connections that they rejected
        before."""
        with self._lock:
            self._retry_once.update(self._opening)  # they may have been rejected already
            hosts = list(self._retries)
            for host in hosts:
                self._forget_retry(host)
        for host in hosts:
            self.add_or_renew(host, is_host_addition=False)
        for pool in self.pools.values():
            pool.try_now()

    def _forget_retry(self, host: Host) -> None:
        """Cancel the next attempt. Locked. (Cancelling a task calls nothing: it has no future.)"""
        self._delays.pop(host, None)
        task = self._retries.pop(host, None)
        if task is not None:
            task.cancel()

    @scheduler.command
    def remove(self, host: Host, drain: bool = False) -> bool:
        """Close the pool of *host*, also one that is being opened; with *drain*, when its requests in flight are
        completed. Return False if it has none."""
        with self._lock:
            self._forget_retry(host)
            self._retry_once.discard(host)
            opening = self._opening.pop(host, None)
            pool = self.pools.get(host)
            if pool is not None:
                self.pools = {known: other for known, other in self.pools.items() if known != host}
        if opening is not None:
            opening[1].close()
        if pool is not None:
            pool.close(drain)
        return pool is not None or opening is not None

    def forget(self, host: Host) -> None:
        """Drop all state of *host*, which has left."""
        self.remove(host)
        self.forget_errors(host)

    def forget_errors(self, host: Host) -> None:
        """Drop recorded errors of *host*."""
        self.errors.pop(host, None)
        self._failure_logs.pop(host, None)

    @scheduler.command
    def use(self, keyspace: str) -> Mapping[Host, HostPool]:
        """Set *keyspace* as the session's. Return the pools to update; those being opened are updated before they are
        used."""
        with self._lock:
            self._session.keyspace = keyspace
            return self.pools

    def reasons(self) -> dict[Host, BaseException]:
        """Return the last error of each host without a pool."""
        return {
            host: self.errors.get(host) or ConnectionException(f"Host {host} is {self._state(host)}", host.endpoint)
            for host in self._cluster.metadata.all_hosts()
            if host not in self.pools
        }

    def _state(self, host: Host) -> str:
        if self._cluster.profile_manager.distance(host) != HostDistance.IGNORED:
            return "down"
        return f"ignored by the load balancing policies (it is in datacenter {host.datacenter!r})"

    @scheduler.command
    def update(self) -> set[Future[bool]]:
        """Open and close pools by the hosts' states and distances; return the futures of the pools being opened."""
        opening: set[Future[bool]] = set()
        distance_of = self._cluster.profile_manager.distance
        hosts: Iterable[Host] = self._cluster.metadata.all_hosts()
        for host in hosts:
            distance = distance_of(host)
            pool = self.pools.get(host)
            if distance == HostDistance.IGNORED:
                self.remove(host)
            elif pool is None or pool.is_shutdown:
                if host.is_up in (True, None):
                    future = self.add_or_renew(host, is_host_addition=False)
                    if future is not None:
                        opening.add(future)
            elif pool.host_distance != distance:
                pool.host_distance = distance
        known = set(hosts)
        for host in [host for host in self.pools if host not in known]:
            self.remove(host)
        return opening

    # ---- in a forked child

    def when_open(self, action: Callable[[], None]) -> bool:
        """Open the pools, and call *action* on the I/O thread when the first one is open or none can be. Return False,
        without a call, when that is the case already."""
        waiting = self._waiting
        if waiting is None:
            return False
        return scheduler.run(self._when_open, waiting, action)

    def _when_open(self, waiting: list[Callable[[], None]], action: Callable[[], None]) -> bool:
        self._cluster.life.awaken()
        with self._lock:
            is_open = self._waiting is not waiting
            if not is_open:
                waiting.append(action)
        if is_open:
            action()
        return True

    @scheduler.command
    def reopen(self) -> None:
        """Open the pools for the waiting requests. Never blocks."""
        opening = self.update()
        ended = itertools.count(1)

        def on_pool_done(future: Any) -> None:  # on driver threads, perhaps two at a time
            is_last = next(ended) == len(opening)
            if future.result() or is_last:
                self._resume_waiting()

        for future in opening:
            future.add_done_callback(on_pool_done)
        if not opening:
            self._resume_waiting()

    def _resume_waiting(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, None
        for action in waiting or ():
            action()

    # ---- shutdown

    @scheduler.command
    def close(self) -> None:
        """Close every pool, also those being opened. Idempotent."""
        with self._lock:
            self._closed = True
            pools, self.pools = self.pools, {}
            opening, self._opening = self._opening, {}
            for host in list(self._delays):
                self._forget_retry(host)
        for _, pool in opening.values():
            pool.close()
        for pool in pools.values():
            pool.close()
        self._resume_waiting()
        self.admission.close()


def tell_pools(
    pools: Mapping[Host, HostPool], keyspace: str, on_done: Callable[[Mapping[Host, Any]], None], waiting: set[Host]
) -> None:
    """Set the keyspace on all connections of *pools* after a USE; *on_done* gets the errors by host, of all hosts.
    *waiting* holds the hosts that are not updated yet."""
    errors: dict[Host, Any] = {}
    waiting.update(pools)
    lock = driver_lock("tell_pools")
    if not waiting:
        on_done(errors)
        return

    def on_pool_done(host: Host, failed: list[BaseException]) -> None:
        with lock:
            if failed:
                errors[host] = failed
            waiting.discard(host)
            last = not waiting
        if last:
            on_done(errors)

    for host, pool in pools.items():
        pool.set_keyspace(keyspace, lambda failed, host=host: on_pool_done(host, failed))  # type: ignore[misc]
