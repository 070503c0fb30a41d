"""Query sets, batches and conditions."""

from cassandra._base.aliases import lend, lend_attributes
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
from cassandra._mapper.execution.applied import check_applied
from cassandra._mapper.functions import BaseQueryFunction, QueryValue, Token
from cassandra._mapper.operators import (
    BaseWhereOperator,
    ContainsOperator,
    EqualsOperator,
    GreaterThanOperator,
    GreaterThanOrEqualOperator,
    InOperator,
    LessThanOperator,
    LessThanOrEqualOperator,
)
from cassandra._mapper.query.base import AbstractQuerySet
from cassandra._mapper.query.batch import BatchQuery, BatchType
from cassandra._mapper.query.columns import AbstractQueryableColumn
from cassandra._mapper.query.context import ContextQuery
from cassandra._mapper.query.dml import DMLQuery
from cassandra._mapper.query.models import ModelQuerySet
from cassandra._mapper.query.simple import ResultObject, SimpleQuerySet

__all__ = [
    "AbstractQuerySet",
    "AbstractQueryableColumn",
    "BaseQueryFunction",
    "BaseWhereOperator",
    "BatchQuery",
    "BatchType",
    "CQLEngineException",
    "ContainsOperator",
    "ContextQuery",
    "DMLQuery",
    "DoesNotExist",
    "EqualsOperator",
    "GreaterThanOperator",
    "GreaterThanOrEqualOperator",
    "IfExistsWithCounterColumn",
    "IfNotExistsWithCounterColumn",
    "InOperator",
    "LWTException",
    "LessThanOperator",
    "LessThanOrEqualOperator",
    "ModelQuerySet",
    "MultipleObjectsReturned",
    "QueryException",
    "QueryValue",
    "ResultObject",
    "SimpleQuerySet",
    "Token",
    "UnicodeMixin",
    "ValidationError",
    "check_applied",
]

lend(
    __name__,
    {
        "cassandra.cqlengine": "columns conn=connection",
        "cassandra.query": "SimpleStatement CBatchType=BatchType",
        "cassandra.cqlengine.statements": "BaseCQLStatement ConditionalClause DeleteStatement InsertStatement"
        " MapDeleteClause SelectStatement UpdateStatement WhereClause",
    },
)
lend_attributes(
    AbstractQuerySet,
    "cassandra._compat.mapper_queries",
    "_get_result_constructor _materialize_results _maybe_inject_deferred _parse_filter_arg _result_generator",
)
lend_attributes(DMLQuery, "cassandra._compat.mapper_queries", "_delete_null_columns")
