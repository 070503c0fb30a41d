"""Values of queries that the server computes."""

from cassandra._mapper.errors import UnicodeMixin, ValidationError

__all__ = ["UnicodeMixin", "ValidationError"]
