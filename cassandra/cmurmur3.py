"""The function :func:`murmur3` of :mod:`cassandra.murmur3`."""

from cassandra._core.routing import murmur3_token as murmur3

__all__ = ["murmur3"]
