"""Host states: the one place where a :class:`Host` changes state (the set of hosts: ``hosts/topology.py``).

L5. Owner: everything marked *strand* runs on ``Membership.strand``, one call at a time, in the order it was posted;
``Host.is_up``, the policies' view of the hosts and ``_coming_up`` are written there only. Other threads post and never
wait. No lock is held while policies, sessions and listeners are called.

States of a host and their transitions::

    new      in the metadata, not reached yet (is_up None)      -> coming up, down
    up       has pools, or every policy ignores it              -> down: its connections failed, or an event reported
                                                                   it and no connection contradicts it; it has
                                                                   announced that it stops; or its address leads to
                                                                   another host
    down     a Reconnector tries to reach it                    -> coming up: reached, on schedule or because of an
                                                                   UP event
    coming   reached and identified, pools are opened           -> up, or down again when no pool opened
    up       (``_coming_up``)

While no host is up, each is tried every few seconds at most (``is_urgent``). When the last one goes down, the delays of
waiting reconnectors are shortened; when the first one is back, schedules restart.

A host that has come up gets requests at once. Statements that it lacks are prepared when they are executed, and those
that were used recently also ahead of that, slowly (``Reprepare``): all clients of the cluster find the host at the same
time, and the first one of them that prepares a statement does so for all.

Each transition to coming up has a token (an object in ``_coming_up``): steps of an older transition that end late are
recognised by it and ignored.

A program marks a host as up or down, adds or removes one by :class:`HostCommands`, which has no state: its commands run
on the membership's strand while the caller waits. Events and failures of connections do not use them.

Host state listeners are called on a strand of their own: in order, one at a time, never with a lock held, and free to
call anything of cluster and session. An exception of a listener is logged and does not affect others.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra._base.errors import RequestExecutionException, RequestValidationException
from cassandra._base.logs import get_logger
from cassandra._net.backoff import FailureLog, Pace
from cassandra._net.connection import Connection, shows_life
from cassandra._net.handshake import NodeDraining, UnexpectedHost, check_host_id
from cassandra._net.health import leave_to_parent
from cassandra._routing.host import Host
from cassandra._routing.policies import HostDistance
from cassandra._session.prepared import Reprepare
from cassandra._session.scheduler import command
from cassandra._wire.messages.requests import OptionsMessage

from ..control.events import UP_PART
from ..shared import Shared, without_item
from .reconnection import Reconnector, new_schedule, outage_delay

if TYPE_CHECKING:
    from cassandra._net.endpoint import EndPoint
    from cassandra._net.pool import HostPool
    from cassandra._session.cluster import Cluster
    from cassandra._session.scheduler import Scheduler
    from cassandra._session.session import Session

log = get_logger("cassandra.cluster")

OUTAGE_LOG_INTERVAL = 60.0  # seconds between log lines about a continuing outage
STABLE = 2.0  # seconds a host must have been up to be tried again at once: a flapping host follows the schedule


class Membership:
    """States of the hosts of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.strand = cluster.scheduler.strand()
        self._coming_up: dict[Host, object] = {}
        self._up_since: dict[Host, float] = {}
        self._outage_since: float | None = None  # start of an outage, and time of its last log line
        self._outage_logged_at = 0.0
        self._unexpected: dict[Host, FailureLog] = {}  # warnings about addresses that lead to other hosts
        self._paces: dict[Host, Pace] = {}  # of connections; any thread
        self._repreparing: dict[Host, Reprepare] = {}

    # ---- fork

    def leave_to_parent(self) -> None:
        """Reset the state in a forked child: reconnectors and their pending steps stayed in the parent."""
        self._coming_up, self._paces, self._repreparing = {}, {}, {}
        self._cluster.prepared.ahead.clear()
        for host in self._cluster.metadata.all_hosts():
            host._reconnection_handler = None
            leave_to_parent(host)

    def resume(self) -> None:
        """Try to reach the hosts that are down, in a forked child that connects again. Never blocks."""
        self.strand.post(self._resume)

    def _resume(self) -> None:
        for host in self._cluster.metadata.all_hosts():
            if host.is_up is False and not self.is_ignored(host):
                self.reconnect(host, at_once=False)

    # ---- reports of other threads: never block

    def failed(self, host: Host, error: BaseException, expected_down: bool = False) -> bool:
        """Handle a lost connection to *host*, or one that could not be opened. Return True if that convicts the
        host."""
        if isinstance(error, (RequestValidationException, RequestExecutionException)):
            return False  # a response: the host is alive
        if isinstance(error, UnexpectedHost):
            self.strand.post(self._on_unexpected_host, host, error)
            return True
        if isinstance(error, NodeDraining):
            self.on_drain(host)
            return True
        convicted = bool(host.signal_connection_failure(error))
        self.strand.post(self.examine, host, convicted, expected_down)
        return convicted

    def on_pool_opened(self, host: Host) -> None:
        """Handle an opened pool to *host*."""
        self._cluster.control_connection.on_up(host)  # it may be looking for a node
        if host.is_up is None:
            self.strand.post(self._on_pool_opened, host)

    def on_drain(self, host: Host) -> None:
        """Handle that *host* has announced that it stops."""
        self.strand.post(self._on_drain, host)

    def pace_of(self, host: Host) -> Pace:
        """Return the pace at which all sessions open connections to *host*."""
        return self._paces.setdefault(host, Pace())

    def connect_now(self, host: Host) -> None:
        """Try to reach *host* now: it is probably up."""
        self.strand.post(self.reconnect, host, True)

    def report_down(self, host: Host, expected_down: bool) -> None:
        """Report *host* as down. *expected_down*: regardless of its connections."""
        self.strand.post(self.examine, host, True, expected_down)

    def retry_ignored_hosts(self) -> None:
        """Reconnect to hosts that are down and were ignored so far: a new policy may use them (strand)."""
        self._resume()

    def on_control_connection(self, host_id: Any, include_others: bool) -> None:
        """Handle that the node with *host_id* took the control connection. *include_others*: no node did for some time,
        so that others may be back as well."""
        self.strand.post_here(self._on_control_connection, host_id, include_others)

    def on_suspect(self, host: Host) -> None:
        """Check the control connection now if it is one of the silent connections to *host*, and notify policies that
        fail over."""
        self._cluster.profile_manager.on_suspect()
        self.strand.post(self._cluster.control_connection.on_down, host)

    def event_up(self, address: str, port: int | None) -> None:
        """Handle an event: the server reports that a node came up."""
        self.strand.post(self._on_event_up, address, port)

    def event_down(self, address: str, port: int | None) -> None:
        """Handle an event: the server reports that a node went down."""
        self.strand.post(self._on_event_down, address, port)

    def keyspaces_created(self, names: Collection[str]) -> None:
        """Handle new keyspaces."""
        if any(session.keyspace in names for session in self._sessions()):
            self.strand.post(self._on_keyspaces, names)

    # ---- health signals (strand)

    def examine(self, host: Host, convicted: bool, expected_down: bool) -> None:
        """Decide if a host with a failed connection is down, or only that connection failed."""
        if not self._is_member(host) or host in self._coming_up or host.is_up is False:
            return
        pools = self._pools(host)
        if not expected_down and any(pool.open_count or pool.is_opening or pool.is_reopening for pool in pools):
            log.debug("A connection to %s failed, others are open or being opened: the host stays up", host)
        elif convicted or not pools:
            self.take_down(host)

    def _on_pool_opened(self, host: Host) -> None:
        if host.is_up is None and host not in self._coming_up and self._is_member(host):
            self._set_up(host)

    def _on_event_up(self, address: str, port: int | None) -> None:
        host = self._cluster.metadata.get_host(address, port)
        if host is None:
            log.info("An unknown node came up at %s:%s: refreshing the node list", address, port)
            self._cluster.control_connection.refresh_nodes_soon()
        else:
            self._use_now(host)

    def _use_now(self, host: Host, within: float = 0.0) -> None:
        """Use *host*, which probably can be reached, without waiting for the next scheduled attempt. *within*: seconds
        over which the attempts of all clients are spread."""
        if host in self._coming_up:
            pass
        elif host.is_up:
            for session in self._sessions():
                pool = session._pools.get(host)
                if pool is not None and not pool.open_count:
                    session.add_or_renew_pool(host, False)  # its next attempt is made now
                else:
                    session.update_created_pools()  # opens missing pools, leaves working ones
        elif self.is_ignored(host):
            self._cluster.profile_manager.on_up(host)
            self._set_up(host)
            self._notify_listeners("on_up", host)
        else:
            self.reconnect(host, at_once=True, within=within)

    @property
    def _spread(self) -> float:
        """Seconds over which clients spread their attempts after an event that all of them notice."""
        return max(0.0, self._cluster.status_event_refresh_window) * UP_PART

    def _on_control_connection(self, host_id: Any, include_others: bool) -> None:
        # Events were missed. A keyspace may exist now whose absence took hosts down; even one that was dropped and
        # created meanwhile, which looks unchanged in the schema read before.
        for session in self._sessions():
            session._pool_set.try_now()
            include_others = include_others or session.keyspace is not None
        for host in self._cluster.metadata.all_hosts():
            is_waiting = host.is_up is False and not self.is_ignored(host)
            if host.host_id == host_id:
                self._use_now(host)
            elif include_others and is_waiting:
                self._use_now(host, self._spread)

    def _on_keyspaces(self, names: Collection[str]) -> None:
        """Open pools that failed for want of a keyspace: hosts that only sessions of that keyspace tried to reach are
        down."""
        waiting = [session for session in self._sessions() if session.keyspace in names]
        for session in waiting:
            session._pool_set.try_now()
        for host in self._cluster.metadata.all_hosts() if waiting else ():
            if host.is_up is False and not self.is_ignored(host):
                self.reconnect(host, at_once=True, within=self._spread)

    def _on_event_down(self, address: str, port: int | None) -> None:
        host = self._cluster.metadata.get_host(address, port)
        if host is None or host.is_up is False or host in self._coming_up:
            return
        pools = self._pools(host)
        if any(pool.open_count for pool in pools):
            log.info("%s is reported down, but connections to it are open: probing them", host)
            for pool in pools:
                self._probe(pool)
        else:
            self.take_down(host)

    def _probe(self, pool: HostPool) -> None:
        """Probe every connection; one that does not respond is closed, which the pool reports."""
        options = self._cluster
        timeout = min(options.idle_heartbeat_timeout, options.connect_timeout or options.idle_heartbeat_timeout)
        for connection in pool.get_connections():

            def on_response(answer: Any, connection: Connection = connection) -> None:
                if not shows_life(answer):
                    connection.defunct(answer)

            connection.request_async(OptionsMessage(), on_response, timeout)

    def _on_drain(self, host: Host) -> None:
        if not self._is_member(host) or (host.is_up is False and host not in self._coming_up):
            return
        log.info("%s has announced that it stops: its requests in flight end, new ones go to other hosts", host)
        for session in self._sessions():
            session._pool_set.remove(host, drain=True)
        self.take_down(host, at_once=False, level=logging.INFO)

    def _on_unexpected_host(self, host: Host, error: UnexpectedHost) -> None:
        """Handle that the address of *host* leads to another host. The next node list shows what has moved."""
        if not self._is_member(host) or host.endpoint != error.endpoint:
            return
        if self._cluster.topology.leave_contact_point(host):
            return
        level = self._unexpected.setdefault(host, FailureLog()).level(logging.WARNING, error)
        log.log(
            level,
            "%s, the address of host %s, leads to host %s: it gets no requests. The address was given to another node, "
            "or a proxy or an address translator leads to the wrong one. The node list is read again",
            host, error.expected, error.found,
        )  # fmt: skip
        self.take_down(host, at_once=False, level=logging.INFO)
        self._cluster.control_connection.refresh_nodes_soon()

    # ---- down (strand)

    def take_down(self, host: Host, at_once: bool | None = None, level: int = logging.WARNING) -> None:
        """Mark *host* as down: no pools, no requests, until it is reached again. Without *at_once* (True, False) a host
        that was up for some time is tried again at once. *level* is that of the log line."""
        was_up = host.is_up
        self._coming_up.pop(host, None)
        since = self._up_since.pop(host, None)
        host.set_down()
        self._stop_repreparing(host)
        if was_up is not False:
            log.log(level, "Host %s has been marked down", host)
        self._cluster.profile_manager.on_down(host)
        for session in self._sessions():
            session.on_down(host)
        self._cluster.control_connection.on_down(host)
        if was_up is not False:
            self._notify_listeners("on_down", host)
        if was_up and self.is_urgent():
            self._begin_outage()
        if not self.is_ignored(host):
            stable = since is not None and monotonic() - since >= STABLE
            self.reconnect(host, stable if at_once is None else at_once, self._spread)

    def reconnect(self, host: Host, at_once: bool, within: float = 0.0) -> None:
        """Try to reach *host*: *at_once*, that is *within* seconds, or on schedule."""
        handler: Reconnector | None = host._reconnection_handler
        if handler is None:
            handler = Reconnector(
                self._cluster, self.strand, host, self._on_connected, self._on_connect_failed, self.is_urgent
            )
            host.get_and_set_reconnection_handler(handler)
            handler.start(at_once, within)
        elif at_once:
            handler.try_now(within)

    def forget(self, host: Host) -> None:
        """Drop the state of *host*, which has left the cluster."""
        self.stop_reconnecting(host)
        self._up_since.pop(host, None)
        self._unexpected.pop(host, None)
        self._paces.pop(host, None)
        self._stop_repreparing(host)

    def stop_reconnecting(self, host: Host) -> None:
        """Cancel attempts to reach *host*, and their pending steps."""
        self._coming_up.pop(host, None)
        handler = host.get_and_set_reconnection_handler(None)
        if handler is not None:
            handler.cancel()

    def _on_connect_failed(self, host: Host, error: BaseException) -> None:
        self._log_outage(host, error)
        if isinstance(error, UnexpectedHost):
            self._on_unexpected_host(host, error)
            return
        if host.is_up is None:  # a new host that could not be reached: down for now
            host.set_down()
            self._cluster.profile_manager.on_down(host)
            self._notify_listeners("on_down", host)
        self._cluster.topology.on_connect_failed(host)

    # ---- up (strand)

    def _on_connected(self, host: Host, connection: Connection) -> None:
        """Identify the node of a new connection to a host that was down or new."""
        host.get_and_set_reconnection_handler(None)
        if not self._is_member(host):
            connection.close()
            return
        token = self._coming_up[host] = object()
        self.pace_of(host).reserve(self._cluster.connection_rate)  # the pools are to count this connection

        def on_response(found: Any) -> None:
            if not self.strand.post(self._on_identified, host, token, connection, found):
                connection.close()

        connection.read_host_id(self._cluster.control_timeout, on_response)

    def _on_identified(self, host: Host, token: object, connection: Connection, found: Any) -> None:
        """Check that the node is this host: another host may have its address, and its entry must be found first."""
        if self._coming_up.get(host) is not token:
            connection.close()
            return
        try:
            if isinstance(found, BaseException):
                raise found
            if self._cluster.verify_host_ids:
                check_host_id(connection.endpoint, host.host_id, found)
        except Exception as error:
            connection.close()
            if isinstance(error, UnexpectedHost):
                self._on_unexpected_host(host, error)
            else:
                log.info("%s could not be identified as host %s: %s", connection.endpoint, host.host_id, error)
                self.take_down(host, at_once=False)
                self._cluster.control_connection.refresh_nodes_soon()
            return
        host.sharding_info = connection.features.sharding_info
        connection.close()
        self._open_pools(host, token)

    def _open_pools(self, host: Host, token: object) -> None:
        if self._coming_up.get(host) is not token:
            return
        if host.is_up is False:
            self._cluster.profile_manager.on_up(host)
        is_addition = host.is_up is None
        opening = [session.add_or_renew_pool(host, is_addition) for session in self._sessions()]
        waiting = [future for future in opening if future is not None]
        if not waiting:
            self._has_come_up(host, token, True)
            return
        remaining = len(waiting)
        opened = False

        def count(is_open: bool) -> None:
            nonlocal remaining, opened
            remaining -= 1
            opened = opened or is_open
            if not remaining:
                self._has_come_up(host, token, opened)

        def on_pool_opened(future: Any) -> None:
            self.strand.post(count, not future.cancelled() and future.exception() is None and future.result())

        for future in waiting:
            future.add_done_callback(on_pool_opened)

    def _has_come_up(self, host: Host, token: object, opened: bool) -> None:
        if self._coming_up.get(host) is not token:
            return
        del self._coming_up[host]
        if not opened:
            self.take_down(host, at_once=False)
            return
        is_addition = host.is_up is None
        self._set_up(host)
        log.info("Host %s is up", host)
        if self._cluster.reprepare_on_up:
            self._stop_repreparing(host)
            self._repreparing[host] = Reprepare(self._cluster, host)
        for session in self._sessions():
            session.update_created_pools()  # for sessions made meanwhile, and changed distances
        self._cluster.control_connection.on_up(host)
        if not is_addition:
            self._notify_listeners("on_up", host)

    def _stop_repreparing(self, host: Host) -> None:
        reprepare = self._repreparing.pop(host, None)
        if reprepare is not None:
            reprepare.cancel()

    def _set_up(self, host: Host) -> None:
        host.set_up()
        if self._is_member(host):
            self._up_since[host] = monotonic()
        if self._outage_since is not None and not self.is_urgent():
            log.warning("%s is up: the outage has lasted %.1f s", host, monotonic() - self._outage_since)
            self._outage_since = None
            for handler in self._handlers():
                handler.restart_schedule()

    # ---- no host is up

    def is_urgent(self) -> bool:
        """True if no host is up. Any thread."""
        return not any(host.is_up and not self.is_ignored(host) for host in self._cluster.metadata.all_hosts())

    def _begin_outage(self) -> None:
        self._outage_since = self._outage_logged_at = monotonic()
        log.warning("No host is up. Each is tried every few seconds")
        for handler in self._handlers():
            handler.shorten_delay()

    def _log_outage(self, host: Host, error: BaseException) -> None:
        now = monotonic()
        if self._outage_since is not None and now - self._outage_logged_at >= OUTAGE_LOG_INTERVAL:
            self._outage_logged_at = now
            log.warning("No host has been up for %.0f s. Last attempt: %s: %s", now - self._outage_since, host, error)

    def _handlers(self) -> list[Reconnector]:
        handlers = (host._reconnection_handler for host in self._cluster.metadata.all_hosts())
        return [handler for handler in handlers if handler is not None]

    def new_schedule(self) -> Iterator[float]:
        """Yield delays for reconnects outside the strand: those of the policy, but short ones while no host is up. Any
        thread."""
        for attempt, delay in enumerate(new_schedule(self._cluster.reconnection_policy)):
            yield min(delay, outage_delay(attempt)) if self.is_urgent() else delay

    def assume_up(self, host: Host) -> None:
        """Mark a host of the first node list as up until its pool reports otherwise (strand)."""
        host.set_up()

    # ---- helpers

    def _is_member(self, host: Host) -> bool:
        return self._cluster.metadata.get_host(host.endpoint) is host

    def is_ignored(self, host: Host) -> bool:
        """True if all policies ignore *host*."""
        return self._cluster.profile_manager.distance(host) == HostDistance.IGNORED

    def _sessions(self) -> list[Session]:
        return [session for session in list(self._cluster.sessions) if not session.is_shutdown]

    def _pools(self, host: Host) -> list[HostPool]:
        pools = (session._pools.get(host) for session in self._sessions())
        return [pool for pool in pools if pool is not None and not pool.is_shutdown]

    def _notify_listeners(self, event: str, host: Host) -> None:
        self._cluster.host_listeners.notify(event, host)


# ---- host commands of a program


class HostCommands:
    """Host commands of :class:`Cluster`, passed to the parts of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def on_up(self, host: Host) -> None:
        """Try to reach *host* now, because it is probably up. Does not wait for the outcome."""
        if not host.is_up:
            self._cluster.membership.connect_now(host)

    def on_down(self, host: Host, is_host_addition: bool = False, expect_host_to_be_down: bool = False) -> None:
        """Mark *host* as down, unless connections to it are open and *expect_host_to_be_down* is not set."""
        self._cluster.membership.report_down(host, expect_host_to_be_down)

    def on_down_potentially_blocking(self, host: Host, is_host_addition: bool, down_event_generation: int) -> None:
        """Do as :meth:`on_down`, regardless of open connections."""
        self._cluster.on_down(host, is_host_addition, True)

    @command
    def on_add(self, host: Host, refresh_nodes: bool = True) -> None:
        """Add *host* and try to reach it."""
        cluster = self._cluster
        cluster.membership.strand.call(cluster.topology.add, host)
        cluster.control_connection.on_add(host, refresh_nodes)

    @command
    def on_remove(self, host: Host) -> None:
        """Remove *host*."""
        self._cluster.membership.strand.call(self._cluster.topology.remove, host)

    def remove_host(self, host: Host | None) -> None:
        """Remove *host*; it is added again with the next node list if it is still in the cluster."""
        if host is not None:
            self._cluster.on_remove(host)

    @command
    def add_host(
        self,
        endpoint: EndPoint,
        datacenter: str | None = None,
        rack: str | None = None,
        signal: bool = True,
        refresh_nodes: bool = True,
        host_id: UUID | None = None,
    ) -> tuple[Host, bool]:
        """Add a host by hand; return the host that is in the metadata now and True if it is new. *signal*: notify
        policies and sessions."""
        cluster = self._cluster
        host = Host(endpoint, cluster.conviction_policy_factory, datacenter, rack, host_id)
        if not signal:
            return cluster.metadata.add_or_return_host(host)
        host, new = cluster.membership.strand.call(cluster.topology.add, host)
        if new:
            cluster.control_connection.on_add(host, refresh_nodes)
        return host, new


# ---- host state listeners


class Listeners:
    """The registered listeners of one cluster, objects that are notified of host changes (``HostStateListener``)."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._strand = scheduler.strand()
        self._registered: Shared[tuple[Any, ...]] = Shared(())

    @property
    def registered(self) -> tuple[Any, ...]:
        """The registered listeners, in their order."""
        return self._registered.value

    @property
    def listeners(self) -> set[Any]:
        """The registered listeners."""
        return set(self.registered)

    def add(self, listener: Any) -> None:
        """Notify *listener* (a :class:`cassandra.policies.HostStateListener`) when hosts are added, removed, or change
        state; adding it twice changes nothing.

        Its methods are called one at a time on a background thread and may use the cluster.
        """
        self._registered.change(lambda known: known if listener in known else (*known, listener))

    def remove(self, listener: Any) -> None:
        """Remove *listener*; raise KeyError if it was not registered."""
        try:
            self._registered.change(without_item(listener))
        except ValueError:
            raise KeyError(listener) from None

    def notify(self, event: str, host: Host) -> None:
        """Call the method *event* (``on_up``, ``on_down``, ``on_add``, ``on_remove``) of every listener. Never
        blocks."""
        if self.registered:
            self._strand.post(self._notify_listeners, event, host)

    def wait_for_delivery(self, timeout: float) -> None:
        """Wait until all notifications so far were delivered, at most *timeout* seconds."""
        if self.registered and not self._strand.is_held():
            try:
                self._strand.call(lambda: None, timeout=timeout)
            except TimeoutError:
                log.warning("Host state listeners took longer than %s s", timeout)

    def _notify_listeners(self, event: str, host: Host) -> None:
        for listener in self.registered:
            try:
                getattr(listener, event)(host)
            except Exception:
                log.exception("%s of the host state listener %r failed for %s", event, listener, host)
