"""``GeventConnection``, accepted as ``Cluster(connection_class=...)``; it is the native transport."""

from cassandra._net.reactors import GeventConnection

__all__ = ["GeventConnection"]
