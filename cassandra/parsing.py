"""Base classes of parsers of rows, independent of sessions, which decode natively."""

from cassandra._compat.protocol import ColumnParser, ParseDesc, RowParser

__all__ = ["ColumnParser", "ParseDesc", "RowParser"]
