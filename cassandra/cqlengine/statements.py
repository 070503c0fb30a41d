"""CQL statements and the clauses that they are made of."""

from cassandra._mapper.clauses import (
    AssignmentClause,
    BaseClause,
    BaseDeleteClause,
    ConditionalClause,
    FieldDeleteClause,
    InQuoter,
    IsNotNull,
    IsNotNullClause,
    MapDeleteClause,
    ValueQuoter,
    WhereClause,
)
from cassandra._mapper.errors import StatementException, UnicodeMixin
from cassandra._mapper.functions import QueryValue
from cassandra._mapper.operators import BaseWhereOperator, EqualsOperator, InOperator, IsNotNullOperator
from cassandra._mapper.statements import (
    AssignmentStatement,
    BaseCQLStatement,
    DeleteStatement,
    InsertStatement,
    SelectStatement,
    UpdateStatement,
)
from cassandra._mapper.updates import (
    ContainerUpdateClause,
    ContainerUpdateTypeMapMeta,
    CounterUpdateClause,
    ListUpdateClause,
    MapUpdateClause,
    SetUpdateClause,
)
from cassandra.cqlengine import columns

__all__ = [
    "AssignmentClause",
    "AssignmentStatement",
    "BaseCQLStatement",
    "BaseClause",
    "BaseDeleteClause",
    "BaseWhereOperator",
    "ConditionalClause",
    "ContainerUpdateClause",
    "ContainerUpdateTypeMapMeta",
    "CounterUpdateClause",
    "DeleteStatement",
    "EqualsOperator",
    "FieldDeleteClause",
    "InOperator",
    "InQuoter",
    "InsertStatement",
    "IsNotNull",
    "IsNotNullClause",
    "IsNotNullOperator",
    "ListUpdateClause",
    "MapDeleteClause",
    "MapUpdateClause",
    "QueryValue",
    "SelectStatement",
    "SetUpdateClause",
    "StatementException",
    "UnicodeMixin",
    "UpdateStatement",
    "ValueQuoter",
    "WhereClause",
    "columns",
]
