"""Further steps of requests: agreement after a schema change, the keyspace after a USE, sending without a pool.

L5. After a schema change the nodes have to agree and the metadata are read; after a USE every connection has to change
its keyspace. The request's own timeout covers these steps. If it elapses during one of them, the request fails with an
error that describes the state: the server *has* executed the request. The step itself continues: metadata and
connections are still updated. Step and deadline both try to end the page; the second one finds it over and does
nothing. The I/O thread takes such a response on arrival, independently of waiters. All further steps run there or on
workers of the cluster; nothing here blocks.

The keyspace of a session changes on the I/O thread, and no other request is sent meanwhile. In one native section, a
caller's thread holds all connections of the session, including those opened later, and posts the USE
(:func:`hand_over`). The I/O thread, which no handler of a signal interrupts, sends it and processes its response
(:func:`follow`); the hold ends when the request has succeeded or failed. Requests made meanwhile find the connections
busy and wait for room: they are sent when every connection is in the keyspace of the session. So if a program is
interrupted while it waits for a USE, all its threads continue in one definite keyspace.

A request that no pool can take is sent over the control connection, if the cluster allows it: for clients that may open
only one connection, or whose pools cannot be opened. The control connection is tried last, once per request, and only
for a request that was not sent before: there is no retry over it after a response or a lost connection. All sessions
share that connection, which has one keyspace, and a server may execute its requests in any order. A USE for one
session's requests could therefore change the keyspace of another session's. If the protocol allows a keyspace in each
request, it is sent there; otherwise only sessions with the same keyspace use the connection at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from cassandra._base.errors import ConnectionException, NoHostAvailable, OperationTimedOut
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._core.transport import DRIVER, Attempt, Hold, Reactor
from cassandra._session.config import ControlConnectionQueryFallback
from cassandra._wire.messages.requests import ExecuteMessage

from .admission import STOPPED
from .retry import KEYSPACE_PER_REQUEST

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._session.cluster import Cluster
    from cassandra._session.control.schema_changes import SchemaChange
    from cassandra._session.session import Session

    from .future import ResponseFuture

log = get_logger("cassandra.cluster")

MARGIN = 1.0  # seconds of the timeout reserved for reading the metadata; at most a tenth of it

#: By connection: the sessions whose requests depend on its keyspace; True for those that changed it by a USE.
_tenants: WeakKeyDictionary[Connection, WeakKeyDictionary[Session, bool]] = WeakKeyDictionary()
_lock = driver_lock("of the sessions that use a control connection")


class Deadline:
    """Fails a page of a request, with the texts of *known*, when the request's time is up; :meth:`cancel` cancels
    it."""

    def __init__(self, request: ResponseFuture, attempt: Attempt, known: Callable[[], dict[str, str]]) -> None:
        self._request = request
        self._attempt = attempt
        self._known = known
        remaining = request._remaining()
        self._timer: Any = None
        if remaining is not None:
            self._timer = request.session.cluster.reactor.call_later(max(0.0, remaining), self._on_deadline)

    def cancel(self) -> None:
        """Cancel the deadline: the step is over."""
        if self._timer is not None:
            self._timer.cancel()

    def _on_deadline(self) -> None:
        request, attempt = self._request, self._attempt
        if request._is_over(attempt.page):
            return
        error = OperationTimedOut(self._known(), attempt.host, request.timeout)
        request._execution.sending.unsure = True  # it was executed
        if request._metrics is not None:
            request._metrics.timed_out(attempt.host)
        request._fail(attempt.page, request._execution.sending.error_of(request, attempt, error))


# ---- schema changes


def agree(request: ResponseFuture, attempt: Attempt, event: Any, page_info: Any) -> None:
    """End the page of a schema change when the nodes agree on it and the metadata were read."""

    def known() -> dict[str, str]:
        request.is_schema_agreed = change is not None and change.agreed
        stage = "the cluster is shut down" if change is None else change.stage
        return {str(attempt.host.endpoint): f"The schema change was executed, but {stage} when the timeout elapsed"}

    def done(agreed: bool, error: BaseException | None) -> None:
        deadline.cancel()
        if error is not None:
            log.warning("Failed to refresh the schema metadata after a schema change: %s", error)
        if not request._is_over(attempt.page):
            request.is_schema_agreed = agreed
            request._conclude(attempt.page, None, None, page_info)

    change: SchemaChange | None = None
    deadline = Deadline(request, attempt, known)
    change = request.session.cluster.handle_schema_change(event, attempt.host, done, _time_to_agree(request))


def _time_to_agree(request: ResponseFuture) -> float | None:
    """Return the seconds to wait for agreement; None for the cluster's limit. If the request's timeout is at least that
    limit, ``is_schema_agreed`` reports before the timeout that the nodes do not agree; with a shorter timeout the error
    does."""
    remaining = request._remaining()
    wait: float = request.session.cluster.max_schema_agreement_wait
    if remaining is None or request.timeout is None or wait <= 0 or request.timeout < wait:
        return None
    return max(0.001, min(wait, remaining - min(MARGIN, float(request.timeout) / 10)))


# ---- changes of the keyspace


def hand_over(request: ResponseFuture, page: int) -> bool:
    """Hold the connections, and let the I/O thread send *request*, a USE. Return False if the caller is to send it: on
    the I/O thread (the connections are held from then on), and if the session has no I/O thread any more."""
    session = request.session
    if session.is_shutdown:
        return False
    reactor: Any = session.cluster.reactor
    if not isinstance(reactor, Reactor):
        return False
    if reactor.in_reactor():
        if not any(isinstance(timer, Hold) for timer in request._timers or ()):
            hold = _hold_of(session)
            hold.begin()
            _send_held(request, page, hold)
        return False
    hold = _hold_of(session)
    return hold.begin(reactor, partial(_send, request, page, hold))


def _hold_of(session: Session) -> Hold:
    return Hold(session._pool_set.channels)


def _send_held(request: ResponseFuture, page: int, hold: Hold) -> None:
    request._priority = DRIVER  # its hold does not apply to itself
    request._add_timer(page, hold)


def _send(request: ResponseFuture, page: int, hold: Hold) -> None:
    _send_held(request, page, hold)
    _send_from_io_thread(request, page)


def follow(request: ResponseFuture, attempt: Attempt, keyspace: str, page_info: Any) -> None:
    """End the page of a USE when every connection of the session is in *keyspace*."""
    changed = f"The keyspace of the session is {keyspace!r} now"
    behind: set[Host] = set()

    def known() -> dict[str, str]:
        text = f"{changed}, but connections to this host had not changed theirs at the timeout; they will, or be closed"
        return {str(host.endpoint): text for host in list(behind)}

    def done(errors: Mapping[Host, Any]) -> None:
        deadline.cancel()
        if not errors:
            request._conclude(attempt.page, None, None, page_info)
            return
        request._execution.sending.unsure = True
        error = ConnectionException(
            f"Failed to set keyspace on all hosts: {dict(errors)}. {changed}; connections with another keyspace were "
            "closed, and new ones are opened in it"
        )
        request._fail(attempt.page, request._execution.sending.error_of(request, attempt, error))

    attempt.connection.keyspace = keyspace
    deadline = Deadline(request, attempt, known)
    request.session._set_keyspace_for_all_pools(keyspace, done, behind)


# ---- requests that no pool takes


def falls_back(cluster: Cluster) -> bool:
    """True if requests may use the control connection."""
    return cluster.allow_control_connection_query_fallback is not ControlConnectionQueryFallback.Disabled


def send_elsewhere(request: ResponseFuture, page: int) -> bool:
    """Send *page* of *request*, which no pool takes, by other means, now or later. Return False if there are none."""
    return _send_when_open(request, page) or _send_by_control_connection(request, page)


def _send_when_open(request: ResponseFuture, page: int) -> bool:
    """In a forked child: let the request wait while the pools are opened again; then it is sent, or fails. A request
    that found no pools just before they were open is sent now. Return False if neither applies."""
    pool_set, sending = request.session._pool_set, request._execution.sending

    def send() -> None:
        if not request._is_over(page):
            try:
                sending.restart(request)
                sending.send(request, page)
            except Exception as error:  # of a user's policy: no caller would get it
                request._fail(page, error)

    if pool_set.when_open(send):
        return True
    missed = pool_set.reopens and any(host in pool_set.pools for host in sending.without_pool())
    if missed:
        send()
    return missed


def _send_by_control_connection(request: ResponseFuture, page: int) -> bool:
    """Send *page* of *request* over the control connection. Return False if that is not allowed or not possible. The
    I/O thread does it: a caller's thread could be interrupted while it holds the lock, which the I/O thread may wait
    for."""
    session = request.session
    connection = session.cluster.control_connection.connection
    if connection is None or request.attempted_hosts or not falls_back(session.cluster):
        return False
    if session._on_io_thread():
        return _send_by_control(request, page, connection)
    try:
        # No host is tried twice: the plan has none left.
        session.cluster.reactor.call_soon(partial(_send_from_io_thread, request, page))
    except STOPPED:
        return False
    return True


def _send_from_io_thread(request: ResponseFuture, page: int) -> None:
    """Send *page* of *request*, on the I/O thread."""
    if not request._is_over(page):
        try:
            request._execution.sending.send(request, page)
        except Exception as error:  # of a user's policy
            request._fail(page, error)


def _send_by_control(request: ResponseFuture, page: int, connection: Connection) -> bool:
    cluster = request.session.cluster
    host = cluster.get_control_connection_host()
    if host is None or request._execution.sending.plan.only not in (None, host):
        return False
    attempt = Attempt(host, None, connection, page)
    keyspace = request.session.keyspace
    if _names_keyspace(request, connection, keyspace):
        return request._execution.sending.submit(request, attempt)
    if not _enter(request, connection, keyspace):
        message = "The control connection uses, or may soon use, the keyspace of another session"
        request._errors[host] = ConnectionException(message, host.endpoint)
        return False
    if keyspace is None or keyspace == connection.keyspace:
        return request._execution.sending.submit(request, attempt)

    def on_used(_: Connection, error: BaseException | None) -> None:
        if error is not None:
            request._fail(page, error)
        elif not request._execution.sending.submit(request, attempt):
            message = "The control connection could not take the request"
            request._fail(page, NoHostAvailable(message, request._errors))

    connection.set_keyspace_async(keyspace, on_used)
    return True


def _names_keyspace(request: ResponseFuture, connection: Connection, keyspace: str | None) -> bool:
    """True if the request is independent of the connection's keyspace; its own keyspace is added if necessary."""
    if connection.protocol_version < KEYSPACE_PER_REQUEST or request._execution.content.is_use:
        return False
    if isinstance(request.message, ExecuteMessage) or request.message.keyspace is not None:
        return True  # a prepared statement has its keyspace
    if keyspace is not None:
        content = request._execution.content
        content.change(content.result_plan, keyspace=keyspace)
    return keyspace is not None


def _enter(request: ResponseFuture, connection: Connection, keyspace: str | None) -> bool:
    """Reserve the connection for the request's session. Return False if it is reserved for sessions of another
    keyspace, until they are shut down, and for a session without a keyspace if the connection has one: a connection
    cannot return to no keyspace."""
    session, uses = request.session, request._execution.content.is_use
    with _lock:
        tenants = _tenants.setdefault(connection, WeakKeyDictionary())
        others = [(one, moves) for one, moves in tenants.items() if one is not session and not one.is_shutdown]
        if any(uses or moves or one.keyspace != keyspace for one, moves in others):
            return False
        if keyspace is None and connection.keyspace is not None and not uses:
            return False
        tenants[session] = uses or tenants.get(session, False)
        return True
