"""One condition or assignment of a statement: its text with placeholders, and the values of the placeholders.

A clause gets a *context id* when it is added to a statement. Its placeholders are named by this id and the numbers that
follow, as many as ``get_context_size()`` returns. ``update_context`` adds their values to a context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cassandra._base.names import escape_name
from cassandra._base.objects import public
from cassandra._mapper.errors import StatementException, UnicodeMixin
from cassandra._mapper.functions import QueryValue
from cassandra._mapper.operators import BaseWhereOperator, InOperator, IsNotNullOperator

HOME = "cassandra.cqlengine.statements"


def placeholder(context_id: Any) -> str:
    return f"%({context_id})s"


def sorted_keys(keys: Iterable[Any]) -> list[Any]:
    """Return *keys* sorted if they can be sorted, so that equal changes produce equal texts."""
    found = list(keys)
    try:
        return sorted(found)
    except TypeError:
        return found


@public(HOME)
class ValueQuoter(UnicodeMixin):
    """A value that is written into the text of a statement."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __unicode__(self) -> str:
        from cassandra._wire.encoder import Encoder  # few programs need it

        return self._cql_literal(Encoder().cql_encode_all_types)

    def _cql_literal(self, write: Callable[[Any], str]) -> str:
        """Return the value as CQL; *write* encodes a value as a literal."""
        if isinstance(self.value, (list, tuple)):
            return f"[{', '.join(map(write, self.value))}]"
        if isinstance(self.value, Mapping):
            return f"{{{', '.join(f'{write(k)}:{write(v)}' for k, v in self.value.items())}}}"
        if isinstance(self.value, (set, frozenset)):
            return f"{{{', '.join(map(write, self.value))}}}"
        return write(self.value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


@public(HOME)
class InQuoter(ValueQuoter):
    """The values of an ``IN``."""

    def _cql_literal(self, write: Callable[[Any], str]) -> str:
        return f"({', '.join(map(write, self.value))})"


@public(HOME)
class BaseClause(UnicodeMixin):
    """A column and a value."""

    def __init__(self, field: str, value: Any) -> None:
        self.field = field
        self.value = value
        self.context_id: Any = None

    def __hash__(self) -> int:
        return hash(self.field) ^ hash(self.value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(self.field == other.field and self.value == other.value)

    def get_context_size(self) -> int:
        return 1

    def set_context_id(self, i: Any) -> None:
        self.context_id = i

    def update_context(self, ctx: dict[str, Any]) -> None:
        ctx[str(self.context_id)] = self.value


def _equal(clause: BaseClause) -> str:
    return f"{escape_name(clause.field)} = {placeholder(clause.context_id)}"


@public(HOME)
class WhereClause(BaseClause):
    """A column, an operator and a value: ``"a" > %(0)s``."""

    def __init__(self, field: str, operator: BaseWhereOperator, value: Any, quote_field: bool = True) -> None:
        """*quote_field*: False if *field* is an expression such as ``token(...)`` and not only a name."""
        if not isinstance(operator, BaseWhereOperator):
            raise StatementException(f"operator must be of type {BaseWhereOperator}, got {type(operator)}")
        super().__init__(field, value)
        self.operator = operator
        self.query_value = value if isinstance(value, QueryValue) else QueryValue(value)
        self.quote_field = quote_field

    def __unicode__(self) -> str:
        field = escape_name(self.field) if self.quote_field else self.field
        return f"{field} {self.operator} {self.query_value}"

    def __hash__(self) -> int:
        return super().__hash__() ^ hash(type(self.operator))

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and type(self.operator) is type(other.operator)  # type: ignore[attr-defined]

    def get_context_size(self) -> int:
        return self.query_value.get_context_size()

    def set_context_id(self, i: Any) -> None:
        super().set_context_id(i)
        self.query_value.set_context_id(i)

    def update_context(self, ctx: dict[str, Any]) -> None:
        if isinstance(self.operator, InOperator):
            ctx[str(self.context_id)] = InQuoter(self.value)
        else:
            self.query_value.update_context(ctx)


@public(HOME)
class IsNotNullClause(WhereClause):
    """``"a" IS NOT NULL``."""

    def __init__(self, field: str) -> None:
        super().__init__(field, IsNotNullOperator(), "")

    def __unicode__(self) -> str:
        return f"{escape_name(self.field)} {self.operator}"

    def get_context_size(self) -> int:
        return 0

    def update_context(self, ctx: dict[str, Any]) -> None:
        pass


IsNotNull = IsNotNullClause


@public(HOME)
class AssignmentClause(BaseClause):
    """A column and its new value: ``"a" = %(0)s``."""

    def __unicode__(self) -> str:
        return _equal(self)

    def insert_tuple(self) -> tuple[str, Any]:
        return self.field, self.context_id


@public(HOME)
class ConditionalClause(BaseClause):
    """A column and the value it must have for the statement to be applied."""

    def __unicode__(self) -> str:
        return _equal(self)

    def insert_tuple(self) -> tuple[str, Any]:
        return self.field, self.context_id


@public(HOME)
class BaseDeleteClause(BaseClause):
    """The part of a row that is deleted."""


@public(HOME)
class FieldDeleteClause(BaseDeleteClause):
    """A whole column."""

    def __init__(self, field: str) -> None:
        super().__init__(field, None)

    def __unicode__(self) -> str:
        return escape_name(self.field)

    def get_context_size(self) -> int:
        return 0

    def update_context(self, ctx: dict[str, Any]) -> None:
        pass


@public(HOME)
class MapDeleteClause(BaseDeleteClause):
    """The keys of a map that are in *previous* and not in *value*."""

    def __init__(self, field: str, value: Mapping[Any, Any] | None, previous: Mapping[Any, Any] | None = None) -> None:
        super().__init__(field, value or {})
        self.previous = previous or {}

    @property
    def _removals(self) -> list[Any]:
        return sorted_keys(key for key in self.previous if key not in self.value)

    def __unicode__(self) -> str:
        field = escape_name(self.field)
        return ", ".join(f"{field}[{placeholder(self.context_id + i)}]" for i in range(len(self._removals)))

    def get_context_size(self) -> int:
        return len(self._removals)

    def update_context(self, ctx: dict[str, Any]) -> None:
        for i, key in enumerate(self._removals):
            ctx[str(self.context_id + i)] = key
