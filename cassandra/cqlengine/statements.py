"""CQL statements and the clauses that they are made of."""

from cassandra._base.aliases import lend_attributes
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
lend_attributes(ContainerUpdateClause, CLAUSES, "_analyze _analyzed _assignments")
lend_attributes(SetUpdateClause, CLAUSES, "_assignments _additions _removals")
lend_attributes(ListUpdateClause, CLAUSES, "_append _prepend")
lend_attributes(MapUpdateClause, CLAUSES, "_updates _removals")
lend_attributes(MapDeleteClause, CLAUSES, "_analyze _analyzed")
