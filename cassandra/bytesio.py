"""``BytesIOReader``, for parsers of rows (:mod:`cassandra.parsing`)."""

from cassandra._compat.protocol import BytesIOReader

__all__ = ["BytesIOReader"]
