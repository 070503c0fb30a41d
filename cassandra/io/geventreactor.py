"""``GeventConnection``, accepted as ``Cluster(connection_class=...)``; it is the native transport."""

from cassandra._net.connection import GeventConnection

__all__ = ["GeventConnection"]
