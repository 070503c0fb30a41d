"""Requests over the control connection, if the cluster allows it and no pool can take them.

L5. For clients that may open only one connection, or whose pools cannot be opened. The control connection is tried
last, once per request, and only for a request that was not sent before: there is no retry over it after a response or a
lost connection.

All sessions share that connection, which has one keyspace, and a server may execute its requests in any order. A USE
for one session's requests could therefore change the keyspace of another session's. If the protocol allows a keyspace
in each request, it is sent there; otherwise only sessions with the same keyspace use the connection at the same time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from cassandra._base.errors import ConnectionException, NoHostAvailable
from cassandra._base.locks import driver_lock
from cassandra._core.transport import Attempt
from cassandra._wire.messages.requests import ExecuteMessage

from ..cluster.config import ControlConnectionQueryFallback
from .admission import STOPPED
from .attempts import KEYSPACE_PER_REQUEST

if TYPE_CHECKING:
    from cassandra._net.connection import Connection

    from ..cluster.cluster import Cluster
    from ..session import Session
    from .future import ResponseFuture

#: By connection: the sessions whose requests depend on its keyspace; True for those that changed it by a USE.
_tenants: WeakKeyDictionary[Connection, WeakKeyDictionary[Session, bool]] = WeakKeyDictionary()
_lock = driver_lock("of the sessions that use a control connection")


def falls_back(cluster: Cluster) -> bool:
    """True if requests may use the control connection."""
    return cluster.allow_control_connection_query_fallback is not ControlConnectionQueryFallback.Disabled


def sent_elsewhere(request: ResponseFuture, page: int) -> bool:
    """Send *page* of *request*, which no pool takes, by other means, now or later. Return False if there are none."""
    return _sent_when_open(request, page) or _sent_by_control(request, page)


def _sent_when_open(request: ResponseFuture, page: int) -> bool:
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


def _sent_by_control(request: ResponseFuture, page: int) -> bool:
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
        session.cluster.reactor.call_soon(partial(_send_from_io_thread, request, page))
    except STOPPED:
        return False
    return True


def _send_from_io_thread(request: ResponseFuture, page: int) -> None:
    """Send *page* of *request*, on the I/O thread. No host is tried twice: the plan has none left."""
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
    if _says_its_keyspace(request, connection, keyspace):
        return request._execution.sending.submit(request, attempt)
    if not _enter(request, connection, keyspace):
        message = "The control connection uses, or may soon use, the keyspace of another session"
        request._errors[host] = ConnectionException(message, host.endpoint)
        return False
    if keyspace is None or keyspace == connection.keyspace:
        return request._execution.sending.submit(request, attempt)

    def used(_: Connection, error: BaseException | None) -> None:
        if error is not None:
            request._fail(page, error)
        elif not request._execution.sending.submit(request, attempt):
            message = "The control connection could not take the request"
            request._fail(page, NoHostAvailable(message, request._errors))

    connection.set_keyspace_async(keyspace, used)
    return True


def _says_its_keyspace(request: ResponseFuture, connection: Connection, keyspace: str | None) -> bool:
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
