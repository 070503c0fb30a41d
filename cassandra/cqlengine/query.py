"""Query sets, batches and conditions."""

from cassandra._mapper.errors import (
    CQLEngineException,
    DoesNotExist,
    IfExistsWithCounterColumn,
    IfNotExistsWithCounterColumn,
    LWTException,
    MultipleObjectsReturned,
    QueryException,
    UnicodeMixin,
    ValidationError,
)

__all__ = [
    "CQLEngineException",
    "DoesNotExist",
    "IfExistsWithCounterColumn",
    "IfNotExistsWithCounterColumn",
    "LWTException",
    "MultipleObjectsReturned",
    "QueryException",
    "UnicodeMixin",
    "ValidationError",
]
