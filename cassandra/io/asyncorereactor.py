"""``AsyncoreConnection``, accepted as ``Cluster(connection_class=...)``; it is the native transport."""

import logging

from cassandra._base.aliases import lend, lend_to
from cassandra._net.reactors import AsyncoreConnection

log = logging.getLogger("cassandra.io.asyncorereactor")

__all__ = ["log", "AsyncoreConnection"]

lend(__name__, {
    "cassandra._compat.connection": "_global_loop=_timers",
    "cassandra._compat.timers": "_cleanup AsyncoreLoop Timer TimerManager WaitableTimer",
    "cassandra.connection": "Connection ConnectionShutdown NONBLOCKING",
    "cassandra": "DependencyException",
})  # fmt: skip
lend_to(AsyncoreConnection)
