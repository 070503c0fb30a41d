"""``BytesIOReader``, for parsers of rows (:mod:`cassandra.parsing`)."""

from cassandra._compat.parsing import BytesIOReader

__all__ = ["BytesIOReader"]
