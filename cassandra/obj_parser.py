"""Parsers of rows as objects, also arguments of :func:`cassandra.protocol.cython_protocol_handler`."""

from cassandra._base.errors import DriverException
from cassandra._compat.protocol import LazyParser, ListParser, TupleRowParser, find_deserializer, parse_rows_lazy

__all__ = ["DriverException", "LazyParser", "ListParser", "TupleRowParser", "find_deserializer", "parse_rows_lazy"]
