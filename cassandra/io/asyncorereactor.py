"""``AsyncoreConnection``, accepted as ``Cluster(connection_class=...)``; it is the native transport."""

import logging

from cassandra._base.lending import lend
from cassandra._net.reactors import AsyncoreConnection

log = logging.getLogger("cassandra.io.asyncorereactor")

__all__ = ["log", "AsyncoreConnection"]

lend(__name__, {
    "cassandra._compat.timers": "AsyncoreLoop Timer TimerManager WaitableTimer",
    "cassandra.connection": "Connection ConnectionShutdown NONBLOCKING",
    "cassandra": "DependencyException",
})  # fmt: skip
