"""Values of queries that the server computes."""

from cassandra._mapper.clauses import (
    BaseQueryFunction,
    MaxTimeUUID,
    MinTimeUUID,
    QueryValue,
    TimeUUIDQueryFunction,
    Token,
    get_total_seconds,
)
from cassandra._mapper.errors import UnicodeMixin, ValidationError

__all__ = [
    "BaseQueryFunction",
    "MaxTimeUUID",
    "MinTimeUUID",
    "QueryValue",
    "TimeUUIDQueryFunction",
    "Token",
    "UnicodeMixin",
    "ValidationError",
    "get_total_seconds",
]
