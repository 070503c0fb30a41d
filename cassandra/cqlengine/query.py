"""Query sets, batches and conditions."""

from cassandra._base.aliases import add_attributes, add_names
from cassandra._mapper.clauses import (
    BaseQueryFunction,
    BaseWhereOperator,
    ContainsOperator,
    EqualsOperator,
    GreaterThanOperator,
    GreaterThanOrEqualOperator,
    InOperator,
    LessThanOperator,
    LessThanOrEqualOperator,
    QueryValue,
    Token,
)
from cassandra._mapper.conditions import AbstractQueryableColumn
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
from cassandra._mapper.execution import check_applied
from cassandra._mapper.named import ResultObject, SimpleQuerySet
from cassandra._mapper.query_base import AbstractQuerySet, ContextQuery
from cassandra._mapper.query_models import ModelQuerySet
from cassandra._mapper.writing import BatchQuery, BatchType, DMLQuery

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

add_names(
    __name__,
    {
        "cassandra.cqlengine": "columns conn=connection",
        "cassandra.query": "SimpleStatement CBatchType=BatchType",
        "cassandra.cqlengine.statements": "BaseCQLStatement ConditionalClause DeleteStatement InsertStatement"
        " MapDeleteClause SelectStatement UpdateStatement WhereClause",
    },
)
add_attributes(
    AbstractQuerySet,
    "cassandra._compat.mapper",
    "_get_result_constructor _materialize_results _maybe_inject_deferred _parse_filter_arg _result_generator",
)
add_attributes(DMLQuery, "cassandra._compat.mapper", "_delete_null_columns")
