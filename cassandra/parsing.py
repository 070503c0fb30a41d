"""What parsers of rows begin with. Sessions decode natively; these work alone."""

from cassandra._compat.parsing import ColumnParser, ParseDesc, RowParser

__all__ = ["ColumnParser", "ParseDesc", "RowParser"]
