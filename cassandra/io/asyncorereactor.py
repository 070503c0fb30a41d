"""``AsyncoreConnection``, accepted as ``Cluster(connection_class=...)``; it is the native transport."""

import logging

from cassandra._base.aliases import add_aliases, add_names
from cassandra._net.connection import AsyncoreConnection

log = logging.getLogger("cassandra.io.asyncorereactor")

__all__ = ["log", "AsyncoreConnection"]

add_names(__name__, {
    "cassandra._compat.connection": "_global_loop=_timers",
    "cassandra._compat.timers": "_cleanup AsyncoreLoop Timer TimerManager WaitableTimer",
    "cassandra.connection": "Connection ConnectionShutdown NONBLOCKING",
    "cassandra": "DependencyException",
})  # fmt: skip
add_aliases(AsyncoreConnection)
