"""Values of queries that the server computes."""

from cassandra._mapper.errors import UnicodeMixin, ValidationError
from cassandra._mapper.functions import (
    BaseQueryFunction,
    MaxTimeUUID,
    MinTimeUUID,
    QueryValue,
    TimeUUIDQueryFunction,
    Token,
    get_total_seconds,
)

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
