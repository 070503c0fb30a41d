"""Requests over the control connection, where the cluster allows it and no pool can take them.

L5. For clients that may open one connection only, or whose pools cannot be opened. It is asked last, once per
request, and only for a request that was sent nowhere: an answer, or a lost connection, is not repeated here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._base.errors import NoHostAvailable

from .attempts import Attempt
from .config import ControlConnectionQueryFallback

if TYPE_CHECKING:
    from cassandra._net.connection import Connection

    from .cluster import Cluster
    from .sending import Sending


def falls_back(cluster: Cluster) -> bool:
    """Whether requests may use the control connection."""
    return cluster.allow_control_connection_query_fallback is not ControlConnectionQueryFallback.Disabled


def send_by_control(request: Sending, page: int) -> bool:
    """Send *page* of *request* over the control connection; False if that may not or cannot be done."""
    cluster = request.session.cluster
    connection = cluster.control_connection.connection
    if connection is None or request.attempted_hosts or not falls_back(cluster):
        return False
    host = cluster.get_control_connection_host()
    if host is None or request._host not in (None, host):
        return False
    attempt = Attempt(host, None, connection, page)
    keyspace = request.session.keyspace
    if keyspace is None or keyspace == connection.keyspace:
        return request._submit(attempt)

    def used(_: Connection, error: BaseException | None) -> None:
        if error is not None:
            request._fail(page, error)
        elif not request._submit(attempt):
            message = "The control connection could not take the request"
            request._fail(page, NoHostAvailable(message, request._errors))

    connection.set_keyspace_async(keyspace, used)
    return True
