"""The same :func:`murmur3` as in :mod:`cassandra.murmur3`."""

from cassandra._core.routing import murmur3_token as murmur3

__all__ = ["murmur3"]
