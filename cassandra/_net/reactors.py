"""The names of scylla-driver's connection classes (L3; public modules ``cassandra.io.*``).

``Cluster(connection_class=...)`` accepts them for compatibility. All of them use the native transport.
"""

from __future__ import annotations

from cassandra._base.objects import public

from .connection import Connection


@public("cassandra.io.asyncioreactor")
class AsyncioConnection(Connection):
    """The native transport. ``await`` works on every session, with any class."""


@public("cassandra.io.asyncorereactor")
class AsyncoreConnection(Connection):
    """The native transport."""


@public("cassandra.io.libevreactor")
class LibevConnection(Connection):
    """The native transport."""


@public("cassandra.io.geventreactor")
class GeventConnection(Connection):
    """The native transport. If gevent has patched threads before the driver was imported, greenlets wait with their
    hub, with any class."""


@public("cassandra.io.eventletreactor")
class EventletConnection(Connection):
    """The native transport. If eventlet has patched threads before the driver was imported, greenlets wait with their
    hub, with any class."""
