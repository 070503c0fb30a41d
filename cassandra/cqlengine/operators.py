"""Operators of conditions: what a filter name stands for, and how it is written in CQL."""

from cassandra._mapper.clauses import (
    BaseQueryOperator,
    BaseWhereOperator,
    ContainsOperator,
    EqualsOperator,
    GreaterThanOperator,
    GreaterThanOrEqualOperator,
    InOperator,
    IsNotNullOperator,
    LessThanOperator,
    LessThanOrEqualOperator,
    LikeOperator,
    NotEqualsOperator,
    OpMapMeta,
)
from cassandra._mapper.errors import QueryOperatorException, UnicodeMixin

__all__ = [
    "BaseQueryOperator",
    "BaseWhereOperator",
    "ContainsOperator",
    "EqualsOperator",
    "GreaterThanOperator",
    "GreaterThanOrEqualOperator",
    "InOperator",
    "IsNotNullOperator",
    "LessThanOperator",
    "LessThanOrEqualOperator",
    "LikeOperator",
    "NotEqualsOperator",
    "OpMapMeta",
    "QueryOperatorException",
    "UnicodeMixin",
]
