"""``AsyncioConnection``, accepted as ``Cluster(connection_class=...)``; it is the native transport."""

import logging

from cassandra._base.aliases import add_names
from cassandra._net.connection import AsyncioConnection

log = logging.getLogger("cassandra.io.asyncioreactor")

__all__ = ["log", "AsyncioConnection"]

add_names(__name__, {
    "cassandra._compat.timers": "AsyncioTimer",
    "cassandra.connection": "Connection ConnectionShutdown",
})  # fmt: skip
