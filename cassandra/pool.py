"""Hosts, and the pool of connections of a session to a host."""

import logging

from cassandra._base.aliases import add_names
from cassandra._base.errors import AuthenticationFailed, ConnectionException, NoConnectionsAvailable
from cassandra._net.endpoint import DefaultEndPoint, EndPoint, UnixSocketEndPoint
from cassandra._net.pool import HostPool as HostConnection
from cassandra._routing.host import Host
from cassandra._routing.policies import HostDistance

log = logging.getLogger("cassandra.pool")

__all__ = [
    "log",
    "AuthenticationFailed",
    "ConnectionException",
    "DefaultEndPoint",
    "EndPoint",
    "Host",
    "HostConnection",
    "HostDistance",
    "NoConnectionsAvailable",
    "UnixSocketEndPoint",
]

add_names(__name__, {
    "cassandra._compat.names": "Condition Future Lock RLock WeakSet copy random time total_ordering weakref",
})  # fmt: skip
