"""Operators between a column and a value, and their registry.

A filter name (``age__gte``) ends in the lower-case symbol of an operator.
"""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra._base.objects import public
from cassandra._mapper.errors import QueryOperatorException, UnicodeMixin

HOME = "cassandra.cqlengine.operators"


@public(HOME)
class BaseQueryOperator(UnicodeMixin):
    """``symbol`` is the name of the operator in filters, ``cql_symbol`` its CQL."""

    symbol: ClassVar[str | None] = None
    cql_symbol: ClassVar[str | None] = None

    def __unicode__(self) -> str:
        if self.cql_symbol is None:
            raise QueryOperatorException(f"cql symbol is None of {type(self).__name__}")
        return self.cql_symbol


@public(HOME)
class OpMapMeta(type):
    """Registers each class by its symbol; a later class with the same symbol replaces it."""

    opmap: dict[str | None, Any]

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        if not hasattr(cls, "opmap"):
            cls.opmap = {}
        else:
            cls.opmap[cls.symbol] = cls  # type: ignore[attr-defined]
        super().__init__(name, bases, dct)


@public(HOME)
class BaseWhereOperator(BaseQueryOperator, metaclass=OpMapMeta):
    """Operators of conditions, all registered in ``opmap``."""

    @classmethod
    def get_operator(cls, symbol: str) -> type[BaseWhereOperator]:
        """Return the operator named *symbol*, in any case; raise ``QueryOperatorException`` if there is none."""
        try:
            found: type[BaseWhereOperator] = cls.opmap[symbol.upper()]
        except KeyError:
            raise QueryOperatorException(f"{symbol} doesn't map to a QueryOperator") from None
        return found


@public(HOME)
class EqualsOperator(BaseWhereOperator):
    symbol = "EQ"
    cql_symbol = "="


@public(HOME)
class NotEqualsOperator(BaseWhereOperator):
    symbol = "NE"
    cql_symbol = "!="


@public(HOME)
class InOperator(EqualsOperator):
    symbol = "IN"
    cql_symbol = "IN"


@public(HOME)
class GreaterThanOperator(BaseWhereOperator):
    symbol = "GT"
    cql_symbol = ">"


@public(HOME)
class GreaterThanOrEqualOperator(BaseWhereOperator):
    symbol = "GTE"
    cql_symbol = ">="


@public(HOME)
class LessThanOperator(BaseWhereOperator):
    symbol = "LT"
    cql_symbol = "<"


@public(HOME)
class LessThanOrEqualOperator(BaseWhereOperator):
    symbol = "LTE"
    cql_symbol = "<="


@public(HOME)
class ContainsOperator(EqualsOperator):
    symbol = "CONTAINS"
    cql_symbol = "CONTAINS"


@public(HOME)
class LikeOperator(EqualsOperator):
    symbol = "LIKE"
    cql_symbol = "LIKE"


@public(HOME)
class IsNotNullOperator(EqualsOperator):
    symbol = "IS NOT NULL"
    cql_symbol = "IS NOT NULL"
