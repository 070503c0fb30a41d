"""Parts of statements: values, functions of the server, operators, and conditions and assignments as text.

A value or clause gets a *context id* when it is added to a statement. Its placeholders are named by this id and the
numbers that follow, as many as ``get_context_size()`` returns. ``update_context`` adds their values to a context.

Operators are registered by their symbols: a filter name (``age__gte``) ends in the lower-case symbol of an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from cassandra._base.names import escape_name
from cassandra._base.objects import public

from .errors import QueryOperatorException, StatementException, UnicodeMixin, ValidationError

#: Public modules of the classes.
FUNCTIONS = "cassandra.cqlengine.functions"
OPERATORS = "cassandra.cqlengine.operators"
STATEMENTS = "cassandra.cqlengine.statements"

EPOCH = datetime(1970, 1, 1)
MILLISECOND = timedelta(milliseconds=1)


# ---- values and functions


@public(FUNCTIONS)
def get_total_seconds(td: timedelta) -> float:
    """Return the number of seconds in *td*."""
    return td.total_seconds()


def milliseconds(moment: datetime) -> int:
    """Return the milliseconds from the epoch to *moment*, rounded down; a naive *moment* is taken as UTC."""
    offset = moment.utcoffset()
    local = moment.replace(tzinfo=None)
    return (local - EPOCH - (offset or timedelta())) // MILLISECOND


@public(FUNCTIONS)
class QueryValue(UnicodeMixin):
    """A value in a query; ``format_string`` is the format of its placeholder."""

    format_string: ClassVar[str] = "%({0})s"  #: Format of the value in a statement.

    def __init__(self, value: Any) -> None:
        self.value = value  #: The value.
        self.context_id: Any = None  #: Number of the first parameter.

    def __unicode__(self) -> str:
        return self.format_string.format(self.context_id)

    def set_context_id(self, ctx_id: Any) -> None:
        """Set the number of the first parameter."""
        self.context_id = ctx_id

    def get_context_size(self) -> int:
        """Return the number of parameters."""
        return 1

    def update_context(self, ctx: dict[str, Any]) -> None:
        """Add the parameters to *ctx*."""
        ctx[str(self.context_id)] = self.value


@public(FUNCTIONS)
class BaseQueryFunction(QueryValue):
    """A CQL function, which filters accept in place of a value: ``filter(id__gt=MinTimeUUID(...))``."""


@public(FUNCTIONS)
class TimeUUIDQueryFunction(BaseQueryFunction):
    """A function of a datetime that bounds version 1 UUIDs by their time."""

    def __init__(self, value: datetime) -> None:
        """*value*: the datetime; without a zone it is taken as UTC."""
        if not isinstance(value, datetime):
            raise ValidationError(f"datetime instance is required, not {value!r}")
        super().__init__(value)

    def to_database(self, val: datetime) -> int:
        """Return *val* as milliseconds since 1970."""
        return milliseconds(val)

    def update_context(self, ctx: dict[str, Any]) -> None:
        """Add the parameter to *ctx*."""
        ctx[str(self.context_id)] = self.to_database(self.value)


@public(FUNCTIONS)
class MinTimeUUID(TimeUUIDQueryFunction):
    """The smallest timeuuid of a datetime."""

    format_string = "MinTimeUUID(%({0})s)"


@public(FUNCTIONS)
class MaxTimeUUID(TimeUUIDQueryFunction):
    """The greatest timeuuid of a datetime."""

    format_string = "MaxTimeUUID(%({0})s)"


@public(FUNCTIONS)
class Token(BaseQueryFunction):
    """The token of a partition key: ``filter(pk__token__gt=Token(last.pk))``."""

    def __init__(self, *values: Any) -> None:
        """*values*: one per column of the partition key; or one list or tuple of them."""
        if len(values) == 1 and isinstance(values[0], (list, tuple)):
            values = values[0]  # type: ignore[assignment]
        super().__init__(values)
        self._columns: Sequence[Any] | None = None

    def set_columns(self, columns: Sequence[Any]) -> None:
        """Set the *columns* of the partition key, which convert the values."""
        self._columns = columns

    def get_context_size(self) -> int:
        """Return the number of parameters."""
        return len(self.value)

    def __unicode__(self) -> str:
        placeholders = (f"%({self.context_id + i})s" for i in range(self.get_context_size()))
        return f"token({', '.join(placeholders)})"

    def update_context(self, ctx: dict[str, Any]) -> None:
        """Add the parameters to *ctx*."""
        if self._columns is None:
            raise TypeError(f"{type(self).__name__}{tuple(self.value)!r} is not used with a partition key: no columns")
        for i, (column, value) in enumerate(zip(self._columns, self.value, strict=False)):
            ctx[str(self.context_id + i)] = column.to_database(value)


# ---- operators between a column and a value


@public(OPERATORS)
class BaseQueryOperator(UnicodeMixin):
    """``symbol`` is the name of the operator in filters, ``cql_symbol`` its CQL."""

    symbol: ClassVar[str | None] = None  #: Name in keywords of ``filter()``.
    cql_symbol: ClassVar[str | None] = None  #: Operator in CQL.

    def __unicode__(self) -> str:
        if self.cql_symbol is None:
            raise QueryOperatorException(f"cql symbol is None of {type(self).__name__}")
        return self.cql_symbol


@public(OPERATORS)
class OpMapMeta(type):
    """Registers each class by its symbol; a later class with the same symbol replaces it."""

    opmap: dict[str | None, Any]  #: Operators by name.

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        if not hasattr(cls, "opmap"):
            cls.opmap = {}
        else:
            cls.opmap[cls.symbol] = cls  # type: ignore[attr-defined]
        super().__init__(name, bases, dct)


@public(OPERATORS)
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


@public(OPERATORS)
class EqualsOperator(BaseWhereOperator):
    """The operator ``=`` of conditions."""

    symbol = "EQ"
    cql_symbol = "="


@public(OPERATORS)
class NotEqualsOperator(BaseWhereOperator):
    """The operator ``!=`` of conditions."""

    symbol = "NE"
    cql_symbol = "!="


@public(OPERATORS)
class InOperator(EqualsOperator):
    """The operator ``IN`` of conditions."""

    symbol = "IN"
    cql_symbol = "IN"


@public(OPERATORS)
class GreaterThanOperator(BaseWhereOperator):
    """The operator ``>`` of conditions."""

    symbol = "GT"
    cql_symbol = ">"


@public(OPERATORS)
class GreaterThanOrEqualOperator(BaseWhereOperator):
    """The operator ``>=`` of conditions."""

    symbol = "GTE"
    cql_symbol = ">="


@public(OPERATORS)
class LessThanOperator(BaseWhereOperator):
    """The operator ``<`` of conditions."""

    symbol = "LT"
    cql_symbol = "<"


@public(OPERATORS)
class LessThanOrEqualOperator(BaseWhereOperator):
    """The operator ``<=`` of conditions."""

    symbol = "LTE"
    cql_symbol = "<="


@public(OPERATORS)
class ContainsOperator(EqualsOperator):
    """The operator ``CONTAINS`` of conditions."""

    symbol = "CONTAINS"
    cql_symbol = "CONTAINS"


@public(OPERATORS)
class LikeOperator(EqualsOperator):
    """The operator ``LIKE`` of conditions."""

    symbol = "LIKE"
    cql_symbol = "LIKE"


@public(OPERATORS)
class IsNotNullOperator(EqualsOperator):
    """The operator ``IS NOT NULL`` of conditions."""

    symbol = "IS NOT NULL"
    cql_symbol = "IS NOT NULL"


# ---- conditions and assignments


def placeholder(context_id: Any) -> str:
    return f"%({context_id})s"


def sorted_keys(keys: Iterable[Any]) -> list[Any]:
    """Return *keys* sorted if they can be sorted, so that equal changes produce equal texts."""
    found = list(keys)
    try:
        return sorted(found)
    except TypeError:
        return found


@public(STATEMENTS)
class ValueQuoter(UnicodeMixin):
    """A value that is written into the text of a statement."""

    def __init__(self, value: Any) -> None:
        self.value = value  #: The value.

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


@public(STATEMENTS)
class InQuoter(ValueQuoter):
    """The values of an ``IN``."""

    def _cql_literal(self, write: Callable[[Any], str]) -> str:
        return f"({', '.join(map(write, self.value))})"


@public(STATEMENTS)
class BaseClause(UnicodeMixin):
    """A column and a value."""

    def __init__(self, field: str, value: Any) -> None:
        self.field = field  #: Name of the column.
        self.value = value  #: The value.
        self.context_id: Any = None  #: Number of the first parameter.

    def __hash__(self) -> int:
        return hash(self.field) ^ hash(self.value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and bool(self.field == other.field and self.value == other.value)

    def get_context_size(self) -> int:
        """Return the number of parameters."""
        return 1

    def set_context_id(self, i: Any) -> None:
        """Set the number of the first parameter."""
        self.context_id = i

    def update_context(self, ctx: dict[str, Any]) -> None:
        """Add the parameters to *ctx*."""
        ctx[str(self.context_id)] = self.value


def _equal(clause: BaseClause) -> str:
    return f"{escape_name(clause.field)} = {placeholder(clause.context_id)}"


@public(STATEMENTS)
class WhereClause(BaseClause):
    """A column, an operator and a value: ``"a" > %(0)s``."""

    def __init__(self, field: str, operator: BaseWhereOperator, value: Any, quote_field: bool = True) -> None:
        """*quote_field*: False if *field* is an expression such as ``token(...)`` and not only a name."""
        if not isinstance(operator, BaseWhereOperator):
            raise StatementException(f"operator must be of type {BaseWhereOperator}, got {type(operator)}")
        super().__init__(field, value)
        self.operator = operator  #: The operator.
        #: The value, as it stands in the statement.
        self.query_value = value if isinstance(value, QueryValue) else QueryValue(value)
        self.quote_field = quote_field  #: False if the left side is an expression.

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


@public(STATEMENTS)
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


@public(STATEMENTS)
class AssignmentClause(BaseClause):
    """A column and its new value: ``"a" = %(0)s``."""

    def __unicode__(self) -> str:
        return _equal(self)

    def insert_tuple(self) -> tuple[str, Any]:
        """Return column and number of the parameter, for INSERT."""
        return self.field, self.context_id


@public(STATEMENTS)
class ConditionalClause(BaseClause):
    """A column and the value it must have for the statement to be applied."""

    def __unicode__(self) -> str:
        return _equal(self)

    def insert_tuple(self) -> tuple[str, Any]:
        """Return column and number of the parameter."""
        return self.field, self.context_id


@public(STATEMENTS)
class BaseDeleteClause(BaseClause):
    """The part of a row that is deleted."""


@public(STATEMENTS)
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


@public(STATEMENTS)
class MapDeleteClause(BaseDeleteClause):
    """The keys of a map that are in *previous* and not in *value*."""

    def __init__(self, field: str, value: Mapping[Any, Any] | None, previous: Mapping[Any, Any] | None = None) -> None:
        super().__init__(field, value or {})
        self.previous = previous or {}  #: The value as last loaded or written.

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
