"""Names of ways to decode rows, for :func:`cassandra.protocol.cython_protocol_handler`."""

from cassandra._wire.handlers import LazyParser, ListParser

__all__ = ["LazyParser", "ListParser"]
