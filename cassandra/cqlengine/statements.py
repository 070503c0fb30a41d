"""CQL statements and the clauses that they are made of."""

from cassandra._base.aliases import lend_attributes
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

CLAUSES = "cassandra._compat.mapper_clauses"
lend_attributes(ContainerUpdateClause, CLAUSES, "_analyze _analyzed _assignments")
lend_attributes(SetUpdateClause, CLAUSES, "_assignments _additions _removals")
lend_attributes(ListUpdateClause, CLAUSES, "_append _prepend")
lend_attributes(MapUpdateClause, CLAUSES, "_updates _removals")
lend_attributes(MapDeleteClause, CLAUSES, "_analyze _analyzed")
