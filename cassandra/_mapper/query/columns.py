"""Columns in conditions: ``Model.age > 5``."""

from __future__ import annotations

from typing import Any

from cassandra._base.objects import public
from cassandra._mapper.clauses import WhereClause
from cassandra._mapper.errors import UnicodeMixin
from cassandra._mapper.functions import QueryValue
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


@public("cassandra.cqlengine.query")
class AbstractQueryableColumn(UnicodeMixin):
    """Comparisons return conditions, for ``filter()``. ``str()`` returns the name of the column in the table."""

    def _get_column(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no column")

    def __unicode__(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} has no name")

    def _to_database(self, val: Any) -> Any:
        return val if isinstance(val, QueryValue) else self._get_column().to_database(val)

    def _where(self, operator: BaseWhereOperator, value: Any) -> WhereClause:
        return WhereClause(self.__unicode__(), operator, value)

    def in_(self, item: Any) -> WhereClause:
        """Return the condition that the column has one of these values."""
        return self._where(InOperator(), item)

    def contains_(self, item: Any) -> WhereClause:
        """Return the condition that the column is a collection that contains this item."""
        return self._where(ContainsOperator(), item)

    def __eq__(self, other: object) -> WhereClause:  # type: ignore[override]
        return self._where(EqualsOperator(), self._to_database(other))

    __hash__ = None  # type: ignore[assignment]

    def __gt__(self, other: Any) -> WhereClause:
        return self._where(GreaterThanOperator(), self._to_database(other))

    def __ge__(self, other: Any) -> WhereClause:
        return self._where(GreaterThanOrEqualOperator(), self._to_database(other))

    def __lt__(self, other: Any) -> WhereClause:
        return self._where(LessThanOperator(), self._to_database(other))

    def __le__(self, other: Any) -> WhereClause:
        return self._where(LessThanOrEqualOperator(), self._to_database(other))
