"""CQL statements and the clauses that they are made of."""

from cassandra._base.aliases import add_attributes
from cassandra._mapper.clauses import (
    AssignmentClause,
    BaseClause,
    BaseDeleteClause,
    BaseWhereOperator,
    ConditionalClause,
    EqualsOperator,
    FieldDeleteClause,
    InOperator,
    InQuoter,
    IsNotNull,
    IsNotNullClause,
    IsNotNullOperator,
    MapDeleteClause,
    QueryValue,
    ValueQuoter,
    WhereClause,
)
from cassandra._mapper.errors import StatementException, UnicodeMixin
from cassandra._mapper.statements import (
    AssignmentStatement,
    BaseCQLStatement,
    ContainerUpdateClause,
    ContainerUpdateTypeMapMeta,
    CounterUpdateClause,
    DeleteStatement,
    InsertStatement,
    ListUpdateClause,
    MapUpdateClause,
    SelectStatement,
    SetUpdateClause,
    UpdateStatement,
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

CLAUSES = "cassandra._compat.mapper"
add_attributes(ContainerUpdateClause, CLAUSES, "_analyze _analyzed _assignments")
add_attributes(SetUpdateClause, CLAUSES, "_assignments _additions _removals")
add_attributes(ListUpdateClause, CLAUSES, "_append _prepend")
add_attributes(MapUpdateClause, CLAUSES, "_updates _removals")
add_attributes(MapDeleteClause, CLAUSES, "_analyze _analyzed")
