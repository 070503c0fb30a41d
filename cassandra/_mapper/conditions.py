"""Conditions on columns: ``Model.age > 5``, and the arguments of ``filter()`` and ``iff()``; independent of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cassandra._base.objects import public

from .clauses import (
    BaseQueryFunction,
    BaseWhereOperator,
    ConditionalClause,
    ContainsOperator,
    EqualsOperator,
    GreaterThanOperator,
    GreaterThanOrEqualOperator,
    InOperator,
    LessThanOperator,
    LessThanOrEqualOperator,
    QueryValue,
    Token,
    WhereClause,
)
from .containers import List, Map, Set
from .errors import CQLEngineException, QueryException, UnicodeMixin

#: The virtual column of the token of the partition key.
TOKEN = "pk__token"


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


def name_and_operator(argument: str) -> tuple[str, str | None]:
    """Split ``age__gt`` into a column name and an operator symbol; None if there is no symbol."""
    name, found, operator = argument.rpartition("__")
    return (name, operator) if found else (argument, None)


def conditions(model: Any, clauses: Sequence[Any], named: Mapping[str, Any]) -> Iterator[tuple[WhereClause, Any, Any]]:
    """Yield each condition as a clause; for equality by keyword, with the column and the value."""
    _no_nulls("filter", clauses, named)
    for clause in clauses:
        if not isinstance(clause, WhereClause):
            raise QueryException(f"{clause} is not a valid query operator")
        yield clause, None, None
    for argument, value in named.items():
        name, symbol = (TOKEN, None) if argument == TOKEN else _split(model, argument)
        if isinstance(value, Token):
            yield _token_condition(model, name, symbol, value), None, None
            continue
        column = column_of(model, name)
        operator = BaseWhereOperator.get_operator(symbol or "EQ")()
        clause = WhereClause(column.db_field_name, operator, stored(column, operator, value))
        if symbol:
            yield clause, None, None
        else:
            yield clause, column, value


def requirements(model: Any, clauses: Sequence[Any], named: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the conditions of a write: ``IF``."""
    _no_nulls("iff", clauses, named)
    for clause in clauses:
        if not isinstance(clause, (ConditionalClause, WhereClause)):
            raise QueryException(f"{clause} is not a valid query operator")
        yield clause
    for argument, value in named.items():
        name, symbol = _split(model, argument)
        if isinstance(value, Token):
            raise QueryException("Token() values are not valid in conditionals")
        column = column_of(model, name)
        operator = BaseWhereOperator.get_operator(symbol or "EQ")()
        yield WhereClause(column.db_field_name, operator, stored(column, operator, value))


def _split(model: Any, argument: str) -> tuple[str, str | None]:
    if argument in getattr(model, "_columns", ()):  # the name of a column may contain two underscores
        return argument, None
    return name_and_operator(argument)


def _no_nulls(where: str, clauses: Sequence[Any], named: Mapping[str, Any]) -> None:
    if None in named.values() if named else False:
        raise CQLEngineException(f"None values on {where} are not allowed")
    if any(clause is None for clause in clauses):
        raise CQLEngineException(f"None values on {where} are not allowed")


def column_of(model: Any, name: str) -> Any:
    try:
        return model._get_column(name)
    except KeyError:
        raise QueryException(f"Can't resolve column name: '{name}'") from None


def stored(column: Any, operator: BaseWhereOperator, value: Any) -> Any:
    """Return the compared *value* in its stored form."""
    if isinstance(operator, InOperator):
        if not isinstance(value, (list, tuple)):
            raise QueryException("IN queries must use a list/tuple value")
        return [column.to_database(item) for item in value]
    if isinstance(value, BaseQueryFunction):
        return value
    if isinstance(operator, ContainsOperator) and isinstance(column, (List, Set, Map)):
        return value  # an item, not a container
    return column.to_database(value)


def _token_condition(model: Any, name: str, symbol: str | None, value: Token) -> WhereClause:
    if name != TOKEN:
        raise QueryException("Token() values may only be compared to the 'pk__token' virtual column")
    columns = list(model._partition_keys.values())
    if len(columns) != len(value.value):
        raise QueryException(
            f"Token() received {len(value.value)} arguments but model has {len(columns)} partition keys"
        )
    value.set_columns(columns)
    names = ", ".join(column.cql for column in columns)
    operator = BaseWhereOperator.get_operator(symbol or "EQ")()
    return WhereClause(f"token({names})", operator, value, quote_field=False)
