"""``LibevConnection``, accepted as ``Cluster(connection_class=...)``; it is the native transport."""

import logging

from cassandra._base.aliases import add_names
from cassandra._net.connection import LibevConnection

log = logging.getLogger("cassandra.io.libevreactor")

__all__ = ["log", "LibevConnection"]

add_names(__name__, {
    "cassandra._compat.connection": "_global_loop=_timers",
    "cassandra._compat.timers": "_cleanup LibevLoop Timer TimerManager",
    "cassandra.connection": "Connection ConnectionShutdown NONBLOCKING",
    "cassandra": "DependencyException",
})  # fmt: skip
